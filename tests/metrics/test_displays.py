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

from sklearn_talr.affinity import ThresholdAffinity
from sklearn_talr.codes import pack_codes
from sklearn_talr.hashing import ITQHasher, LSHHasher
from sklearn_talr.histogram import HammingHistogram, RankingHistogram, hamming_histogram
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
    label = {"ndcg": 'nDCG(dcg="exp-log2")@5', "average_precision": "average precision"}[
        metric
    ]
    assert display.ax_.get_xlabel() == f"{label}: worst, expected, best"


def test_intervals_are_drawn_from_worst_to_best_with_a_dot_at_the_expected_value():
    histograms = {
        name: make_histogram(8, noise) for name, noise in [("a", 0.1), ("b", 0.3)]
    }
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


def test_intervals_are_grouped_by_length_with_the_shortest_codes_on_top():
    lengths = {"a": [make_histogram(8), make_histogram(4)], "b": make_histogram(16)}
    display = TieBreakingDisplay.from_histogram(lengths)
    ticks = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert ticks == ["4 bits", "8 bits", "16 bits"]
    assert display.ax_.yaxis_inverted()
    eight, four = display.dots_[0].get_ydata()
    (sixteen,) = display.dots_[1].get_ydata()
    assert four < eight < sixteen


def test_one_method_needs_no_name():
    display = TieBreakingDisplay.from_histogram([make_histogram(4), make_histogram(8)])
    assert display.names is None
    assert legend_of(display.ax_) is None
    assert legend_of(display.plot(name="mine").ax_) == ["mine"]
    one = TieBreakingDisplay.from_histogram(make_histogram(4))
    assert_array_equal(one.n_bits, [4])


def test_names_may_be_replaced():
    display = TieBreakingDisplay.from_histogram(
        {"a": make_histogram(4), "b": make_histogram(4, 0.3)}
    )
    assert legend_of(display.plot(name=["x", "y"]).ax_) == ["x", "y"]
    with pytest.raises(ValueError, match="each of the 2 methods"):
        display.plot(name="x")


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


def test_codes_of_different_methods_are_refused():
    queries, database, y_query, y_database = make_codes(4)
    for q, d in [
        ({"a": queries}, {"b": database}),
        ({"a": [queries, queries]}, {"a": database}),
        ({"a": queries}, database),
    ]:
        with pytest.raises(ValueError, match="same methods and lengths"):
            TieBreakingDisplay.from_codes(q, d, "auto", y_query, y_database)


@pytest.mark.parametrize("nothing", [{}, [], {"a": []}])
def test_nothing_to_draw_is_refused(nothing):
    with pytest.raises(ValueError, match="nothing to draw"):
        TieBreakingDisplay.from_histogram(nothing)


def test_unknown_measure_is_refused():
    with pytest.raises(ValueError, match="'accuracy' is not a known measure"):
        TieBreakingDisplay.from_histogram(make_histogram(4), measure="accuracy")


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


@each_display
def test_no_relevant_item_at_all_is_refused(display_class):
    histogram = HammingHistogram([[[2, 1], [0, 0]]], [0, 1], n_bits=1)
    with pytest.raises(ValueError, match="No query has a relevant item"):
        display_class.from_histogram(histogram)


def test_ties_by_another_score_make_a_curve_but_have_no_distances():
    histogram = RankingHistogram.from_scores([[1, 0, 0]], [[0.9, 0.9, 0.1]])
    RetrievalCurveDisplay.from_histogram(histogram)
    for display_class in (RadiusDisplay, TieBreakingDisplay):
        message = f"{display_class.__name__} needs a HammingHistogram"
        with pytest.raises(TypeError, match=message):
            display_class.from_histogram(histogram)


@each_display
def test_what_is_no_code_is_refused(display_class):
    with pytest.raises(ValueError, match="query_codes"):
        display_class.from_codes(3, [[0, 1]], "auto", [0], [0])


