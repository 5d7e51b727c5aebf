"""Displays of retrieval metrics, with the interface of scikit-learn's displays."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from .._core.compat import check_matplotlib_support
from .._core.types import Affinity, Any, ArrayLike, Count, Literal, Self, Sequence
from ..histogram import HammingHistogram, RankingHistogram, hamming_histogram
from ..histogram._histograms import check_hamming
from ..measures import Measure, P, R, TieBreakingRange, parse_measure
from ..measures._evaluation import average_queries, completed_for_arrays, histogram_range
from ._lookup import (
    empty_lookup_fraction,
    radius_aware_map,
    radius_precision,
    radius_recall,
)
from ._scorers import estimator_histograms, name_of

# Okabe and Ito's colors, safe for the color-blind, in an order in which neighbors also
# differ in lightness; dashes and markers tell them apart in any print.
_COLORS = ["#0072B2", "#E69F00", "#000000", "#CC79A7", "#009E73", "#D55E00", "#56B4E9"]
_LINES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]
_MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
_DOTS = {"markersize": 7, "markeredgecolor": "white", "markeredgewidth": 0.8}


def line_style(place, kwargs, **defaults):
    """Keywords for the line of the method at this place, from 0; `kwargs` override them."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    style = {
        "color": _COLORS[place % len(_COLORS)],
        "linestyle": _LINES[place % len(_LINES)],
        "marker": _MARKERS[place % len(_MARKERS)],
    }
    return style | defaults | normalize_kwargs(kwargs, Line2D)


def single_axes(display, ax, figsize):
    """Return the given Axes, or the Axes of a new figure."""
    check_matplotlib_support(f"{type(display).__name__}.plot")
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=figsize, layout="constrained")
    return ax


def finish(ax, xlabel, ylabel):
    """Label the axes, and lighten what is not data."""
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


def finish_rows(ax, xlabel):
    """Label the axes of a picture whose rows are methods."""
    finish(ax, xlabel, "")
    # Without sticky edges no bar begins at the frame.
    ax.use_sticky_edges = False
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)


def draw_rows(ax, rows, *, worst, mean, best, style, alpha):
    """Draw dots, and bars from worst to best, of one style."""
    (dots,) = ax.plot(mean, rows, **_DOTS | style)
    bars = ax.barh(
        rows,
        np.asarray(best) - np.asarray(worst),
        left=worst,
        height=0.5,
        color=dots.get_color(),
        alpha=alpha,
        linewidth=0,
    )
    return dots, bars


def add_legend(ax, **kwargs):
    """Draw a legend if a method has a name."""
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, **kwargs)


def check_distances(histogram, display):
    """Return the histogram if its columns are distances and some query has a mean."""
    check_hamming(histogram, display)
    check_any(np.any(histogram.n_relevant))
    return histogram


def check_any(is_relevant):
    """Raise ValueError unless some query has a relevant item, so that there are means."""
    if not is_relevant:
        raise ValueError("No query has a relevant item, so there is nothing to draw.")


def by_method(value, is_one):
    """Return one item, a list of items, or a dict of either as {name: list of items}.

    `is_one` distinguishes an item from a list. The name of a single method is None.
    """
    methods = value if isinstance(value, Mapping) else {None: value}
    lists = {}
    for name, things in methods.items():
        lists[name] = [things] if is_one(things) else list(things)
    if not any(lists.values()):
        raise ValueError("There is nothing to draw: pass at least one method.")
    return lists


def is_codes(value):
    """Whether a value is one set of codes, perhaps nested lists, and no list of sets."""
    if not isinstance(value, list | tuple) or not value:
        return True
    return len(getattr(value[0], "shape", None) or np.shape(value[0])) < 2


