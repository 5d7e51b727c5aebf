"""Contents of a file: parameters, codes, items, oracle, targets, and perhaps a hasher."""

import numpy as np
import scipy.sparse as sp

from ..affinity import BaseAffinity
from ..codes._door import CodeFactors, OneFactors, WordFactors, as_words
from ..measures import Measure
from ._archive import read_arrays, write_arrays
from ._columns import Columns
from ._store import CodeStore, bytes_of
from ._targets import Targets

_CSR_PARTS = ("data", "indices", "indptr")
# Rules that factors follow from, by what a header says, and their arrays in a file
_RULES = {
    "of codes": (CodeFactors, ("gram", "along")),
    "of words": (WordFactors, ("codebooks", "along", "levels")),
}
_ARRAYS = {"columns", "starts", "members", "terms", "targets", "hasher"}
_ARRAYS |= {f"targets_{part}" for part in _CSR_PARTS}
_ARRAYS |= {name for _, names in _RULES.values() for name in names}
_MISSTATED = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError)


def save_database(path, kind, params, fitted, hasher=None):
    """Write a file that :func:`load_database` reads.

    `kind` is the name of the estimator's class, and `hasher` an array of bytes, those of
    the hasher of `fitted`. Raises ValueError where parameters or targets have no plain
    form.
    """
    store, targets, columns = fitted.store, fitted.targets, fitted.columns
    if isinstance(params["scoring"], Measure):
        params = params | {"scoring": str(params["scoring"])}
    if callable(params["scoring"]):
        raise ValueError("scoring is a function, which cannot be saved; set a name.")
    affinity = None if targets.affinity is None else targets.affinity.to_plain()
    header = {
        "kind": kind,
        "bitorder": "little",
        "n_bits": store.n_bits,
        "n_samples": store.n_indices,
        "params": params | {"affinity": None},
        "affinity": affinity,
        "affinity_is_auto": isinstance(params["affinity"], str),
        "targets_shape": targets.values.shape if sp.issparse(targets.values) else None,
        "feature_names": None if columns.names is None else columns.names.tolist(),
    }
    codes = {"columns": store.columns, "starts": store.starts, "members": store.members}
    of_factors, terms = _describe_terms(store, fitted.hasher)
    header |= of_factors
    codes |= terms | ({} if hasher is None else {"hasher": hasher})
    write_arrays(path, header, codes | _arrays_of_targets(targets.values))


def load_database(path, kind, mmap, restore=None):
    """Read a file that :func:`save_database` has written for the same `kind`.

    ``restore(stored)`` is the FittedHasher of its bytes, an array of uint8.

    Returns
    -------
    params : dict
        Parameters of the constructor.

    parts : tuple of CodeStore, Targets and Columns
        Codes, items and targets, which do not contradict each other.

    hasher : FittedHasher or None
        The hasher; None without `restore`.

    Raises
    ------
    ValueError
        If the file is damaged, or has another kind.
    """
    header, arrays = read_arrays(path, _ARRAYS, mmap)
    if header.get("kind") != kind:
        raise ValueError(
            f"{path} was saved by {header.get('kind')}; load it by that class, not {kind}."
        )
    hasher = None
    if restore is not None:
        if "hasher" not in arrays:
            raise ValueError(f"{path} holds no hasher; save it anew.")
        hasher = restore(arrays["hasher"])
    try:
        return *_rebuild(header, arrays, hasher), hasher
    except _MISSTATED as error:
        raise ValueError(f"{path} lacks or misstates {error}; save it anew.") from error
    except ValueError as error:
        raise ValueError(
            f"The arrays of {path} contradict each other; save it anew: {error}"
        ) from error


def _describe_terms(store, hasher):
    """How to find the factors of codes again, and arrays of what must be kept to do so.

    They are "ones"; or follow from the codes by the rule of the hasher in the same file, or
    by one that takes fewer bytes than they; or are "kept".
    """
    terms, rule = store.terms, store.factors
    if terms is None:
        return {"factors": "kept"}, {}
    if isinstance(rule, OneFactors):
        return {"factors": "ones"}, {"terms": terms[:, 1:]}
    if rule is not None and hasher is not None and rule.same_as(hasher.factors()):
        return {"factors": "of hasher"}, {}
    if rule is not None and rule.nbytes < terms.nbytes:
        kinds = _RULES.items()
        name, arrays = next((k, names) for k, (of, names) in kinds if isinstance(rule, of))
        header = {"factors": name, "beyond": rule.beyond}
        return header, {array: getattr(rule, array) for array in arrays}
    return {"factors": "kept"}, {"terms": terms}


def _rebuild_terms(header, arrays, columns, hasher):
    """The terms of the codes, and the rule that they follow from, or None."""
    terms, n_bits, factors = arrays.get("terms"), header["n_bits"], header["factors"]
    if factors == "ones":
        return np.concatenate((np.ones_like(terms), terms), axis=1), OneFactors()
    if factors == "of hasher":
        rule = hasher.factors()
    elif factors in _RULES:
        of, names = _RULES[factors]
        rule = of(**{name: arrays[name] for name in names}, beyond=header["beyond"])
    else:
        return terms, None
    if not (rule.fits(n_bits) and _sound_codes(columns, n_bits, None)):
        raise ValueError("the codes, or the rule of their factors, are not sound.")
    return rule.of(bytes_of(columns.T, n_bits))[:, None], rule


