"""Which of several runs are better, how surely, and whether ties decide it."""

from dataclasses import dataclass, fields
from importlib.metadata import version
from itertools import combinations
from numbers import Real

import numpy as np

from .._core.compat import Interval, StrOptions, independent_random_state, validated
from .._core.progress import warn_caller
from .._core.threads import one_thread
from .._core.types import Any, Array, Column, DataFrame, Literal, NDArray, Seed
from .._core.validation import check_groups
from ..inference import n_queries_needed
from ..inference._paired import TESTS
from ..inference._resampling import (
    RESAMPLING,
    ROUNDING,
    Resampling,
    make_strata,
    refuse_unlike_rows,
)
from ._named_runs import ComparedEvaluations
from ._report import html_report
from ._result import average_groups, import_pandas
from ._statistics import ComparisonSettings, MeasureValues, compare_by_measure
from ._text import (
    NAMES_OF_ADJUSTMENTS,
    comparison_records,
    comparison_text,
    has_ties,
    number_of_queries,
    undone_by_ties,
)

OPTIONS = {
    "test": [StrOptions(set(TESTS))],
    "adjust": [StrOptions({"auto", *NAMES_OF_ADJUSTMENTS})],
    "alpha": [Interval(Real, 0, 1, closed="neither")],
    "greater_is_better": ["boolean"],
    **RESAMPLING,
}


