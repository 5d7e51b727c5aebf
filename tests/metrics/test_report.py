"""retrieval_report: several measures of two sets of codes at once."""

import inspect
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_cases import named, range_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity
from sklearn_talr.codes import pack_codes
from sklearn_talr.hashing import LSHHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP
from sklearn_talr.metrics import (
    RadiusDisplay,
    RetrievalCurveDisplay,
    TieBreakingDisplay,
    empty_lookup_fraction,
    lookup_cost,
    radius_aware_map,
    radius_precision,
    radius_recall,
    retrieval_report,
    retrieval_report_from_estimator,
)

NAMES = ["precision", "recall", "f1", "average_precision"]
NAMES += ["reciprocal_rank", "hit_rate", "dcg", "ndcg"]
ROWS = ["P", "R", "F1", "AP", "RR", "Success", 'DCG(dcg="exp-log2")']
ROWS += ['nDCG(dcg="exp-log2")']
DEFAULT_ROWS = ["AP", 'nDCG(dcg="exp-log2")', "P@10", "RR"]
LOOKUP = ["radius_precision", "radius_recall", "radius_aware_map"]
LOOKUP += ["empty_lookup_fraction", "lookup_cost"]
COLUMNS = ["worst", "expected", "best"]


def random_sets(seed, n_queries=12, n_items=40, n_bits=5):
    """Codes and indicators of three labels; the first query has none."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (n_queries + n_items, n_bits))
    y = rng.binomial(1, 0.3, (len(codes), 3))
    y[0] = 0
    affinity = SharedLabelAffinity().fit(y)
    return codes[:n_queries], codes[n_queries:], affinity, y[:n_queries], y[n_queries:]


def at(*cutoffs):
    """All measures at all cutoffs."""
    return [measure for name in NAMES for measure in named(name, list(cutoffs))]


@pytest.mark.parametrize("cutoffs", [[None], [7], [1, 7, 60], [10, None]])
def test_rows_are_the_means_of_the_ranges(cutoffs):
    sets = random_sets(0)
    report = retrieval_report(*sets, measures=at(*cutoffs))
    suffixes = ["" if cutoff is None else f"@{cutoff}" for cutoff in cutoffs]
    assert list(report.index) == [name + suffix for name in ROWS for suffix in suffixes]
    assert list(report.columns) == COLUMNS
    assert set(report.dtypes) == {np.dtype(float)}
    histogram = hamming_histogram(*sets)
    for name, row in zip(NAMES, ROWS):
        means = np.nanmean(range_of(histogram, name, cutoffs), axis=1)
        rows = [row + suffix for suffix in suffixes]
        assert_allclose(report.loc[rows].to_numpy(), means.T, rtol=1e-13)


def test_all_measures_of_the_default_depend_on_the_ranking():
    queries, database, *targets = random_sets(1)
    report = retrieval_report(queries, database, *targets)
    assert list(report.index) == DEFAULT_ROWS
    opposite = retrieval_report(1 - queries, database, *targets)
    assert (report["expected"] != opposite["expected"]).all()
    without_cutoff = ["P", "R", "F1", "Success"]
    constant = retrieval_report(queries, database, *targets, measures=without_cutoff)
    of_opposite = retrieval_report(1 - queries, database, *targets, measures=without_cutoff)
    pd.testing.assert_frame_equal(constant, of_opposite)


def test_the_report_on_an_estimator():
    """Arguments are in the order of from_estimator of the displays."""
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(60, 5)), rng.integers(3, size=60)
    sets = X[:20], y[:20], X[20:], y[20:]
    pipeline = make_pipeline(StandardScaler(), LSHHasher(6, random_state=0)).fit(X[20:])
    options = {"measures": ['nDCG(dcg="log2")@4', AP], "radius": 2, "zero_division": 0.0}
    codes = pipeline.transform(X)
    expected = retrieval_report(codes[:20], codes[20:], "auto", y[:20], y[20:], **options)
    expected.columns.name = "bits"
    actual = retrieval_report_from_estimator(pipeline, *sets, **options)
    pd.testing.assert_frame_equal(actual, expected, check_exact=True)
    same_label = LabelAffinity()
    again = retrieval_report_from_estimator(pipeline, *sets, affinity=same_label, **options)
    pd.testing.assert_frame_equal(again, expected, check_exact=True)
    for display in (RadiusDisplay, RetrievalCurveDisplay, TieBreakingDisplay):
        of_display = list(inspect.signature(display.from_estimator).parameters)[:6]
        of_report = list(inspect.signature(retrieval_report_from_estimator).parameters)[:6]
        assert of_report == of_display
    with pytest.warns(UndefinedMetricWarning, match="No query has a relevant") as caught:
        retrieval_report_from_estimator(pipeline, X[:20], y[:20] + 9, *sets[2:])
    assert caught[0].filename == __file__


class NoPandas:
    """Finds no pandas. None in sys.modules would do so too, but breaks scikit-learn 1.6."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=name)