@each_curve
def test_graded_affinities_are_relevant_above_zero(display_class):
    graded = make_histogram(6)
    counts = np.insert(graded.counts, 1, graded.counts[:, 1] // 2, axis=1)
    counts[:, 2] -= counts[:, 1]
    graded = HammingHistogram(counts, [0, 1, 5], n_bits=6)
    displays = [display_class.from_histogram(h) for h in (graded, make_histogram(6))]
    assert_allclose(displays[0].precision, displays[1].precision)


@each_curve
def test_several_methods_share_axes_and_differ_in_style(display_class):
    first = display_class.from_histogram(make_histogram(6), name="good")
    second = display_class.from_histogram(make_histogram(6, 0.4), name="bad", ax=first.ax_)
    assert_array_equal(second.ax_, first.ax_)
    assert second.figure_ is first.figure_
    for panel in display_class.panels:
        lines = first.lines_[panel], second.lines_[panel]
        assert lines[0].axes is lines[1].axes
        assert lines[0].get_color() != lines[1].get_color()
        assert lines[0].get_linestyle() != lines[1].get_linestyle()
    assert legend_of(first.ax_[0]) == ["good", "bad"]
    assert all(legend_of(ax) is None for ax in first.ax_[1:])


@each_curve
def test_one_panel_takes_and_returns_one_axes(display_class):
    panel = display_class.panels[1]
    display = display_class.from_histogram(make_histogram(6), panels=panel)
    assert isinstance(display.ax_, plt.Axes)
    assert list(display.lines_) == [panel]
    _, ax = plt.subplots()
    assert display.plot(ax, panels=panel).ax_ is ax
    assert display.plot(panels=[panel]).ax_.shape == (1,)


@each_curve
def test_panels_and_axes_must_match(display_class):
    display = display_class.from_histogram(make_histogram(6))
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="ax must hold one Axes for each of the"):
        display.plot(ax)
    for panels in ("accuracy", ["precision", "accuracy"], []):
        with pytest.raises(ValueError, match="panels must be None, one of"):
            display.plot(panels=panels)


@each_curve
def test_axes_may_lie_in_a_grid(display_class):
    n = len(display_class.panels)
    _, axes = plt.subplots(2, n // 2)
    display = display_class.from_histogram(make_histogram(6), ax=axes)
    assert_array_equal(display.ax_, axes.ravel())


@each_display
def test_keywords_go_to_the_lines(display_class):
    display = display_class.from_histogram(make_histogram(6), c="red", marker="*")
    lines = getattr(display, "dots_", None) or display.lines_.values()
    for line in lines:
        assert line.get_color() == "red"
        assert line.get_marker() == "*"


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
    search = GridSearchCV(
        pipeline, {"itqhasher__n_bits": [4]}, scoring=make_retrieval_scorer(), cv=2
    )
    for estimator in (pipeline, search):
        estimator.fit(X_database, y_database)
        display = display_class.from_estimator(estimator, *features)
        assert legend_of(display.ax_[0]) == ["ITQHasher"]
        given = display_class.from_estimator(estimator, *features, name="mine")
        assert legend_of(given.ax_[0]) == ["mine"]
        assert legend_of(given.plot(name="other").ax_[0]) == ["other"]
    nameless = display_class.from_histogram(make_histogram(4))
    assert legend_of(nameless.ax_[0]) is None


@each_display
def test_affinity_by_distance_needs_no_targets(display_class, features):
    X_query, _, X_database, _ = features
    affinity = ThresholdAffinity(quantiles=(0.2,), levels=(1,)).fit(X_database)
    hasher = LSHHasher(4, random_state=0).fit(X_database)
    display = display_class.from_estimator(
        hasher, X_query, None, X_database, None, affinity=affinity
    )
    expected = display_class.from_codes(
        hasher.transform(X_query),
        hasher.transform(X_database),
        affinity,
        X_query,
        X_database,
    )
    for attribute in ("precision", "expected"):
        if hasattr(display, attribute):
            assert_array_equal(getattr(display, attribute), getattr(expected, attribute))


# matplotlib


@each_display
def test_without_matplotlib_the_error_says_what_is_missing(display_class, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    name = display_class.__name__
    with pytest.raises(ImportError, match=f"{name}.plot requires matplotlib"):
        display_class.from_histogram(make_histogram(4))
