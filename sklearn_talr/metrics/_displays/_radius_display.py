"""Hash lookup, radius by radius."""

from numbers import Integral

import numpy as np

from ..._compat import validate_params
from ...histogram import hamming_histogram
from ...measures._evaluation import average_queries
from .._estimators import estimator_histogram, name_of
from .._radius import (
    empty_lookup_fraction,
    radius_aware_map,
    radius_precision,
    radius_recall,
)
from ._axes import add_legend, finish, line_style, panel_axes
from ._display_inputs import DRAWN, OF_CODES, OF_ESTIMATOR, check_distances

_RADIUS = {"radius": [Integral, None]}


class RadiusDisplay:
    """Precision, recall, RAMAP and empty lookups of hash lookup against the radius.

    Four panels, with one line for each method. To compare methods, plot each onto the
    Axes of the first: ``second.plot(ax=first.ax_)``.

    Make one by `from_estimator`, `from_codes` or `from_histogram`.

    Parameters
    ----------
    precision : array-like of shape (n_radii,)
        Mean precision within each radius 0, 1, ...; an empty ball counts 0.

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
    Queries with nothing relevant are left out of precision, recall and RAMAP, whatever they
    find; :func:`pair_precision` counts that too. That they find nothing still counts as an
    empty lookup.

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
    _labels = {
        "precision": "precision",
        "recall": "recall",
        "radius_aware_map": "RAMAP",
        "empty_fraction": "fraction empty",
    }

    @validate_params(
        {panel: ["array-like"] for panel in panels} | {"name": [str, None]},
        prefer_skip_nested_validation=True,
    )
    def __init__(self, *, precision, recall, radius_aware_map, empty_fraction, name=None):
        self.precision = precision
        self.recall = recall
        self.radius_aware_map = radius_aware_map
        self.empty_fraction = empty_fraction
        self.name = name

    @classmethod
    @validate_params(OF_ESTIMATOR, prefer_skip_nested_validation=True)
    def from_estimator(
        cls,
        estimator,
        X_query,
        y_query,
        X_database,
        y_database,
        *,
        affinity="auto",
        **options,
    ):
        """Encode by a fitted hasher, evaluate, and plot.

        Parameters
        ----------
        estimator : fitted hasher, or Pipeline that ends in one
            What makes the codes. Its class is the name for the legend, if none is given.

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

        **options : dict
            What `from_histogram` takes beside the histogram: `radius`, `panels`,
            `name`, `ax`, and keywords of matplotlib's ``plot``.

        Returns
        -------
        display : RadiusDisplay
            The picture and its numbers.
        """
        histogram = estimator_histogram(
            estimator, X_query, y_query, affinity, (X_database, y_database)
        )
        name = options.pop("name", None) or name_of(estimator)
        return cls.from_histogram(histogram, name=name, **options)

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
            What `from_histogram` takes beside the histogram: `radius`, `panels`,
            `name`, `ax`, and keywords of matplotlib's ``plot``.

        Returns
        -------
        display : RadiusDisplay
            The picture and its numbers.
        """
        targets = affinity, y_query, y_database
        histogram = hamming_histogram(query_codes, database_codes, *targets)
        return cls.from_histogram(histogram, **options)

    @classmethod
    @validate_params(
        {"histogram": "no_validation"} | _RADIUS | DRAWN, prefer_skip_nested_validation=True
    )
    def from_histogram(
        cls, histogram, *, radius=None, panels=None, name=None, ax=None, **kwargs
    ):
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

    @validate_params(DRAWN, prefer_skip_nested_validation=True)
    def plot(self, ax=None, *, panels=None, name=None, **kwargs):
        """Plot the lines, one in each panel.

        Parameters
        ----------
        ax : matplotlib Axes or array of Axes, default=None
            Where to plot: as many Axes as panels, such as `ax_` of another display. None
            means a new figure.

        panels : {"precision", "recall", "radius_aware_map", "empty_fraction"} or list of \
                them, default=None
            What to draw. None means all four.

        name : str, default=None
            Name for the legend, in place of the one given before.

        **kwargs : dict
            Passed to matplotlib's ``plot``.

        Returns
        -------
        display : RadiusDisplay
            This display.
        """
        names, axes = panel_axes(self, ax, panels, shape=(2, 2), figsize=(6.4, 5))
        label = self.name if name is None else name
        self.lines_ = {}
        for panel, panel_ax in zip(names, axes):
            values = getattr(self, panel)
            style = line_style(len(panel_ax.lines), kwargs, markersize=4, label=label)
            (self.lines_[panel],) = panel_ax.plot(np.arange(len(values)), values, **style)
            finish(panel_ax, "Hamming radius", self._labels[panel])
            panel_ax.set_ylim(-0.03, 1.03)  # all are fractions, on one scale
            panel_ax.xaxis.get_major_locator().set_params(integer=True)
        add_legend(axes[0])
        self.ax_ = axes[0] if isinstance(panels, str) else axes
        self.figure_ = axes[0].figure
        return self
