"""Precision along the ranking, between the worst and the best order of ties."""

import numpy as np

from ..._compat import validate_params
from ...histogram import RankingHistogram, hamming_histogram
from ...measures import P, R, TieBreakingRange
from ...measures._evaluation import average_queries, histogram_range
from .._estimators import QUERY, estimator_histograms, name_of
from ._axes import add_legend, finish, line_style, panel_axes
from ._display_inputs import DRAWN, OF_CODES, OF_ESTIMATOR, check_any

_N_CUTOFFS = 200


class RetrievalCurveDisplay:
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
    sklearn.metrics.PrecisionRecallDisplay : One query or class, where a tie is one step.

    Notes
    -----
    Cutoffs are spaced evenly in their logarithm, from 1 to the whole database, and include
    the powers of ten. Queries with nothing relevant are left out.

    Both coordinates of the precision-recall curve are means over queries at one k, and so
    are the two edges of its band.

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

    @validate_params(
        {
            "k": ["array-like"],
            "precision": [TieBreakingRange],
            "recall": [TieBreakingRange],
            "name": [str, None],
        },
        prefer_skip_nested_validation=True,
    )
    def __init__(self, *, k, precision, recall, name=None):
        self.k = k
        self.precision = precision
        self.recall = recall
        self.name = name

    @classmethod
    @validate_params(
        OF_ESTIMATOR | {"query": QUERY, "name": [str, None]},
        prefer_skip_nested_validation=True,
    )
    def from_estimator(
        cls,
        estimator,
        X_query,
        y_query,
        X_database,
        y_database,
        *,
        affinity="auto",
        query="auto",
        name=None,
        **options,
    ):
        """Encode by a fitted hasher, evaluate, and plot.

        Parameters
        ----------
        estimator : fitted hasher, or Pipeline that ends in one
            What makes the codes.

        X_query : array-like of shape (n_queries, n_features)
            Features of the queries.

        y_query : targets of length n_queries
            Targets of the queries, as the affinity takes them; None with an affinity by
            distance.

        X_database : array-like of shape (n_database, n_features)
            Features of the database.

        y_database : targets of length n_database
            Targets of the database; None where `y_query` has judgments of all its items.

        affinity : "auto" or affinity oracle, default="auto"
            Who is similar to whom. ``"auto"`` takes the oracle the hasher was fitted with,
            and the form of `y_query` if it has none.

        query : {"auto", "bits", "weights"}, default="auto"
            How codes are asked, as for
            :func:`~sklearn_talr.metrics.make_retrieval_scorer`.

        name : str, default=None
            Name for the legend. None means the class of the hasher, with "weighted queries"
            where these are used.

        **options : dict
            What `from_histogram` takes beside the histogram: `panels`, `ax`, and
            keywords of matplotlib's ``plot``.

        Returns
        -------
        display : RetrievalCurveDisplay
            The picture and its numbers.
        """
        database = X_database, y_database
        histograms = estimator_histograms(
            estimator, X_query, y_query, affinity, database, query
        )
        name = name_of(estimator, query) if name is None else name
        return cls._of(histograms, name).plot(**options)

    @classmethod
    @validate_params(OF_CODES, prefer_skip_nested_validation=True)
    def from_codes(
        cls, query_codes, database_codes, affinity, y_query, y_database, **options
    ):
        """Evaluate codes, and plot.

        Parameters
        ----------
        query_codes : array-like of shape (n_queries, n_bits) of 0/1, or PackedCodes
            Codes of the queries.

        database_codes : array-like of shape (n_database, n_bits) of 0/1, or PackedCodes
            Codes of the database.

        affinity : "auto" or affinity oracle
            Who is similar to whom. ``"auto"`` chooses by the form of `y_query`.

        y_query : targets of length n_queries
            Targets of the queries, as the affinity takes them.

        y_database : targets of length n_database
            Targets of the database.

        **options : dict
            What `from_histogram` takes beside the histogram: `panels`, `name`,
            `ax`, and keywords of matplotlib's ``plot``.

        Returns
        -------
        display : RetrievalCurveDisplay
            The picture and its numbers.
        """
        targets = affinity, y_query, y_database
        histogram = hamming_histogram(query_codes, database_codes, *targets)
        return cls.from_histogram(histogram, **options)

    @classmethod
    @validate_params(
        {"histogram": [RankingHistogram]} | DRAWN, prefer_skip_nested_validation=True
    )
    def from_histogram(cls, histogram, *, panels=None, name=None, ax=None, **kwargs):
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
        return cls._of([histogram], name).plot(ax, panels=panels, **kwargs)

    @classmethod
    def _of(cls, histograms, name):
        """Evaluate histograms of consecutive queries against one database."""
        k, parts, any_relevant = None, {"precision": [], "recall": []}, False
        for histogram in histograms:
            k = _cutoffs(histogram.n_items.max()) if k is None else k
            any_relevant |= bool(np.any(histogram.n_relevant))
            for measure, ranges in zip((P, R), parts.values()):
                ranges.append(histogram_range([measure @ cut for cut in k], histogram))
        check_any(any_relevant)
        means = {
            name: TieBreakingRange(
                *(average_queries(np.concatenate(values)) for values in zip(*ranges))
            )
            for name, ranges in parts.items()
        }
        return cls(k=k, **means, name=name)

    @validate_params(DRAWN, prefer_skip_nested_validation=True)
    def plot(self, ax=None, *, panels=None, name=None, **kwargs):
        """Plot the line and the band, in each panel.

        Parameters
        ----------
        ax : matplotlib Axes or array of Axes, default=None
            Where to plot: as many Axes as panels, such as `ax_` of another display. None
            means a new figure.

        panels : {"precision_at_k", "precision_recall"} or list of them, default=None
            What to draw. None means both.

        name : str, default=None
            Name for the legend, in place of the one given before.

        **kwargs : dict
            Passed to matplotlib's ``plot`` for the lines.

        Returns
        -------
        display : RetrievalCurveDisplay
            This display.
        """
        names, axes = panel_axes(self, ax, panels, shape=(1, 2), figsize=(6.4, 3.2))
        from matplotlib.ticker import EngFormatter

        label = self.name if name is None else name
        self.lines_, self.bands_ = {}, {}
        for panel, panel_ax in zip(names, axes):
            x, xlabel = self.recall, "recall"
            if panel == "precision_at_k":
                x, xlabel = TieBreakingRange(self.k, self.k, self.k), "cutoff k"
                panel_ax.set_xscale("log")
                panel_ax.xaxis.set_major_formatter(EngFormatter(sep=""))  # 100, 1k, 10k
            style = line_style(len(panel_ax.lines), kwargs, marker="none", label=label)
            (line,) = panel_ax.plot(x.expected, self.precision.expected, **style)
            self.lines_[panel] = line
            self.bands_[panel] = self._draw_band(panel_ax, x, line.get_color())
            finish(panel_ax, xlabel, "tie-aware precision")
        add_legend(axes[0])
        self.ax_ = axes[0] if isinstance(panels, str) else axes
        self.figure_ = axes[0].figure
        return self

    def _draw_band(self, ax, x, color):
        """Fill the area between two curves whose points differ in both coordinates."""
        outline_x = np.concatenate((x.worst, x.best[::-1]))
        outline_y = np.concatenate((self.precision.worst, self.precision.best[::-1]))
        return ax.fill(outline_x, outline_y, color=color, alpha=0.2, linewidth=0)[0]


def _cutoffs(n_items):
    """Cutoffs evenly spaced in their logarithm, and the powers of ten."""
    spaced = np.geomspace(1, n_items, _N_CUTOFFS).round().astype(int)
    return np.union1d(spaced, 10 ** np.arange(len(str(n_items))))
