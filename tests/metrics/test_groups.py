"""Queries of different lengths: by groups, and in tables with cells that hold no item."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr import metrics
from sklearn_talr.histogram import RankingHistogram

MASKED = np.ma.masked_array([[1, 0]], [[False, True]])
SCORES = {name: getattr(metrics, f"tie_aware_{name}_score") for name in reference.METRICS}


def ragged_problem(seed, sizes):
    """Affinities, scores with many ties, and groups whose items lie together."""
    rng = np.random.default_rng(seed)
    n_items = sum(sizes)
    affinity = rng.integers(0, 4, n_items) * rng.binomial(1, 0.5, n_items)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return affinity, rng.integers(-4, 5, n_items) / 2, groups


def one_by_one(score, affinity, scores, groups, **params):
    rows = [np.flatnonzero(groups == label) for label in np.unique(groups)]
    how = {"average": False, **params}
    return np.concatenate([score([affinity[r]], [scores[r]], **how) for r in rows])


def padded(affinity, scores, groups):
    labels, sizes = np.unique(groups, return_counts=True)
    shape = len(labels), sizes.max() + 2
    y_true, y_score = np.resize([-1, 0], shape), np.full(shape, -np.inf)
    for row, label in enumerate(labels):
        columns = np.arange(1, 1 + sizes[row])  # the first cell is empty too
        y_true[row, columns] = affinity[groups == label]
        y_score[row, columns] = scores[groups == label]
    return y_true, y_score


@pytest.mark.parametrize(("metric", "params"), reference.VARIANTS)
def test_groups_and_padding_equal_one_query_at_a_time(metric, params):
    affinity, scores, groups = ragged_problem(0, [1, 7, 300, 2, 40, 41, 3, 1])
    for k in (None, 3, [1, 5, 50, None]):
        kwargs = {"k": k, "average": False, **params}
        alone = one_by_one(SCORES[metric], affinity, scores, groups, k=k, **params)
        actual = SCORES[metric](affinity, scores, groups=groups, **kwargs)
        assert_array_equal(actual, alone)
        y_true, y_score = padded(affinity, scores, groups)
        assert_array_equal(SCORES[metric](y_true, y_score, **kwargs), alone)


def test_the_order_of_items_and_the_names_of_groups_do_not_matter():
    affinity, scores, groups = ragged_problem(1, [5, 30, 12, 1, 8])
    names = np.array(["b", "a", "d", "c", "e"])
    expected = SCORES["ndcg"](affinity, scores, groups=groups, average=False)
    by_name = expected[np.argsort(names)]
    shuffled = np.random.default_rng(2).permutation(len(groups))
    for order in (np.arange(len(groups)), shuffled):
        data = affinity[order], scores[order]
        values = SCORES["ndcg"](*data, groups=names[groups[order]], average=False)
        assert_array_equal(values, by_name)
        values = SCORES["ndcg"](*data, groups=names[groups[order]].tolist(), average=False)
        assert_array_equal(values, by_name)
        # twice: alternating items of two groups are not together
        actual = SCORES["ndcg"](*data, groups=-groups[order], average=False)
        assert_array_equal(actual, expected[::-1])


def test_weights_and_means_are_those_of_queries():
    affinity, scores, groups = ragged_problem(3, [16, 6, 40])
    affinity[groups == 1] = 0
    values = SCORES["recall"](affinity, scores, groups=groups, k=3, average=False)
    assert_array_equal(np.isnan(values), [False, True, False])
    mean = SCORES["recall"](affinity, scores, groups=groups, k=3, sample_weight=[1, 9, 3])
    assert_allclose(mean, (values[0] + 3 * values[2]) / 4)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.float32])
def test_scores_of_any_type_are_ranked_exactly(dtype):
    """The least and the greatest number are not taken for padding."""
    limits = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else np.finfo(dtype)
    scores = np.array([limits.min, limits.max, limits.max, limits.min, limits.max], dtype)
    if np.dtype(dtype).itemsize == 8:
        scores[2] -= 1  # float64 cannot tell
    affinity, groups = [1, 0, 1, 1, 0], [0, 0, 0, 1, 1]
    actual = SCORES["average_precision"](affinity, scores, groups=groups, average=False)
    rows = [([1, 0, 1], scores[:3]), ([1, 0], scores[3:])]
    expected = [SCORES["average_precision"]([y], [s]) for y, s in rows]
    assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1, 0]], [[1.0, 2.0]], [0, 0]), "with groups, y_true must be 1-D"),
        (([1, 0], [[1.0, 2.0]], [0, 0]), "with groups, y_score must be 1-D"),
        (([1, 0], [1.0, 2.0], [0]), "inconsistent numbers of samples"),
        (([1, 0], [1.0, 2.0, 3.0], [0, 0]), "inconsistent numbers of samples"),
        (([1, 0, 1], [1.0, 2.0, 3.0], [2, 1]), r"sizes of groups.*np\.repeat"),
        (([1, 0, 1], [1.0, 2.0, 3.0], [3]), r"1 numbers.*items, 3: .*np\.repeat"),
        (([1, 0, 1], [1.0, 2.0, 3.0], [2.0, 0.0, 1.0, 0.0]), "inconsistent numbers"),
        (([1, 0, 1], [1.0, 2.0, 3.0], ["2", "1"]), "inconsistent numbers of samples"),
        (([1, 0, 1], [1.0, 2.0, 3.0], [2, 2]), "inconsistent numbers of samples"),
        (([1, 0], [1.0, 2.0], [[0, 1], [1, 0]]), "y should be a 1d array"),
        (([1, 0], [1.0, -np.inf], [0, 0]), "y_score contains infinity"),
        (([1, -1], [1.0, 2.0], [0, 0]), "non-negative integers"),
        (([], [], []), "0 sample"),
        (([[1, 1]], [[1.0, -np.inf]], None), "-inf for an item of affinity 1, but -inf"),
        (([[1, 1]], [[1.0, np.nan]], None), "y_score contains NaN"),
        (([1, 0], [1.0, 2.0], None), "1-D arrays with groups="),
        (([1, 0, 1], [1.0, 2.0, 3.0], [0, np.nan, np.nan]), "groups has missing values"),
        (([1, 0], [1.0, 2.0], [None, None]), "groups has missing values"),
        (([1, 0], [1.0, 2.0], ["a", None]), "groups has missing values"),
        (([1, 0], [1.0, 2.0], np.array(["2020", "NaT"], "M8[Y]")), "groups has missing"),
        (([1, 0], np.array(["2020", "NaT"], "M8[Y]"), [0, 0]), "y_score contains NaT"),
        ((MASKED, [[1.0, 2.0]], None), "y_true has masked entries"),
        (([[1, 0]], MASKED, None), r"y_score has masked entries.*-np.inf for scores"),
        ((MASKED[0], [1.0, 2.0], [0, 0]), "y_true has masked entries"),
        (([1, 0], [1.0, 2.0], MASKED[0]), "groups has masked entries"),
        ((np.zeros((1, 2), "V2"), [[1.0, 2.0]], None), "y_true holds pairs of bytes"),
    ],
)
def test_bad_groups_and_padding_are_refused(arguments, message):
    y_true, y_score, groups = arguments
    for score in SCORES.values():
        with pytest.raises(ValueError, match=message):
            score(y_true, y_score, groups=groups)
    with pytest.raises(ValueError, match=message):
        RankingHistogram.from_scores(y_true, y_score, groups=groups)
