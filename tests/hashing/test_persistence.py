"""Fitted hashers survive every way of storing them, and carry nothing of torch."""

import pickle

from hashers import CROSS_VIEW, GRADIENT, LOSSES, small
from sklearn.base import clone
from without_torch import run_without_torch

# Uses hashers that were fitted elsewhere, and tries to train them; then their losses.
USE_FITTED = """
import pickle

with open(sys.argv[1], "rb") as file:
    X, y, cases = pickle.load(file)
for hasher, activations, weights, score in cases:
    assert (hasher.decision_function(X) == activations).all()
    assert (hasher.transform(X) == (activations > 0)).all()
    assert (hasher.query_weights(X) == weights).all()
    assert hasher.score(X, y) == score
    for method in ("fit", "partial_fit"):
        if hasattr(hasher, method):
            try:
                getattr(hasher, method)(X, y)
            except ImportError as error:
                assert str(error).startswith(f"loss={hasher.loss!r} needs PyTorch"), error
                assert "pip install 'sklearn-talr[torch]'" in str(error)
            else:
                assert hasher.loss == "AP"
                break
    else:
        assert (hasher.decision_function(X) == activations).all()

from sklearn.base import clone
from sklearn_talr import losses
from sklearn_talr.hashing import TALRHasher

values = [getattr(losses, n)() for n in losses.__all__ if n.endswith("Loss")
          and n not in ("BaseLoss", "TieAwareLoss")]
for loss in values:
    assert repr(pickle.loads(pickle.dumps(clone(loss)))) == repr(loss)
    repr(TALRHasher(loss=loss).set_params(loss=loss))
assert "torch" not in sys.modules
print(len(cases), len(values), losses.DSHLoss(margin=2))
"""


def test_fitted_hashers_and_losses_are_used_where_there_is_no_torch(digits, tmp_path):
    X, y = digits[0][:120], digits[1][:120]
    cases = []
    for hasher in (
        *GRADIENT,
        *CROSS_VIEW,
        small(hidden_layer_sizes=5, early_stopping=True),
    ):
        fitted = clone(hasher).set_params(random_state=0).fit(X, y)
        answers = fitted.decision_function(X), fitted.query_weights(X), fitted.score(X, y)
        cases.append((fitted, *answers))
    (tmp_path / "fitted").write_bytes(pickle.dumps((X, y, cases)))
    printed = run_without_torch(USE_FITTED, str(tmp_path / "fitted"))
    n_cases = len(GRADIENT) + 3
    # `LOSSES` are all but those of rankings, for AP and for NDCG.
    n_losses = len(LOSSES) + 2
    assert printed.strip() == f"{n_cases} {n_losses} DSHLoss(margin=2)"
