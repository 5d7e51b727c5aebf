"""Displays of compared runs: query by query, in tiers, and by ranks."""

from dataclasses import dataclass
from string import ascii_uppercase

import numpy as np

from .._core.types import Any, ArrayLike, Count, Self, Sequence
from .._core.validation import refuse_unlike_labels
from ..inference._resampling import refuse_unlike_rows
from ..measures import Measure, parse_measure
from ._displays import draw_rows, finish, finish_rows, line_style, single_axes

# Differences up to this are rounding of equal values.
_ROUNDING = 1e-12
# Colors of the queries in which the first run is ahead, the second, or neither.
_COLORS = {1: "#0072B2", -1: "#D55E00", 0: "0.45"}


class _ComparisonDisplay:
    """Base of displays whose measure may be one of a table of scores."""

    def __post_init__(self) -> None:
        self.measure = _named_measure(self.measure)

    def _refuse_other_systems(self, array_names):
        """Raise ValueError if an array has an index that is not the names, in order."""
        for name in array_names:
            refuse_unlike_rows(getattr(self, name), name, list(self.names), "names")

    def _finish_systems(self, ax, xlabel):
        """Label axes whose rows are systems, and return the display."""
        finish_rows(ax, xlabel)
        names = list(map(str, self.names))
        ax.set_yticks(range(len(names)), names, parse_math=False)
        ax.set_ylim(len(names) - 0.4, -0.6)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class RunDifferencesDisplay(_ComparisonDisplay):
    """Differences of two runs in each query, sorted, with their ranges over tie orders.

    A bar is the expected difference in one query. Its thin line reaches from the least to
    the greatest difference over all orders of tied documents. If the line crosses 0, ties
    decide which run is better in the query, and the bar is gray.

    Make one by `from_comparison`.

    Parameters
    ----------
    difference, lowest, highest : array-like of shape (n_queries,)
        Expected difference in each query, and its limits over orders of ties.

    names : tuple of two str
        The two runs. Differences are first minus second.

    measure : str or Measure, default="AP"
        The measure, for the label of its axis.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The differences, the greatest first.

    ranges_ : matplotlib LineCollection
        Ranges of the differences over orders of ties.

    ax_ : matplotlib Axes
        Axes with the picture.

    figure_ : matplotlib Figure
        Figure of the Axes.

    See Also
    --------
    sklearn_talr.runs.compare_runs : The numbers.
    TiersDisplay : Many systems, by their means.

    Examples
    --------
    .. plot::
       :include-source:
       :alt: Bars of 30 queries from the greatest gain to the greatest loss, some of them
             gray because ties decide them.

       >>> import numpy as np
       >>> from sklearn_talr.metrics import RunDifferencesDisplay
       >>> from sklearn_talr.runs import Run, compare_runs, evaluate_run
       >>> rng = np.random.default_rng(0)
       >>> queries = [f"q{i}" for i in range(30)]
       >>> relevant = {query: {"d0": 1, "d1": 1, "d2": 1} for query in queries}
       >>> def system(name, n_levels):
       ...     scores = rng.normal(size=(30, 20)) + 1.5 * (np.arange(20) < 3)
       ...     scores = np.round(n_levels * scores).tolist()
       ...     runs = {
       ...         query: {f"d{i}": score for i, score in enumerate(row)}
       ...         for query, row in zip(queries, scores)
       ...     }
       ...     return evaluate_run(relevant, Run(runs, name), "AP")
       >>> comparison = compare_runs(system("coarse", 1), system("fine", 100))
       >>> display = RunDifferencesDisplay.from_comparison(comparison)
       >>> len(display.difference)
       30
    """

    difference: ArrayLike
    lowest: ArrayLike
    highest: ArrayLike
    names: tuple[str, str]
    measure: str | Measure = "AP"

    @classmethod
    def from_comparison(
        cls,
        comparison: Any,
        *,
        pair: Sequence[str] | None = None,
        measure: str | Measure | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Plot two runs of a comparison by :func:`sklearn_talr.runs.compare_runs`.

        Parameters
        ----------
        comparison : RunComparison
            Two runs or more.

        pair : sequence of two str, default=None
            Names of the two runs; None takes the first two.

        measure : str or Measure, default=None
            Which of the compared measures to plot; None takes the first.

        ax : matplotlib Axes, default=None
            Where to plot. None means a new figure.

        **kwargs : dict
            Passed to matplotlib's ``bar``.

        Returns
        -------
        display : RunDifferencesDisplay
            The picture and its numbers, in the order of the queries.
        """
        place, measure = place_of_measure(comparison, measure)
        names = tuple(comparison.names[:2] if pair is None else pair)
        if len(names) != 2 or len(set(names) & set(comparison.names)) != 2:
            raise ValueError(
                f"pair must be two of the runs {comparison.names}, got {names}."
            )
        evaluations = dict(zip(comparison.names, comparison.evaluations))
        first, second = (evaluations[name] for name in names)
        display = cls(
            difference=(first.expected - second.expected)[:, place],
            lowest=(first.worst - second.best)[:, place],
            highest=(first.best - second.worst)[:, place],
            names=names,
            measure=measure,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Plot the differences, the greatest first.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to plot. None means a new figure.

        **kwargs : dict
            Passed to matplotlib's ``bar``.

        Returns
        -------
        display : RunDifferencesDisplay
            This display.
        """
        for name in ("lowest", "highest"):
            limits = getattr(self, name)
            refuse_unlike_labels(self.difference, limits, ("difference", name))
        ax = single_axes(self, ax, figsize=(6.4, 3.6))
        difference = np.asarray(self.difference, dtype=float)
        order = np.argsort(-difference, kind="stable")
        difference = difference[order]
        lowest = np.asarray(self.lowest, dtype=float)[order]
        highest = np.asarray(self.highest, dtype=float)[order]
        # 1 where the first run is ahead, -1 where the second is, and 0 if ties decide.
        leader = (lowest >= -_ROUNDING).astype(int) - (highest <= _ROUNDING)
        places = np.arange(len(order))
        style = {"width": 0.85, "color": [_COLORS[sign] for sign in leader]} | kwargs
        self.bars_ = ax.bar(places, difference, **style)
        self.ranges_ = ax.vlines(places, lowest, highest, color="0.2", linewidth=0.8)
        ax.axhline(0, color="0.2", linewidth=0.8)
        finish(ax, "queries, by difference", f"difference of {_label(self.measure)}")
        ax.grid(False, axis="x")
        ax.set_xticks([])
        is_equal = np.maximum(np.abs(lowest), np.abs(highest)) <= _ROUNDING

        # The title counts the queries that each run leads, and those that ties decide.
        counts = [
            f"higher in {np.sum(leader == 1)}",
            f"lower in {np.sum(leader == -1)}",
            f"ties decide {np.sum((leader == 0) & ~is_equal)}",
        ]
        if is_equal.any():
            counts.append(f"equal in {is_equal.sum()}")
        title = f"{self.names[0]} minus {self.names[1]}\n{', '.join(counts)}"
        ax.set_title(title, fontsize="medium", loc="left", parse_math=False)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class TiersDisplay(_ComparisonDisplay):
    """Critical-difference diagram: means of systems, and groups without a difference.

    Systems are rows, the best on top. A dot is a mean over queries, the line through it its
    confidence interval, and the pale bar the range from the worst to the best order of tied
    documents. A gray bracket on the right is a tier, with its letter (a compact letter
    display): it has a notch in the row of each of its systems. Two systems differ
    significantly if and only if they share no tier.

    Intervals of two systems may overlap although the systems differ significantly, because
    tests compare the systems query by query.

    Make one by `from_comparison`.

    Parameters
    ----------
    names : list of str of length n_systems
        Names of the systems.

    mean, low, high : array-like of shape (n_systems,)
        Mean of each system, and the ends of its confidence interval.

    worst, best : array-like of shape (n_systems,)
        Least and greatest mean over all orders of tied documents.

    tiers : list of lists of str
        Names of the systems in each tier.

    measure : str or Measure, default="AP"
        The measure, for the label of its axis.

    Attributes
    ----------
    dots_ : matplotlib Line2D
        The means.

    intervals_ : matplotlib LineCollection
        The confidence intervals.

    ranges_ : matplotlib BarContainer
        Ranges of the means over orders of ties.

    tiers_ : list of matplotlib Line2D
        A line for each tier.

    ax_ : matplotlib Axes
        Axes with the picture.

    figure_ : matplotlib Figure
        Figure of the Axes.

    See Also
    --------
    sklearn_talr.runs.compare_runs : The numbers.
    RunDifferencesDisplay : Two systems, query by query.

    References
    ----------
    J. Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7,
    2006, for the diagram.

    Examples
    --------
    .. plot::
       :include-source:
       :alt: Four systems in rows. The best and the second share one tier, the second and
             the third another, and the last is alone.

       >>> import numpy as np
       >>> from sklearn_talr.metrics import TiersDisplay
       >>> from sklearn_talr.runs import Run, compare_runs, evaluate_run
       >>> rng = np.random.default_rng(0)
       >>> queries = [f"q{i}" for i in range(60)]
       >>> relevant = {query: {"d0": 1, "d1": 1, "d2": 1} for query in queries}
       >>> def system(name, gain):
       ...     scores = {}
       ...     for query in queries:
       ...         score = rng.normal(size=30) + gain * (np.arange(30) < 3)
       ...         ties = dict(enumerate(np.round(12 * score).tolist()))
       ...         scores[query] = {f"d{i}": score for i, score in ties.items()}
       ...     return evaluate_run(relevant, Run(scores, name), "AP")
       >>> systems = [
       ...     system("dense", 1.7),
       ...     system("fused", 2.0),
       ...     system("bm25", 1.4),
       ...     system("random", 0.0),
       ... ]
       >>> comparison = compare_runs(*systems)
       >>> display = TiersDisplay.from_comparison(comparison)
       >>> display.names[0], display.names[-1]
       ('fused', 'random')
    """

    names: Sequence[str]
    mean: ArrayLike
    low: ArrayLike
    high: ArrayLike
    worst: ArrayLike
    best: ArrayLike
    tiers: Sequence[Sequence[str]]
    measure: str | Measure = "AP"

    @classmethod
    def from_comparison(
        cls,
        comparison: Any,
        *,
        measure: str | Measure | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Plot a comparison by :func:`sklearn_talr.runs.compare_runs`.

        Parameters
        ----------
        comparison : RunComparison
            Two runs or more.

        measure : str or Measure, default=None
            Which of the compared measures to plot; None takes the first.

        ax : matplotlib Axes, default=None
            Where to plot. None means a new figure.

        **kwargs : dict
            Passed to matplotlib's ``plot`` for the dots.

        Returns
        -------
        display : TiersDisplay
            The picture and its numbers, the best system first.
        """
        place, measure = place_of_measure(comparison, measure)
        order = comparison.best_first[:, place]
        display = cls(
            names=[comparison.names[run] for run in order],
            mean=comparison.means[order, place],
            low=comparison.means_low[order, place],
            high=comparison.means_high[order, place],
            worst=comparison.worst[order, place],
            best=comparison.best[order, place],
            tiers=comparison.tiers[measure],
            measure=measure,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Plot means, intervals and tiers.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to plot. None means a new figure.

        **kwargs : dict
            Passed to matplotlib's ``plot`` for the dots.

        Returns
        -------
        display : TiersDisplay
            This display.
        """
        self._refuse_other_systems(("mean", "low", "high", "worst", "best"))
        n_systems = len(self.names)
        size = 6.4 + 0.18 * len(self.tiers), 1.2 + 0.34 * n_systems
        ax = single_axes(self, ax, figsize=size)
        rows = np.arange(n_systems)
        self.dots_, self.ranges_ = draw_rows(
            ax,
            rows,
            worst=self.worst,
            mean=self.mean,
            best=self.best,
            style=line_style(0, kwargs, linestyle="none", zorder=3),
            alpha=0.2,
        )
        color = self.dots_.get_color()
        self.intervals_ = ax.hlines(rows, self.low, self.high, color=color, linewidth=1.6)
        self.tiers_ = []
        for number, tier in enumerate(self.tiers):
            tier_rows = sorted(list(self.names).index(name) for name in tier)
            self.tiers_ += self._draw_bracket(ax, number, tier_rows)
        xlabel = f"{_label(self.measure)}: mean, interval, range over tie orders"
        return self._finish_systems(ax, xlabel)

    def _draw_bracket(self, ax, number, tier_rows):
        """Draw a tier to the right of the frame: a notch in each row, a letter on top."""
        # Rows are data, and columns are shares of the width.
        beside_rows = ax.get_yaxis_transform()
        column = np.full(len(tier_rows), 1.03 + 0.035 * number)
        lines = ax.plot(
            column,
            tier_rows,
            transform=beside_rows,
            clip_on=False,
            color="0.55",
            linewidth=1.5,
            marker=0,
            markersize=7,
            solid_capstyle="butt",
            markeredgewidth=1.5,
        )
        ax.annotate(
            ascii_uppercase[number % 26],
            (column[0], tier_rows[0]),
            xycoords=beside_rows,
            xytext=(0, 9),
            textcoords="offset points",
            ha="center",
        )
        return lines


@dataclass(kw_only=True, eq=False, repr=False)
class RanksDisplay(_ComparisonDisplay):
    """Ranks that tests leave to systems, for many systems.

    Systems are rows, the best on top. A bar reaches from the best to the worst rank that a
    system may have: 1 plus the number of significantly better systems, and the number of
    systems minus the number of significantly worse ones. The dot is its rank by the mean.

    Make one by `from_comparison`.

    Parameters
    ----------
    names : list of str of length n_systems
        Names of the systems, by descending mean.

    rank_low, rank_high : array-like of shape (n_systems,)
        The best and the worst rank of each system.

    measure : str or Measure, default="AP"
        The measure, for the label of the axis.

    Attributes
    ----------
    dots_ : matplotlib Line2D
        Ranks by the means.

    ranges_ : matplotlib BarContainer
        Ranges of ranks.

    ax_ : matplotlib Axes
        Axes with the picture.

    figure_ : matplotlib Figure
        Figure of the Axes.

    See Also
    --------
    TiersDisplay : Means, intervals and tiers, for up to about 15 systems.

    Examples
    --------
    .. plot::
       :include-source:
       :alt: Twenty systems in rows, each with a bar of the ranks that it may have. Bars of
             neighbors overlap.

       >>> import numpy as np
       >>> from sklearn_talr.metrics import RanksDisplay
       >>> from sklearn_talr.runs import compare_scores
       >>> rng = np.random.default_rng(0)
       >>> quality, tasks = np.linspace(0.7, 0.4, 20), rng.normal(0, 0.1, (40, 1))
       >>> scores = quality + tasks + rng.normal(0, 0.05, (40, 20))
       >>> models = {f"model {i}": column for i, column in enumerate(scores.T)}
       >>> display = RanksDisplay.from_comparison(compare_scores(models))
       >>> int(display.rank_low[0]), int(display.rank_high[-1])
       (1, 20)
    """

    names: Sequence[str]
    rank_low: ArrayLike
    rank_high: ArrayLike
    measure: str | Measure = "AP"

    @classmethod
    def from_comparison(
        cls,
        comparison: Any,
        *,
        measure: str | Measure | None = None,
        n_first: Count = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Plot a comparison by :func:`sklearn_talr.runs.compare_runs`.

        Parameters
        ----------
        comparison : RunComparison
            Two runs or more, or systems of a table of scores.

        measure : str or Measure, default=None
            Which of the compared measures to plot; None takes the first.

        n_first : int, default=None
            Number of systems to plot, the best first. None plots all.

        ax : matplotlib Axes, default=None
            Where to plot. None means a new figure.

        **kwargs : dict
            Passed to matplotlib's ``plot`` for the dots.

        Returns
        -------
        display : RanksDisplay
            The picture and its numbers, the best system first.
        """
        place, measure = place_of_measure(comparison, measure)
        order = comparison.best_first[:n_first, place]
        display = cls(
            names=[comparison.names[run] for run in order],
            rank_low=comparison.rank_low[order, place],
            rank_high=comparison.rank_high[order, place],
            measure=measure,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Plot ranges of ranks.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to plot. None means a new figure.

        **kwargs : dict
            Passed to matplotlib's ``plot`` for the dots.

        Returns
        -------
        display : RanksDisplay
            This display.
        """
        self._refuse_other_systems(("rank_low", "rank_high"))
        n_systems = len(self.names)
        ax = single_axes(self, ax, figsize=(6.4, 1.2 + 0.22 * n_systems))
        rows = np.arange(n_systems)
        self.dots_, self.ranges_ = draw_rows(
            ax,
            rows,
            worst=np.asarray(self.rank_low) - 0.4,
            mean=rows + 1,
            best=np.asarray(self.rank_high) + 0.4,
            style=line_style(0, kwargs, linestyle="none", zorder=3, markersize=5),
            alpha=0.35,
        )
        ax.locator_params(axis="x", integer=True)
        xlabel = f"possible ranks by {_label(self.measure)}"
        return self._finish_systems(ax, xlabel)


def _named_measure(measure):
    """A Measure, or the name of another measure in a table of scores."""
    try:
        return parse_measure(measure)
    except ValueError:
        return measure


def _label(measure):
    return getattr(measure, "label", measure)


def place_of_measure(comparison, measure):
    """Return the column and the name of a measure of a comparison, by default the first."""
    if not hasattr(comparison, "tiers") or not hasattr(comparison, "evaluations"):
        raise TypeError(
            "from_comparison takes results of compare_runs or compare_scores, got "
            f"{type(comparison).__name__}."
        )
    name = comparison.measures[0] if measure is None else str(_named_measure(measure))
    if name not in comparison.measures:
        raise ValueError(
            f"measure must be one of the compared measures {comparison.measures}, got "
            f"{name!r}."
        )
    return comparison.measures.index(name), name
