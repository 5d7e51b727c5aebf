"""How far tie-breaking alone can move a metric, method by method."""

import numpy as np

from ..._compat import validate_params
from ...histogram import hamming_histogram
from ...measures import parse_measure
from ...measures._evaluation import average_queries, histogram_range, settled_for_arrays
from .._estimators import estimator_histogram, name_of
from ._display_inputs import (
    OF_ESTIMATORS,
    OF_METHODS,
    by_method,
    by_system,
    check_distances,
    check_same_methods,
    is_codes,
    is_estimator,
    is_histogram,
    means_of_measure,
)
from ._intervals import draw_groups

_MEASURE = {"measure": "no_validation", "ax": "no_validation"}


class TieBreakingDisplay:
    """Interval from the worst to the best order of ties, with the expected value as a dot.

    Whoever sorts by Hamming distance and lets chance break the ties may report any value
    of the interval. Where intervals of two methods overlap, such reports do not tell which
    is better; the dots do.

    Make one by `from_estimator`, `from_codes`, `from_histogram` or `from_runs`. All methods
    and code lengths of a picture are given at once: as a dict whose keys are names of
    methods and whose values are one set of codes (estimator, histogram), or a list of such
    of different lengths.

    Parameters
    ----------
    worst, expected, best : array-like of shape (n_intervals,)
        Ends and dot of each interval: means over queries.

    n_bits : array-like of shape (n_intervals,) of int, or None
        Code length of each; None for runs, which have no codes.

    names : list of str of length n_intervals, default=None
        Method of each. None means that all are of one method, which needs no name.

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

    @validate_params(
        {key: ["array-like"] for key in ("worst", "expected", "best")}
        | {"n_bits": ["array-like", None], "names": ["array-like", None]}
        | {"measure": "no_validation"},
        prefer_skip_nested_validation=True,
    )
    def __init__(
        self,
        *,
        worst,
        expected,
        best,
        n_bits,
        names=None,
        measure="AP",
    ):
        self.worst = worst
        self.expected = expected
        self.best = best
        self.n_bits = n_bits
        self.names = names
        self.measure = parse_measure(measure)

    @classmethod
    @validate_params(OF_ESTIMATORS, prefer_skip_nested_validation=True)
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
        """Encode by fitted hashers, evaluate, and plot.

        Parameters
        ----------
        estimator : fitted hasher or Pipeline, list of them, or dict
            One hasher, a list of hashers of one method and several lengths, or a dict
            whose keys are names of methods and whose values are either. The name of a
            single method is its class.

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
            What `from_histogram` takes beside the histogram: `measure`, `ax`, and
            keywords of matplotlib's ``plot`` for the dots.

        Returns
        -------
        display : TieBreakingDisplay
            The picture and its numbers.
        """
        database = X_database, y_database
        histograms = {
            name_of(hashers[0]) if name is None else name: [
                estimator_histogram(hasher, X_query, y_query, affinity, database)
                for hasher in hashers
            ]
            for name, hashers in by_method(estimator, is_estimator).items()
        }
        return cls.from_histogram(histograms, **options)

    @classmethod
    @validate_params(OF_METHODS, prefer_skip_nested_validation=True)
    def from_codes(
        cls, query_codes, database_codes, affinity, y_query, y_database, **options
    ):
        """Evaluate codes, and plot.

        Parameters
        ----------
        query_codes : array-like of shape (n_queries, n_bits), PackedCodes, list or dict
            Codes of the queries, a list of such of several lengths, or a dict whose keys
            are names of methods and whose values are either.

        database_codes : array-like of shape (n_database, n_bits), PackedCodes, list or dict
            Codes of the database, in the form of `query_codes` and with its keys.

        affinity : "auto" or affinity oracle
            Who is similar to whom. ``"auto"`` chooses by the form of `y_query`.

        y_query : targets of length n_queries
            Targets of the queries, as the affinity takes them.

        y_database : targets of length n_database
            Targets of the database.

        **options : dict
            What `from_histogram` takes beside the histogram: `measure`, `ax`, and
            keywords of matplotlib's ``plot`` for the dots.

        Returns
        -------
        display : TieBreakingDisplay
            The picture and its numbers.
        """
        queries = by_method(query_codes, is_codes)
        database = by_method(database_codes, is_codes)
        check_same_methods(queries, database)
        histograms = {
            name: [
                hamming_histogram(*codes, affinity, y_query, y_database)
                for codes in zip(queries[name], database[name])
            ]
            for name in queries
        }
        return cls.from_histogram(histograms, **options)

    @classmethod
    @validate_params(
        {"histogram": "no_validation"} | _MEASURE, prefer_skip_nested_validation=True
    )
    def from_histogram(cls, histogram, *, measure="AP", ax=None, **kwargs):
        """Evaluate histograms of Hamming distances, and plot.

        Parameters
        ----------
        histogram : HammingHistogram, list of them, or dict
            One histogram, a list of such of several code lengths, or a dict whose keys are
            names of methods and whose values are either.

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
        (measure,) = settled_for_arrays([parse_measure(measure)])
        methods = by_method(histogram, is_histogram)
        rows = [
            (name, check_distances(one, cls.__name__))
            for name, several in methods.items()
            for one in several
        ]
        ranges = [
            [average_queries(values[:, 0]) for values in histogram_range([measure], one)]
            for _, one in rows
        ]
        worst, expected, best = np.transpose(ranges)
        display = cls(
            worst=worst,
            expected=expected,
            best=best,
            n_bits=np.array([one.n_bits for _, one in rows]),
            names=None if None in methods else [name for name, _ in rows],
            measure=measure,
        )
        return display.plot(ax, **kwargs)

    @classmethod
    @validate_params(
        {"evaluations": "no_validation"} | _MEASURE,
        prefer_skip_nested_validation=True,
    )
    def from_runs(cls, evaluations, *, measure=None, ax=None, **kwargs):
        """Plot what :func:`sklearn_talr.runs.evaluate_run` has returned for some systems.

        Parameters
        ----------
        evaluations : RunEvaluation, list of them, or dict
            One for each system. Keys of a dict are names of the systems; otherwise the
            evaluations tell them.

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
        names, results = by_system(evaluations)
        measure = parse_measure(results[0].measures[0] if measure is None else measure)
        means = [means_of_measure(result, measure) for result in results]
        display = cls(
            **{key: [mean[key] for mean in means] for key in ("worst", "expected", "best")},
            n_bits=None,
            names=names,
            measure=measure,
        )
        return display.plot(ax, **kwargs)

    @validate_params(
        {"ax": "no_validation", "name": [str, "array-like", None]},
        prefer_skip_nested_validation=True,
    )
    def plot(self, ax=None, *, name=None, **kwargs):
        """Plot the intervals, grouped by code length.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to plot. None means a new figure.

        name : str or list of str, default=None
            Names of the methods, in order of appearance, in place of those given before.

        **kwargs : dict
            Passed to matplotlib's ``plot`` for the dots.

        Returns
        -------
        display : TieBreakingDisplay
            This display.
        """
        draw_groups(self, ax, name, kwargs)
        return self
