"""Results of evaluating a run."""

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from .._core.compat import Interval, independent_random_state, optional, validated
from .._core.types import Any, Column, DataFrame, Seed
from ..inference._intervals import expanded_interval
from ..inference._resampling import (
    RESAMPLING,
    ROUNDING,
    Resampling,
    make_strata,
    refuse_unlike_rows,
)
from ._text import aligned, number_of_queries, shown

_COLUMNS = "expected", "worst", "best", "trec_eval"


@dataclass(frozen=True, eq=False)
class RunEvaluation:
    """Values of a run over all orders of tied documents.

    :func:`evaluate_run` returns it.

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
        Values under trec_eval's order: scores as float32, and ties by descending
        identifier.

    tie_variance : ndarray of shape (n_queries, n_measures), default=None
        Variance of each value over orders of tied documents, if `n_orders` of
        :func:`evaluate_run` were drawn.

    rows : str, default="queries"
        Word for the queries in tables, such as "tasks" for a leaderboard.

    Examples
    --------
    >>> from sklearn_talr.runs import evaluate_run
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0, "d3": 1.0}}
    >>> result = evaluate_run({"q1": {"d3": 1}}, run, ["RR", "P@2"])
    >>> result.means["RR"]
    {'expected': 0.4166..., 'worst': 0.3333..., 'best': 0.5, 'trec_eval': 0.5}
    >>> result.affected
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
    tie_variance: np.ndarray = None
    rows: str = "queries"

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """Mean over the queries, as a dict by measure of dicts by column."""
        columns = [getattr(self, column).mean(axis=0).tolist() for column in _COLUMNS]
        return self._by_measure(zip(*columns))

    def _by_measure(self, rows):
        return {name: dict(zip(_COLUMNS, row)) for name, row in zip(self.measures, rows)}

    @property
    def affected(self) -> dict[str, float]:
        """Share of the queries whose value depends on the order of ties, by measure.

        Ties of scores as float32, which trec_eval stores, count as well.
        """
        highest = np.maximum(self.best, self.trec_eval)
        lowest = np.minimum(self.worst, self.trec_eval)
        is_affected = highest - lowest > ROUNDING
        return dict(zip(self.measures, is_affected.mean(axis=0).tolist()))

    @validated(
        confidence_level=[Interval(Real, 0, 1, closed="neither")],
        ties=["boolean"],
        **RESAMPLING,
    )
    def confidence_interval(
        self,
        *,
        confidence_level: float = 0.95,
        ties: bool = False,
        stratify: Column = None,
        n_resamples: int = 10_000,
        random_state: Seed = 0,
    ) -> dict[str, tuple[float, float]]:
        """Confidence intervals of the means of expected values.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Above 0 and below 1.

        ties : bool, default=False
            Whether each sample of queries also draws an order of their ties, with the
            variance `tie_variance`. With False the interval is of expected values, which do
            not depend on the order of ties. True is for the mean of a tool that breaks ties
            at random: shift the interval to be around that mean.

        stratify : array-like of shape (n_queries,), default=None
            Label of each query's stratum, in the order of `queries`. Each sample has the
            same number of queries per stratum.

        n_resamples : int, default=10_000
            Number of samples of queries.

        random_state : int, RandomState instance or None, default=0
            Seed of the samples.

        Returns
        -------
        intervals : dict of str to tuple of two float
            Low and high end for each measure.

        Raises
        ------
        ValueError
            If `ties` is set, but no orders were drawn, or a stratum has one query.

        See Also
        --------
        sklearn_talr.inference.mean_interval : The interval for any values of queries.

        Examples
        --------
        >>> from sklearn_talr.runs import evaluate_run
        >>> qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}, "q3": {"d1": 1}}
        >>> tied, first = {"d1": 1.0, "d2": 1.0}, {"d1": 2.0, "d2": 1.0}
        >>> run = {"q1": tied, "q2": tied, "q3": first}
        >>> result = evaluate_run(qrels, run, "RR", n_orders=100)
        >>> low, high = result.confidence_interval()["RR"]
        >>> wider_low, wider_high = result.confidence_interval(ties=True)["RR"]
        >>> wider_low < low < high < wider_high
        True
        """
        if ties and self.tie_variance is None:
            raise ValueError(
                "ties=True needs the variance over orders of ties: draw orders with "
                "evaluate_run(..., n_orders=100)."
            )
        refuse_unlike_rows(stratify, "stratify", self.queries, "evaluation.queries")
        strata = make_strata(stratify, len(self.queries))
        seed = independent_random_state(random_state)
        low, high = expanded_interval(
            self.expected,
            Resampling(strata, n_resamples, seed),
            confidence_level,
            tie_variance=self.tie_variance if ties else None,
        )
        return dict(zip(self.measures, zip(low.tolist(), high.tolist())))

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Return means, or values of queries, as nested dicts.

        Parameters
        ----------
        per_query : bool, default=False
            Whether to return values of queries instead of means.

        Returns
        -------
        values : dict
            ``values[measure][column]`` with the columns "expected", "worst", "best",
            "trec_eval" and "affected", the share of queries whose value depends on the
            order of ties; or ``values[query][measure][column]`` with the first four.
        """
        if not per_query:
            affected = self.affected
            return {
                name: means | {"affected": affected[name]}
                for name, means in self.means.items()
            }
        table = np.stack([getattr(self, column) for column in _COLUMNS], axis=-1).tolist()
        return {query: self._by_measure(rows) for query, rows in zip(self.queries, table)}

    def to_frame(self, *, per_query: bool = False) -> DataFrame:
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
        pd = import_pandas()
        if not per_query:
            frame = pd.DataFrame.from_dict(self.to_dict(), orient="index")
            return frame.rename_axis("measure")
        pairs = pd.MultiIndex.from_product(
            [self.queries, self.measures], names=["query", "measure"]
        )
        columns = {column: getattr(self, column).ravel() for column in _COLUMNS}
        return pd.DataFrame(columns, index=pairs)

    def __str__(self) -> str:
        rows = [["", *_COLUMNS, "affected"]]
        for measure, values in self.to_dict().items():
            rows.append([measure, *(shown(*cell) for cell in values.items())])
        return f"{self.name}: {number_of_queries(self.queries, self.rows)}\n{aligned(rows)}"

    __repr__ = __str__


