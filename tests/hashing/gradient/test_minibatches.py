"""Minibatches: the bits that take part, and the scale of tanh."""

import numpy as np
import pytest
import torch
from engines import noted_steps
from hashers import small

from sklearn_talr.hashing import TALRHasher
from sklearn_talr.losses import BaseLoss


class TestBits:
    def drawn(self, n_bits, nested=False, n_steps=400, **params):
        hasher = small(nested=nested, n_bits=n_bits, batch_size=2, **params)
        steps, _ = noted_steps(hasher.set_params(max_iter=1), n_samples=2 * n_steps)
        draws = [step.kept for step in steps]
        return [np.arange(n_bits) if kept is None else kept for kept in draws]

    def test_as_many_as_are_kept_and_all_alike(self):
        draws = self.drawn(32, bit_dropout=0.75)
        assert {len(np.unique(kept)) for kept in draws} == {8}
        counts = np.bincount(np.concatenate(draws), minlength=32)
        assert 60 < counts.min() < 100 < counts.max() < 140

    def test_none_is_left_out_without_dropout(self, few_digits):
        def all_of_32(bits, affinity):
            assert bits.shape[1] == 32
            return bits.square().mean()

        hasher = TALRHasher(32, loss=all_of_32, bit_dropout=0.0, max_iter=2)
        assert hasher.fit(*few_digits).n_iter_ == 2

    @pytest.mark.parametrize("bit_dropout", [0.0, 0.5])
    def test_nested_codes_keep_some_of_the_leading_ones(self, bit_dropout):
        """A length is drawn from 4 to all; bit i takes part less often than bit i - 1."""
        draws = self.drawn(16, nested=True, n_steps=4000, bit_dropout=bit_dropout)
        lengths = np.array([len(kept) for kept in draws])
        expected = np.arange(4, 17)
        if bit_dropout:
            expected = [round(n / 2) for n in expected]
        assert set(lengths) == set(expected)
        counts = np.bincount(np.concatenate(draws), minlength=16) / 4000
        # Bit i is among the leading n of 4, ..., 16 with probability (16 - max(i, 3)) / 13.
        probability = (16 - np.maximum(np.arange(16), 3)) / 13
        if not bit_dropout:
            np.testing.assert_allclose(counts, probability, atol=0.03)
            assert all(
                np.array_equal(np.sort(kept), np.arange(len(kept))) for kept in draws
            )
        assert counts[:4].mean() > 1.5 * counts[8:10].mean() > 2 * counts[14:].mean() > 0

    def test_codes_too_short_to_be_nested_keep_all(self):
        for n_bits in [1, 3]:
            for kept in self.drawn(n_bits, nested=True, n_steps=20, bit_dropout=0.0):
                np.testing.assert_array_equal(np.sort(kept), np.arange(n_bits))


def test_scale_of_tanh_grows_geometrically(few_digits):
    X, y = few_digits
    lengths = []

    def recorded(bits, affinity):
        lengths.append(torch.linalg.norm(torch.atanh(bits.detach())).item())
        return bits.square().mean()

    # One step an epoch, over all samples, and none that moves the activations.
    hasher = TALRHasher(8, loss=recorded, tanh_scale=(0.05, 0.8), max_iter=5)
    hasher.set_params(batch_size=300, learning_rate_init=1e-12, random_state=0).fit(X, y)
    scales = np.array(lengths) / np.linalg.norm(hasher.decision_function(X))
    np.testing.assert_allclose(scales, [0.05, 0.1, 0.2, 0.4, 0.8], rtol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_a_step_gets_the_activations_of_the_kept_bits(dtype, few_digits):
    """In single precision at least: half of it cannot count."""
    seen = []

    class Watched(BaseLoss):
        def bind(self, training):
            return lambda batch: seen.append(batch) or batch.activations.sum(), {}

    class Ending(torch.nn.Linear):
        def forward(self, X):
            return super().forward(X).to(dtype)

    module = Ending(64, 32)
    hasher = small(n_bits=32, loss=Watched(), module=module, tanh_scale=3.0, max_iter=1)
    hasher.set_params(batch_size=300, learning_rate_init=1e-12).fit(*few_digits)
    (batch,) = seen
    assert batch.activations.dtype == torch.promote_types(dtype, torch.float32)
    with torch.no_grad():
        expected = module(torch.tensor(few_digits[0][batch.rows], dtype=torch.float32))
    found, kept = batch.activations.detach(), batch.kept
    assert len(np.unique(kept)) == hasher_bits(32)
    np.testing.assert_allclose(found, expected[:, kept].to(found.dtype), atol=1e-5)
    assert sorted(batch.rows) == list(range(300))
    assert batch.scale == pytest.approx(3.0)


def hasher_bits(n_bits):
    """How many bits of a module's code a step keeps."""
    return round(1.5 * np.sqrt(8 * n_bits))
