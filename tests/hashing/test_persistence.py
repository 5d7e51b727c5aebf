"""Fitted hashers survive every way of storing them, and carry nothing of torch."""

import pickle
import pickletools

import pytest
from hashers import CROSS_VIEW, GRADIENT, small
from sklearn.base import clone
from without_torch import run_without_torch


@pytest.fixture(scope="module")
def data(digits):
    return digits[0][:120], digits[1][:120]


def test_a_pickle_names_nothing_of_torch(data):
    hasher = small(hidden_layer_sizes=10).fit(*data)
    stored = pickle.dumps(hasher, protocol=2)  # in which each global is one opcode
    names = {
        argument.split()[0]
        for opcode, argument, _ in pickletools.genops(stored)
        if opcode.name == "GLOBAL"
    }
    assert any(name.startswith("sklearn_talr") for name in names)
    assert not any(name.split(".")[0] == "torch" for name in names)


# Uses hashers that were fitted elsewhere, and tries to train them.
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
                assert str(error).startswith("Training by gradients needs PyTorch"), error
                assert "pip install torch" in str(error)
            else:
                raise AssertionError("trained")
    assert (hasher.decision_function(X) == activations).all()
assert "torch" not in sys.modules
print(len(cases))
"""


def test_fitted_hashers_are_loaded_and_used_where_there_is_no_torch(data, tmp_path):
    X, y = data
    cases = []
    for hasher in (
        *GRADIENT,
        *CROSS_VIEW,
        small(hidden_layer_sizes=5, early_descent=True),
    ):
        fitted = clone(hasher).set_params(random_state=0).fit(X, y)
        answers = fitted.decision_function(X), fitted.query_weights(X), fitted.score(X, y)
        cases.append((fitted, *answers))
    (tmp_path / "fitted").write_bytes(pickle.dumps((X, y, cases)))
    printed = run_without_torch(USE_FITTED, str(tmp_path / "fitted"))
    assert int(printed) == len(cases) == len(GRADIENT) + 3
