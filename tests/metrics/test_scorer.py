"""make_retrieval_scorer: alone, in Pipelines and in cross-validation."""

import pickle

import numpy as np
import pytest
import reference
import scipy.sparse as sp
from measure_cases import named
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr import metrics
from sklearn_talr.affinity import (
    PrecomputedAffinity,
    SharedLabelAffinity,
    ThresholdAffinity,
)
from sklearn_talr.hashing import LSHHasher, TALRHasher
from sklearn_talr.measures import nDCG
from sklearn_talr.metrics import make_retrieval_scorer, tie_aware_ndcg_score

N_SAMPLES = 48
RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 3, N_SAMPLES)
X = RNG.normal(size=(N_SAMPLES, 5)) * [1, 2, 3, 4, 5] + LABELS[:, None]
INDICATOR = RNG.binomial(1, 0.4, (N_SAMPLES, 4))
MATRIX = RNG.integers(0, 4, (N_SAMPLES, N_SAMPLES)) * np.equal.outer(LABELS, LABELS)
TRAIN, TEST = np.arange(30), np.arange(30, N_SAMPLES)
THRESHOLDS = ThresholdAffinity(quantiles=(0.4, 0.1), levels=(1, 3))

SCORES = {name: getattr(metrics, f"tie_aware_{name}_score") for name in reference.METRICS}


def lsh(**params):
    return LSHHasher(n_bits=6, random_state=0).set_params(**params)


def talr(**params):
    return TALRHasher(n_bits=6, max_iter=2, random_state=0).set_params(**params)


each_hasher = pytest.mark.parametrize("make_hasher", [lsh, talr])


def same_label(rows, columns):
    return np.equal.outer(LABELS[rows], LABELS[columns])


def graded(space, fitted_on, rows):
    """THRESHOLDS by its definition, fitted on some rows of a feature space."""
    d = np.linalg.norm(space[:, None] - space, axis=2)
    pairs = d[np.ix_(fitted_on, fitted_on)][np.triu_indices(len(fitted_on), k=1)]
    far, near = np.quantile(pairs, [0.4, 0.1])
    return np.where(d <= near, 3, np.where(d <= far, 1, 0))[np.ix_(rows, rows)]


def score_among_themselves(codes, affinities, metric="average_precision", k=None):
    """Each sample ranks all others by Hamming distance."""
    others = ~np.eye(len(codes), dtype=bool)
    shape = len(codes), len(codes) - 1
    distances = reference.hamming_distances(codes, codes)[others].reshape(shape)
    y_true = np.asarray(affinities)[others].reshape(shape)
    return SCORES[metric](y_true, -distances, k=k)


@each_hasher
def test_score_is_computed_from_codes_of_the_given_samples(make_hasher):
    fitted = make_hasher().fit(X[TRAIN], LABELS[TRAIN])
    codes, affinities = fitted.transform(X[TEST]), same_label(TEST, TEST)
    for metric in SCORES:
        for k in (None, 5):
            expected = score_among_themselves(codes, affinities, metric, k)
            actual = make_retrieval_scorer(named(metric, k))(fitted, X[TEST], LABELS[TEST])
            assert isinstance(actual, float)
            assert_allclose(actual, expected, rtol=1e-12, err_msg=f"{metric}, {k}")


@each_hasher
def test_a_pipeline_is_scored_by_the_codes_it_ends_in(make_hasher):
    pipe = make_pipeline(StandardScaler(), PCA(3), make_hasher())
    pipe.fit(X[TRAIN], LABELS[TRAIN])
    expected = score_among_themselves(pipe.transform(X[TEST]), same_label(TEST, TEST))
    actual = make_retrieval_scorer()(pipe, X[TEST], LABELS[TEST])
    assert_allclose(actual, expected, rtol=1e-12)


