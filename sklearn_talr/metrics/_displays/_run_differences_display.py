"""Two runs, query by query."""

import numpy as np

from ..._compat import validate_params
from ...measures import parse_measure
from ._axes import finish, single_axes
from ._display_inputs import check_comparison, place_of_measure

_ROUNDING = 1e-12  # differences up to it are none
_COLORS = {1: "#0072B2", -1: "#D55E00", 0: "0.45"}  # first ahead, second ahead, undecided


class RunDifferencesDisplay:
    """Differences of two runs in each query, sorted, with what ties can do to them.

    A bar is the expected difference in one query. Its thin line reaches from the least to
    the greatest difference that orders of tied documents can make. Where that line crosses
    0 ties decide which run is better in the query, and the bar is gray.

    Make one by `from_comparison`.

    Parameters
    ----------
    difference, lowest, highest : array-like of shape (n_queries,)
        Expected difference in each query, and its limits over orders of ties.

    names : tuple of two str
        The two runs. Differences are of the first less the second.

    measure : str or Measure, default="AP"
        The measure, for the label of its axis.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The differences, the greatest first.

    ranges_ : matplotlib LineCollection
        What ties can do.

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

    @validate_params(
        {key: ["array-like"] for key in ("difference", "lowest", "highest", "names")}
        | {"measure": "no_validation"},
        prefer_skip_nested_validation=True,
    )
    def __init__(self, *, difference, lowest, highest, names, measure="AP"):
        self.difference = difference
        self.lowest = lowest
        self.highest = highest
        self.names = names
        self.measure = parse_measure(measure)

    @classmethod
    @validate_params(
        {"pair": ["array-like", None]}
        | dict.fromkeys(("comparison", "measure", "ax"), "no_validation"),
        prefer_skip_nested_validation=True,
    )
    def from_comparison(cls, comparison, *, pair=None, measure=None, ax=None, **kwargs):
        """Plot two runs of what :func:`sklearn_talr.runs.compare_runs` has returned.

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
        check_comparison(comparison)
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

    @validate_params({"ax": "no_validation"}, prefer_skip_nested_validation=True)
    def plot(self, ax=None, **kwargs):
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
        ax = single_axes(self, ax, figsize=(6.4, 3.6))
        difference, lowest, highest = (
            np.asarray(each, dtype=float)
            for each in (self.difference, self.lowest, self.highest)
        )
        order = np.argsort(-difference, kind="stable")
        difference, lowest, highest = difference[order], lowest[order], highest[order]
        side = (lowest >= -_ROUNDING).astype(int) - (highest <= _ROUNDING)
        places = np.arange(len(order))
        style = {"width": 0.85, "color": [_COLORS[each] for each in side]} | kwargs
        self.bars_ = ax.bar(places, difference, **style)
        self.ranges_ = ax.vlines(places, lowest, highest, color="0.2", linewidth=0.8)
        ax.axhline(0, color="0.2", linewidth=0.8)
        finish(ax, "queries, by difference", f"difference of {self.measure.label}")
        ax.grid(False, axis="x")
        ax.set_xticks([])
        is_equal = np.maximum(np.abs(lowest), np.abs(highest)) <= _ROUNDING
        self._tell_shares(ax, side, is_equal)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _tell_shares(self, ax, side, is_equal):
        """Say in words how many queries each run wins, and how many ties decide."""
        undecided = ((side == 0) & ~is_equal).sum()
        counts = [f"better in {(side == 1).sum()}", f"worse in {(side == -1).sum()}"]
        counts.append(f"ties decide {undecided}")
        if is_equal.any():
            counts.append(f"equal in {is_equal.sum()}")
        title = f"{self.names[0]} minus {self.names[1]}\n{', '.join(counts)}"
        ax.set_title(title, fontsize="medium", loc="left", parse_math=False)
