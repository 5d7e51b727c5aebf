"""Displays: the numbers they hold, the artists they draw, and what they refuse."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from measure_cases import named, range_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr.codes import pack_codes
from sklearn_talr.hashing import ITQHasher, LSHHasher
from sklearn_talr.histogram import HammingHistogram, hamming_histogram
from sklearn_talr.metrics import (
    RadiusDisplay,
    RetrievalCurveDisplay,
    TieBreakingDisplay,
    empty_lookup_fraction,
    make_retrieval_scorer,
    radius_aware_map,
    radius_precision,
    radius_recall,
)

CURVES = [RadiusDisplay, RetrievalCurveDisplay]
each_curve = pytest.mark.parametrize("display_class", CURVES)
each_display = pytest.mark.parametrize("display_class", [*CURVES, TieBreakingDisplay])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def make_codes(n_bits, noise=0.2, seed=0):
    """Codes of 20 queries and 60 items around one center for each of three labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(80) % 3
    codes = rng.integers(0, 2, (3, n_bits))[y] ^ (rng.random((80, n_bits)) < noise)
    return codes[:20], codes[20:], y[:20], y[20:]


def make_histogram(*args, **kwargs):
    queries, database, y_query, y_database = make_codes(*args, **kwargs)
    return hamming_histogram(queries, database, "auto", y_query, y_database)


@pytest.fixture(scope="module")
def features():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 3
    X = rng.normal(size=(3, 6))[y] + 0.5 * rng.normal(size=(80, 6))
    return X[:20], y[:20], X[20:], y[20:]


@pytest.fixture(scope="module")
def hashers(features):
    X = features[2]
    return {
        "LSH": [LSHHasher(n, random_state=0).fit(X) for n in (4, 6)],
        "ITQ": [ITQHasher(n, random_state=0).fit(X) for n in (4, 6)],
    }


def means(histogram, metric, k=None):
    return [np.nanmean(values, axis=0) for values in range_of(histogram, metric, k)]


def legend_of(ax):
    legend = ax.get_legend()
    return legend and [text.get_text() for text in legend.get_texts()]


# Intervals


@pytest.mark.parametrize(("metric", "k"), [("average_precision", None), ("ndcg", 5)])
def test_intervals_hold_the_mean_range_of_each_method_and_length(metric, k):
    histograms = {
        name: [make_histogram(n_bits, noise) for n_bits in (4, 8)]
        for name, noise in [("good", 0.1), ("bad", 0.4)]
    }
    display = TieBreakingDisplay.from_histogram(histograms, measure=named(metric, k))
    assert display.names == ["good", "good", "bad", "bad"]
    assert_array_equal(display.n_bits, [4, 8, 4, 8])
    expected = [means(h, metric, k) for row in histograms.values() for h in row]
    measured = np.transpose([display.worst, display.expected, display.best])
    assert_allclose(measured, expected)
    label = "average precision" if k is None else 'nDCG(dcg="exp-log2")@5'
    assert display.ax_.get_xlabel() == f"{label}: worst, expected, best"


def test_intervals_are_drawn_from_worst_to_best_with_a_dot_at_the_expected_value():
    histograms = {"a": make_histogram(8, 0.1), "b": make_histogram(8, 0.3)}
    display = TieBreakingDisplay.from_histogram(histograms)
    assert len(display.intervals_) == len(display.dots_) == 2
    for i in range(2):
        (bar,) = display.intervals_[i]
        assert_allclose(bar.get_x(), display.worst[i])
        assert_allclose(bar.get_x() + bar.get_width(), display.best[i])
        assert_allclose(display.dots_[i].get_xdata(), [display.expected[i]])
        assert bar.get_y() < display.dots_[i].get_ydata()[0] < bar.get_y() + 0.5
        assert bar.axes is display.ax_
    assert display.dots_[0].get_color() != display.dots_[1].get_color()
    assert display.dots_[0].get_marker() != display.dots_[1].get_marker()
    assert legend_of(display.ax_) == ["a", "b"]
    assert display.figure_ is display.ax_.figure


