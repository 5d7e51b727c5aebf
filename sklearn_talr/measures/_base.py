"""Measures: frozen values with parameters, a cutoff, a kernel, and a name to parse."""

import ast
import json
import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from fractions import Fraction
from numbers import Integral, Real
from typing import ClassVar

import numpy as np

from .._core.compat import validated
from .._core.types import (
    Any,
    Array,
    ArrayLike,
    Column,
    Count,
    Floats,
    NDArray,
    Self,
    Sequence,
)
from ..histogram import RankingHistogram
from ._evaluation import OF_SCORES, evaluate_histogram, score_arrays
from ._ties import Ties

MEASURES = {}  # classes of measures by name; each enters itself when it is defined

# Other names of measures that are understood in any case. The table in the docstring of
# `sklearn_talr.measures` lists them.
ALIASES = {
    # The names in the functions tie_aware_*_score of `sklearn_talr.metrics`
    "average_precision": "AP",
    "precision": "P",
    "recall": "R",
    "reciprocal_rank": "RR",
    "hit_rate": "Success",
    # Names of means over queries, and the name in recommender systems
    "map": "AP",
    "mrr": "RR",
    "hr": "Success",
}
# Names of the measures that training can maximize.
_TRAINABLE = "AP", "nDCG"
# Beginnings of the names of other measures of ir_measures, whose mean over orders of ties
# has no exact formula here.
_PREFIXES_WITHOUT_FORMULA = (
    "Accuracy",
    "alpha_",
    "AP_IA",
    "BP",
    "Compat",
    "ERR_IA",
    "infAP",
    "INS",
    "IPrec",
    "MAP_IA",
    "NERR",
    "nERR",
    "NRBP",
    "nNRBP",
    "P_IA",
    "SDCG",
    "StRecall",
)
# Names of other libraries, which are refused with the name here.
_NAMES_ELSEWHERE = {
    "map_cut": "AP",
    "ndcg_cut": "nDCG",
    "roc_auc": "AUC",
    "rocauc": "AUC",
    "enrichment_factor": "EF",
    "recip_rank": "RR",
    "mean_average_precision": "AP",
    "mean_reciprocal_rank": "RR",
    "hit": "Success",
    "hits": "Success",
    "hit_ratio": "Success",
    "hitrate": "Success",
}
# A name of another library, and its cutoff: "ndcg_cut_10", "recall@5", "f1 at 3".
_NAME_ELSEWHERE = re.compile(r"(f1|[a-z_]+?)(?:(?:_at_|[ @._-])?([0-9]+))?")
_SET_MEASURES = {"NumQ", "NumRel", "NumRelRet", "NumRet", "SetAP", "SetF", "SetP", "SetR"}
_MEASURE = re.compile(
    r"^\s*(?P<name>\w+)\s*(\((?P<params>.*)\))?\s*(@\s*(?P<cutoff>[\w.]+%?))?\s*$"
)
_CUTOFF = re.compile(r"[0-9]{1,19}")
_SHARE = re.compile(r"(?=.*[1-9])([0-9]{1,2}(\.[0-9]{1,9})?|100)%")