def test_auto_takes_the_oracle_that_the_hasher_was_fitted_with():
    """Four samples with four labels: by its form alone, y would be an affinity matrix."""
    hasher = talr(affinity=SharedLabelAffinity(binary=True))
    fitted, rows = hasher.fit(X[TRAIN], INDICATOR[TRAIN]), TEST[:4]
    shared = INDICATOR[rows] @ INDICATOR[rows].T > 0
    expected = score_among_themselves(fitted.transform(X[rows]), shared)
    actual = make_retrieval_scorer()(fitted, X[rows], INDICATOR[rows])
    assert_allclose(actual, expected, rtol=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_selections_of_a_precomputed_affinity(convert):
    y = PrecomputedAffinity(convert(MATRIX))
    fitted = talr().fit(X[TRAIN], y[TRAIN])
    codes = fitted.transform(X[TEST])
    expected = score_among_themselves(codes, MATRIX[np.ix_(TEST, TEST)], "ndcg")
    actual = make_retrieval_scorer("nDCG")(fitted, X[TEST], y[TEST])
    assert_allclose(actual, expected, rtol=1e-12)


def test_without_y_distances_are_those_of_the_hashers_input():
    """Thresholds and distances both belong to the scaled features, not to X."""
    pipe = make_pipeline(StandardScaler(), talr(affinity=THRESHOLDS)).fit(X[TRAIN])
    scaled = StandardScaler().fit(X[TRAIN]).transform(X)
    codes, grades = pipe.transform(X[TEST]), graded(scaled, TRAIN, TEST)
    expected = score_among_themselves(codes, grades, "ndcg")
    actual = make_retrieval_scorer("nDCG")(pipe, X[TEST])
    assert_allclose(actual, expected, rtol=1e-12)


def test_without_y_and_without_thresholds_there_is_no_score():
    for fitted in (lsh().fit(X), talr().fit(X, LABELS)):
        with pytest.raises(ValueError, match="Scoring without y needs an affinity by dist"):
            make_retrieval_scorer()(fitted, X)


def test_a_fixed_database_is_ranked_whole():
    fitted = lsh().fit(X[TRAIN], LABELS[TRAIN])
    database = X[TRAIN], LABELS[TRAIN]
    codes = fitted.transform(X[TEST]), fitted.transform(X[TRAIN])
    distances = reference.hamming_distances(*codes)
    for k in (None, 7):
        expected = tie_aware_ndcg_score(same_label(TEST, TRAIN), -distances, k=k)
        scorer = make_retrieval_scorer(named("ndcg", k), database=database)
        assert_allclose(scorer(fitted, X[TEST], LABELS[TEST]), expected, rtol=1e-12)
    # Of two queries, indicators have a form that may mean anything; that of the items tells
    few = X[TEST][:2], INDICATOR[TEST][:2]
    database, shared = (X[TRAIN], INDICATOR[TRAIN]), SharedLabelAffinity()
    wanted = make_retrieval_scorer(database=database, affinity=shared)(fitted, *few)
    assert make_retrieval_scorer(database=database)(fitted, *few) == wanted


@pytest.mark.parametrize("database", ["rest", (X[TRAIN], LABELS[TRAIN])])
def test_a_pickled_scorer_scores_the_same(database):
    fitted = lsh().fit(X[TRAIN])
    scorer = make_retrieval_scorer(nDCG(dcg="log2") @ 3, database=database)
    again = pickle.loads(pickle.dumps(scorer))
    assert again(fitted, X[TEST], LABELS[TEST]) == scorer(fitted, X[TEST], LABELS[TEST])
    assert repr(again) == repr(scorer)
    assert "'nDCG(dcg=\"log2\")@3'" in repr(scorer)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"measure": "hits"}, "'hits' is not a known measure"),
        ({"measure": "Judged@5"}, "Judged@5 is a measure of runs"),
        ({"measure": "AP@0"}, "the cutoff of AP must be a positive integer"),
        ({"measure": []}, "measures must name at least one measure"),
        ({"measure": 'AP(denominator="k")'}, "AP: denominator must be 'relevant'"),
        ({"zero_division": "skip"}, "'zero_division' parameter of make_retrieval_scorer"),
        ({"database": "train"}, "database must be 'rest' or a tuple"),
        ({"database": (X,)}, "database must be 'rest' or a tuple"),
        ({"database": None}, "database must be 'rest' or a tuple"),
        ({"database": X[:2]}, "database must be 'rest' or a tuple"),
    ],
)
def test_bad_parameters_are_refused_when_the_scorer_is_made(params, message):
    with pytest.raises(ValueError, match=message):
        make_retrieval_scorer(**params)


