"""Graph cuts and blocks against a search over all bits there are."""

from itertools import product

import numpy as np
import pytest
from discrete_cases import draw_codes, draw_similar, pairwise_loss, penalized_loss

from sklearn_talr.baselines._graph_cuts import (
    PairwiseBits,
    best_cut,
    mutual_blocks,
)


def all_bits(n):
    return np.array(list(product([-1, 1], repeat=n)))


def test_cut_is_the_best_of_all():
    for n in range(1, 9):
        for seed in range(6):
            rng = np.random.RandomState(seed)
            weights = np.triu(rng.randint(0, 5, (n, n)), 1)
            weights = weights + weights.T
            unary = rng.randint(-9, 10, n)
            energies = [-w @ weights @ w + unary @ w for w in all_bits(n)]
            cut = best_cut(weights, unary)
            assert -cut @ weights @ cut + unary @ cut == min(energies)


def test_cut_takes_strong_pulls():
    """No sum of capacities must overflow."""
    weights = 2000 * (1 - np.eye(250, dtype=int))
    unary = np.full(250, 10**9)
    unary[0] = -1
    np.testing.assert_array_equal(best_cut(weights, unary), -1)


def test_blocks_are_a_partition_of_similar_samples():
    for seed in range(3):
        rng = np.random.RandomState(seed)
        similar = draw_similar(rng, 20)
        blocks = mutual_blocks(similar, rng)
        np.testing.assert_array_equal(np.sort(np.concatenate(blocks)), np.arange(20))
        assert all(similar[np.ix_(block, block)].all() for block in blocks)
        assert max(map(len, blocks)) > 1


def test_large_blocks_are_parted():
    blocks = mutual_blocks(np.ones((600, 600), dtype=bool), np.random.RandomState(0))
    assert [len(block) for block in blocks] == [250, 250, 100]


def test_loss():
    rng = np.random.RandomState(0)
    similar = draw_similar(rng, 8)
    pairs = PairwiseBits(similar, rng)
    codes = draw_codes(rng, 8, 5)
    signs = np.where(similar, 1, -1)[np.ix_(pairs.order, pairs.order)]
    assert pairs.loss(codes) == pytest.approx(pairwise_loss(codes, signs))


def test_a_single_block_gets_the_best_bit():
    for penalty in [0.0, 0.5]:
        for seed in range(8):
            rng = np.random.RandomState(seed)
            pairs = PairwiseBits(np.ones((6, 6), dtype=bool), rng)
            codes, outputs = draw_codes(rng, 6, 3), draw_codes(rng, 6, 3)
            pull = penalty * 6 * 3 * outputs[:, 1]
            candidates = []
            for bit in all_bits(6):
                changed = codes.copy()
                changed[:, 1] = bit
                candidates.append(penalized_loss(changed, outputs, pairs.signs, penalty))
            pairs.improve(codes[:, 1], codes[:, [0, 2]], 3, pull)
            value = penalized_loss(codes, outputs, pairs.signs, penalty)
            assert value == pytest.approx(min(candidates))


@pytest.mark.parametrize("n_before", [0, 1, 4])
def test_two_classes_are_two_blocks(n_before):
    """Each gets what is best, given the other; the loss is that of one bit more."""
    for seed in range(4):
        rng = np.random.RandomState(seed)
        y = np.array([0, 0, 0, 1, 1, 1, 1])
        pairs = PairwiseBits(y[:, None] == y, rng)
        y = y[pairs.order]
        before, bit = draw_codes(rng, 7, n_before), draw_codes(rng, 7, 1)[:, 0]

        def loss(bit, before=before, signs=pairs.signs):
            return pairwise_loss(np.column_stack([before, bit]), signs)

        losses = [loss(bit)]
        for _ in range(4):
            pairs.improve(bit, before, n_before + 1)
            losses.append(loss(bit))
        assert np.all(np.diff(losses) <= 1e-12)
        for label in (0, 1):
            block = np.flatnonzero(y == label)
            for part in all_bits(len(block)):
                other = bit.copy()
                other[block] = part
                assert losses[-1] <= loss(other) + 1e-12


def test_no_sample_alone_is_better_flipped():
    """What improves one pass after another ends where every block is at its best."""
    for seed in range(4):
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
