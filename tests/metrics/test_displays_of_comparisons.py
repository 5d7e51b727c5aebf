"""Pictures of compared runs: tiers, and differences query by query."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.metrics import RanksDisplay, RunDifferencesDisplay, TiersDisplay
from sklearn_talr.runs import RunEvaluation, compare_runs


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def compared():
    """Three systems of two measures; the second is the best, the last the worst."""
    rng = np.random.default_rng(0)
    queries = [f"q{number}" for number in range(24)]
    base = rng.uniform(0.4, 0.6, size=(24, 2))
    evaluations = []
    for name, gain in (("middle", 0.0), ("best", 0.03), ("last", -0.3)):
        expected = base + gain + rng.normal(0, 0.08, size=base.shape)
        width = 0.05 * (np.arange(24) % 2)[:, None]
        columns = expected, expected - width, expected + width, expected
        evaluations.append(RunEvaluation(name, ["AP", "nDCG@10"], queries, *columns))
    return compare_runs(*evaluations)


def test_rows_are_systems_by_their_means(compared):
    display = TiersDisplay.from_comparison(compared)
    order = [1, 0, 2]
    assert display.names == ["best", "middle", "last"]
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == display.names
    assert display.ax_.get_ylim()[0] > display.ax_.get_ylim()[1]  # the best on top
    assert_allclose(display.dots_.get_xdata(), compared.means[order, 0])
    assert_array_equal(display.dots_.get_ydata(), [0, 1, 2])
    ends = np.array([line[:, 0] for line in display.intervals_.get_segments()])
    assert_allclose(ends[:, 0], compared.means_low[order, 0])
    assert_allclose(ends[:, 1], compared.means_high[order, 0])
    ties = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in display.ranges_]
    assert_allclose(ties, np.stack([compared.worst, compared.best], axis=-1)[order, 0])


def test_tiers_have_a_knot_in_the_row_of_each_system(compared):
    display = TiersDisplay.from_comparison(compared, measure="nDCG@10")
    rows = [line.get_ydata().astype(int) for line in display.tiers_]
    tiers = [[display.names[row] for row in of_tier] for of_tier in rows]
    assert tiers == compared.tiers["nDCG@10"]
    assert ["last"] in tiers
    places = [set(line.get_xdata()) for line in display.tiers_]
    assert all(len(place) == 1 for place in places)
    assert len(set().union(*places)) == len(tiers)
    assert min(set().union(*places)) > 1  # right of the frame


def test_bars_are_differences_from_gain_to_loss(compared):
    asked = {"pair": ("best", "middle"), "measure": "AP"}
    display = RunDifferencesDisplay.from_comparison(compared, **asked)
    best, middle = compared.evaluations[1], compared.evaluations[0]
    difference = (best.expected - middle.expected)[:, 0]
    assert_allclose(display.difference, difference)
    heights = [bar.get_height() for bar in display.bars_]
    assert_allclose(heights, np.sort(difference)[::-1])
    ends = np.array([line[:, 1] for line in display.ranges_.get_segments()])
    order = np.argsort(-difference)
    assert_allclose(ends[:, 0], (best.worst - middle.best)[order, 0])
    assert_allclose(ends[:, 1], (best.best - middle.worst)[order, 0])
    lowest, highest = ends.T
    crosses = (lowest < 0) & (highest > 0)
    assert 0 < crosses.sum() < 24
    colors = [bar.get_facecolor() for bar in display.bars_]
    assert len({colors[place] for place in np.flatnonzero(crosses)}) == 1
    assert len(set(colors)) == 3
    title = display.ax_.get_title(loc="left")
    assert title.splitlines() == [
        "best minus middle",
        f"higher in {(lowest >= 0).sum()}, lower in {(highest <= 0).sum()}, "
        f"ties decide {crosses.sum()}",
    ]


def test_bars_are_ranks_that_systems_may_have(compared):
    display = RanksDisplay.from_comparison(compared, n_first=2)
    assert display.names == ["best", "middle"]
    assert_array_equal(display.dots_.get_xdata(), [1, 2])
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in display.ranges_]
    ranks = np.stack([compared.rank_low, compared.rank_high], axis=-1)[[1, 0], 0]
    assert_allclose(np.subtract(ends, [-0.4, 0.4]), ranks)
    assert len(RanksDisplay.from_comparison(compared).names) == 3


@pytest.mark.parametrize("display", [TiersDisplay, RanksDisplay, RunDifferencesDisplay])
def test_what_was_not_compared_is_refused(display, compared):
    with pytest.raises(ValueError, match="measure must be one of"):
        display.from_comparison(compared, measure="RR")
    with pytest.raises(TypeError, match=r"results of compare_runs or .*, got list"):
        display.from_comparison([1, 2])
    for pair in (("best", "worst"), ("best", "best"), ("best",)):
        with pytest.raises(ValueError, match="pair must be two of the runs"):
            RunDifferencesDisplay.from_comparison(compared, pair=pair)


def test_series_of_a_display_are_of_one_order():
    """They are joined by position, so labels in another order are refused."""
    pd = pytest.importorskip("pandas")
    values = pd.Series([0.1, -0.2, 0.3], index=["q1", "q2", "q3"])
    ranks, names = pd.Series([1, 2, 3], index=list("abc")), list("abc")
    means = dict.fromkeys(["mean", "low", "high", "worst", "best"], ranks / 10)
    pair = {"difference": values, "lowest": values - 1, "highest": values + 1}
    displays = [
        (RunDifferencesDisplay, {**pair, "names": ("a", "b")}, "highest"),
        (RanksDisplay, {"names": names, "rank_low": ranks, "rank_high": ranks}, "rank_low"),
        (TiersDisplay, {"names": names, "tiers": [["a"], ["b", "c"]], **means}, "low"),
    ]
    for display, arrays, name in displays:
        display(**arrays).plot()
        moved = {**arrays, name: arrays[name][::-1]}
        with pytest.raises(ValueError, match=f"{name} has the same labels in an"):
            display(**moved).plot()
        display(**{**moved, name: moved[name].to_numpy()}).plot()
