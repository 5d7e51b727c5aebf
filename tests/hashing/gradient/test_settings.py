"""What "auto" stands for, by kind of hash function."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from sklearn_talr import TALRHasher
from sklearn_talr.hashing.gradient import _learned
from sklearn_talr.hashing.losses import _minibatch

# hidden layers, module, solver -> learning rate, weight decay
CASES = [
    ((), False, "adam_mini", 0.025, 0.6),
    ((), False, "adam", 0.005, 0.6),
    ((9,), False, "adam_mini", 0.014, 1.2),
    ((9,), False, "sgd", 0.005, 1.2),
    ((), True, "adam_mini", 0.005, 0.01),
]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:200], y[:200]


def fitted(digits, is_module=False, **params):
    if is_module:
        params["module"] = torch.nn.utils.skip_init(torch.nn.Linear, 64, 8)
        torch.nn.init.eye_(params["module"].weight)
        torch.nn.init.zeros_(params["module"].bias)
    return TALRHasher(8, max_iter=2, random_state=0, **params).fit(*digits)


@pytest.mark.parametrize(("layers", "is_module", "solver", "rate", "decay"), CASES)
def test_automatic_is_the_same_as_explicit(digits, layers, is_module, solver, rate, decay):
    params = {"hidden_layer_sizes": layers, "is_module": is_module, "solver": solver}
    automatic = fitted(digits, **params)
    explicit = fitted(digits, learning_rate_init=rate, weight_decay=decay, **params)
    assert automatic.loss_curve_ == explicit.loss_curve_
    other = fitted(digits, learning_rate_init=rate, weight_decay=2 * decay, **params)
    assert automatic.loss_curve_ != other.loss_curve_


@pytest.mark.parametrize(
    ("n_bits", "layers", "n_kept"),
    [(8, (), 8), (32, (), 16), (64, (), 23), (32, (9,), 24), (64, (9,), 34), (8, (9,), 8)],
)
def test_kept_bits(digits, n_bits, layers, n_kept, monkeypatch):
    counts = []
    keep_bits = _minibatch.BatchLoss.draw_bits

    def spy(self, *args):
        kept = keep_bits(self, *args)
        counts.append(n_bits if kept is None else len(np.unique(kept.numpy())))
        return kept

    monkeypatch.setattr(_minibatch.BatchLoss, "draw_bits", spy)
    TALRHasher(n_bits, hidden_layer_sizes=layers, max_iter=1, random_state=0).fit(*digits)
    assert set(counts) == {n_kept}


@pytest.mark.parametrize("dropout", ["often", "0.5"])
def test_dropout_refuses_other_words(digits, dropout):
    with pytest.raises(ValueError, match="dropout"):
        fitted(digits, dropout=dropout)


@pytest.mark.parametrize(("n_rows", "size"), [(200, 32), (1000, 50), (1797, 89)])
def test_batches_are_a_twentieth(n_rows, size, monkeypatch):
    sizes = []
    trainer = _learned._settings.batch_size

    def spy(hasher, n_samples):
        sizes.append(trainer(hasher, n_samples))
        return sizes[-1]

    monkeypatch.setattr(_learned._settings, "batch_size", spy)
    X, y = load_digits(return_X_y=True)
    TALRHasher(8, max_iter=1, random_state=0).fit(X[:n_rows], y[:n_rows])
    assert sizes == [size]
