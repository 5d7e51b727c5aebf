"""Names of measures as ir_measures writes them."""

import ast
import re

from .._compat import validate_params
from ._measure import MEASURES, Measure

__all__ = ["parse_measure", "parse_measures"]

_ALIASES = {
    "MAP": "AP",
    "MRR": "RR",
    "NDCG": "nDCG",
    "Precision": "P",
    "RPrec": "Rprec",
    "Recall": "R",
}
# Others of ir_measures, by the beginnings of their names
_WITHOUT_FORMULA = ("Accuracy", "alpha_", "AP_IA", "BP", "Bpref", "Compat", "ERR_IA")
_WITHOUT_FORMULA += ("infAP", "INS", "IPrec", "MAP_IA", "NERR", "nERR", "NRBP", "nNRBP")
_WITHOUT_FORMULA += ("P_IA", "SDCG", "StRecall")
_OF_SETS = {"NumQ", "NumRel", "NumRelRet", "NumRet", "SetAP", "SetF", "SetP", "SetR"}
_TEXT = re.compile(
    r"^\s*(?P<name>\w+)\s*(\((?P<params>.*)\))?\s*(@\s*(?P<cutoff>\w+))?\s*$"
)
_CUTOFF = re.compile(r"[0-9]{1,19}")


@validate_params({"measure": "no_validation"}, prefer_skip_nested_validation=True)
def parse_measure(measure):
    """Return the measure of a name.

    Parameters
    ----------
    measure : str or Measure, or measure of ir_measures
        A name such as ``"AP"``, ``"nDCG@10"`` or ``'AP(denominator="min")@10'``. ``MAP``,
        ``MRR``, ``NDCG``, ``Precision``, ``Recall`` and ``RPrec`` are understood too.
        Measures of ir_measures are known by the names that they print.

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
    text = str(measure)
    found = _TEXT.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is no measure; one is 'nDCG(dcg=\"log2\")@10'.")
    name = _ALIASES.get(found["name"], found["name"])
    if name not in MEASURES:
        raise ValueError(_why_not(name))
    plain = MEASURES[name]()
    params = _keywords(text, found["params"] or "")
    if params.get("judged_only") is False:  # what ir_measures writes of its default
        del params["judged_only"]
    try:
        measure = plain.with_params(**params)
    except TypeError as error:
        raise ValueError(str(error)) from error
    return measure if found["cutoff"] is None else measure @ _cutoff(text, found["cutoff"])


@validate_params({"measures": "no_validation"}, prefer_skip_nested_validation=True)
def parse_measures(measures):
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


def _why_not(name):
    if name.startswith(_WITHOUT_FORMULA) or not name.isascii():
        reason = f"{name} is refused: its exact mean over orders of ties is not at hand."
    elif name in _OF_SETS:
        reason = f"{name} is refused: it is about sets, which no order of ties changes."
    else:
        reason = f"{name!r} is not a known measure."
    return f"{reason} Known are {', '.join(sorted(MEASURES, key=str.lower))}."


def _cutoff(measure, text):
    if not _CUTOFF.fullmatch(text):
        raise ValueError(f"the cutoff of {measure} must be a positive integer.")
    return int(text)


def _keywords(measure, text):
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        is_one = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if not is_one or call.args:
            raise ValueError
        given = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        if None in given or len(given) < len(call.keywords):
            raise ValueError
    except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        raise ValueError(
            f"the parameters of {measure} must be keywords, each once, such as rel=2."
        ) from error
    return given