def test_codes_come_alone_in_lists_and_in_dicts():
    queries, database, y_query, y_database = make_codes(8)
    short = make_codes(4)
    targets = "auto", y_query, y_database
    expected = TieBreakingDisplay.from_histogram(make_histogram(8)).expected
    for q, d in [
        (queries, database),
        (pack_codes(queries), pack_codes(database)),
        (queries.tolist(), database.tolist()),
        ([queries], [pack_codes(database)]),
        ({"a": queries}, {"a": database.tolist()}),
    ]:
        display = TieBreakingDisplay.from_codes(q, d, *targets)
        assert_allclose(display.expected, expected)
    both = TieBreakingDisplay.from_codes(
        {"a": [queries, short[0]]}, {"a": [database, short[1]]}, *targets
    )
    assert_array_equal(both.n_bits, [8, 4])


def test_hashers_come_alone_in_lists_and_in_dicts(features, hashers):
    display = TieBreakingDisplay.from_estimator(hashers, *features)
    assert display.names == ["LSH", "LSH", "ITQ", "ITQ"]
    assert_array_equal(display.n_bits, [4, 6, 4, 6])
    single = TieBreakingDisplay.from_estimator(hashers["ITQ"][0], *features)
    assert single.names == ["ITQHasher"]
    assert_allclose(single.expected, display.expected[2:3])
    several = TieBreakingDisplay.from_estimator(hashers["ITQ"], *features)
    assert_allclose(several.expected, display.expected[2:])


# Curves


def test_radius_display_holds_the_means_of_the_metrics():
    histogram = make_histogram(6)
    display = RadiusDisplay.from_histogram(histogram, radius=4)
    assert_allclose(display.precision, radius_precision(histogram, 4).mean(axis=0))
    assert_allclose(display.recall, radius_recall(histogram, 4).mean(axis=0))
    assert_array_equal(display.radius_aware_map, radius_aware_map(histogram, 4))
    assert_array_equal(display.empty_fraction, empty_lookup_fraction(histogram, 4))
    assert len(RadiusDisplay.from_histogram(histogram).recall) == 7


def test_radius_display_draws_a_line_in_each_panel():
    display = RadiusDisplay.from_histogram(make_histogram(6), name="mine")
    assert tuple(display.lines_) == RadiusDisplay.panels
    for ax, (panel, line) in zip(display.ax_, display.lines_.items()):
        assert line.axes is ax
        assert_array_equal(line.get_xdata(), np.arange(7))
        assert_array_equal(line.get_ydata(), getattr(display, panel))
        assert ax.get_xlabel() == "Hamming radius"
    labels = [ax.get_ylabel() for ax in display.ax_]
    assert labels == ["precision", "recall", "RAMAP", "fraction empty"]
    assert {ax.get_ylim() for ax in display.ax_} == {(-0.03, 1.03)}
    assert legend_of(display.ax_[0]) == ["mine"]


def test_retrieval_curve_holds_the_mean_range_at_each_cutoff():
    histogram = make_histogram(6)
    display = RetrievalCurveDisplay.from_histogram(histogram)
    assert display.k[0] == 1
    assert display.k[-1] == 60
    assert 10 in display.k
    assert np.all(np.diff(display.k) > 0)
    assert_allclose(display.precision, means(histogram, "precision", display.k))
    assert_allclose(display.recall, means(histogram, "recall", display.k))
    assert_allclose(np.transpose(display.recall)[-1], 1)