class _PanelDisplay:
    """Base of displays of one method, with a line in each of several panels."""

    @classmethod
    def from_codes(
        cls,
        query_codes: ArrayLike,
        database_codes: ArrayLike,
        affinity: Affinity,
        y_query: Any,
        y_database: Any,
        **options: Any,
    ) -> Self:
        """Evaluate codes, and plot.

        Parameters
        ----------
        query_codes : array-like of shape (n_queries, n_bits) of 0/1, or PackedCodes
            Codes of the queries.

        database_codes : array-like of shape (n_database, n_bits) of 0/1, or PackedCodes
            Codes of the database.

        affinity : "auto" or affinity object
            Definition of similarity. ``"auto"`` chooses by the form of `y_database`.

        y_query : targets of length n_queries
            Targets of the queries, as the affinity takes them.

        y_database : targets of length n_database
            Targets of the database.

        **options : dict
            Other parameters of `from_histogram`: `panels`, `name`, `ax`, `radius` of a
            RadiusDisplay, and keywords of matplotlib's ``plot``. Also `groups_query` and
            `groups_database` of :func:`~sklearn_talr.histogram.hamming_histogram`.

        Returns
        -------
        display : RadiusDisplay or RetrievalCurveDisplay
            The picture and its numbers.
        """
        histogram = hamming_histogram(
            query_codes,
            database_codes,
            affinity,
            y_query,
            y_database,
            groups_query=options.pop("groups_query", None),
            groups_database=options.pop("groups_database", None),
        )
        return cls.from_histogram(histogram, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        panels: str | Sequence[str] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Plot a line in each panel.

        Parameters
        ----------
        ax : matplotlib Axes or array of Axes, default=None
            Where to plot: as many Axes as panels, such as `ax_` of another display. None
            means a new figure.

        panels : str or list of str, default=None
            Which of the `panels` of this class to draw. None means all.

        name : str, default=None
            Name for the legend, which replaces the name of the display.

        **kwargs : dict
            Passed to matplotlib's ``plot`` for the lines.

        Returns
        -------
        display : RadiusDisplay or RetrievalCurveDisplay
            This display.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        names = self.panels if panels is None else np.atleast_1d(panels).tolist()
        if not names or not set(names) <= set(self.panels):
            raise ValueError(
                f"panels must be None, one of {self.panels} or a list of them, got "
                f"{panels!r}."
            )
        if ax is None:
            import matplotlib.pyplot as plt

            rows = self._n_rows if len(names) == len(self.panels) else 1
            columns = len(names) // rows
            size = self._size[0] * columns, self._size[1] * rows
            figure, ax = plt.subplots(rows, columns, figsize=size, layout="constrained")
            figure.align_ylabels()
        axes = np.asarray(ax, dtype=object).ravel()
        if len(axes) != len(names):
            raise ValueError(
                f"ax must hold one Axes for each of the {len(names)} panels "
                f"{tuple(names)}, got {len(axes)}."
            )
        label = self.name if name is None else name
        self.lines_ = {}
        self.bands_ = {}
        for panel, panel_ax in zip(names, axes):
            style = line_style(len(panel_ax.lines), kwargs, label=label, **self._style)
            self._draw(panel, panel_ax, style)
        add_legend(axes[0])
        self.ax_ = axes[0] if isinstance(panels, str) else axes
        self.figure_ = axes[0].figure
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class RadiusDisplay(_PanelDisplay):
    """Precision, recall, RAMAP and empty lookups of hash lookup against the radius.

    Four panels, with one line for each method. To compare methods, plot each onto the
    Axes of the first: ``second.plot(ax=first.ax_)``.

    Make one by `from_estimator`, `from_codes` or `from_histogram`.

    Parameters
    ----------
    precision : array-like of shape (n_radii,)
        Mean precision within each radius 0, 1, ...; an empty ball counts as 0.

    recall : array-like of shape (n_radii,)
        Mean recall within each radius.

    radius_aware_map : array-like of shape (n_radii,)
        RAMAP at each radius.

    empty_fraction : array-like of shape (n_radii,)
        Fraction of the queries that find nothing within each radius.

    name : str, default=None
        Name of the method, for the legend.

    Attributes
    ----------
    panels : tuple of str
        Names of the panels.

    lines_ : dict of matplotlib Line2D
        The line of each panel, by its name.

    ax_ : ndarray of matplotlib Axes, or Axes
        One Axes for each panel drawn; the Axes itself if `panels` was one name.

    figure_ : matplotlib Figure
        Figure of the Axes.

    See Also
    --------
    radius_precision, radius_recall, radius_aware_map, empty_lookup_fraction : The numbers.

    Notes
    -----
    Queries without relevant items are left out of precision, recall and RAMAP, although
    everything they find is wrong; :func:`pair_precision` counts their pairs. They do count
    as empty lookups if they find nothing.

    Examples
    --------
    .. plot::
       :include-source:
       :alt: Precision, recall, RAMAP and the fraction of empty lookups against the
             radius, a line for LSH and one for ITQ in each panel.

       >>> from sklearn.datasets import load_digits
       >>> from sklearn_talr.hashing import ITQHasher, LSHHasher
       >>> from sklearn_talr.metrics import RadiusDisplay
       >>> X, y = load_digits(return_X_y=True)
       >>> sets = X[:300], y[:300], X[300:], y[300:]
       >>> axes = None
       >>> for hasher in (LSHHasher(16, random_state=0), ITQHasher(16, random_state=0)):
       ...     display = RadiusDisplay.from_estimator(
       ...         hasher.fit(X[300:]), *sets, radius=4, ax=axes
       ...     )
       ...     axes = display.ax_
       ...     print(display.name, display.radius_aware_map.round(1))
       LSHHasher [0.3 0.1 0.1 0.1 0.1]
       ITQHasher [0.5 0.3 0.2 0.1 0.1]
    """

    panels = ("precision", "recall", "radius_aware_map", "empty_fraction")
    _labels = dict(zip(panels, ("precision", "recall", "RAMAP", "fraction empty")))
    _n_rows, _size, _style = 2, (3.2, 2.5), {"markersize": 4}

    precision: ArrayLike
    recall: ArrayLike
    radius_aware_map: ArrayLike
    empty_fraction: ArrayLike
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X_query: ArrayLike,
        y_query: Any,
        X_database: ArrayLike,
        y_database: Any,
        *,
        affinity: Affinity = "auto",
        **options: Any,
    ) -> Self:
        """Encode with a fitted hasher, evaluate, and plot.

        Parameters
        ----------
        estimator : fitted hasher, or Pipeline that ends in one
            The hasher that encodes queries and database. If no `name` is given, the legend
            shows its class.

        X_query : array-like of shape (n_queries, n_features)
            Features of the queries.

        y_query : targets of length n_queries
            Targets of the queries, as the affinity takes them. None with an affinity by
            distance.

        X_database : array-like of shape (n_database, n_features)
            Features of the database.

        y_database : targets of length n_database
            Targets of the database. None if `y_query` has judgments of all its items.

        affinity : "auto" or affinity object, default="auto"
            Definition of similarity. ``"auto"`` takes the affinity that the hasher was
            fitted with. If it has none, the form of `y_database` decides.

        **options : dict
            Other parameters of `from_histogram`: `radius`, `panels`, `name`, `ax`, and
            keywords of matplotlib's ``plot``. Also `groups_query` and `groups_database` of
            :func:`~sklearn_talr.histogram.hamming_histogram`.

        Returns
        -------
        display : RadiusDisplay
            The picture and its numbers.
        """
        histograms = estimator_histograms(
            estimator,
            X_query,
            y_query,
            affinity=affinity,
            database=(X_database, y_database),
            query="bits",
            groups_query=options.pop("groups_query", None),
            groups_database=options.pop("groups_database", None),
        )
        name = options.pop("name", None) or name_of(estimator)
        return cls.from_histogram(next(histograms), name=name, **options)

    @classmethod
    def from_histogram(
        cls,
        histogram: HammingHistogram,
        *,
        radius: Count = None,
        panels: str | Sequence[str] | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Evaluate a histogram of Hamming distances, and plot.

        Parameters
        ----------
        histogram : HammingHistogram
            Counts by Hamming distance.

        radius : int or None, default=None
            The largest radius. None means the code length.

        panels : str or list of str, default=None
            Names of the panels to draw. None means all.

        name : str, default=None
            Name for the legend.

        ax : matplotlib Axes or array of Axes, default=None
            Where to plot: as many Axes as panels. None means a new figure.

        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        display : RadiusDisplay
            The picture and its numbers.
        """
        check_distances(histogram, cls.__name__)
        display = cls(
            precision=average_queries(radius_precision(histogram, radius)),
            recall=average_queries(radius_recall(histogram, radius)),
            radius_aware_map=radius_aware_map(histogram, radius),
            empty_fraction=empty_lookup_fraction(histogram, radius),
            name=name,
        )
        return display.plot(ax, panels=panels, **kwargs)

    def _draw(self, panel, ax, style):
        """Draw the line of a panel."""
        values = getattr(self, panel)
        (self.lines_[panel],) = ax.plot(np.arange(len(values)), values, **style)
        finish(ax, "Hamming radius", self._labels[panel])
        # All values are fractions, on one scale.
        ax.set_ylim(-0.03, 1.03)
        ax.xaxis.get_major_locator().set_params(integer=True)


_N_CUTOFFS = 200


@dataclass(kw_only=True, eq=False, repr=False)
class RetrievalCurveDisplay(_PanelDisplay):
    """Tie-aware precision against the cutoff k, and against recall.

    The line is the expected value over all orders of tied items, the band spans the worst
    to the best order. To compare methods, plot each onto the Axes of the first:
    ``second.plot(ax=first.ax_)``.

    Make one by `from_estimator`, `from_codes` or `from_histogram`.

    Parameters
    ----------
    k : array-like of shape (n_cutoffs,) of int
        Cutoffs in ascending order.

    precision : TieBreakingRange of arrays of shape (n_cutoffs,)
        Worst, expected and best mean precision of the first k ranks.

    recall : TieBreakingRange of arrays of shape (n_cutoffs,)
        Worst, expected and best mean recall of the first k ranks.

    name : str, default=None
        Name of the method, for the legend.

    Attributes
    ----------
    panels : tuple of str
        Names of the panels.

    lines_ : dict of matplotlib Line2D
        The line of each panel, by its name.

    bands_ : dict of matplotlib Polygon
        The band of each panel, by its name.

    ax_ : ndarray of matplotlib Axes, or Axes
        One Axes for each panel drawn; the Axes itself if `panels` was one name.

    figure_ : matplotlib Figure
        Figure of the Axes.

    See Also
    --------
    sklearn.metrics.PrecisionRecallDisplay : One query or class, with a tie as one step.

    Notes
    -----
    Cutoffs are spaced evenly on a logarithmic scale, from 1 to the size of the database,
    and include the powers of ten. Queries without relevant items are left out.

    Each point of the precision-recall curve, and of the edges of its band, is the mean
    precision and the mean recall over queries at one k.

    Examples
    --------
    .. plot::
       :include-source:
       :alt: Precision against the cutoff and against recall, with bands from worst to
             best, for LSH and ITQ.

       >>> from sklearn.datasets import load_digits
       >>> from sklearn_talr.hashing import ITQHasher, LSHHasher
       >>> from sklearn_talr.metrics import RetrievalCurveDisplay
       >>> X, y = load_digits(return_X_y=True)
       >>> sets = X[:300], y[:300], X[300:], y[300:]
       >>> axes = None
       >>> for hasher in (LSHHasher(16, random_state=0), ITQHasher(16, random_state=0)):
       ...     display = RetrievalCurveDisplay.from_estimator(
       ...         hasher.fit(X[300:]), *sets, ax=axes
       ...     )
       ...     axes = display.ax_
       ...     of_first = [values[0] for values in display.precision]
       ...     print(display.name, *(f"{value:.1f}" for value in of_first))
       LSHHasher 0.4 0.6 0.8
       ITQHasher 0.8 0.9 0.9
    """

    panels = ("precision_at_k", "precision_recall")
    _n_rows, _size, _style = 1, (3.2, 3.2), {"marker": "none"}

    k: ArrayLike
    precision: TieBreakingRange
    recall: TieBreakingRange
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X_query: ArrayLike,
        y_query: Any,
        X_database: ArrayLike,
        y_database: Any,
        *,
        affinity: Affinity = "auto",
        query: Literal["auto", "bits", "weights"] = "auto",
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Encode with a fitted hasher, evaluate, and plot.

        Parameters
        ----------
        estimator : fitted hasher, or Pipeline that ends in one
            The hasher that encodes queries and database.

        X_query : array-like of shape (n_queries, n_features)
            Features of the queries.

        y_query : targets of length n_queries
            Targets of the queries, as the affinity takes them. None with an affinity by
            distance.

        X_database : array-like of shape (n_database, n_features)
            Features of the database.

        y_database : targets of length n_database
            Targets of the database. None if `y_query` has judgments of all its items.

        affinity : "auto" or affinity object, default="auto"
            Definition of similarity. ``"auto"`` takes the affinity that the hasher was
            fitted with. If it has none, the form of `y_database` decides.

        query : {"auto", "bits", "weights"}, default="auto"
            How queries are compared with codes, as for
            :func:`~sklearn_talr.metrics.make_retrieval_scorer`.

        name : str, default=None
            Name for the legend. None means the class of the hasher, with "weighted queries"
            if they are used.

        **options : dict
            Other parameters of `from_histogram`: `panels`, `ax`, and keywords of
            matplotlib's ``plot``. Also `groups_query` and `groups_database` of
            :func:`~sklearn_talr.histogram.hamming_histogram`.

        Returns
        -------
        display : RetrievalCurveDisplay
            The picture and its numbers.
        """
        histograms = estimator_histograms(
            estimator,
            X_query,
            y_query,
            affinity=affinity,
            database=(X_database, y_database),
            query=query,
            groups_query=options.pop("groups_query", None),
            groups_database=options.pop("groups_database", None),
        )
        name = name_of(estimator, query) if name is None else name
        return cls._from_histograms(histograms, name).plot(**options)

    @classmethod
    def from_histogram(
        cls,
        histogram: RankingHistogram,
        *,
        panels: str | Sequence[str] | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Evaluate a histogram, and plot.

        Parameters
        ----------
        histogram : RankingHistogram
            Counts of the ranked items.

        panels : str or list of str, default=None
            Names of the panels to draw. None means all.

        name : str, default=None
            Name for the legend.

        ax : matplotlib Axes or array of Axes, default=None
            Where to plot: as many Axes as panels. None means a new figure.

        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        display : RetrievalCurveDisplay
            The picture and its numbers.
        """
        return cls._from_histograms([histogram], name).plot(ax, panels=panels, **kwargs)

    @classmethod
    def _from_histograms(cls, histograms, name):
        """Evaluate histograms of consecutive queries against one database."""
        k = None
        values = []
        for histogram in histograms:
            if k is None:
                k = _spaced_cutoffs(histogram.n_items.max())
                measures = [P @ cutoff for cutoff in k] + [R @ cutoff for cutoff in k]
            values.append(np.stack(histogram_range(measures, histogram), axis=1))
        values = np.concatenate(values)  # (n_queries, n_orders, n_measures)
        check_any(not np.isnan(values).all())
        precision, recall = np.split(average_queries(values), 2, axis=1)
        return cls(
            k=k,
            precision=TieBreakingRange(*precision),
            recall=TieBreakingRange(*recall),
            name=name,
        )

    def _draw(self, panel, ax, style):
        """Draw the line and the band of a panel."""
        from matplotlib.ticker import EngFormatter

        if panel == "precision_at_k":
            x = TieBreakingRange(self.k, self.k, self.k)
            ax.set_xscale("log")
            # Ticks are 100, 1k, 10k.
            ax.xaxis.set_major_formatter(EngFormatter(sep=""))
        else:
            x = self.recall
        (line,) = ax.plot(x.expected, self.precision.expected, **style)
        self.lines_[panel] = line
        # The band lies between two curves whose points differ in both coordinates.
        outline_x = np.concatenate((x.worst, x.best[::-1]))
        outline_y = np.concatenate((self.precision.worst, self.precision.best[::-1]))
        (self.bands_[panel],) = ax.fill(
            outline_x, outline_y, color=line.get_color(), alpha=0.2, linewidth=0
        )
        xlabel = "cutoff k" if panel == "precision_at_k" else "recall"
        finish(ax, xlabel, "tie-aware precision")


def _spaced_cutoffs(n_items):
    """Cutoffs that are evenly spaced in their logarithm, and the powers of ten."""
    spaced = np.geomspace(1, n_items, _N_CUTOFFS).round().astype(int)
    return np.union1d(spaced, 10 ** np.arange(len(str(n_items))))


@dataclass(kw_only=True, eq=False, repr=False)
class TieBreakingDisplay:
    """Interval from the worst to the best order of ties, with the expected value as a dot.

    A tool that sorts by Hamming distance and breaks ties arbitrarily may report any value
    of the interval. If the intervals of two methods overlap, compare the expected values.

    Make one by `from_estimator`, `from_codes`, `from_histogram` or `from_runs`. Pass all
    methods and code lengths of a picture at once: a dict whose keys are names of methods
    and whose values are one set of codes (estimator, histogram), or a list of them with
    different lengths.

    Parameters
    ----------
    worst, expected, best : array-like of shape (n_intervals,)
        Ends and dot of each interval: means over queries.

    n_bits : array-like of shape (n_intervals,) of int, or None
        Code length of each; None for runs, which have no codes.

    names : list of str of length n_intervals, default=None
        Method of each interval. None means that all intervals are of one method.

    measure : str or Measure, default="AP"
        The measure, for the label of its axis.

    Attributes
    ----------
    intervals_ : list of matplotlib BarContainer
        The intervals of each method, in order of appearance.

    dots_ : list of matplotlib Line2D
        The expected values of each method.

    ax_ : matplotlib Axes
        Axes with the picture.

    figure_ : matplotlib Figure
        Figure of the Axes.

    See Also
    --------
    tie_breaking_range : The numbers, query by query.

    References
    ----------
    He et al., "Hashing as Tie-Aware Learning to Rank", CVPR 2018, section 5.4 and Fig. 3.

    Examples
    --------
    .. plot::
       :include-source:
       :alt: Bars of AP from worst to best with a dot for the mean, for LSH and ITQ at 8
             and 16 bits. The bars of 8 bits are wider.

       >>> from sklearn.datasets import load_digits
       >>> from sklearn_talr.hashing import ITQHasher, LSHHasher
       >>> from sklearn_talr.metrics import TieBreakingDisplay
       >>> X, y = load_digits(return_X_y=True)
       >>> hashers = {
       ...     name: [hasher(n_bits, random_state=0).fit(X[300:]) for n_bits in (8, 16)]
       ...     for name, hasher in {"LSH": LSHHasher, "ITQ": ITQHasher}.items()
       ... }
       >>> display = TieBreakingDisplay.from_estimator(
       ...     hashers, X[:300], y[:300], X[300:], y[300:]
       ... )
       >>> for row in zip(display.names, display.n_bits, display.expected):
       ...     print("{} {:2d} bits {:.1f}".format(*row))
       LSH  8 bits 0.3
       LSH 16 bits 0.3
       ITQ  8 bits 0.5
       ITQ 16 bits 0.6
    """

    worst: ArrayLike
    expected: ArrayLike
    best: ArrayLike
    n_bits: ArrayLike | None
    names: Sequence[str] | None = None
    measure: str | Measure = "AP"

    def __post_init__(self) -> None:
        self.measure = parse_measure(self.measure)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X_query: ArrayLike,
        y_query: Any,
        X_database: ArrayLike,
        y_database: Any,
        *,
        affinity: Affinity = "auto",
        **options: Any,
    ) -> Self:
        """Encode with fitted hashers, evaluate, and plot.

        Parameters
        ----------
        estimator : fitted hasher or Pipeline, list of them, or dict
            One hasher, a list of hashers of one method with several lengths, or a dict
            whose keys are names of methods and whose values are either. A single method is
            called by its class.

        X_query : array-like of shape (n_queries, n_features)
            Features of the queries.

        y_query : targets of length n_queries
            Targets of the queries, as the affinity takes them. None with an affinity by
            distance.

        X_database : array-like of shape (n_database, n_features)
            Features of the database.

        y_database : targets of length n_database
            Targets of the database. None if `y_query` has judgments of all its items.

        affinity : "auto" or affinity object, default="auto"
            Definition of similarity. ``"auto"`` takes the affinity that the hasher was
            fitted with. If it has none, the form of `y_database` decides.

        **options : dict
            Other parameters of `from_histogram`: `measure`, `ax`, and keywords of
            matplotlib's ``plot`` for the dots. Also `groups_query` and `groups_database` of
            :func:`~sklearn_talr.histogram.hamming_histogram`.

        Returns
        -------
        display : TieBreakingDisplay
            The picture and its numbers.
        """
        groups_query = options.pop("groups_query", None)
        groups_database = options.pop("groups_database", None)
        methods = by_method(estimator, lambda value: hasattr(value, "transform"))
        histograms = {}
        for name, hashers in methods.items():
            label = name_of(hashers[0]) if name is None else name
            histograms[label] = []
            for hasher in hashers:
                tables = estimator_histograms(
                    hasher,
                    X_query,
                    y_query,
                    affinity=affinity,
                    database=(X_database, y_database),
                    query="bits",
                    groups_query=groups_query,
                    groups_database=groups_database,
                )
                histograms[label].append(next(tables))
        return cls.from_histogram(histograms, **options)

    @classmethod
    def from_codes(
        cls,
        query_codes: Any,
        database_codes: Any,
        affinity: Affinity,
        y_query: Any,
        y_database: Any,
        **options: Any,
    ) -> Self:
        """Evaluate codes, and plot.

        Parameters
        ----------
        query_codes : array-like of shape (n_queries, n_bits), PackedCodes, list or dict
            Codes of the queries, a list of codes of several lengths, or a dict whose keys
            are names of methods and whose values are either.

        database_codes : array-like of shape (n_database, n_bits), PackedCodes, list or dict
            Codes of the database, in the form of `query_codes` and with its keys.

        affinity : "auto" or affinity object
            Definition of similarity. ``"auto"`` chooses by the form of `y_database`.

        y_query : targets of length n_queries
            Targets of the queries, as the affinity takes them.

        y_database : targets of length n_database
            Targets of the database.

        **options : dict
            Other parameters of `from_histogram`: `measure`, `ax`, and keywords of
            matplotlib's ``plot`` for the dots. Also `groups_query` and `groups_database` of
            :func:`~sklearn_talr.histogram.hamming_histogram`.

        Returns
        -------
        display : TieBreakingDisplay
            The picture and its numbers.
        """
        queries = by_method(query_codes, is_codes)
        database = by_method(database_codes, is_codes)
        query_sizes = {name: len(codes) for name, codes in queries.items()}
        database_sizes = {name: len(codes) for name, codes in database.items()}
        if query_sizes != database_sizes:
            raise ValueError(
                "query_codes and database_codes must have the same methods and lengths, "
                f"got {query_sizes} and {database_sizes}."
            )
        groups_query = options.pop("groups_query", None)
        groups_database = options.pop("groups_database", None)
        histograms = {}
        for name in queries:
            histograms[name] = [
                hamming_histogram(
                    method_queries,
                    method_database,
                    affinity,
                    y_query,
                    y_database,
                    groups_query=groups_query,
                    groups_database=groups_database,
                )
                for method_queries, method_database in zip(queries[name], database[name])
            ]
        return cls.from_histogram(histograms, **options)

    @classmethod
    def from_histogram(
        cls, histogram: Any, *, measure: str | Measure = "AP", ax: Any = None, **kwargs: Any
    ) -> Self:
        """Evaluate histograms of Hamming distances, and plot.

        Parameters
        ----------
        histogram : HammingHistogram, list of them, or dict
            One histogram, a list of histograms of several code lengths, or a dict whose
            keys are names of methods and whose values are either.

        measure : str or Measure, default="AP"
            A measure of :mod:`sklearn_talr.measures`, such as ``nDCG @ 10``, or its name.

        ax : matplotlib Axes, default=None
            Where to plot. None means a new figure.

        **kwargs : dict
            Passed to matplotlib's ``plot`` for the dots.

        Returns
        -------
        display : TieBreakingDisplay
            The picture and its numbers.
        """
        (measure,) = completed_for_arrays([parse_measure(measure)])
        methods = by_method(histogram, lambda value: isinstance(value, RankingHistogram))
        names = []
        n_bits = []
        means = []
        for name, tables in methods.items():
            for table in tables:
                check_distances(table, cls.__name__)
                values = histogram_range([measure], table)
                means.append([average_queries(in_order[:, 0]) for in_order in values])
                n_bits.append(table.n_bits)
                names.append(name)
        worst, expected, best = np.transpose(means)
        display = cls(
            worst=worst,
            expected=expected,
            best=best,
            n_bits=np.array(n_bits),
            names=None if None in methods else names,
            measure=measure,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_runs(
        cls,
        evaluations: Any,
        *,
        measure: str | Measure | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Plot results of :func:`sklearn_talr.runs.evaluate_run`, one for each system.

        Parameters
        ----------
        evaluations : RunEvaluation, list of them, or dict
            One for each system. Keys of a dict are names of the systems. Without a dict the
            names of the evaluations are used.

        measure : str or Measure, default=None
            Which of the evaluated measures to plot; None takes the first.

        ax : matplotlib Axes, default=None
            Where to plot. None means a new figure.

        **kwargs : dict
            Passed to matplotlib's ``plot`` for the dots.

        Returns
        -------
        display : TieBreakingDisplay
            The picture and its numbers; `n_bits` is None.
        """
        systems = by_method(evaluations, lambda value: not isinstance(value, Iterable))
        names = []
        means = []
        for name, results in systems.items():
            for result in results:
                if not hasattr(result, "means"):
                    raise TypeError(
                        f"from_runs takes results of evaluate_run, got {result!r}."
                    )
                measure = parse_measure(result.measures[0] if measure is None else measure)
                if str(measure) not in result.means:
                    raise ValueError(
                        f"measure must be one of {result.measures}, which {result.name} "
                        f"has, got {str(measure)!r}."
                    )
                means.append(result.means[str(measure)])
                names.append(result.name if name is None else name)
        if len(set(names)) < len(names):
            raise ValueError(
                f"systems must have different names, got {names}. Pass a dict by name."
            )
        display = cls(
            worst=[mean["worst"] for mean in means],
            expected=[mean["expected"] for mean in means],
            best=[mean["best"] for mean in means],
            n_bits=None,
            names=names,
            measure=measure,
        )
        return display.plot(ax, **kwargs)

    def plot(
        self, ax: Any = None, *, name: str | Sequence[str] | None = None, **kwargs: Any
    ) -> Self:
        """Plot the intervals, grouped by code length.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to plot. None means a new figure.

        name : str or list of str, default=None
            Names of the methods in order of appearance, which replace `names`.

        **kwargs : dict
            Passed to matplotlib's ``plot`` for the dots.

        Returns
        -------
        display : TieBreakingDisplay
            This display.
        """
        # Methods are in order of appearance.
        names = [None] * len(self.worst) if self.names is None else list(self.names)
        methods = list(dict.fromkeys(names))
        labels = methods if name is None else np.atleast_1d(name).tolist()
        if len(labels) != len(methods):
            raise ValueError(
                f"name must name each of the {len(methods)} methods, got {name!r}."
            )

        # Each method and length has a row. Rows of one length are a group, and without
        # lengths there is one group.
        method = np.array([methods.index(method_name) for method_name in names])
        n_bits = np.zeros(len(method)) if self.n_bits is None else self.n_bits
        lengths, length = np.unique(n_bits, return_inverse=True)
        height = len(methods) + 0.7  # rows of a group, with the gap after it
        places = length * height + method
        ax = single_axes(self, ax, figsize=(6.4, 1.1 + 0.23 * height * len(lengths)))
        self.intervals_ = []
        self.dots_ = []
        for place, label in enumerate(labels):
            rows = method == place
            dots, bars = draw_rows(
                ax,
                places[rows],
                worst=np.asarray(self.worst)[rows],
                mean=np.asarray(self.expected)[rows],
                best=np.asarray(self.best)[rows],
                style=line_style(place, kwargs, linestyle="none", label=label),
                alpha=0.35,
            )
            self.intervals_.append(bars)
            self.dots_.append(dots)
        finish_rows(ax, f"{self.measure.label}: worst, expected, best")
        if self.n_bits is None:
            ax.set_yticks(range(len(labels)), labels)
        else:
            ticks = np.arange(len(lengths)) * height + (len(labels) - 1) / 2
            ax.set_yticks(ticks, [f"{n} bits" for n in lengths])
            if labels != [None]:
                add_legend(ax)
        # The shortest codes are on top.
        ax.set_ylim(len(lengths) * height - 0.85, -0.85)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
