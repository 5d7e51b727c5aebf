"""MACHasher: graph cuts and rounds of the two steps against definitions."""

from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sklearn_talr.baselines import MACHasher
from sklearn_talr.baselines.discrete._graph_cuts import (
    PairwiseBits,
    best_cut,
    mutual_blocks,
)
from sklearn_talr.baselines.discrete._mac import BitwiseSVMs, improve_codes
from sklearn_talr.hashing import LSHHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.metrics import tie_aware_average_precision


def all_bits(n):
    return np.array(list(product([-1, 1], repeat=n)))


def draw_similar(rng, n, share=0.6):
    """Symmetric, and not transitive, so that blocks are not all there is."""
    similar = np.triu(rng.random_sample((n, n)) < share, 1)
    return similar | similar.T | np.eye(n, dtype=bool)


def draw_codes(rng, n, n_bits):
    return rng.choice(np.float32([-1, 1]), (n, n_bits))


def objective(codes, outputs, signs, penalty):
    """By definition: the loss and the penalty."""
    n, n_bits = codes.shape
    terms = [
        (codes[i] @ codes[j] / n_bits - signs[i, j]) ** 2
        for i in range(n)
        for j in range(n)
        if i != j
    ]
    return np.sum(terms) / n**2 + penalty * np.sum((codes - outputs) ** 2) / (n * n_bits)


@pytest.mark.parametrize("seed", range(30))
def test_cut_is_the_best_of_all(seed):
    rng = np.random.RandomState(seed)
    n = 1 + seed % 8
    weights = np.triu(rng.randint(0, 5, (n, n)), 1)
    weights = weights + weights.T
    unary = rng.randint(-9, 10, n)

    def energy(w):
        return -w @ weights @ w + unary @ w

    assert energy(best_cut(weights, unary)) == min(map(energy, all_bits(n)))


def test_cut_takes_strong_pulls():
    """No sum of capacities must overflow."""
    weights = 2000 * (1 - np.eye(250, dtype=int))
    unary = np.full(250, 10**9)
    unary[0] = -1
    np.testing.assert_array_equal(best_cut(weights, unary), -1)


@pytest.mark.parametrize("seed", range(5))
def test_blocks_are_a_partition_of_similar_samples(seed):
    rng = np.random.RandomState(seed)
    similar = draw_similar(rng, 20)
    blocks = mutual_blocks(similar, rng)
    np.testing.assert_array_equal(np.sort(np.concatenate(blocks)), np.arange(20))
    assert all(similar[np.ix_(block, block)].all() for block in blocks)
    assert max(map(len, blocks)) > 1


def test_large_blocks_are_parted():
    blocks = mutual_blocks(np.ones((600, 600), dtype=bool), np.random.RandomState(0))
    assert [len(block) for block in blocks] == [250, 250, 100]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("penalty", [0.0, 0.5])
def test_a_single_block_gets_the_best_bit(seed, penalty):
    rng = np.random.RandomState(seed)
    pairs = PairwiseBits(np.ones((6, 6), dtype=bool), rng)
    codes, outputs = draw_codes(rng, 6, 3), draw_codes(rng, 6, 3)
    pull = penalty * 6 * 3 * outputs[:, 1]
    candidates = []
    for bit in all_bits(6):
        changed = codes.copy()
        changed[:, 1] = bit
        candidates.append(objective(changed, outputs, pairs.signs, penalty))
    pairs.improve(codes[:, 1], codes[:, [0, 2]], 3, pull)
    value = objective(codes, outputs, pairs.signs, penalty)
    assert value == pytest.approx(min(candidates))


@pytest.mark.parametrize("seed", range(10))
def test_no_sample_alone_is_better_flipped(seed):
    """What improves one pass after another ends where every block is at its best."""
    rng = np.random.RandomState(seed)
    pairs = PairwiseBits(draw_similar(rng, 12), rng)
    bit, others = draw_codes(rng, 12, 1)[:, 0], draw_codes(rng, 12, 3)
    before = None
    while before is None or np.any(bit != before):
        before = bit.copy()
        pairs.improve(bit, others, 4)
    codes = np.column_stack([others, bit])
    for sample in range(12):
        flipped = codes.copy()
        flipped[sample, 3] *= -1
        assert pairs.loss(codes) <= pairs.loss(flipped) + 1e-12


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("penalty", [0.0, 0.3, 1.0])
def test_neither_step_raises_the_objective(seed, penalty):
    rng = np.random.RandomState(seed)
    pairs = PairwiseBits(draw_similar(rng, 30), rng)
    svms = BitwiseSVMs(rng.standard_normal((30, 5)), 4, 1.0, rng)
    codes = draw_codes(rng, 30, 4)
    svms.fit(codes)
    values = [objective(codes, svms.outputs, pairs.signs, penalty)]
    for _ in range(3):
        improve_codes(codes, svms.outputs, pairs, penalty, rng)
        values.append(objective(codes, svms.outputs, pairs.signs, penalty))
        svms.fit(codes)
        values.append(objective(codes, svms.outputs, pairs.signs, penalty))
    assert values[1] < values[0]
    assert np.all(np.diff(values) <= 1e-12)


def test_loss_by_definition():
    rng = np.random.RandomState(0)
    pairs = PairwiseBits(draw_similar(rng, 8), rng)
    codes = draw_codes(rng, 8, 5)
    expected = objective(codes, codes, pairs.signs, 0.0) * 8 / 7
    assert pairs.loss(codes) == pytest.approx(expected)


def test_a_penalty_above_4_outweighs_the_loss():
    rng = np.random.RandomState(0)
    pairs = PairwiseBits(draw_similar(rng, 30), rng)
    codes, outputs = draw_codes(rng, 30, 4), draw_codes(rng, 30, 4)
    improve_codes(codes, outputs, pairs, 4.0, rng)
    np.testing.assert_array_equal(codes, outputs)


def test_bits_without_contrast_are_constants():
    rng = np.random.RandomState(0)
    svms = BitwiseSVMs(rng.standard_normal((10, 3)), 2, 1.0, rng)
    codes = np.ones((10, 2), dtype=np.float32)
    codes[:, 1] = -1
    svms.fit(codes)
    np.testing.assert_array_equal(svms.outputs, codes)


def test_learns():
    X, y = load_digits(return_X_y=True)
    aps = []
    for hasher in (LSHHasher(16, random_state=0), MACHasher(16, random_state=0)):
        codes = hasher.fit(X[:600], y[:600]).transform(X)
        histogram = hamming_histogram(codes[900:], codes[:900], "auto", y[900:], y[:900])
        aps.append(np.nanmean(tie_aware_average_precision(histogram)))
    assert aps[1] > aps[0] + 0.3
    assert len(hasher.loss_curve_) == hasher.n_iter_ > 1


def test_the_best_round_is_kept():
    X, y = load_digits(return_X_y=True)
    hasher = MACHasher(8, random_state=0).fit(X[:400], y[:400])
    codes = np.where(hasher.transform(X[:400]), 1.0, -1.0)
    signs = np.where(y[:400, None] == y[:400], 1.0, -1.0)
    residual = codes @ codes.T / 8 - signs
    np.fill_diagonal(residual, 0)
    loss = np.sum(residual**2) / (400 * 399)
    assert loss == pytest.approx(min(hasher.loss_curve_), abs=1e-4)


@pytest.mark.parametrize("name", ["C", "first_penalty", "n_samples"])
def test_bad_parameters(name):
    X, y = load_digits(return_X_y=True)
    with pytest.raises(ValueError, match=name):
        MACHasher(**{name: 0}).fit(X, y)
