"""What evaluating a run returns, and how two of them compare."""

from dataclasses import dataclass

import numpy as np

from .._compat import validate_params
from ._text_tables import aligned, p_value_text

__all__ = ["RunComparison", "RunEvaluation", "compare_runs"]

ORDERS = "expected", "worst", "best", "listed"  # as RankedItems knows them
_COLUMNS = "expected", "worst", "best", "trec_eval"
_ROUNDING = 1e-12  # sums in two orders may differ by so much


@dataclass(frozen=True, eq=False)
class RunEvaluation:
    """Values of a run over all orders of tied documents.

    :func:`evaluate_run` makes them.

    Parameters
    ----------
    name : str
        Name of the run.

    measures : list of str of length n_measures
        Names of the measures, as ir_measures writes them.

    queries : list of str of length n_queries
        The evaluated queries, in the order of the judgments.

    expected, worst, best : ndarray of shape (n_queries, n_measures)
        Mean, least and greatest value over all orders of tied documents.

    trec_eval : ndarray of shape (n_queries, n_measures)
        Values of the one order that trec_eval takes: ties by descending identifier.

    Examples
    --------
    >>> from sklearn_talr.runs import evaluate_run
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0, "d3": 1.0}}
    >>> result = evaluate_run({"q1": {"d3": 1}}, run, ["RR", "P@2"])
    >>> result.means["RR"]
    {'expected': 0.4166..., 'worst': 0.3333..., 'best': 0.5, 'trec_eval': 0.5}
    >>> result.moved
    {'RR': 1.0, 'P@2': 1.0}
    >>> result.to_frame(per_query=True)
                   expected     worst  best  trec_eval
    query measure
    q1    RR       0.416667  0.333333   0.5        0.5
          P@2      0.250000  0.000000   0.5        0.5
    """

    name: str
    measures: list
    queries: list
    expected: np.ndarray
    worst: np.ndarray
    best: np.ndarray
    trec_eval: np.ndarray

    @property
    def means(self):
        """Mean over the queries, as a dict by measure of dicts by column."""
        columns = [getattr(self, column).mean(axis=0).tolist() for column in _COLUMNS]
        rows = zip(*columns)
        return {name: dict(zip(_COLUMNS, row)) for name, row in zip(self.measures, rows)}

    @property
    def moved(self):
        """Share of the queries whose value ties could move, as a dict by measure."""
        moves = self.best - self.worst > _ROUNDING
        return dict(zip(self.measures, moves.mean(axis=0).tolist()))

    def to_dict(self, *, per_query=False):
        """Return means, or values of queries, as nested dicts.

        Parameters
        ----------
        per_query : bool, default=False
            Whether to return values of queries instead of means.

        Returns
        -------
        values : dict
            ``values[measure][column]`` with the columns "expected", "worst", "best",
            "trec_eval" and "moved", the share of queries that ties could move; or
            ``values[query][measure][column]`` with the first four.
        """
        if not per_query:
            moved = self.moved
            return {name: row | {"moved": moved[name]} for name, row in self.means.items()}
        table = np.stack([getattr(self, column) for column in _COLUMNS], axis=-1).tolist()
        return {
            query: {
                name: dict(zip(_COLUMNS, row)) for name, row in zip(self.measures, rows)
            }
            for query, rows in zip(self.queries, table)
        }

    def to_frame(self, *, per_query=False):
        """Return means, or values of queries, as a pandas DataFrame.

        Parameters
        ----------
        per_query : bool, default=False
            Whether to return values of queries instead of means.

        Returns
        -------
        frame : DataFrame
            A row for each measure, or for each query and measure, and the columns of
            `to_dict`.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas: install it, or call to_dict instead."
            ) from error
        if not per_query:
            frame = pd.DataFrame.from_dict(self.to_dict(), orient="index")
            return frame.rename_axis("measure")
        pairs = pd.MultiIndex.from_product(
            [self.queries, self.measures], names=["query", "measure"]
        )
        columns = {column: getattr(self, column).ravel() for column in _COLUMNS}
        return pd.DataFrame(columns, index=pairs)

    def __str__(self):
        rows = [["", *_COLUMNS, "moved"]]
        for measure, values in self.to_dict().items():
            *numbers, moved = values.values()
            rows.append([measure, *(f"{number:.4f}" for number in numbers), f"{moved:.0%}"])
        n_queries = len(self.queries)
        title = f"{self.name}: {n_queries} quer{'y' if n_queries == 1 else 'ies'}"
        return f"{title}\n{aligned(rows)}"

    def __repr__(self):
        return str(self)


@dataclass(frozen=True, eq=False)
class RunComparison:
    """How two runs compare, measure by measure.

    :func:`compare_runs` makes them.

    Parameters
    ----------
    names : tuple of two str
        Names of the runs.

    measures : list of str of length n_measures

    difference : ndarray of shape (n_measures,)
        Mean expected value of the first run minus that of the second.

    lowest, highest : ndarray of shape (n_measures,)
        The least and the greatest difference of means that orders of ties can make.

    undecided : ndarray of shape (n_measures,)
        Share of the queries in which ties decide which run is better.

    p_value : ndarray of shape (n_measures,)
        Two-sided p-value of the paired t-test on expected values, as scipy has it: 0 where
        the runs differ by the same amount in all queries; NaN where they are equal in all
        queries, or there is but one query, or a value is NaN.
    """

    names: tuple
    measures: list
    difference: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    undecided: np.ndarray
    p_value: np.ndarray

    @property
    def ties_decide(self):
        """Whether ties decide which run has the better mean, (n_measures,) of bool."""
        return (self.lowest < -_ROUNDING) & (self.highest > _ROUNDING)

    def to_dict(self):
        """Return ``values[measure][column]``, all numbers of the comparison."""
        columns = "difference", "lowest", "highest", "undecided", "p_value", "ties_decide"
        table = zip(*(getattr(self, column).tolist() for column in columns))
        return {name: dict(zip(columns, row)) for name, row in zip(self.measures, table)}

    def __str__(self):
        rows = [["", "difference", "lowest", "highest", "undecided", "p-value"]]
        for measure, row in self.to_dict().items():
            numbers = [f"{row[key]:+.4f}" for key in ("difference", "lowest", "highest")]
            shares = f"{row['undecided']:.0%}", p_value_text(row["p_value"])
            rows.append([measure, *numbers, *shares])
        return f"{self.names[0]} minus {self.names[1]}\n{aligned(rows)}"

    def __repr__(self):
        return str(self)


@validate_params(
    {"first": [RunEvaluation], "second": [RunEvaluation]},
    prefer_skip_nested_validation=True,
)
def compare_runs(first, second):
    """Compare two runs: by how much, how surely, and whether ties decide it.

    In a query ties decide if some orders of the tied documents put the first run ahead, and
    others the second: if the intervals from worst to best overlap, and are not the same
    single point.

    Parameters
    ----------
    first, second : RunEvaluation
        Evaluations of two runs by the same judgments and measures.

    Returns
    -------
    comparison : RunComparison
        It prints as a table.

    Raises
    ------
    ValueError
        If the two have not the same queries and measures.

    See Also
    --------
    scipy.stats.ttest_rel : The test.

    Examples
    --------
    The second run has the relevant document alone in the second place. The first ties it
    for the first three:

    >>> from sklearn_talr.runs import compare_runs, evaluate_run
    >>> qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}}
    >>> tied = {"d1": 1.0, "d2": 1.0, "d3": 1.0}
    >>> first = evaluate_run(qrels, {"q1": tied, "q2": {"d1": 1.0}}, "RR")
    >>> second = evaluate_run(
    ...     qrels, {"q1": {"d1": 1.0, "d2": 2.0}, "q2": {"d1": 1.0}}, "RR"
    ... )
    >>> print(compare_runs(first, second))
    run minus run
        difference   lowest  highest  undecided  p-value
    RR     +0.0556  -0.0833  +0.2500        50%   0.5000
    """
    if first.queries != second.queries or first.measures != second.measures:
        raise ValueError(
            "compare_runs needs two evaluations of the same queries and measures: evaluate "
            "both runs by the same judgments, with missing_queries='zero'."
        )
    lowest, highest = first.worst - second.best, first.best - second.worst
    undecided = (lowest < -_ROUNDING) & (highest > _ROUNDING)
    difference = first.expected - second.expected
    return RunComparison(
        names=(first.name, second.name),
        measures=list(first.measures),
        difference=difference.mean(axis=0),
        lowest=lowest.mean(axis=0),
        highest=highest.mean(axis=0),
        undecided=undecided.mean(axis=0),
        p_value=_paired_test(difference),
    )


def _paired_test(difference):
    """p-values of the paired t-test of each column, without scipy's warnings.

    Differences that are all the same have no variance: the mean is 0, of which there is
    nothing to test, or it is known exactly.
    """
    from scipy.stats import ttest_1samp

    p_value = np.full(difference.shape[1], np.nan)
    if len(difference) < 2:
        return p_value
    spread = np.ptp(difference, axis=0)
    tested = spread > _ROUNDING
    if tested.any():
        p_value[tested] = ttest_1samp(difference[:, tested], 0).pvalue
    p_value[(spread <= _ROUNDING) & (np.abs(difference[0]) > _ROUNDING)] = 0.0
    return p_value