def test_a_scorer_takes_any_measure():
    fitted, rows = lsh().fit(X), np.arange(N_SAMPLES)
    y = np.where(rows < 2, 7 + rows, LABELS)  # two samples have no relative
    database = X, PrecomputedAffinity(MATRIX)
    distances = reference.hamming_distances(*[fitted.transform(X)] * 2)
    for metric, params in reference.VARIANTS:
        for stand_in in (np.nan, 0.25):
            measure = named(metric, 5, **params)
            options = {"zero_division": stand_in}
            scorer = make_retrieval_scorer(measure, database=database, **options)
            expected = SCORES[metric](MATRIX, -distances, k=5, **options, **params)
            actual = scorer(fitted, X, PrecomputedAffinity(MATRIX))
            assert_allclose(actual, expected, rtol=1e-12, err_msg=f"{measure}, {options}")
    scorers = (make_retrieval_scorer(zero_division=value) for value in (np.nan, 0))
    skipped, counted = (scorer(fitted, X, y) for scorer in scorers)
    assert_allclose(counted, skipped * (N_SAMPLES - 2) / N_SAMPLES, rtol=1e-12)


def test_several_measures_give_several_scores():
    scorer = make_retrieval_scorer(["nDCG@3", "AP"])
    fitted = lsh().fit(X)
    scores = scorer(fitted, X, LABELS)
    assert list(scores) == ["nDCG@3", "AP"]
    for name in scores:
        alone = make_retrieval_scorer(name)(fitted, X, LABELS)
        assert type(scores[name]) is float
        assert_allclose(scores[name], alone, rtol=1e-14)
    search = GridSearchCV(lsh(), {"n_bits": [2, 6]}, scoring=scorer, refit="nDCG@3", cv=2)
    results = search.fit(X, LABELS).cv_results_
    assert np.all(results["mean_test_nDCG@3"] > 0)
    assert np.all(results["mean_test_AP"] > 0)


def shared_labels(_, test):
    return INDICATOR[test] @ INDICATOR[test].T


def looked_up(_, test):
    return MATRIX[np.ix_(test, test)]


FORMS_OF_Y = {  # y, and the affinities of a held-out fold by definition
    "labels": (LABELS, lambda _, test: same_label(test, test)),
    "indicator": (INDICATOR, shared_labels),
    "sparse indicator": (sp.csr_array(INDICATOR), shared_labels),
    "precomputed": (PrecomputedAffinity(MATRIX), looked_up),
    "sparse precomputed": (PrecomputedAffinity(sp.csr_array(MATRIX)), looked_up),
    "no y": (None, lambda train, test: graded(X, train, test)),
}


@pytest.mark.parametrize("form", FORMS_OF_Y)
def test_grid_search_over_n_bits(form):
    """Every fold's score is the one computed from a refitted hasher's codes."""
    y, affinities = FORMS_OF_Y[form]
    hasher = talr(affinity=THRESHOLDS if y is None else "auto")
    search = GridSearchCV(
        hasher,
        {"n_bits": [2, 6]},
        scoring=make_retrieval_scorer("nDCG"),
        cv=KFold(2, shuffle=True, random_state=0),
        error_score="raise",
    ).fit(X, y)
    for fold, (train, test) in enumerate(search.cv.split(X)):
        y_train = None if y is None else y[train]
        for n_bits, actual in zip([2, 6], search.cv_results_[f"split{fold}_test_score"]):
            fitted = clone(hasher).set_params(n_bits=n_bits).fit(X[train], y_train)
            codes = fitted.transform(X[test])
            expected = score_among_themselves(codes, affinities(train, test), "ndcg")
            assert_allclose(actual, expected, rtol=1e-12)


def test_a_fold_smaller_than_its_indicator_names_the_remedy():
    wide = np.tile(INDICATOR, 8)
    strict = {"cv": 2, "error_score": "raise"}
    scorer = make_retrieval_scorer()
    with pytest.raises(ValueError, match=r"affinity=SharedLabelAffinity\(\)"):
        cross_val_score(lsh(), X, wide, scoring=scorer, **strict)
    scorer = make_retrieval_scorer(affinity=SharedLabelAffinity())
    assert cross_val_score(lsh(), X, wide, scoring=scorer, **strict).min() > 0