def _arrays_of_targets(values):
    if values is None:
        return {}
    if sp.issparse(values):
        values = sp.csr_array(values)
        return {f"targets_{part}": getattr(values, part) for part in _CSR_PARTS}
    if values.dtype.hasobject:
        raise ValueError("y holds Python objects, which cannot be saved; use one type.")
    return {"targets": values}


def _rebuild(header, arrays, hasher):
    affinity = None
    if header["affinity"] is not None:
        affinity = BaseAffinity.from_plain(header["affinity"])
    params = header["params"] | {
        "affinity": "auto" if header["affinity_is_auto"] else affinity
    }
    store = _rebuild_store(header, arrays, hasher)
    values = arrays.get("targets")
    if header["targets_shape"] is not None:
        parts = tuple(arrays[f"targets_{part}"] for part in _CSR_PARTS)
        if np.any(parts[2][1:] < parts[2][:-1]):  # which SciPy overlooks below 0
            raise ValueError("targets_indptr descends.")
        values = sp.csr_array(parts, shape=header["targets_shape"])
        values.check_format(full_check=True)
    if (affinity is None) != (values is None):
        raise ValueError("an affinity needs targets, and targets an affinity.")
    if values is not None:
        _check_targets(values, affinity, store.n_indices)
    names = header["feature_names"]
    if names is not None:
        names = np.array(names, dtype=object)
        if names.shape != (store.n_bits,):
            raise ValueError(f"names of shape {names.shape} for {store.n_bits} bits.")
    columns = Columns(store.n_bits, names, header["kind"])
    return params, (store, Targets(affinity, values), columns)


def _check_targets(values, affinity, n_items):
    """Raise ValueError unless `fit` could have made these targets of the items."""
    if values.dtype.kind not in "biufUSmM":
        raise ValueError(f"targets of type {values.dtype}.")
    if affinity.check_targets(values).shape != values.shape or values.shape[0] != n_items:
        raise ValueError(f"targets of shape {values.shape} for {n_items} items.")
    if not affinity.by_number:
        one = values[:1], values[:1]
        affinity.level_index(*one, affinity.levels_between(*one))


def _rebuild_store(header, arrays, hasher):
    columns, starts, members = (arrays[name] for name in ("columns", "starts", "members"))
    n_bits, n_samples = header["n_bits"], header["n_samples"]
    if not type(n_bits) is type(n_samples) is int:
        raise TypeError(f"n_bits {n_bits!r} or n_samples {n_samples!r}")
    terms, rule = _rebuild_terms(header, arrays, columns, hasher)
    if header["bitorder"] != "little" or not _sound_codes(columns, n_bits, terms):
        raise ValueError("the codes are not distinct, sorted codes of that length.")
    if not _sound_members(columns.shape[1], starts, members, n_samples):
        raise ValueError("the items are not shared out among the codes in order.")
    return CodeStore(columns.T, starts, members, n_bits, n_samples, terms, rule)


def _sound_codes(columns, n_bits, terms):
    """Whether there are codes, of that length, distinct, and in ascending order."""
    if columns.dtype.kind != "u" or columns.ndim != 2 or columns.shape[1] < 1:
        return False
    word = 8 * columns.dtype.itemsize
    if n_bits < 1 or len(columns) != -(-n_bits // word):
        return False
    if columns.dtype != as_words(np.zeros((1, -(-n_bits // 8)), np.uint8)).dtype:
        return False
    spare = len(columns) * word - n_bits
    if np.any(columns[-1] >> columns.dtype.type(word - spare)) if spare else False:
        return False
    n_codes = columns.shape[1]
    greater = np.zeros(n_codes - 1, dtype=bool)
    if terms is not None and not _sound_terms(terms, n_codes):
        return False
    for values in [*(() if terms is None else terms.T), *columns]:  # the last decides first
        greater = (values[1:] > values[:-1]) | ((values[1:] == values[:-1]) & greater)
    return bool(greater.all())


def _sound_terms(terms, n_codes):
    """Whether there are one or two finite numbers for each code."""
    shapes = (n_codes, 1), (n_codes, 2)
    return terms.dtype == np.float32 and terms.shape in shapes and np.isfinite(terms).all()


def _sound_members(n_codes, starts, members, n_samples):
    """Whether every code has items, each item one code, and they ascend within a code."""
    arrays_are_sound = (
        starts.dtype.kind == "i"
        and members.dtype.kind == "i"
        and members.ndim == 1
        and starts.shape == (n_codes + 1,)
        and starts[0] == 0
        and starts[-1] == len(members)
        and np.all(starts[1:] > starts[:-1])
        and members.min() >= 0
        and members.max() < n_samples
    )
    if not arrays_are_sound:
        return False
    begins = np.zeros(len(members), dtype=bool)
    begins[starts[:-1]] = True
    ascends = np.all((members[1:] > members[:-1]) | begins[1:])
    return bool(ascends) and len(np.unique(members)) == len(members)
