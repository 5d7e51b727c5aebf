"""Scores and votes of HammingNeighbors: ties are averaged over and shared."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import CODES, draw, may_have_one_code, ranking
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr import PrecomputedAffinity, TALRHasher
from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP, Success, parse_measure
from sklearn_talr.metrics import tie_aware_average_precision_score
from sklearn_talr.neighbors import HammingNeighbors, WeightedHammingNeighbors


def votes_over_all_orders(row, labels, n_neighbors):
    """Mean number of places of each label, over all choices among the last tie."""
    last = row[n_neighbors - 1][0]
    nearer = [i for d, i in row if d < last]
    tied = [i for d, i in row if d == last]
    choices = list(combinations(tied, n_neighbors - len(nearer)))
    votes = np.array([Fraction(0)] * labels.shape[1])
    for choice in choices:
        votes += labels[[*nearer, *choice]].sum(axis=0) * Fraction(1, len(choices))
    return votes


def targets(kind, rng, n):
    return {
        "labels": lambda: rng.integers(0, 3, n),
        "indicator": lambda: np.c_[rng.integers(0, 2, (n, 3)), np.ones(n, int)],
        "sparse": lambda: sp.csr_array(np.c_[rng.integers(0, 2, (n, 3)), np.ones(n, int)]),
    }[kind]()


@pytest.mark.parametrize("metric", ["AP", "nDCG@5", Success])
@pytest.mark.parametrize("kind", ["labels", "indicator", "sparse"])
def test_score_is_the_metric_of_queries_against_the_database(kind, metric):
    queries, database = draw("learned", 9, 40, 12)
    rng = np.random.default_rng(0)
    y_query, y = targets(kind, rng, 9), targets(kind, rng, 40)
    neighbors = HammingNeighbors(scoring=metric).fit(database, y)
    histogram = hamming_histogram(queries, database, neighbors.affinity_, y_query, y)
    expected = np.nanmean(parse_measure(metric).of(histogram))
    assert neighbors.score(queries, y_query) == expected


def test_score_weighs_queries():
    queries, database = draw("learned", 9, 40, 12)
    rng = np.random.default_rng(0)
    y_query, y = targets("labels", rng, 9), targets("labels", rng, 40)
    neighbors = HammingNeighbors().fit(database, y)
    twice = np.repeat(np.arange(9), [2, 1, 0, 1, 1, 1, 1, 1, 0])
    expected = neighbors.score(queries[twice], y_query[twice])
    found = neighbors.score(queries, y_query, [2, 1, 0, 1, 1, 1, 1, 1, 0])
    assert_allclose(found, expected, rtol=1e-14)
    with pytest.raises(ValueError, match="Negative values"):
        neighbors.score(queries, y_query, sample_weight=-np.ones(9))


def test_score_leaves_removed_items_out():
    queries, database = draw("learned", 9, 40, 12)
    rng = np.random.default_rng(0)
    y_query, y = targets("labels", rng, 9), targets("labels", rng, 40)
    kept = np.setdiff1d(np.arange(40), [0, 3, 39])
    removed = HammingNeighbors().fit(database, y).remove([0, 3, 39])
    expected = HammingNeighbors().fit(database[kept], y[kept]).score(queries, y_query)
    assert removed.score(queries, y_query) == expected


def test_score_by_known_affinities_of_queries_to_items():
    """Fitted without y, it takes the affinities themselves."""
    queries, database = draw("learned", 5, 20, 8)
    affinities = np.random.default_rng(0).integers(0, 2, (5, 20))
    distances = np.array([[d for d, _ in row] for row in ranking(queries, database)])
    order = np.array([[i for _, i in row] for row in ranking(queries, database)])
    expected = tie_aware_average_precision_score(
        np.take_along_axis(affinities, order, axis=1), -distances
    )
    neighbors = HammingNeighbors().fit(database)
    assert_allclose(neighbors.score(queries, affinities), expected, rtol=1e-14)
    with pytest.raises(
        ValueError,
        match=r"y has shape \(5, 19\), and the index was fitted without y.*\(5, 20\)",
    ):
        neighbors.score(queries, affinities[:, :-1])
    with pytest.raises(ValueError, match="y is None, and score must know what is relevant"):
        neighbors.score(queries, None)
    for targets in ([0, 1, 1, 0, 0], np.array(["a"] * 5), sp.csr_array(affinities)):
        with pytest.raises(ValueError, match=r"fitted without y.*fit\(X, y\)"):
            neighbors.score(queries, targets)
        weighted = WeightedHammingNeighbors().fit(database)
        with pytest.raises(ValueError, match=r"fitted without y.*fit\(X, y\)"):
            weighted.score(queries - 0.5, targets)


def test_queries_without_anything_relevant_have_no_score():
    neighbors = HammingNeighbors().fit([[0, 1], [1, 1]], ["a", "b"])
    with pytest.warns(UndefinedMetricWarning, match="No query has a relevant item"):
        assert np.isnan(neighbors.score([[0, 1]], ["c"]))


# Votes


@may_have_one_code
@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from(sorted(CODES)),
    n_neighbors=st.integers(1, 8),
    seed=st.integers(0, 999),
)
def test_votes_are_means_over_all_orders_of_ties(kind, n_neighbors, seed):
    queries, database = draw(kind, 4, 8, 5, seed)
    rng = np.random.default_rng(seed)
    rows = ranking(queries, database)
    neighbors = HammingNeighbors(n_neighbors)

    y = rng.choice(["x", "y", "z"], 8)
    classes = np.unique(y)
    expected = [
        classes[np.argmax(votes_over_all_orders(row, y[:, None] == classes, n_neighbors))]
        for row in rows
    ]
    assert_array_equal(neighbors.fit(database, y).predict(queries), expected)

    labels = rng.integers(0, 2, (8, 3))
    expected = [
        [2 * vote > n_neighbors for vote in votes_over_all_orders(row, labels, n_neighbors)]
        for row in rows
    ]
    for y in (labels, sp.csr_array(labels)):
        predicted = neighbors.fit(database, y).predict(queries)
        assert predicted.shape == (4, 3)
        assert_array_equal(predicted, expected)


def test_without_ties_it_votes_as_scikit_learn_does():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 12)
    database = np.tri(12, dtype=int)  # distances to any query of zeros are 1, 2, ..., 12
    theirs = KNeighborsClassifier(5, metric="hamming").fit(database, y)
    ours = HammingNeighbors(5).fit(database, y)
    query = np.zeros((1, 12), dtype=int)
    assert_array_equal(ours.predict(query), theirs.predict(query))


def test_nobody_votes_without_labels():
    codes = [[0, 0], [0, 1]]
    with pytest.raises(ValueError, match=r"predict needs y of labels.*got none"):
        HammingNeighbors(1).fit(codes).predict(codes)
    with pytest.raises(ValueError, match="got PrecomputedAffinity"):
        HammingNeighbors(1).fit(codes, PrecomputedAffinity(np.eye(2, dtype=int))).predict(
            codes
        )


# Pipelines


@pytest.fixture(scope="module")
def pipeline():
    hasher = TALRHasher(n_bits=8, max_iter=3, random_state=0)
    return Pipeline(
        [("scale", StandardScaler()), ("hash", hasher), ("search", HammingNeighbors(5))]
    )


@pytest.mark.parametrize("wrapped", [False, True])
def test_grid_search_ranks_the_training_database_for_held_out_queries(
    pipeline, few_digits, wrapped
):
    """The protocol of the papers, also with affinities that folds must slice."""
    X, labels = few_digits
    matrix = (labels[:, None] == labels).astype(int)
    y = PrecomputedAffinity(matrix) if wrapped else labels
    folds = ShuffleSplit(2, random_state=0)
    search = GridSearchCV(pipeline, {"hash__n_bits": [4, 12]}, cv=folds).fit(X, y)
    for split, (database, queries) in enumerate(folds.split(X)):
        for candidate, params in enumerate(search.cv_results_["params"]):
            fitted = pipeline.set_params(**params).fit(X[database], y[database])
            histogram = hamming_histogram(
                fitted[:-1].transform(X[queries]),
                fitted[:-1].transform(X[database]),
                "auto",
                labels[queries],
                labels[database],
            )
            expected = AP.of(histogram).mean()
            score = search.cv_results_[f"split{split}_test_score"][candidate]
            assert_allclose(score, expected, rtol=1e-12)
    assert search.best_params_ == {"hash__n_bits": 12}
    assert 0 < search.score(X[:50], y[:50]) <= 1


# Items that do not count


@may_have_one_code
@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from(sorted(CODES)),
    n_neighbors=st.integers(1, 5),
    seed=st.integers(0, 999),
    ignored=st.sampled_from([-1, 2, "?"]),
    removes=st.booleans(),
)
def test_items_that_do_not_count_have_no_vote(kind, n_neighbors, seed, ignored, removes):
    """The answer is that of an index without them, also where they are tied."""
    queries, database = draw(kind, 6, 20, 4, seed)
    rng = np.random.default_rng(seed)
    y = rng.choice([0, 1, 2, 3], 20)
    if ignored == "?":
        y = np.array(["a", "b", "?", "c"])[y]
    if ignored == -1:
        y[y == 2] = -1
    y[:n_neighbors] = y[y != ignored][0] if np.any(y != ignored) else 0
    affinity = LabelAffinity(ignored=ignored)
    index = HammingNeighbors(n_neighbors, affinity=affinity).fit(database, y)
    counts = y != ignored
    if removes:
        index.remove(np.arange(15, 20))
        counts[15:] = False
    without = HammingNeighbors(n_neighbors).fit(database[counts], y[counts])
    found = index.predict(queries)
    assert_array_equal(found, without.predict(queries))
    classes = np.unique(y[counts])
    expected = [
        classes[np.argmax(votes_over_all_orders(row, y[counts][:, None] == classes, n))]
        for n in [n_neighbors]
        for row in ranking(queries, database[counts])
    ]
    assert_array_equal(found, expected)
    weights = 2.0 * queries - 1
    weighted = WeightedHammingNeighbors(n_neighbors, affinity=affinity, n_candidates=7)
    weighted.fit(database, y)
    if removes:
        weighted.remove(np.arange(15, 20))
    assert_array_equal(weighted.predict(weights), expected)


def test_places_are_those_of_items_that_count():
    codes, affinity = [[0, 0], [0, 1], [1, 1]], LabelAffinity(ignored=-1)
    index = HammingNeighbors(2, affinity=affinity).fit(codes, [-1, -1, 3])
    with pytest.raises(ValueError, match="n_neighbors=2 is more than the 1 items"):
        index.predict(codes)
    assert index.set_params(n_neighbors=1).predict(codes).tolist() == [3, 3, 3]
    with pytest.raises(ValueError, match=r"predict needs items that count.*ignores"):
        index.remove([2]).predict(codes)
    with pytest.raises(ValueError, match=r"no label but -1.*ignored=None"):
        index.fit(codes, [-1, -1, -1])
    # A sample of no label is an item like others, which votes for none.
    indicators = HammingNeighbors(2).fit(codes, [[0, 0], [0, 0], [1, 0]])
    assert indicators.predict([[0, 0]]).tolist() == [[0, 0]]