@dataclass(frozen=True, eq=False)
class RunComparison:
    """Comparison of runs, measure by measure.

    :func:`compare_runs` and :func:`compare_scores` return it. It prints as tables.

    Parameters
    ----------
    names : list of str of length n_runs
        Names of the runs. If two have the same name, all names begin with their numbers.

    measures : list of str of length n_measures
        Names of the measures.

    queries : list of str of length n_queries
        The evaluated queries.

    evaluations : list of RunEvaluation of length n_runs
        Values of each run, per query.

    alpha : float
        Level of the tests. Intervals have the confidence level 1 - alpha. With "max-t" the
        intervals of differences are simultaneous for all pairs of a measure.

    test, adjust : str
        The paired test, and the adjustment of its p-values for the number of pairs.

    n_resamples : ndarray of shape (n_pairs, n_measures) of int
        Number of sign patterns, or of samples, that each p-value counts. 0 if it counts
        none, or more than int64 holds.

    is_exact : ndarray of shape (n_pairs, n_measures) of bool
        Whether the p-value is the exact share of all sign patterns, not an approximation.

    rank_low, rank_high : ndarray of shape (n_runs, n_measures) of int
        The best and the worst rank that the tests leave to a run. `rank_low` is 1 plus the
        number of significantly better runs. `rank_high` is the number of runs minus the
        number of significantly worse runs. With "holm" and "max-t" all ranges of a measure
        hold at once, with probability 1 - alpha.

    means, means_low, means_high : ndarray of shape (n_runs, n_measures)
        Mean of the expected values, and the ends of its confidence interval.

    worst, best : ndarray of shape (n_runs, n_measures)
        The least and the greatest mean over all orders of tied documents.

    pairs : list of tuple of two int, of length n_pairs
        Numbers of the first and the second run of each pair.

    difference, low, high : ndarray of shape (n_pairs, n_measures)
        Mean expected value of the first run minus that of the second, and the ends of its
        confidence interval.

    lowest, highest : ndarray of shape (n_pairs, n_measures)
        The least and the greatest difference of means over all orders of ties.

    undecided : ndarray of shape (n_pairs, n_measures)
        Share of the queries in which ties decide which run is better.

    effect_size : ndarray of shape (n_pairs, n_measures)
        Mean difference divided by the standard deviation of the differences (Cohen's d of
        paired values). Infinite if the runs differ by the same amount in all queries.

    p_value, adjusted_p_value : ndarray of shape (n_pairs, n_measures)
        Two-sided p-value of the test of expected values, unadjusted and adjusted for all
        pairs of the measure. 1 if the runs are equal in all queries. NaN with the tests "t"
        and "bootstrap" if there is only one query.

    worst_case_p_value : ndarray of shape (n_pairs, n_measures)
        Adjusted p-value with the order of ties that is least favorable to the better run of
        each pair; 1 if that run is then not better. The samples of "max-t" still come from
        expected values.

    tiers : dict of str to list of lists of str
        By measure, sets of runs that do not differ significantly (a compact letter
        display): two runs share a tier if and only if their adjusted p-value is above
        `alpha`, or NaN. Best runs first.

    greater_is_better : bool, default=True
        Whether the best run has the greatest mean. If False, it has the least mean.
    """

    names: list
    measures: list
    queries: list
    evaluations: list
    alpha: float
    test: str
    adjust: str
    n_resamples: np.ndarray
    is_exact: np.ndarray
    rank_low: np.ndarray
    rank_high: np.ndarray
    means: np.ndarray
    means_low: np.ndarray
    means_high: np.ndarray
    worst: np.ndarray
    best: np.ndarray
    pairs: list
    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    undecided: np.ndarray
    effect_size: np.ndarray
    p_value: np.ndarray
    adjusted_p_value: np.ndarray
    worst_case_p_value: np.ndarray
    tiers: dict
    greater_is_better: bool = True

    @property
    def best_first(self) -> NDArray[np.intp]:
        """Numbers of the runs in order of their means, (n_runs, n_measures) of int."""
        sign = -1 if self.greater_is_better else 1
        return np.argsort(sign * self.means, axis=0, kind="stable")

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Whether the runs of a pair differ significantly, (n_pairs, n_measures) of bool.

        Their adjusted p-value is then at most `alpha`.
        """
        return self.adjusted_p_value <= self.alpha

    @property
    def depends_on_ties(self) -> NDArray[np.bool_]:
        """Whether a pair is `significant`, but not in all orders of ties; of its shape."""
        return self.significant & ~(self.worst_case_p_value <= self.alpha)

    @property
    def ties_decide(self) -> NDArray[np.bool_]:
        """Whether ties decide which run has the better mean, (n_pairs, n_measures)."""
        return (self.lowest < -ROUNDING) & (self.highest > ROUNDING)

    def n_queries_needed(self, difference: float, *, power: float = 0.8) -> Array:
        """Return the number of queries needed to detect a difference of means.

        Parameters
        ----------
        difference : float
            Difference of means to detect. Above 0.

        power : float, default=0.8
            Probability that a paired t-test of level `alpha` detects it.

        Returns
        -------
        n_queries : ndarray of shape (n_pairs, n_measures) of int
            Number for each pair if it is tested alone, from the standard deviation of its
            differences.

        See Also
        --------
        sklearn_talr.inference.n_queries_needed : The number for any differences.
        """
        expected = np.stack([evaluation.expected for evaluation in self.evaluations])
        first, second = np.transpose(self.pairs)
        return np.apply_along_axis(
            n_queries_needed,
            1,
            expected[first] - expected[second],
            difference=difference,
            alpha=self.alpha,
            power=power,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as lists of dicts, which JSON can store.

        Returns
        -------
        values : dict
            "runs" has a dict for each measure and run, with the letters of its tiers and
            its ranks. "pairs" has a dict for each measure and pair. "test", "adjust",
            "alpha", "greater_is_better" and "n_queries" are the settings of the comparison.
        """
        runs, pairs = comparison_records(self)
        return {
            "test": self.test,
            "adjust": self.adjust,
            "alpha": self.alpha,
            "greater_is_better": self.greater_is_better,
            "n_queries": len(self.queries),
            "runs": runs,
            "pairs": pairs,
        }

    def to_frame(self, *, per_run: bool = False) -> DataFrame:
        """Return the pairs or the runs of `to_dict` as a pandas DataFrame.

        Parameters
        ----------
        per_run : bool, default=False
            Whether to return a row for each measure and run. If False, the rows are
            measures and pairs.

        Returns
        -------
        frame : DataFrame
            Indexed by measure and run, or by measure and the first and second run.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        pd = import_pandas()
        runs, pairs = comparison_records(self)
        if per_run:
            return pd.DataFrame(runs).set_index(["measure", "run"])
        return pd.DataFrame(pairs).set_index(["measure", "first", "second"])

    def to_html(self) -> str:
        """Return a report as one self-contained page of HTML.

        It has means and their intervals, tiers, all pairs of runs, and the values of all
        queries, in tables that a click on a column head sorts. It loads nothing from the
        network, so it can be opened from a disk or sent by mail.

        Returns
        -------
        page : str
            Write it as UTF-8: ``Path("report.html").write_text(page, "utf-8")``.

        Raises
        ------
        ImportError
            If pandas, Jinja2 or matplotlib is not installed.
        """
        return html_report(self)

    def method_sentence(self) -> str:
        """Return a sentence that describes the comparison, for a report.

        Returns
        -------
        sentence : str
            It names the test and its adjustment, the numbers of systems, queries and pairs,
            the level, the treatment of ties if there are any, whether the lowest mean is
            the best, and the version.
        """
        rows = self.evaluations[0].rows
        n_pairs = len(self.pairs)
        pairs = f" for all {n_pairs} pairs of a measure" if n_pairs > 1 else ""
        ties = ", on means over all orders of tied documents" if has_ties(self) else ""
        best = "" if self.greater_is_better else "; the lowest mean is the best"
        return (
            f"The means of {len(self.names)} systems over "
            f"{number_of_queries(self.queries, rows)} were compared "
            f"{self._tests_in_words()}{pairs} at level {self.alpha:g}{ties}{best} "
            f"(sklearn-talr {version('sklearn-talr')})."
        )

    def _tests_in_words(self):
        """The test and its adjustment as part of a sentence."""
        has_adjustment = len(self.pairs) > 1
        if has_adjustment and self.adjust == "max-t":
            rows = self.evaluations[0].rows
            return f"by the step-down maximum of moderated t over samples of {rows}"
        if self.test == "t":
            test = "by paired t-tests"
        elif self.test == "wilcoxon":
            test = "by Wilcoxon signed-rank tests"
        elif self.test == "bootstrap":
            test = f"by bootstrap tests ({self.n_resamples.max()} samples)"
        elif self.is_exact.all():
            test = "by exact randomization tests"
        elif (self.n_resamples[~self.is_exact] > 0).any():
            test = "by randomization tests (saddlepoint approximation, drawn patterns)"
        else:
            test = "by randomization tests (saddlepoint approximation)"
        if has_adjustment:
            test += f" with {NAMES_OF_ADJUSTMENTS[self.adjust]}'s adjustment"
        return test

    def __str__(self) -> str:
        return comparison_text(self)

    __repr__ = __str__


@validated(groups=["array-like", None], **OPTIONS)
def compare_runs(
    *evaluations: Any,
    measures: Any = None,
    test: Literal["randomization", "bootstrap", "t", "wilcoxon"] = "randomization",
    adjust: Literal["auto", "max-t", "holm", "bh"] = "auto",
    alpha: float = 0.05,
    greater_is_better: bool = True,
    groups: Column = None,
    stratify: Column = None,
    n_resamples: int = 10_000,
    random_state: Seed = 0,
) -> RunComparison:
    """Test which of several runs are better, and whether ties decide it.

    There are two forms, which return the same:

    * ``compare_runs(evaluation, other_evaluation)`` takes results of
      :func:`evaluate_run`.
    * ``compare_runs(qrels, {"bm25": run, "dense": other_run}, ["AP", "nDCG@10"])`` takes
      judgments, runs by name and measures, and evaluates the runs first.

    Tests and intervals compare expected values, the means over all orders of tied
    documents, so they do not depend on the order of ties. The result also has the range of
    differences over all orders of ties, and the share of queries in which ties decide which
    run is better.

    Parameters
    ----------
    *evaluations : RunEvaluation, or qrels, runs and measures
        Evaluations of two runs or more with the same judgments and measures. Or, by
        position,

        1. the judgments, in any form that :func:`evaluate_run` takes;
        2. a dict of the runs by name, each in any form that :func:`evaluate_run` takes. A
           list will do if all its runs have a name, as :class:`Run` and runs of ranx have;
        3. the measures, as :func:`evaluate_run` takes them, or none for its default.

        For other options of :func:`evaluate_run`, such as `judged_only`, evaluate the runs
        first.

    measures : str, Measure, object of ir_measures, or sequence of them, default=None
        Measures of judgments and runs, if they were not passed by position. None means AP,
        ``nDCG@10`` and ``RR@10``. Evaluations have their own.

    test : {"randomization", "bootstrap", "t", "wilcoxon"}, default="randomization"
        The paired test; see :func:`~sklearn_talr.inference.paired_test`.

    adjust : {"auto", "max-t", "holm", "bh"}, default="auto"
        Adjustment of the p-values of a measure for the number of pairs.

        * "max-t" is a bootstrap max-T test. It resamples queries with centered values. The
          p-value of a pair is the share of samples whose largest statistic of any pair is
          at least as large as the pair's own. It is step-down: pairs with larger statistics
          than the pair drop out. The statistic is the mean difference over its standard
          error, to which 5 / sqrt(n_queries) times the median error of all pairs is added.
          The probability of any false positive is about `alpha` or less, with few or skewed
          queries as well. It replaces `test`, which then gives only the unadjusted
          p-values. With fewer than six queries no pair is significant at 0.05, and
          intervals are infinite.
        * "holm" is Holm's method. It also bounds the probability of any false positive, but
          it needs small p-values that are accurate. With few or skewed queries and many
          pairs they are not.
        * "bh" is Benjamini and Hochberg's method: on average at most the share `alpha` of
          the significant pairs is false.
        * "auto" is "max-t" with the default `test`, and "holm" with any other.

        With two runs there is nothing to adjust.

    alpha : float, default=0.05
        Level of the tests. Each interval has the confidence level ``1 - alpha``. With
        "max-t" the intervals of differences are simultaneous for all pairs: if an interval
        leaves out 0, the pair is significant. Above 0 and below 1.

    greater_is_better : bool, default=True
        Set it to False if the least mean is the best, as for times and errors.

    groups : array-like of shape (n_queries,), default=None
        Label of each query's group, in the order of ``evaluations[0].queries``, which is
        that of the judgments. Use it if queries are not independent, such as variants of
        one query. Each group is averaged and then counts as one row, so means, intervals
        and tests are of groups. None makes no groups.

    stratify : array-like of shape (n_queries,), default=None
        Label of each query's stratum, in the same order, for intervals and the tests
        "bootstrap" and "t". None makes no strata. Queries of one group must have one label.

    n_resamples : int, default=10_000
        Number of samples of queries, at least 100, for intervals, the test "bootstrap" and
        the adjustment "max-t".

    random_state : int, RandomState instance or None, default=0
        Seed of the samples.

    Returns
    -------
    comparison : RunComparison
        It prints as tables.

    Raises
    ------
    ValueError
        If there are fewer than two runs, the evaluations differ in their queries or
        measures, a stratum has one query, or `groups` or `stratify` are not one label for
        each query, in the order of the queries if they are a Series with an index; or if
        :func:`evaluate_run` raises it for a run, whose name is a note of the error.

    TypeError
        If the arguments are neither evaluations nor judgments with runs by name, such as
        runs without names. The message has the line to write.

    Warns
    -----
    UserWarning
        If a pair is significant by expected values, but would not be in some order of tied
        documents, or if no pair could be significant with `test` and `adjust`.

    See Also
    --------
    compare_scores : Compares the systems of a table of scores.
    sklearn_talr.inference.paired_test : The tests, for values of any origin.

    References
    ----------
    B. A. Carterette, "Multiple Testing in Statistical Analysis of Systems-Based Information
    Retrieval Experiments", ACM Transactions on Information Systems 30, 2012.

    J. P. Romano and M. Wolf, "Exact and Approximate Stepdown Methods for Multiple
    Hypothesis Testing", Journal of the American Statistical Association 100, 2005.

    V. G. Tusher, R. Tibshirani and G. Chu, "Significance Analysis of Microarrays Applied to
    the Ionizing Radiation Response", Proceedings of the National Academy of Sciences 98,
    2001, on standard errors to which a constant is added.

    Examples
    --------
    The second run ranks the relevant document second in two queries. The first run ties it
    with two others in one query:

    >>> from sklearn_talr.runs import compare_runs, evaluate_run
    >>> qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}, "q3": {"d1": 1}}
    >>> tied, first, second = {"d1": 1, "d2": 1, "d3": 1}, {"d1": 1}, {"d1": 1, "d2": 2}
    >>> runs = {
    ...     "ours": {"q1": tied, "q2": first, "q3": first},
    ...     "theirs": {"q1": second, "q2": first, "q3": second},
    ... }
    >>> comparison = compare_runs(qrels, runs, ["RR"], test="t")
    >>> comparison.difference.round(3), comparison.lowest.round(3), comparison.undecided
    (array([[0.204]]), array([[0.111]]), array([[0.33333333]]))
    >>> round(float(comparison.p_value[0, 0]), 2)
    0.31
    >>> comparison.tiers
    {'RR': [['ours', 'theirs']]}

    The same with evaluations:

    >>> evaluations = [
    ...     evaluate_run(qrels, run, ["RR"], name=name) for name, run in runs.items()
    ... ]
    >>> compare_runs(*evaluations, test="t").tiers
    {'RR': [['ours', 'theirs']]}
    """
    evaluations, line_of_queries = ComparedEvaluations.from_arguments(evaluations, measures)
    queries = evaluations[0].queries if evaluations else []
    refuse_unlike_rows(groups, "groups", queries, line_of_queries)
    refuse_unlike_rows(stratify, "stratify", queries, line_of_queries)
    if groups is not None:
        groups = check_groups(groups, len(queries))
        if len(groups) != len(queries):
            raise ValueError(
                f"groups must have one label per query, {len(queries)} in all, got "
                f"{len(groups)}."
            )
        evaluations, stratify = average_groups(evaluations, groups, stratify, rows="groups")
    return compare_evaluations(
        evaluations,
        test=test,
        adjust=adjust,
        alpha=alpha,
        greater_is_better=greater_is_better,
        stratify=stratify,
        n_resamples=n_resamples,
        random_state=random_state,
    )


@one_thread()
def compare_evaluations(
    evaluations,
    *,
    test,
    adjust,
    alpha,
    greater_is_better,
    stratify,
    n_resamples,
    random_state,
):
    """Compare systems whose queries and measures are the same, as `compare_runs` does."""
    if len(evaluations) < 2:
        raise ValueError(f"two systems or more are needed, got {len(evaluations)}.")
    first = evaluations[0]
    settings = ComparisonSettings(
        test=test,
        adjust=_resolved_adjustment(adjust, test),
        alpha=float(alpha),
        greater_is_better=bool(greater_is_better),
        resampling=Resampling(
            strata=make_strata(stratify, len(first.queries)),
            n_resamples=n_resamples,
            seed=independent_random_state(random_state).randint(2**31),
        ),
        rows=first.rows,
    )
    names = _different_names(evaluations)
    pairs = list(combinations(range(len(names)), 2))
    statistics = _statistics_by_measure(evaluations, pairs, settings)
    comparison = RunComparison(
        names=names,
        measures=list(first.measures),
        queries=list(first.queries),
        evaluations=list(evaluations),
        alpha=settings.alpha,
        test=settings.test,
        adjust=settings.adjust,
        pairs=pairs,
        tiers=_named_tiers(first.measures, statistics, names),
        greater_is_better=settings.greater_is_better,
        **_stacked([by_measure.runs for by_measure in statistics]),
        **_stacked([by_measure.pairs for by_measure in statistics]),
    )
    _warn_if_undone_by_ties(comparison)
    return comparison


def _statistics_by_measure(evaluations, pairs, settings):
    """A list of `MeasureStatistics`."""
    statistics = []
    for number, measure in enumerate(evaluations[0].measures):
        values = MeasureValues.from_evaluations(evaluations, number)
        by_measure = compare_by_measure(measure, values, np.transpose(pairs), settings)
        statistics.append(by_measure)
    return statistics


def _resolved_adjustment(adjust, test):
    """The adjustment that "auto" means with this test."""
    if adjust != "auto":
        return adjust
    return "max-t" if test == "randomization" else "holm"


def _different_names(evaluations):
    """Names of the evaluations, with their numbers if two have the same."""
    names = [evaluation.name for evaluation in evaluations]
    if len(set(names)) < len(names):
        names = [f"{number}: {name}" for number, name in enumerate(names, 1)]
    return names


def _named_tiers(measures, statistics, names):
    """Tiers of names by measure."""
    named = {}
    for measure, by_measure in zip(measures, statistics):
        named[measure] = [[names[run] for run in tier] for tier in by_measure.tiers]
    return named


def _stacked(records):
    """Fields of records of all measures, as a dict of arrays (..., n_measures)."""
    return {
        field.name: np.stack([getattr(record, field.name) for record in records], axis=1)
        for field in fields(records[0])
    }


def _warn_if_undone_by_ties(comparison):
    """Warn of the first significant pair that is not significant in some order of ties."""
    undone = undone_by_ties(comparison)
    if not undone:
        return
    better, worse, measure = undone[0]
    warn_caller(
        f"by {measure} {better!r} is significantly better than {worse!r} in the mean over "
        "all orders of tied documents, but not in every order. Number of such differences: "
        f"{len(undone)}, see depends_on_ties."
    )