def test_retrieval_curve_draws_a_line_within_a_band():
    display = RetrievalCurveDisplay.from_histogram(make_histogram(4))
    assert tuple(display.lines_) == tuple(display.bands_) == RetrievalCurveDisplay.panels
    at_k, at_recall = display.ax_
    assert at_k.get_xscale() == "log"
    assert (at_k.get_xlabel(), at_recall.get_xlabel()) == ("cutoff k", "recall")
    for panel, x in zip(RetrievalCurveDisplay.panels, (display.k, display.recall.expected)):
        line, band = display.lines_[panel], display.bands_[panel]
        assert_array_equal(line.get_xdata(), x)
        assert_array_equal(line.get_ydata(), display.precision.expected)
        wide = display.precision.best - display.precision.worst > 0.01
        points = np.column_stack([x, display.precision.expected])[wide]
        assert len(points)
        assert np.all(band.get_path().contains_points(points, radius=1e-9))
        assert band.get_facecolor()[:3] == plt.matplotlib.colors.to_rgb(line.get_color())


def test_queries_with_nothing_relevant_are_left_out():
    histogram = make_histogram(6)
    lonely = histogram.counts[:1].sum(axis=1, keepdims=True) * np.array([[[1], [0]]])
    more = HammingHistogram(
        np.concatenate([histogram.counts, lonely]), histogram.levels, histogram.n_bits
    )
    for display_class, attributes in [
        (RadiusDisplay, ["precision", "recall", "radius_aware_map"]),
        (RetrievalCurveDisplay, ["precision", "recall"]),
        (TieBreakingDisplay, ["worst", "expected", "best"]),
    ]:
        with_it, without = map(display_class.from_histogram, (more, histogram))
        for attribute in attributes:
            assert_allclose(getattr(with_it, attribute), getattr(without, attribute))


@each_curve
def test_panels_and_axes_must_match(display_class):
    display = display_class.from_histogram(make_histogram(6))
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="ax must hold one Axes for each of the"):
        display.plot(ax)
    for panels in ("accuracy", ["precision", "accuracy"], []):
        with pytest.raises(ValueError, match="panels must be None, one of"):
            display.plot(panels=panels)


@each_display
def test_codes_histogram_and_hasher_give_the_same_picture(display_class, features, hashers):
    X_query, y_query, X_database, y_database = features
    hasher = hashers["ITQ"][0]
    codes = hasher.transform(X_query), hasher.transform(X_database)
    histogram = hamming_histogram(*codes, "auto", y_query, y_database)
    from_estimator = display_class.from_estimator(hasher, *features)
    from_codes = display_class.from_codes(*codes, "auto", y_query, y_database)
    from_histogram = display_class.from_histogram(histogram)
    for attribute in ("precision", "recall", "expected"):
        if hasattr(from_codes, attribute):
            expected = getattr(from_histogram, attribute)
            assert_array_equal(getattr(from_codes, attribute), expected)
            assert_array_equal(getattr(from_estimator, attribute), expected)


@each_curve
def test_name_is_that_of_the_hasher_unless_given(display_class, features):
    _, _, X_database, y_database = features
    pipeline = make_pipeline(StandardScaler(), ITQHasher(4, random_state=0))
    grid = {"itqhasher__n_bits": [4]}
    search = GridSearchCV(pipeline, grid, scoring=make_retrieval_scorer(), cv=2)
    for estimator in (pipeline, search):
        estimator.fit(X_database, y_database)
        display = display_class.from_estimator(estimator, *features)
        assert legend_of(display.ax_[0]) == ["ITQHasher"]
        given = display_class.from_estimator(estimator, *features, name="mine")
        assert legend_of(given.ax_[0]) == ["mine"]
        assert legend_of(given.plot(name="other").ax_[0]) == ["other"]
    nameless = display_class.from_histogram(make_histogram(4))
    assert legend_of(nameless.ax_[0]) is None


# matplotlib


@each_display
def test_without_matplotlib_the_error_says_what_is_missing(display_class, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    name = display_class.__name__
    with pytest.raises(ImportError, match=f"{name}.plot requires matplotlib"):
        display_class.from_histogram(make_histogram(4))
