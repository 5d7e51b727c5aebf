"""Measures as ir_measures writes them: names, parameters, cutoffs."""

import ast
import re
from dataclasses import dataclass, field
from numbers import Integral, Real

_ALIASES = {
    "MAP": "AP",
    "MRR": "RR",
    "NDCG": "nDCG",
    "Precision": "P",
    "RPrec": "Rprec",
    "Recall": "R",
}
# Parameters with their defaults; whether a cutoff must, may or must not follow
_REL = {"rel": 1}
_PARAMS = {
    "AP": _REL,
    "ERR": {"max_rel": 4},
    "F1": _REL,
    "Judged": {},
    "P": _REL,
    "R": _REL,
    "RBP": {"p": 0.8, "rel": None, "max_rel": None},
    "RR": _REL,
    "Rprec": _REL,
    "Success": _REL,
    "nDCG": {"dcg": "log2"},
}
_NEEDS_CUTOFF = {"F1", "P", "R", "Success"}
# Others of ir_measures, by the beginnings of their names
_WITHOUT_FORMULA = ("Accuracy", "alpha_", "AP_IA", "BP", "Bpref", "Compat", "ERR_IA")
_WITHOUT_FORMULA += ("infAP", "INS", "IPrec", "MAP_IA", "NERR", "nERR", "NRBP", "nNRBP")
_WITHOUT_FORMULA += ("P_IA", "SDCG", "StRecall")
_OF_SETS = {"NumQ", "NumRel", "NumRelRet", "NumRet", "SetAP", "SetF", "SetP", "SetR"}
_TEXT = re.compile(
    r"^\s*(?P<name>\w+)\s*(\((?P<params>.*)\))?\s*(@\s*(?P<cutoff>\w+))?\s*$"
)
_CUTOFF = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True)
class Measure:
    """What to measure.

    Parameters
    ----------
    name : str
        One of `_PARAMS`.

    cutoff : int or None
        Only the first ranks count; None means all.

    params : dict
        All parameters, with defaults where none were given.
    """

    name: str
    cutoff: int | None = None
    params: dict = field(default_factory=dict)

    def __str__(self):
        defaults = _PARAMS[self.name]
        changed = {
            key: value for key, value in self.params.items() if value != defaults[key]
        }
        params = ",".join(f"{key}={value!r}" for key, value in changed.items())
        cutoff = "" if self.cutoff is None else f"@{self.cutoff}"
        return f"{self.name}{f'({params})' if params else ''}{cutoff}"


def parse_measures(measures):
    """Parse one measure or several, without repetitions.

    Raises
    ------
    ValueError
        If a measure is not known, has no exact expectation, or has wrong parameters.
    """
    if isinstance(measures, str) or not hasattr(measures, "__iter__"):
        measures = [measures]
    parsed = {str(measure): measure for measure in map(_parse, measures)}
    if not parsed:
        raise ValueError("measures must name at least one measure, such as 'nDCG@10'.")
    return list(parsed.values())


def _parse(measure):
    found = _TEXT.fullmatch(
        str(measure)
    )  # objects of ir_measures print as they are written
    if not found:
        raise ValueError(f"{str(measure)!r} is no measure; one is 'nDCG(dcg=\"log2\")@10'.")
    name = _ALIASES.get(found["name"], found["name"])
    if name not in _PARAMS:
        raise ValueError(_why_not(name))
    cutoff = _cutoff(measure, name, found["cutoff"])
    given = _keywords(measure, found["params"] or "")
    return Measure(name, cutoff, _checked(measure, name, given))


def _why_not(name):
    if name.startswith(_WITHOUT_FORMULA) or not name.isascii():
        reason = f"{name} is refused: its exact mean over orders of ties is not at hand."
    elif name in _OF_SETS:
        reason = f"{name} is refused: it is about sets, which no order of ties changes."
    else:
        reason = f"{name!r} is not a known measure."
    return f"{reason} Known are {', '.join(sorted(_PARAMS, key=str.lower))}."


def _cutoff(measure, name, text):
    if text is None:
        if name in _NEEDS_CUTOFF:
            raise ValueError(f"{name} needs a cutoff, such as {name}@10.")
        return None
    if not _CUTOFF.fullmatch(text) or int(text) < 1 or int(text) >= 2**63:
        raise ValueError(f"the cutoff of {measure} must be a positive integer.")
    if name == "Rprec":
        raise ValueError("Rprec takes no cutoff: it is the number of relevant documents.")
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


def _checked(measure, name, given):
    defaults = _PARAMS[name]
    unknown = {
        key: value
        for key, value in given.items()
        if key not in defaults and not (key == "judged_only" and value is False)
    }
    if unknown:
        raise ValueError(
            f"{measure}: {name} takes no parameter {', '.join(unknown)}; "
            f"it takes {', '.join(defaults) or 'none'}."
        )
    params = defaults | {key: given[key] for key in given if key in defaults}
    for key, value in params.items():
        if not (value is None and defaults[key] is None) and not _ALLOWED[key](value):
            raise ValueError(f"{measure}: {key} must be {_WANTED[key]}, got {value!r}.")
    return params


def _is_level(value):
    return isinstance(value, Integral) and not isinstance(value, bool) and 1 <= value < 1024


_ALLOWED = {
    "rel": _is_level,
    "max_rel": _is_level,
    "p": lambda value: isinstance(value, Real) and 0 < value < 1,
    "dcg": lambda value: value in ("log2", "exp-log2"),
}
_WANTED = {
    "rel": "a positive integer below 1024",
    "max_rel": "a positive integer below 1024",
    "p": "a number between 0 and 1",
    "dcg": "'log2' or 'exp-log2'",
}