def test_without_pandas(monkeypatch):
    monkeypatch.delitem(sys.modules, "pandas")
    monkeypatch.setattr(sys, "meta_path", [NoPandas, *sys.meta_path])
    sets = random_sets(3)
    report = retrieval_report(*sets)
    assert type(report) is dict
    assert list(report) == DEFAULT_ROWS
    assert list(report["P@10"]) == COLUMNS
    assert retrieval_report(*sets, as_frame=False) == report
    with pytest.raises(ImportError, match="as_frame=True needs pandas"):
        retrieval_report(*sets, as_frame=True)


def test_hash_lookup():
    sets = random_sets(4)
    report = retrieval_report(*sets, radius=2)
    assert list(report.index) == DEFAULT_ROWS + [f"{name}@2" for name in LOOKUP]
    histogram = hamming_histogram(*sets)
    expected = [
        np.nanmean(radius_precision(histogram, 2)[:, -1]),
        np.nanmean(radius_recall(histogram, 2)[:, -1]),
        radius_aware_map(histogram, 2)[-1],
        empty_lookup_fraction(histogram, 2)[-1],
        lookup_cost(5, 2)[-1],
    ]
    for column in COLUMNS:
        assert_allclose(report[column].iloc[-5:], expected, rtol=1e-14)
    counted = retrieval_report(*sets, radius=2, zero_division=0.0)
    ramap = radius_aware_map(histogram, 2, zero_division=0.0)[-1]
    assert_allclose(counted.loc["radius_aware_map@2", "expected"], ramap, rtol=1e-14)
    with pytest.raises(ValueError, match="radius must be"):
        retrieval_report(*sets, radius=6)


def test_sample_weight_repeats_queries():
    queries, database, affinity, y_query, y_database = random_sets(5)
    weight = np.arange(len(queries)) % 3
    sets = queries, database, affinity, y_query, y_database
    weighted = retrieval_report(*sets, radius=1, sample_weight=weight)
    again = np.repeat(np.arange(len(queries)), weight)
    sides = queries[again], database, affinity, y_query[again], y_database
    assert_allclose(weighted, retrieval_report(*sides, radius=1), rtol=1e-13)
    with pytest.raises(ValueError, match=r"(?i)sample.weight"):
        retrieval_report(*sets, sample_weight=[1, 2])


def test_nothing_relevant_at_all_gives_nan_and_one_warning_at_the_caller():
    codes = [[0, 1], [1, 1]]
    with pytest.warns(UndefinedMetricWarning, match="No query has a relevant") as caught:
        report = retrieval_report(codes, codes, "auto", [0, 0], [1, 1], radius=0)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert report.iloc[:-2].isna().all(axis=None)
    assert_array_equal(report.iloc[-2:], [[0, 0, 0], [1, 1, 1]])


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 999))
def test_what_must_not_matter_does_not(seed):
    """Order of the database, order of the bits, flipped bits, packing."""
    rng = np.random.default_rng(seed)
    queries, database, affinity, y_query, y_database = sets = random_sets(seed)
    how = {"measures": at(1, 9), "radius": 1}
    expected = retrieval_report(*sets, **how)
    items, bits = rng.permutation(len(database)), rng.permutation(queries.shape[1])
    mask = rng.integers(0, 2, queries.shape[1])
    codes = pack_codes(queries[:, bits] ^ mask), (database[:, bits] ^ mask)[items]
    actual = retrieval_report(*codes, affinity, y_query, y_database[items], **how)
    pd.testing.assert_frame_equal(actual, expected, check_exact=True)
