"""Metrics of pairs of which some do not count: as if they were deleted, query by query."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.model_selection import KFold, cross_val_score

from sklearn_talr import metrics
from sklearn_talr.affinity import JudgmentAffinity, LabelAffinity
from sklearn_talr.codes import hamming_distances, weighted_scores
from sklearn_talr.hashing import CrossViewHasher, LSHHasher
from sklearn_talr.histogram import HammingHistogram, hamming_histogram
from sklearn_talr.inference import mean_interval
from sklearn_talr.measures import AP, P
from sklearn_talr.metrics import make_retrieval_scorer, retrieval_report
from sklearn_talr.neighbors import HammingNeighbors, HashedNeighbors, ItemRanker

rng = np.random.default_rng(0)
NAN = np.nan
TRUE = rng.choice([0, 0, 1, 2, NAN], (8, 9))
SCORES = rng.integers(0, 3, TRUE.shape)
TRUE[0, np.nan_to_num(TRUE[0]) > 0] = NAN  # of which nothing relevant is left
SCORE_OF = {name: getattr(metrics, f"tie_aware_{name}_score") for name in reference.METRICS}


@pytest.mark.parametrize(("metric", "params"), reference.VARIANTS)
@pytest.mark.parametrize("k", [None, 1, 4, 20])
def test_metrics_are_those_of_what_is_left_in_all_orders_of_ties(metric, params, k):
    how = {"k": k, "average": False, **params}
    found = SCORE_OF[metric](TRUE, SCORES, **how)
    for true, scores, value in zip(TRUE, SCORES, found):
        kept = ~np.isnan(true)
        left = true[kept].astype(int).tolist(), scores[kept].tolist()
        _, expected, _ = reference.over_tie_orders(metric, *left, k=k, **params)
        assert_allclose(value, expected, rtol=1e-12)
    assert np.isnan(found[0])
    # Neither scores nor labels of what is left out change anything
    anything = rng.choice([NAN, np.inf, -np.inf, 9], TRUE.shape)
    others = np.where(np.isnan(TRUE), anything, SCORES)
    assert_array_equal(SCORE_OF[metric](TRUE, others, **how), found)
    flat = TRUE.ravel(), others.ravel()
    queries = np.repeat(np.arange(len(TRUE)), TRUE.shape[1])
    assert_array_equal(SCORE_OF[metric](*flat, groups=queries, **how), found)


def grouped_problem():
    """Codes and labels of queries and items, of which some count for no query."""
    # The order of the tests must not change this problem.
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (12, 3)), rng.integers(0, 2, (40, 3))
    labels = rng.integers(-1, 3, 12), rng.integers(-1, 3, 40)
    return codes, labels, (rng.integers(0, 4, 12), rng.integers(0, 4, 40))


def left_of(query, codes, labels, groups):
    """The table of one query and the items that count for it, without any of the rest."""
    kept = (groups[1] != groups[0][query]) & (labels[1] >= 0)
    if labels[0][query] < 0:
        kept[:] = False
    levels = (labels[0][query] == labels[1][kept]).astype(int)
    distances = np.sum(codes[0][query] != codes[1][kept], axis=1)
    counts = np.zeros((1, 2, 4), dtype=int)
    np.add.at(counts[0], (levels, distances), 1)
    return HammingHistogram(counts, [0, 1], 3)


def test_metrics_of_tables_equal_those_of_tables_without_what_is_left_out():
    codes, labels, groups = grouped_problem()
    asked = *codes, LabelAffinity(ignored=-1), *labels
    both = {"groups_query": groups[0], "groups_database": groups[1]}
    table = hamming_histogram(*asked, **both)
    tables = [left_of(q, codes, labels, groups) for q in range(12)]
    assert min(map(len, tables)) == 1
    assert 0 < sum(t.n_items[0] == 0 for t in tables) < 12
    for name in ["AP", "nDCG@5", "P@3", "R@3", "F1@3", "RR", "Success@2", "RBP", "DCG"]:
        of_all = metrics.tie_breaking_range(table, name)
        of_each = [metrics.tie_breaking_range(t, name) for t in tables]
        for order in ("worst", "expected", "best"):
            values = [getattr(of_one, order)[0] for of_one in of_each]
            assert_allclose(getattr(of_all, order), values, err_msg=f"{name} {order}")
    for radius in (metrics.radius_precision, metrics.radius_recall):
        assert_array_equal(radius(table), np.concatenate([radius(t) for t in tables]))
    whole = HammingHistogram(np.sum([t.counts for t in tables], axis=0), [0, 1], 3)
    for pair in (metrics.pair_precision, metrics.pair_recall):
        assert_array_equal(pair(table), pair(whole))
    queries = [t for t in tables if t.n_items[0]]  # those of the ignored label are none
    empty = [metrics.empty_lookup_fraction(t) for t in queries]
    assert_allclose(metrics.empty_lookup_fraction(table), np.mean(empty, axis=0))
    displayed = metrics.RetrievalCurveDisplay.from_codes(*asked, **both)
    again = metrics.RetrievalCurveDisplay.from_histogram(table)
    assert_array_equal(displayed.precision, again.precision)
    drawn = metrics.TieBreakingDisplay.from_codes(*asked, **both)
    assert drawn.expected == [np.nanmean(AP.of(table))]


def market_1501(distances, ids, cameras, gallery_ids, gallery_cameras):
    """Rank 1 and AP of a query by the protocol of Market-1501 (Zheng et al., ICCV 2015).

    Gallery images of the query's identity and camera are junk, and so are those labelled
    -1; junk has no influence on the ranking. Images of other identities, and distractors,
    are wrong.
    """
    ranking = sorted(range(len(distances)), key=lambda i: distances[i])
    matches = []
    for image in ranking:
        is_same = gallery_ids[image] == ids
        if gallery_ids[image] == -1 or (is_same and gallery_cameras[image] == cameras):
            continue
        matches.append(is_same)
    if not any(matches):
        return NAN, NAN
    found, precisions = 0, []
    for rank, is_match in enumerate(matches, start=1):
        found += is_match
        precisions += [found / rank] if is_match else []
    return float(matches[0]), np.mean(precisions)


def test_identities_and_cameras_agree_with_the_protocol_of_market_1501():
    ids, gallery_ids = rng.integers(1, 7, 20), rng.integers(-1, 7, 120)
    cameras, gallery_cameras = rng.integers(0, 3, 20), rng.integers(0, 3, 120)
    scores = rng.standard_normal((20, 120))
    expected = [
        market_1501(-scores[q], ids[q], cameras[q], gallery_ids, gallery_cameras)
        for q in range(20)
    ]
    groups, gallery_groups = ids * 3 + cameras, gallery_ids * 3 + gallery_cameras
    true = LabelAffinity(ignored=-1)(ids, gallery_ids).astype(float)
    true[(groups[:, None] == gallery_groups) | (true < 0)] = NAN
    for measure, column in zip((P @ 1, AP), np.transpose(expected)):
        assert_allclose(measure.score(true, scores, average=False), column)


def revisited_oxford(ranking, easy, hard, junk, setup):
    """AP of a query by the setups of revisited Oxford (Radenovic et al., CVPR 2018).

    Easy images are the positives of the setup Easy, hard ones those of Hard, and both those
    of Medium. Images of the other kind are junk of Easy and of Hard. Junk is removed.
    """
    positive = {"easy": easy, "medium": easy | hard, "hard": hard}[setup]
    junk = junk | {"easy": hard, "medium": set(), "hard": easy}[setup]
    left = [image in positive for image in ranking if image not in junk]
    ranks = np.flatnonzero(left)
    return np.mean(np.arange(1, len(ranks) + 1) / (ranks + 1)) if len(ranks) else NAN


@pytest.mark.parametrize("setup", ["easy", "medium", "hard"])
def test_judgments_below_0_agree_with_the_protocol_of_revisited_oxford(setup):
    scores, kinds = rng.random((10, 60)), rng.choice(4, (10, 60), p=[0.7, 0.1, 0.1, 0.1])
    kinds[0, kinds[0] == 2] = 0  # nothing hard
    expected = [
        revisited_oxford(
            np.argsort(-row), *(set(np.flatnonzero(kind == n)) for n in (1, 2, 3)), setup
        )
        for row, kind in zip(scores, kinds)
    ]
    grades = {"easy": [0, 1, -1, -1], "medium": [0, 1, 1, -1], "hard": [0, -1, 1, -1]}
    judgments = np.array(grades[setup])[kinds]
    true = np.where(judgments < 0, NAN, judgments)
    assert_allclose(AP.score(true, scores, average=False), expected)


def test_reports_say_how_many_pairs_did_not_count_and_report_on_each_label():
    codes, labels, groups = grouped_problem()
    asked = *codes, LabelAffinity(ignored=-1), *labels
    both = {"groups_query": groups[0], "groups_database": groups[1]}
    measures, by = ["AP", "P@2"], np.array(["a", "b", "b", "c"] * 3)
    options = {"measures": measures, "radius": 1, "as_frame": False}
    report = retrieval_report(*asked, **both, **options)
    table = hamming_histogram(*asked, **both)
    assert report["pairs_left_out"]["expected"] == 12 * 40 - table.n_items.sum()
    known = [y + 1 for y in labels]
    assert "pairs_left_out" not in retrieval_report(*codes, "auto", *known, **options)
    same = codes[0], codes[0], "auto", known[0], known[0]
    alone = retrieval_report(*same, exclude_self=True)
    assert "pairs_left_out" not in alone.index
    frame = retrieval_report(*asked, **both, measures=measures, radius=1, by=by)
    of_dict = retrieval_report(*asked, **both, **options, by=by)
    means = []
    for label in "abc":
        some = by == label
        query, y, group = codes[0][some], labels[0][some], groups[0][some]
        part = query, codes[1], LabelAffinity(ignored=-1), y, labels[1]
        of_part = {"groups_query": group, "groups_database": groups[1]}
        expected = retrieval_report(*part, **of_part, measures=measures, radius=1)
        found = frame.loc[label]
        assert_allclose(found.loc[expected.index, expected.columns], expected)
        values = AP.of(hamming_histogram(*part, **of_part))
        values = values[~np.isnan(values)]
        assert found.loc["AP", "n_queries"] == len(values)
        assert_array_equal(found.loc["AP", ["low", "high"]], mean_interval(values))
        assert of_dict[label]["AP"]["low"] == found.loc["AP", "low"]
        means.append(found.loc["AP", "expected"])
    assert_allclose(frame.loc[("macro avg", "AP"), "expected"], np.mean(means))
    with pytest.raises(ValueError, match="pass by or sample_weight"):
        retrieval_report(*asked, by=by, sample_weight=np.ones(12))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        retrieval_report(*asked, by=by[:3])


X, Y, GROUPS = rng.random((60, 5)), rng.integers(0, 3, 60), rng.integers(0, 8, 60)


def scores_of_bits(hasher, queries, items):
    return -hamming_distances(hasher.encode(queries), hasher.encode(items))


def scores_of_weights(hasher, queries, items):
    return weighted_scores(hasher.query_weights(queries), hasher.encode(items))


@pytest.mark.parametrize("query", ["bits", "weights"])
def test_scorers_and_indexes_leave_out_groups(query):
    score = {"bits": scores_of_bits, "weights": scores_of_weights}[query]
    hasher = LSHHasher(6, random_state=0).fit(X)
    true = np.equal.outer(Y, Y).astype(float)
    true[GROUPS[:, None] == GROUPS] = NAN
    expected = AP.score(true, score(hasher, X, X))
    scorer = make_retrieval_scorer(query=query)
    assert_allclose(scorer(hasher, X, Y, groups=GROUPS), expected)
    split = X[:20], Y[:20], X[20:], Y[20:]
    groups = {"groups_query": GROUPS[:20], "groups_database": GROUPS[20:]}
    expected = AP.score(true[:20, 20:], score(hasher, X[:20], X[20:]))
    items = {"database": split[2:], "groups_database": GROUPS[20:]}
    against = make_retrieval_scorer(query=query, **items)
    assert_allclose(against(hasher, *split[:2], groups=GROUPS[:20]), expected)
    with pytest.raises(
        ValueError, match=r"groups_query is None.*scorer takes the groups of"
    ):
        against(hasher, *split[:2])
    index = HashedNeighbors(hasher, query=query).fit(*split[2:])
    how = {"query": query, **groups}
    report = metrics.retrieval_report_from_estimator(hasher, *split, measures="AP", **how)
    hasher_of_index = index.hasher_
    of_index = AP.score(true[:20, 20:], score(hasher_of_index, X[:20], X[20:]))
    assert_allclose(index.score(*split[:2], **groups), of_index)
    index.remove([3, 5])
    kept = np.setdiff1d(np.arange(20, 60), [23, 25])
    of_index = AP.score(true[:20][:, kept], score(hasher_of_index, X[:20], X[kept]))
    assert_allclose(index.score(*split[:2], **groups), of_index)
    assert_allclose(report.loc["AP", "expected"], expected)
    display = metrics.RetrievalCurveDisplay.from_estimator(hasher, *split, **how)
    assert display.k.max() == np.max((~np.isnan(true[:20, 20:])).sum(axis=1))
    with pytest.raises(ValueError, match="fit got no y"):
        HammingNeighbors().fit(hasher.encode(X)).score(hasher.encode(X), true, **groups)


def test_a_search_hands_groups_on_if_asked():
    hasher, folds = LSHHasher(6, random_state=0), KFold(3)
    scorer = make_retrieval_scorer()
    plain = cross_val_score(hasher, X, Y, cv=folds, scoring=scorer)
    with config_context(enable_metadata_routing=True):
        how = {"cv": folds, "scoring": scorer, "params": {"groups": GROUPS}}
        with pytest.raises(TypeError, match="unexpected argument"):
            cross_val_score(hasher, X, Y, **how)
        scorer.set_score_request(groups=True)
        found = cross_val_score(hasher, X, Y, **how)
    expected = [
        scorer(hasher.fit(X[train]), X[test], Y[test], groups=GROUPS[test])
        for train, test in folds.split(X)
    ]
    assert_array_equal(found, expected)
    assert np.all(found != plain)


def test_two_views_leave_out_groups():
    hasher = CrossViewHasher(8, teacher=None, max_iter=2, random_state=0)
    Q, C, of_queries = rng.random((30, 4)), rng.integers(0, 3, 30), rng.integers(0, 8, 30)
    ranker = ItemRanker(hasher, X, Y, groups_items=GROUPS).fit(Q, C)
    true = np.equal.outer(C, Y).astype(float)
    true[of_queries[:, None] == GROUPS] = NAN
    fitted = ranker.index_.hasher_
    distances = hamming_distances(fitted.encode_query(Q), fitted.encode(X))
    expected = AP.score(true, -distances)
    assert_allclose(ranker.score(Q, C, groups=of_queries), expected)
    scorer = make_retrieval_scorer(database=(X, Y), groups_database=GROUPS)
    assert_allclose(scorer(fitted, Q, C, groups=of_queries), expected)
    judgments = np.where(np.isnan(true), -1, true).astype(int)
    of_grades = make_retrieval_scorer(database=(X, None), affinity=JudgmentAffinity())
    assert_allclose(of_grades(fitted, Q, judgments), expected)
