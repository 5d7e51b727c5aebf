"""Graph cuts and blocks against a search over all bits there are."""

from itertools import product

import numpy as np
import pytest
from discrete_cases import draw_codes, draw_similar, pairwise_loss, penalized_loss

from sklearn_talr.baselines._graph_cuts import PairwiseBits, best_cut, mutual_blocks


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


def test_blocks_are_a_partition_of_similar_samples():
    for seed in range(3):
        rng = np.random.RandomState(seed)
        similar = draw_similar(rng, 20)
        blocks = mutual_blocks(similar, rng)
        np.testing.assert_array_equal(np.sort(np.concatenate(blocks)), np.arange(20))
        assert all(similar[np.ix_(block, block)].all() for block in blocks)
        assert max(map(len, blocks)) > 1


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
