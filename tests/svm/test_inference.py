"""Loss-augmented inference against the definition, and against a scan of all ranks."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import DELTA, most_violating, ranking_of, scanned_ranks

from sklearn_talr.svm import loss_augmented_ranks

LOSSES = ["AP", "nDCG"]


def draw_scores(seed, n_positive, n_negative, tied, scale=1.0):
    rng = np.random.default_rng(seed)
    if tied:
        draw = lambda n: rng.integers(3, size=n) * scale  # noqa: E731
    else:
        draw = lambda n: rng.normal(size=n) * scale  # noqa: E731
    return draw(n_positive), draw(n_negative)


def loss_plus_score(positive, negative, ranks, delta):
    """The maximand of eq. 6, pair by pair."""
    positive = np.sort(positive)[::-1]
    sign = np.where(np.arange(1, len(positive) + 1) < np.asarray(ranks)[:, None], 1, -1)
    score = np.mean(sign * (positive - np.asarray(negative)[:, None]))
    return delta(ranking_of(ranks, len(positive))) + score


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("n_positive", "n_negative"), [(1, 1), (1, 5), (4, 1), (3, 4), (4, 3)]
)
def test_the_maximum_is_that_over_all_rankings(loss, n_positive, n_negative):
    for seed, scale, tied in product(range(4), (0.0, 0.1, 0.5, 3.0), (False, True)):
        positive, negative = draw_scores(seed, n_positive, n_negative, tied, scale)
        best, best_ranks = most_violating(
            sorted(positive, reverse=True), sorted(negative, reverse=True), DELTA[loss]
        )
        ranks, value = loss_augmented_ranks(positive, negative, loss)
        found = loss_plus_score(positive, negative, ranks, DELTA[loss])
        assert found == pytest.approx(best, abs=1e-12)
        assert value == pytest.approx(DELTA[loss](ranking_of(ranks, n_positive)))
        if not tied and scale:
            assert_array_equal(ranks[np.argsort(-negative)], best_ranks)


@pytest.mark.parametrize("loss", LOSSES)
def test_ranks_of_many_equal_those_of_a_scan(loss):
    shapes = [(7, 300), (300, 7), (60, 900), (1, 500), (46, 498)]
    cases = product(shapes, (False, True), (0.01, 0.1, 1.0, 10.0))
    for seed, (shape, tied, scale) in enumerate(cases):
        positive, negative = draw_scores(seed, *shape, tied, scale)
        ranks, value = loss_augmented_ranks(positive, negative, loss)
        expected = scanned_ranks(positive, negative, loss)
        best = loss_plus_score(positive, negative, expected, DELTA[loss])
        found = loss_plus_score(positive, negative, ranks, DELTA[loss])
        assert found == pytest.approx(best, abs=1e-12)
        if not tied:
            assert_array_equal(ranks, expected)
            by_definition = DELTA[loss](ranking_of(expected, len(positive)))
            assert value == pytest.approx(by_definition, abs=1e-12)


@pytest.mark.parametrize(
    "spread",
    [
        lambda x: x,
        np.exp,
        lambda x: np.where(np.arange(len(x)) == 7, 1e12, x),  # all others in one bucket
        lambda x: x * 5e-324,  # a spread without a reciprocal
        np.round,
        np.zeros_like,
    ],
    ids=["normal", "skew", "outlier", "subnormal", "ties", "equal"],
)
def test_buckets_of_many_negatives_equal_the_scan(spread):
    rng = np.random.default_rng(0)
    positive, negative = rng.normal(1, size=20), spread(rng.normal(size=30_000))
    for loss in LOSSES:
        ranks, value = loss_augmented_ranks(positive, negative, loss)
        expected = scanned_ranks(positive, negative, loss)
        assert_array_equal(np.bincount(ranks), np.bincount(expected))
        if len(np.unique(negative)) == len(negative):
            assert_array_equal(ranks, expected)
        by_definition = DELTA[loss](ranking_of(expected, len(positive)))
        assert value == pytest.approx(by_definition, abs=1e-10)
        assert (np.diff(ranks[np.lexsort((ranks, -negative))]) >= 0).all()


def far_apart(ranks, n_positive):
    """Scores with these interleaving ranks, so far apart that no loss pays for a swap."""
    positive = -1e6 * np.arange(1, n_positive + 1)
    negative = -1e6 * (np.asarray(ranks) - 0.5)
    return positive, negative


def test_losses_of_the_example_of_the_paper():
    scores = far_apart([3, 4, 5, 5], 4)  # + + - + - + - -, eq. 7 of Mohapatra et al.
    assert round(loss_augmented_ranks(*scores)[1], 3) == 0.146
    assert round(loss_augmented_ranks(*scores, "nDCG")[1], 3) == 0.056


@pytest.mark.parametrize("loss", LOSSES)
@given(
    n_positive=st.integers(1, 8), ranks=st.lists(st.integers(0, 7), min_size=1, max_size=12)
)
@settings(max_examples=60, deadline=None)
def test_loss_of_a_ranking_is_that_of_the_metric(loss, n_positive, ranks):
    ranks = [1 + rank % (n_positive + 1) for rank in ranks]
    expected = DELTA[loss](ranking_of(ranks, n_positive))
    positive, negative = far_apart(ranks, n_positive)
    found, value = loss_augmented_ranks(positive, negative, loss)
    assert_array_equal(found, ranks)
    assert value == pytest.approx(expected, abs=1e-12)
    both = [positive] * 2, [negative, negative[::-1]]
    assert_allclose(loss_augmented_ranks(*both, loss)[1], [expected] * 2, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, np.nan], [0.0]), "positive_scores contains NaN"),
        (([1.0], [np.inf]), "negative_scores contains infinity"),
        (([1.0], []), "0 feature"),
        (([1.0], 0.0), "'negative_scores' parameter .* must be an array-like"),
        (([[1.0]], [0.0]), "same number of queries"),
        (([[1.0], [2.0]], [[0.0]]), "same number of queries"),
        (([[[1.0]]], [[[0.0]]]), "dim 3"),
        (([1.0], [0.0], "none"), "loss must be 'AP' or 'nDCG', got 'none'"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        loss_augmented_ranks(*arguments)
