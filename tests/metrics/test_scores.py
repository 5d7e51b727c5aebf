"""The metrics in scikit-learn's signature: y_true, y_score, weights, bad input."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_cases import of_histogram
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import dcg_score, ndcg_score

from sklearn_talr import metrics
from sklearn_talr.histogram import RankingHistogram
from sklearn_talr.metrics import (
    tie_aware_dcg_score,
    tie_aware_ndcg_score,
    tie_aware_reciprocal_rank_score,
)

SCORES = {name: getattr(metrics, f"tie_aware_{name}_score") for name in reference.METRICS}
each_metric = pytest.mark.parametrize("metric", sorted(SCORES))

Y_TRUE = np.array([[2, 0, 1, 0], [0, 0, 0, 0], [1, 1, 0, 3]])
Y_SCORE = np.array([[1.0, 1.0, 0.5, 0.5], [2.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, -1.0]])


@st.composite
def small_problems(draw):
    """y_true, y_score with many ties, and k; at most 7 items a query."""
    n_items = draw(st.integers(1, 7))
    largest = draw(st.sampled_from([1, 3]))
    row = {"min_size": n_items, "max_size": n_items}
    affinity = draw(st.lists(st.integers(0, largest), **row))
    score = draw(st.lists(st.integers(-2, 2), **row))
    return affinity, score, draw(st.none() | st.integers(1, n_items + 2))


def random_problem(seed, n_queries=20, n_items=60, n_scores=12):
    rng = np.random.default_rng(seed)
    y_true = rng.integers(0, 4, (n_queries, n_items))
    y_true *= rng.binomial(1, 0.3, y_true.shape)
    return y_true, rng.integers(0, n_scores, y_true.shape) / 4 - 1.0


@settings(deadline=None, max_examples=60)
@given(problem=small_problems())
def test_score_equals_the_mean_over_tie_orders(problem):
    affinity, score, k = problem
    orders = reference.tie_orders(affinity, score)
    for metric, params in reference.VARIANTS:
        _, mean, _ = reference.over_orders(orders, metric, k, **params)
        actual = SCORES[metric]([affinity], [score], k=k, average=False, **params)
        message = f"{metric}, {params}"
        assert_allclose(actual, [mean], rtol=1e-12, atol=1e-12, err_msg=message)


def test_score_equals_the_metric_of_a_histogram():
    y_true, y_score = random_problem(12)
    y_true[2] = 0
    values, ties = np.unique(-y_score, return_inverse=True)
    counts = reference.histogram(ties.reshape(y_true.shape), y_true, range(4), len(values))
    histogram = RankingHistogram(counts, np.arange(4))
    for metric, params in reference.VARIANTS:
        for k in (None, 6, [1, 6, 60, 70]):
            expected = of_histogram(metric, histogram, k, **params)
            actual = SCORES[metric](y_true, y_score, k=k, average=False, **params)
            assert_allclose(actual, expected, rtol=1e-13, err_msg=f"{metric}, {k}")


def test_several_cutoffs_equal_one_at_a_time():
    y_true, y_score = random_problem(13)
    y_true[4] = 0
    weights = np.arange(20)
    for metric, params in reference.VARIANTS:
        score = partial(SCORES[metric], y_true, y_score, **params)
        several = score(k=(2, 9), sample_weight=weights)
        assert isinstance(several, np.ndarray)
        alone = [score(k=k, sample_weight=weights) for k in (2, 9)]
        assert_allclose(several, alone, rtol=1e-14, err_msg=f"{metric}, {params}")


@pytest.mark.parametrize("k", [None, 1, 13, 100])
def test_ndcg_and_dcg_equal_scikit_learn(k):
    y_true, y_score = random_problem(0)
    y_true[3] = 0  # scikit-learn counts a query with nothing relevant as 0
    gains = 2.0**y_true - 1
    actual = tie_aware_ndcg_score(y_true, y_score, k=k, zero_division=0.0)
    assert_allclose(actual, ndcg_score(gains, y_score, k=k), rtol=1e-12)
    for log_base in (2, 10):
        how = {"k": k, "log_base": log_base, "zero_division": 0.0}
        actual = tie_aware_dcg_score(y_true, y_score, **how)
        expected = dcg_score(gains, y_score, k=k, log_base=log_base)
        assert_allclose(actual, expected, rtol=1e-12)
    actual = tie_aware_ndcg_score(y_true, y_score, k=k, dcg="log2", zero_division=0.0)
    assert_allclose(actual, ndcg_score(y_true, y_score, k=k), rtol=1e-12)


def test_without_ties_the_ordinary_metric_remains():
    y_true, _ = random_problem(1)
    y_score = np.random.default_rng(2).permuted(np.tile(np.arange(60.0), (20, 1)), axis=1)
    ordered = np.take_along_axis(y_true, np.argsort(-y_score, axis=1), axis=1).tolist()
    for metric, params in reference.VARIANTS:
        for k in (None, 1, 7, 60, 80):
            expected = [reference.evaluate(metric, row, k, **params) for row in ordered]
            actual = SCORES[metric](y_true, y_score, k=k, average=False, **params)
            assert_allclose(actual, expected, rtol=1e-12, err_msg=f"{metric}, {k}")


@each_metric
def test_what_must_not_matter_does_not(metric):
    """The order of the database, a monotone change of scores, types, containers."""
    y_true, y_score = random_problem(5)
    y_true[0, 0] = 10  # a gain that overflows 8 bits
    order = np.random.default_rng(6).permutation(y_true.shape[1])
    alike = [(y_true[:, order], y_score[:, order])]
    monotone = np.exp, np.cbrt, lambda s: 3 * s - 7, np.float32
    alike += [(y_true, rescale(y_score)) for rescale in monotone]
    types = (np.int8, np.uint8, np.uint64, np.float32)
    alike += [(y_true.astype(dtype), y_score) for dtype in types]
    alike += [(y_true.tolist(), y_score.tolist())]
    alike += [(pd.DataFrame(y_true), pd.DataFrame(y_score))]
    for k in (None, 10):
        expected = SCORES[metric](y_true, y_score, k=k, average=False)
        for i, (other_true, other_score) in enumerate(alike):
            actual = SCORES[metric](other_true, other_score, k=k, average=False)
            assert_array_equal(actual, expected, err_msg=str(i))


@settings(deadline=None, max_examples=60)
@given(problem=small_problems())
def test_real_grades_have_linear_gains(problem):
    affinity, score, k = problem
    grades = [a / 3 for a in affinity]
    for metric in ("dcg", "ndcg"):
        expected = reference.over_tie_orders(metric, grades, score, k, dcg="log2")[1]
        actual = SCORES[metric]([grades], [score], k=k, dcg="log2", average=False)
        assert_allclose(actual, [expected], rtol=1e-12)


def test_real_grades_need_a_linear_gain():
    for metric, score in SCORES.items():
        with pytest.raises(ValueError, match=r"got 0.25. DCG and NDCG take real"):
            score([[0, 0.25, 1]], [[1.0, 2.0, 2.0]])
        if "dcg" in metric:
            with pytest.raises(ValueError, match=r"got -0.5. If negative judgments are"):
                score([[-0.5, 0.25, 1]], [[1.0, 2.0, 2.0]], dcg="log2")
            with pytest.raises(ValueError, match=r"Grades of 1e\+308 overflow float64"):
                score([[1e308, 1e308]], [[1.0, 2.0]], dcg="log2")
            expected = 1 if metric == "ndcg" else 1e308
            assert score([[1e308]], [[1.0]], dcg="log2") == expected


def test_negative_judgments_name_the_remedy():
    y_true, y_score = np.array([[2, -2, 0, 1]]), [[4, 3, 2, 1]]
    for score in SCORES.values():
        with pytest.raises(ValueError, match=r"got -2. .*pass np.maximum\(y_true, 0\)"):
            score(y_true, y_score)
        assert score(np.maximum(y_true, 0), y_score) == score([[2, 0, 0, 1]], y_score)


@pytest.mark.parametrize(
    "y_score",
    [
        [[2**53, 2**53 + 1]],
        [[-(2**63), -(2**63) + 1]],
        [[2**63 - 2, 2**63 - 1]],
        np.array([[0, 2**64 - 1]], dtype=np.uint64),
        np.array([[2**64 - 2, 2**64 - 1]], dtype=np.uint64),
        np.array([[2**53, 2**53 + 1]], dtype=object),
        pd.DataFrame([[2**53, 2**53 + 1]]),
        pd.DataFrame([[2**53, 2**53 + 1]], dtype="Int64"),
        np.array([[-128, 127]], dtype=np.int8),
        [[False, True]],
    ],
    ids=str,
)
def test_integer_scores_are_ranked_exactly_or_refused(y_score):
    """The second item is ahead, and nothing is tied."""
    try:
        table = RankingHistogram.from_scores([[0, 1]], y_score)
    except ValueError as error:
        assert "Python integers that are equal as float64" in str(error)  # noqa: PT017
        assert np.asarray(y_score).dtype == object
        return
    assert_array_equal(table.counts, [[[0, 1], [1, 0]]])
    for largest in (1, 40):  # affinities that are added in any order, and in their own
        actual = tie_aware_reciprocal_rank_score([[0, largest]], y_score)
        assert actual == 1


def test_queries_with_nothing_relevant_are_left_out_or_count_a_number():
    for score in SCORES.values():
        values = score(Y_TRUE, Y_SCORE, average=False)
        assert_array_equal(np.isnan(values), [False, True, False])
        assert_allclose(score(Y_TRUE, Y_SCORE), (values[0] + values[2]) / 2)
        for stand_in in (0, 0.5, np.float32(0.25)):
            values[1] = stand_in
            actual = score(Y_TRUE, Y_SCORE, average=False, zero_division=stand_in)
            assert_array_equal(actual, values)
            mean = score(Y_TRUE, Y_SCORE, zero_division=stand_in)
            assert_allclose(mean, values.mean(), rtol=1e-15)


@each_metric
def test_no_query_with_relevant_items_gives_nan_and_a_warning_at_the_caller(metric):
    with pytest.warns(UndefinedMetricWarning, match="zero_division=0.0 to count") as caught:
        value = SCORES[metric](np.zeros((2, 3)), np.ones((2, 3)))
    assert np.isnan(value)
    assert caught[0].filename == __file__
    values = SCORES[metric](np.zeros((2, 3)), np.ones((2, 3)), average=False)
    assert_array_equal(values, [np.nan, np.nan])


def test_sample_weight_weighs_queries():
    """A query that is left out takes its weight along."""
    y_true, y_score = random_problem(11, n_queries=4)
    for score in SCORES.values():
        values = score(y_true, y_score, average=False)
        weighted = score(y_true, y_score, sample_weight=[1, 0, 2.5, 3])
        assert_allclose(weighted, np.average(values, weights=[1, 0, 2.5, 3]), rtol=1e-14)
        equal = score(y_true, y_score, sample_weight=np.full(4, 7))
        assert_allclose(equal, score(y_true, y_score), rtol=1e-14)
        first, _, last = score(Y_TRUE, Y_SCORE, average=False)
        weighted = score(Y_TRUE, Y_SCORE, sample_weight=[1, 100, 3])
        assert_allclose(weighted, (first + 3 * last) / 4, rtol=1e-14)
        with pytest.warns(UndefinedMetricWarning):
            assert np.isnan(score(Y_TRUE, Y_SCORE, sample_weight=[0, 1, 0]))


@pytest.mark.parametrize(
    ("y_true", "y_score", "message"),
    [
        (Y_TRUE, np.where(Y_SCORE == 2, np.nan, Y_SCORE), "y_score contains NaN"),
        (Y_TRUE, np.where(Y_SCORE == 2, np.inf, Y_SCORE), "y_score contains infinity"),
        (np.where(Y_TRUE == 2, np.inf, Y_TRUE), Y_SCORE, "y_true contains infinity"),
        (Y_TRUE, Y_SCORE[:, :3], "y_true and y_score must have the same shape"),
        (Y_TRUE[:2], Y_SCORE, "y_true and y_score must have the same shape"),
        (-Y_TRUE, Y_SCORE, "y_true must hold affinities: non-negative integers"),
        (Y_TRUE / 2, Y_SCORE, "y_true must hold affinities: non-negative integers"),
        (Y_TRUE.astype(str), Y_SCORE, "y_true must hold affinities"),
        (Y_TRUE[0], Y_SCORE[0], "y_true must be 2-D"),
        (Y_TRUE, Y_SCORE[0], "y_score must be 2-D"),
        (Y_TRUE[None], Y_SCORE, "y_true must be 2-D"),
    ],
)
def test_bad_input_names_the_argument(y_true, y_score, message):
    for score in SCORES.values():
        with pytest.raises(ValueError, match=message):
            score(y_true, y_score)


@each_metric
def test_columns_are_not_queries_of_one_item(metric):
    """Whatever the scores, the value of such a query would be 1."""
    grades, scores = pd.DataFrame({"y": Y_TRUE[2]}), pd.DataFrame({"s": Y_SCORE[2]})
    for score in (SCORES[metric], RankingHistogram.from_scores):
        with pytest.raises(ValueError, match=r"4 queries, .*pass y_true\.T and y_score\.T"):
            score(grades, scores)
    found = SCORES[metric](grades.T, scores.T)
    assert found == SCORES[metric](Y_TRUE[2:], Y_SCORE[2:])
    assert np.isfinite(SCORES[metric]([[1]], [[0.5]]))
    with pytest.raises(ValueError, match="more than 1 document"):
        ndcg_score(grades, scores)