@dataclass(frozen=True, kw_only=True, repr=False)
class Measure(ABC):
    """A tie-aware measure of rankings, as a value.

    A measure has a name, parameters and a cutoff, written as in ir_measures: ``AP``,
    ``nDCG @ 10``, ``AP(denominator="min") @ 10``. Measures of the same name, parameters and
    cutoff are equal and have the same hash. They print as they are written, and are never
    changed.

    To define your own measure, derive a class with a `name` and a `kernel`. Its name is
    then understood by all functions that take a measure.

    Parameters
    ----------
    cutoff : int or str, default=None
        Number of first ranks that count, or a share of the list such as "1%", which is
        rounded up to whole ranks. None means all ranks.

    Attributes
    ----------
    name : str
        Name of the measure.

    title : str
        Name on the axis of a picture.

    range : tuple of two float
        The least and the greatest value that it can have.

    rel : int
        The least affinity that is relevant.

    takes_cutoff : bool
        Whether it may have a cutoff.

    needs_cutoff : bool
        Whether it needs a cutoff for runs, in which the number of documents is unknown.

    of_runs_only : bool
        Whether it is defined for runs only, since only runs have unjudged documents.

    takes_real_grades : bool
        Whether affinities of arrays and runs may be real numbers.

    Examples
    --------
    A relevant and an irrelevant item share the first place:

    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.measures import AP, RR, P
    >>> AP.of(RankingHistogram([[[1], [1]]], levels=[0, 1]))
    array([0.75])
    >>> (P @ 1).score([[1, 0]], [[2.0, 2.0]])
    0.5
    >>> AP(denominator="min") @ 10
    AP(denominator="min")@10
    >>> RR @ 5 == RR(rel=1) @ 5
    True

    Your own measure: the probability that the first rank is relevant. If nothing is
    relevant, the first relevant tie has no items:

    >>> import numpy as np
    >>> from sklearn_talr.measures import Measure, parse_measure
    >>> class TopRank(Measure):
    ...     name, title = "Top", "first rank"
    ...
    ...     def kernel(self, ties):
    ...         n, p, t, take = ties.first_relevant
    ...         return (t == 0) * p / np.maximum(n, 1)
    >>> parse_measure("Top").of(RankingHistogram([[[1], [3]]], levels=[0, 1]))
    array([0.75])
    """

    cutoff: int | str | None = None

    name: ClassVar[Any] = None
    title: ClassVar[Any] = None
    range = (0.0, 1.0)
    rel = 1
    takes_cutoff = True
    needs_cutoff = False
    of_runs_only = False
    takes_real_grades = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name is None:  # a base class of several measures
            return
        # A cell of a notebook may run again, and define the same class once more.
        namesake = MEASURES.get(cls.name, cls)
        is_in_module = namesake.__module__ == cls.__module__
        if not is_in_module or namesake.__qualname__ != cls.__qualname__:
            raise ValueError(
                f"{cls.name!r} is the name of {namesake.__qualname__} already."
            )
        MEASURES[cls.name] = cls

    def __post_init__(self) -> None:
        for attribute in fields(self):
            value = getattr(self, attribute.name)
            if isinstance(value, np.generic):
                # The dataclass is frozen for its users; this sets its own field.
                object.__setattr__(self, attribute.name, value.item())
        self._check_cutoff()
        for name, param in self.parameters().items():
            value = getattr(self, name)
            is_open = value is None and param.default is None
            if not is_open and not param.metadata["allows"](value):
                allowed = param.metadata["allowed"]
                raise ValueError(f"{self.name}: {name} must be {allowed}, got {value!r}.")

    def _check_cutoff(self):
        """Raise ValueError unless there is no cutoff, or a right one that may be."""
        cutoff = self.cutoff
        if cutoff is None:
            return
        is_count = is_integer(cutoff) and 1 <= cutoff < 2**63
        is_share = isinstance(cutoff, str) and _SHARE.fullmatch(cutoff)
        if not is_count and not is_share:
            raise ValueError(
                f"the cutoff of {self.name} must be a positive integer below 2**63 or a "
                f"share such as '1%', got {cutoff!r}."
            )
        if not self.takes_cutoff:
            raise ValueError(f"{self.name} takes no cutoff, got {cutoff}.")

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """Fields of the parameters, by name."""
        return {param.name: param for param in fields(cls) if param.metadata}

    def __matmul__(self, cutoff: Count | str) -> Self:
        if cutoff is None:
            raise ValueError(f"{self.name} without a cutoff is {self.name} by itself.")
        return replace(self, cutoff=cutoff)

    def __call__(self, *tables: Any, **params: Any) -> Self:
        """Return the measure with some parameters set.

        Parameters
        ----------
        **params : dict
            Parameters of the measure.

        Returns
        -------
        measure : Measure

        Raises
        ------
        TypeError
            If the measure has no such parameter, or is called with a table.
        """
        if tables:
            raise TypeError(
                f"{self.name}(...) sets parameters by name. Evaluate a table of counts "
                f"with {self.name}.of(table), rankings with {self.name}.score(y_true, "
                "y_score), and estimators with a scorer: "
                f"scoring=make_retrieval_scorer({str(self)!r})."
            )
        unknown = params.keys() - self.parameters().keys()
        if unknown:
            raise TypeError(
                f"{self.name} takes no parameter {', '.join(sorted(unknown))}; it takes "
                f"{', '.join(self.parameters()) or 'none'}."
            )
        return replace(self, **params)

    @validated(histogram=[RankingHistogram], zero_division=[Real])
    def of(self, histogram: RankingHistogram, *, zero_division: float = np.nan) -> Floats:
        """Evaluate a table of counts.

        Parameters
        ----------
        histogram : RankingHistogram
            Counts of the ranked items. Affinities from `rel` on are relevant.

        zero_division : float, default=np.nan
            Value of a query without relevant items. NaN lets averages leave the query out.
            All measures treat these queries in the same way, so that all means are over the
            same queries.

        Returns
        -------
        values : ndarray of shape (n_queries,)
            Means over all orders of tied items, float64.
        """
        return evaluate_histogram([self], histogram, zero_division)[:, 0]

    @validated(**OF_SCORES)
    def score(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        groups: Column = None,
        sample_weight: Column = None,
        average: bool = True,
        zero_division: float = np.nan,
    ) -> float | Floats:
        """Evaluate rankings by any real scores.

        Parameters
        ----------
        y_true : array-like of shape (n_queries, n_database) or (n_items,)
            Affinities to the queries: non-negative integers, or NaN for ignored items. A
            flat array, one per item, with `groups`.

        y_score : array-like of shape (n_queries, n_database) or (n_items,)
            Higher is better, and items of equal score are tied. In a table, -inf marks
            cells that hold no item.

        groups : array-like of shape (n_items,), default=None
            Label of the query of each item.

        sample_weight : array-like of shape (n_queries,), default=None
            Weights of the queries in the mean.

        average : bool, default=True
            If False, return the values of the queries instead of their mean.

        zero_division : float, default=np.nan
            Value of a query without relevant items. NaN leaves the query out of the mean.

        Returns
        -------
        score : float or ndarray of shape (n_queries,)
            Mean over queries of the mean over all orders of ties.
        """
        return score_arrays(
            self,
            y_true,
            y_score,
            groups=groups,
            sample_weight=sample_weight,
            average=average,
            zero_division=zero_division,
        )

    def completed(self, *, gains: str, largest: Count = None, is_all: bool = True) -> Self:
        """The measure with a value for each parameter that its name leaves open.

        Parameters
        ----------
        gains : {"log2", "exp-log2"}
            Gains that a name leaves open: "exp-log2" of tables and arrays, "log2" of runs.

        largest : int, default=None
            The largest affinity. None means that the data are not known yet: parameters
            that depend on it stay open.

        is_all : bool, default=True
            Whether no other part of the same data can have a larger affinity.

        Returns
        -------
        measure : Measure

        Raises
        ------
        ValueError
            If the measure does not take affinities as large as this.
        """
        return self

    def ranks(self, ties: Ties, cutoffs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Cutoffs of each query, (n_cutoffs,) or (n_queries, n_cutoffs)."""
        if self.cutoff is None:
            return cutoffs
        # A fraction is exact, and so is its multiple.
        share = Fraction(self.cutoff.rstrip("%")) / 100
        n_listed = ties.n_listed[:, 0].tolist()
        return np.array([math.ceil(share * n) for n in n_listed])[:, None]

    @abstractmethod
    def kernel(self, ties: Ties) -> Array:
        """Evaluate ties that are cut.

        Parameters
        ----------
        ties : Ties
            Ties of some queries, in random order or broken. A kernel reads their
            attributes, such as `divided`, `first_relevant`, `gains`, `ideal` or `cells`.
            They are cut, so that a kernel need not look at `cutoff`.

        Returns
        -------
        values : ndarray of shape (n_queries, n_cutoffs)
            Values. For queries without relevant items any value will do.
        """

    @property
    def label(self) -> str:
        """Text of an axis: title, parameters and cutoff."""
        return f"{self.title}{self._suffix()}"

    def _suffix(self):
        params = []
        for name, param in self.parameters().items():
            value = getattr(self, name)
            if value != param.default:
                text = json.dumps(value) if isinstance(value, str) else repr(value)
                params.append(f"{name}={text}")
        suffix = f"({','.join(params)})" if params else ""
        return suffix if self.cutoff is None else f"{suffix}@{self.cutoff}"

    def __repr__(self) -> str:
        return f"{self.name}{self._suffix()}"


Measures = str | Measure | Sequence[str | Measure]


def parameter(default, allows, allowed):
    """A parameter of a measure.

    Parameters
    ----------
    default : object
        The value unless another is given. None means that it is left open.

    allows : callable
        Whether a value may be given: ``allows(value) -> bool``.

    allowed : str
        Description of these values, for errors.
    """
    return field(default=default, metadata={"allows": allows, "allowed": allowed})


def choice(default, values):
    """A parameter that is one of some strings."""
    *first, last = map(repr, values)
    return parameter(
        default,
        lambda value: isinstance(value, str) and value in values,
        f"{', '.join(first)} or {last}",
    )


def level(default):
    """A parameter that is an affinity above 0."""
    return parameter(
        default,
        lambda value: is_integer(value) and 1 <= value < 1024,
        "a positive integer below 1024",
    )


def is_integer(value):
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value):
    return isinstance(value, Real) and not isinstance(value, bool)


@validated()
def parse_measure(measure: Any) -> Measure:
    """Return the measure of a name.

    Parameters
    ----------
    measure : str or Measure, or measure of ir_measures
        A name such as ``"AP"``, ``"nDCG@10"`` or ``'AP(denominator="min")@10'``, in any
        case, or another name of the measure, such as ``"map"`` or ``"hit_rate@10"``; see
        the table of :mod:`sklearn_talr.measures`. Measures of ir_measures are known by the
        names that they print.

    Returns
    -------
    measure : Measure
        The measure; a `measure` that is one already is returned as it is.

    Raises
    ------
    ValueError
        If the measure is not known, has no exact mean over orders of ties, or has wrong
        parameters.

    Examples
    --------
    >>> from sklearn_talr.measures import AP, parse_measure
    >>> parse_measure("MAP(rel=2)@100")
    AP(rel=2)@100
    >>> parse_measure("AP@5") == AP @ 5
    True
    """
    if isinstance(measure, Measure):
        return measure
    refuse_scorer(measure, "measure")
    text = str(measure)
    parts = _MEASURE.fullmatch(text)
    if not parts:
        raise ValueError(
            f"{text!r} is not a measure; write one as 'nDCG(dcg=\"log2\")@10'.{_hint(text)}"
        )
    name = parts["name"]
    if name not in MEASURES:
        name = _names_in_any_case().get(name.lower(), name)
    if name not in MEASURES:
        raise ValueError(
            f"{_reason_against(name)}{_hint(text)} Known are "
            f"{', '.join(sorted(MEASURES, key=str.lower))}."
        )
    params = _parse_params(text, parts["params"])
    # ir_measures writes this default.
    if params.get("judged_only") is False:
        del params["judged_only"]
    try:
        measure = MEASURES[name]()(**params)
    except TypeError as error:
        raise ValueError(str(error)) from error
    if parts["cutoff"] is None:
        return measure
    return measure @ _parse_cutoff(text, parts["cutoff"])


def _names_in_any_case():
    """Names of measures by the names that are understood, in lower case."""
    return ALIASES | {name.lower(): name for name in MEASURES}


def _hint(text):
    """Ask whether the measure is meant that another library has by this name, if any."""
    meant = _name_here(text)
    return f" Is {meant} meant?" if meant else ""


def _name_here(text):
    """The name here, with its cutoff, of a measure of another library; None if unknown."""
    elsewhere = _NAME_ELSEWHERE.fullmatch("_".join(text.lower().split()))
    if not elsewhere:
        return None
    name, cutoff = elsewhere.groups()
    name_here = (_names_in_any_case() | _NAMES_ELSEWHERE).get(name)
    return f"{name_here}@{cutoff}" if name_here and cutoff else name_here


def _reason_against(name):
    """Why there is no measure of this name."""
    if name.startswith(_PREFIXES_WITHOUT_FORMULA) or not name.isascii():
        return f"{name} is refused: it has no formula for the mean over orders of ties."
    if name in _SET_MEASURES:
        return f"{name} is refused: it is a measure of sets, which do not depend on ties."
    return f"{name!r} is not a known measure."


def _parse_params(text, params):
    """Read the parameters of a measure, keywords with literal values, as a dict."""
    try:
        call = ast.parse(f"f({params or ''})", mode="eval").body
        is_one_call = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if not is_one_call or call.args:
            raise ValueError
        values = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        if None in values or len(values) < len(call.keywords):
            raise ValueError
    except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        raise ValueError(
            f"the parameters of {text} must be keywords, each once, such as rel=2."
        ) from error
    return values


def _parse_cutoff(text, cutoff):
    """Read the cutoff of a measure, a number of ranks or a share such as "1%"."""
    if not (_CUTOFF.fullmatch(cutoff) or _SHARE.fullmatch(cutoff)):
        raise ValueError(
            f"the cutoff of {text} must be a positive integer or a share such as 1%."
        )
    return int(cutoff) if cutoff.isdigit() else cutoff


def measure_name(measure, parameter="measure", others=()):
    """Return "AP" or "nDCG", which training can maximize, for a measure or its name.

    Names are read as :func:`parse_measure` reads them.

    Parameters
    ----------
    measure : str, Measure or measure of ir_measures
        The measure to maximize, without cutoff and with default parameters.

    parameter : str, default="measure"
        What errors call the parameter.

    others : tuple of str, default=()
        Other values that the parameter takes, which are returned as they are.

    Returns
    -------
    name : str
        "AP", "nDCG" or one of `others`.

    Raises
    ------
    ValueError
        If it is another measure, has a cutoff or parameters, or is none.
    """
    if isinstance(measure, str) and measure in others:
        return measure
    try:
        parsed = parse_measure(measure)
    except ValueError:
        parsed = None
    for name in _TRAINABLE:
        if parsed == MEASURES[name]():
            return name
    raise ValueError(_reason_against_training(measure, parameter, others))


def _reason_against_training(measure, parameter, others):
    """Why a parameter cannot have a value, and which measure or value may be meant."""
    names = *_TRAINABLE, *others
    allowed = " or ".join(map(repr, names))
    message = f"{parameter} must be {allowed}, got {str(measure)!r}."
    meant = named_measure(measure)
    if meant is None:
        near = get_close_matches(str(measure), names, 1)
        return message + (f" Is {near[0]!r} meant?" if near else "")
    if meant.name in _TRAINABLE:
        nearest = meant.name
        reason = (
            "Training ranks all items, so it takes AP and nDCG without a cutoff or "
            "parameters."
        )
    else:
        nearest = "AP"
        reason = f"Training does not maximize {meant.name}."
    maker = "make_ranking_scorer" if others else "make_retrieval_scorer"
    return (
        f"{message} {reason} Set {parameter}={nearest!r}, and evaluate with "
        f"scoring={maker}({str(meant)!r})."
    )


def named_measure(measure):
    """The measure that a value or a text means, also under names elsewhere, or None."""
    parsed = _parsed_or_none(measure)
    if parsed is None and isinstance(measure, str):
        parsed = _parsed_or_none(_name_here(measure))
    return parsed


def _parsed_or_none(measure):
    """The measure that `parse_measure` returns, or None if it is no measure."""
    if not isinstance(measure, str | Measure):
        return None
    try:
        return parse_measure(measure)
    except ValueError:
        return None


def refuse_scorer(scorer, parameter):
    """Raise TypeError if a scorer is passed for a measure: it has `set_score_request`."""
    if hasattr(scorer, "set_score_request") and not isinstance(scorer, type):
        names = map(str, getattr(scorer, "measures", ["AP"]))
        measures = ", ".join(map(repr, names))
        raise TypeError(
            f"{parameter} is the scorer {scorer!r}, which takes an estimator and samples, "
            "and is for cross_val_score and searches. Pass a measure: "
            f"{parameter}={measures}. To use the scorer call scorer(estimator, X, y)."
        )


@validated()
def parse_measures(measures: Any) -> tuple[list[Measure], bool]:
    """Return the measures of one name or of several, and whether it was one.

    Parameters
    ----------
    measures : str or Measure, or sequence of them
        A name or measure, as for :func:`parse_measure`, or several of them.

    Returns
    -------
    measures : list of Measure
        The measures, in the order given.

    single : bool
        Whether there was one, and not in a sequence.

    Raises
    ------
    ValueError
        If a measure is not known, or the sequence is empty.

    Examples
    --------
    >>> from sklearn_talr.measures import parse_measures
    >>> parse_measures(["AP", "MRR@10"])
    ([AP, RR@10], False)
    >>> parse_measures("AP")
    ([AP], True)
    """
    if isinstance(measures, str) or not hasattr(measures, "__iter__"):
        return [parse_measure(measures)], True
    parsed = [parse_measure(measure) for measure in measures]
    if not parsed:
        raise ValueError("measures must name at least one measure, such as 'nDCG@10'.")
    return parsed, False