def average_groups(evaluations, groups, stratify, *, rows):
    """Average the queries of each group, so that each group becomes one row.

    The ties of different queries are independent, so the least mean over orders of ties is
    the mean of the least values. The same holds for the greatest.

    Parameters
    ----------
    evaluations : list of RunEvaluation
        Of the same queries.

    groups : ndarray of shape (n_queries,)
        Label of each query's group. None is missing.

    stratify : array-like of shape (n_queries,), or None
        Label of each query's stratum, the same for all queries of a group.

    rows : str
        Word for the groups in tables.

    Returns
    -------
    averaged : list of RunEvaluation
        Groups come in the order of their first queries.

    stratify : list of length n_groups, or None
    """
    number_of_group = {}
    numbers = np.array(
        [
            number_of_group.setdefault(group, len(number_of_group))
            for group in groups.tolist()
        ]
    )
    if stratify is not None:
        make_strata(stratify, len(groups))  # It refuses labels that are missing or alone.
        stratify = _strata_of_groups(numbers, np.asarray(stratify).tolist())
    averaged = []
    for evaluation in evaluations:
        tie_variance = evaluation.tie_variance
        if tie_variance is not None:
            # The variance of a mean of n independent values
            n_queries = np.bincount(numbers)[:, None]
            tie_variance = _means_of_groups(tie_variance, numbers) / n_queries
        averaged_evaluation = replace(
            evaluation,
            queries=list(map(str, number_of_group)),
            expected=_means_of_groups(evaluation.expected, numbers),
            worst=_means_of_groups(evaluation.worst, numbers),
            best=_means_of_groups(evaluation.best, numbers),
            trec_eval=_means_of_groups(evaluation.trec_eval, numbers),
            tie_variance=tie_variance,
            rows=rows,
        )
        averaged.append(averaged_evaluation)
    return averaged, stratify


def _means_of_groups(values, numbers):
    """Mean of the values of each group, (n_groups, n_measures)."""
    n_queries = np.bincount(numbers)
    total = np.zeros((len(n_queries), values.shape[1]))
    np.add.at(total, numbers, values)
    return total / n_queries[:, None]


def _strata_of_groups(numbers, labels):
    """The stratum of each group, or an error if its queries have several."""
    label_of_group = {}
    for number, label in zip(numbers.tolist(), labels):
        if label_of_group.setdefault(number, label) != label:
            raise ValueError(
                "stratify has several labels in one group: give all rows of a group the "
                "same label."
            )
    return [label_of_group[number] for number in range(len(label_of_group))]


def import_pandas():
    """Return the module pandas, or raise ImportError with remedies."""
    remedy = "install it, or call to_dict instead of to_frame."
    return optional("pandas", f"tables need pandas: {remedy}")
