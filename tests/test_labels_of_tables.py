"""Tables that are joined by position have equal labels in one order, or are refused."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr import TALRHasher
from sklearn_talr._core.validation import axis_labels, refuse_unlike_labels
from sklearn_talr.baselines import BREHasher
from sklearn_talr.codes import hamming_distances, maxsim_scores, weighted_scores
from sklearn_talr.hashing import CrossViewHasher
from sklearn_talr.histogram import HammingHistogram, RankingHistogram, hamming_histogram
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.measures import AP, nDCG
from sklearn_talr.metrics import (
    make_ranking_scorer,
    make_retrieval_scorer,
    retrieval_report,
    retrieval_report_from_estimator,
    tie_aware_average_precision_score,
    tie_aware_dcg_score,
    tie_aware_f1_score,
    tie_aware_hit_rate_score,
    tie_aware_ndcg_score,
    tie_aware_precision_score,
    tie_aware_recall_score,
    tie_aware_reciprocal_rank_score,
)
from sklearn_talr.svm import RankingSVC

RNG = np.random.default_rng(0)
ITEMS, USERS = [f"item {i}" for i in range(30)], [f"user {i}" for i in range(8)]
TRUE = pd.DataFrame((RNG.random((8, 30)) < 0.3).astype(int), index=USERS, columns=ITEMS)
SCORE = TRUE + RNG.normal(0, 0.5, TRUE.shape)
FLAT_TRUE, FLAT_SCORE = TRUE.stack(), SCORE.stack()
GROUPS = pd.Series(FLAT_TRUE.index.get_level_values(0), index=FLAT_TRUE.index)
WEIGHT = pd.Series(RNG.random(8), index=USERS)
SCORES = [
    tie_aware_average_precision_score,
    tie_aware_dcg_score,
    tie_aware_f1_score,
    tie_aware_hit_rate_score,
    tie_aware_ndcg_score,
    tie_aware_precision_score,
    tie_aware_recall_score,
    tie_aware_reciprocal_rank_score,
    AP.score,
    nDCG.score,
]
ANOTHER_ORDER = "in another order"


@pytest.mark.parametrize("score", SCORES)
def test_scores_of_frames(score):
    expected = score(TRUE.to_numpy(), SCORE.to_numpy())
    assert_allclose(score(TRUE, SCORE), expected)
    assert_allclose(score(TRUE, SCORE.to_numpy()), expected)
    assert_allclose(score(TRUE, pd.DataFrame(SCORE.to_numpy())), expected)
    for turned in (SCORE[ITEMS[::-1]], SCORE.loc[USERS[::-1]]):
        with pytest.raises(ValueError, match=rf"y_score.*{ANOTHER_ORDER}.*reindex"):
            score(TRUE, turned)
        assert np.isfinite(score(TRUE, turned.to_numpy()))
    with pytest.raises(ValueError, match="y_score has other labels than y_true"):
        score(TRUE, SCORE.rename(columns=str.upper))


@pytest.mark.parametrize("score", SCORES)
def test_scores_of_series(score):
    expected = score(FLAT_TRUE.to_numpy(), FLAT_SCORE.to_numpy(), groups=GROUPS.to_numpy())
    assert_allclose(score(FLAT_TRUE, FLAT_SCORE, groups=GROUPS), expected)
    assert_allclose(score(FLAT_TRUE, FLAT_SCORE, groups=list(GROUPS)), expected)
    with pytest.raises(ValueError, match=rf"y_score.*{ANOTHER_ORDER}"):
        score(FLAT_TRUE, FLAT_SCORE.sort_values(), groups=GROUPS)
    with pytest.raises(ValueError, match=rf"groups.*{ANOTHER_ORDER}"):
        score(FLAT_TRUE, FLAT_SCORE, groups=GROUPS.sample(frac=1, random_state=0))
    counted = FLAT_SCORE.reset_index(drop=True)
    assert_allclose(score(FLAT_TRUE, counted, groups=GROUPS), expected)
    with pytest.raises(ValueError, match=rf"y_score.*{ANOTHER_ORDER}"):
        score(FLAT_TRUE.reset_index(drop=True), counted.sort_values(), groups=list(GROUPS))


@pytest.mark.parametrize("score", SCORES)
def test_weights_of_queries(score):
    plain = WEIGHT.to_numpy()
    expected = score(TRUE.to_numpy(), SCORE.to_numpy(), sample_weight=plain)
    assert_allclose(score(TRUE, SCORE, sample_weight=WEIGHT), expected)
    with pytest.raises(ValueError, match=rf"sample_weight.*{ANOTHER_ORDER}"):
        score(TRUE, SCORE, sample_weight=WEIGHT[::-1])
    flat = FLAT_TRUE, FLAT_SCORE
    assert_allclose(score(*flat, groups=GROUPS, sample_weight=WEIGHT), expected)
    with pytest.raises(ValueError, match=rf"sample_weight.*{ANOTHER_ORDER}"):
        score(*flat, groups=GROUPS, sample_weight=WEIGHT[::-1])


def test_histograms_of_scores():
    counts = RankingHistogram.from_scores(TRUE, SCORE).counts
    plain = RankingHistogram.from_scores(TRUE.to_numpy(), SCORE.to_numpy()).counts
    assert_array_equal(counts, plain)
    with pytest.raises(ValueError, match=ANOTHER_ORDER):
        RankingHistogram.from_scores(TRUE, SCORE[ITEMS[::-1]])


ROWS = [f"row {i}" for i in range(12)]
BITS = pd.DataFrame(RNG.integers(0, 2, (12, 8)), ROWS, [f"b{i}" for i in range(8)])
Y = pd.Series(np.arange(12) % 3, ROWS)
TEXTS = pd.Series(np.arange(12) // 4, ROWS)
TURNED = BITS[BITS.columns[::-1]]


def test_columns_of_codes():
    calls = [
        hamming_distances,
        lambda a, b: weighted_scores(a - 0.25, b),
        lambda a, b: maxsim_scores(a - 0.25, b, query_groups=TEXTS, groups=TEXTS),
        lambda a, b: hamming_histogram(a, b, "auto", Y, Y).counts,
        lambda a, b: HammingHistogram.from_pairs(a, b, Y).counts,
        lambda a, b: retrieval_report(a, b, "auto", Y, Y, as_frame=False)["AP"]["expected"],
    ]
    for call in calls:
        assert_allclose(call(BITS, BITS), call(BITS.to_numpy(), BITS.to_numpy()))
        assert_allclose(call(BITS, BITS.to_numpy()), call(BITS, BITS))
        with pytest.raises(ValueError, match=rf"_codes.*{ANOTHER_ORDER}"):
            call(BITS, TURNED)


@pytest.mark.parametrize(
    "name", ["y_query", "y_database", "groups_query", "groups_database"]
)
@pytest.mark.parametrize("count", [hamming_histogram, retrieval_report])
def test_rows_of_codes(count, name):
    groups = {"groups_query": TEXTS, "groups_database": TEXTS}
    targets = {"y_query": Y, "y_database": Y} | groups
    count(BITS, BITS, "auto", **targets)
    with pytest.raises(ValueError, match=f"{name} has the same labels {ANOTHER_ORDER}"):
        count(BITS, BITS, "auto", **targets | {name: targets[name][::-1]})


@pytest.mark.parametrize("name", ["sample_weight", "by"])
def test_labels_of_the_queries_of_a_report(name):
    hasher = TALRHasher(4, max_iter=1, random_state=0).fit(BITS, Y)
    for call in (
        lambda **how: retrieval_report(BITS, BITS, "auto", Y, Y, measures="AP", **how),
        lambda **how: retrieval_report_from_estimator(hasher, BITS, Y, BITS, Y, **how),
    ):
        call(**{name: Y})
        with pytest.raises(ValueError, match=f"{name} has the same labels {ANOTHER_ORDER}"):
            call(**{name: Y[::-1]})


ESTIMATORS = [
    TALRHasher(4, max_iter=1, random_state=0),
    BREHasher(4, random_state=0),
    CrossViewHasher(4, max_iter=1, random_state=0),
    KernelRidgeClassifierCV(random_state=0),
    RankingSVC(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_fits(estimator):
    y = (Y > 0).astype(int)
    estimator.fit(BITS, y)
    before = vars(estimator).copy()
    with pytest.raises(ValueError, match=f"y has the same labels {ANOTHER_ORDER} than X"):
        estimator.fit(BITS, y[::-1])
    assert vars(estimator).keys() == before.keys()
    estimator.fit(BITS, y[::-1].to_numpy())
    estimator.fit(BITS, y.reset_index(drop=True))


def test_scorers():
    hasher = TALRHasher(4, max_iter=1, random_state=0).fit(BITS, Y)
    scorer = make_retrieval_scorer()
    assert scorer(hasher, BITS, Y) == scorer(hasher, BITS, Y.to_numpy())
    of_database = make_retrieval_scorer(database=(BITS, Y[::-1]))
    calls = {
        "y": lambda: scorer(hasher, BITS, Y[::-1]),
        "groups": lambda: scorer(hasher, BITS, Y, groups=Y[::-1]),
        "y of database": lambda: of_database(hasher, BITS, Y),
    }
    ranker = RankingSVC().fit(BITS, (Y > 0).astype(int), groups=Y * 0)
    ranking, positive = make_ranking_scorer("AP"), (Y > 0).astype(int)
    assert np.isfinite(ranking(ranker, BITS, positive, groups=Y * 0))
    calls |= {
        "y ": lambda: ranking(ranker, BITS, positive[::-1], groups=Y * 0),
        "groups ": lambda: ranking(ranker, BITS, positive, groups=(Y * 0)[::-1]),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=f"{name.strip()} has.*{ANOTHER_ORDER}"):
            call()


def test_judgments_of_two_views():
    queries = pd.DataFrame(RNG.normal(size=(6, 5)), index=[f"q{i}" for i in range(6)])
    judgments = pd.DataFrame(RNG.integers(0, 2, (12, 6)), index=ROWS, columns=queries.index)
    hasher = CrossViewHasher(4, max_iter=1, random_state=0)
    hasher.fit(BITS, judgments, X_query=queries)
    for wrong in (judgments[::-1], judgments[judgments.columns[::-1]]):
        with pytest.raises(ValueError, match=ANOTHER_ORDER):
            hasher.fit(BITS, wrong, X_query=queries)


def test_labels():
    # As a table of Arrow and a frame of polars name their columns
    arrow = SimpleNamespace(columns=[[1], [2]], column_names=["a", "b"])
    frame = SimpleNamespace(columns=["b", "a"])
    assert axis_labels(arrow, 1)[0].tolist() == ["a", "b"]
    assert axis_labels(frame, 1)[0].tolist() == ["b", "a"]
    with pytest.raises(
        ValueError, match="two has the same labels in another order than one"
    ):
        refuse_unlike_labels(arrow, frame, ("one", "two"), axis=1)
    missing = pd.Series([1, 2], index=[np.nan, "a"])
    refuse_unlike_labels(missing, pd.Series([1, 2], index=[np.nan, "a"]), ("one", "two"))
    refuse_unlike_labels(missing, np.ones(2), ("one", "two"))
    refuse_unlike_labels(missing, None, ("one", "two"))
    refuse_unlike_labels(pd.Series([1, 2]), pd.Series([1, 2], index=[4, 7]), ("one", "two"))
