"""What each export of codes does, and what a new engine must offer.

An *engine* is an index or a database that finds codes by Hamming distance. It has a file in
this folder with one public function, ``to_<engine>``. ``_lancedb.py`` is the shortest
example. The function offers the following:

1. **Arguments.** `codes` comes first. The second argument is the connection, or another
   one that most calls pass, such as the `description` of faiss. All others are passed by
   keyword, and `ids` is the first of them. The decorator :func:`validate_export` checks
   their types.
2. **Items.** :func:`read_items` returns the packed codes, in little bit order, and the id
   of each code. It takes codes in any form, or an index of this library, whose ids it
   keeps. It refuses codes whose factors or addends the engine would lose. If the engine can
   multiply and add, the function has a parameter `weighted` and passes it on.
3. **Ids.** An engine that takes integers only calls :func:`refuse_text_ids`. Each id that
   the engine itself gives a meaning to, such as -1, is refused by an error that names the
   remedy.
4. **Names.** An engine with tables calls :func:`check_table`, because the name becomes part
   of statements.
5. **Repeated codes.** An engine with a graph calls :func:`warn_of_repeats`.
6. **Package.** The engine's package is imported within the function, because this library
   does not depend on it.
7. **Result.** The function returns an object of the engine, which its own methods search,
   or a statement of SQL that takes a query and a number of neighbors. ``_sql.py`` has the
   parts that databases share; for weighted queries, :func:`to_sql_weights` there learns the
   name of the engine.
8. **Docstring.** It states the form of a query (bytes or a string of bits), the order of
   ties, and what the engine returns if it finds fewer items than asked for.

CONTRIBUTING.md lists what a new engine needs beside its file: names, a test and a page.
"""

import re
from dataclasses import dataclass

import numpy as np

from .._core.compat import HasMethods, validated
from .._core.progress import warn_caller
from .._core.types import Any, Callable, Function
from .._core.validation import check_ids
from ..codes import CodeTerms, PackedCodes, pack_codes
from ..codes._packed import refuse_terms, wrap_bytes

# PostgreSQL keeps 63 characters of a name.
_TABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


@dataclass(frozen=True)
class Items:
    """Codes and their ids, as an engine takes them.

    Parameters
    ----------
    codes : PackedCodes of shape (n_items, n_bits)
        The codes, in little bit order.

    ids : ndarray of shape (n_items,), dtype int64 or str
        Distinct ids of the codes.
    """

    codes: PackedCodes
    ids: np.ndarray

    @property
    def have_text_ids(self):
        """Whether the ids are strings."""
        return self.ids.dtype.kind == "U"


def validate_export(**constraints: Any) -> Callable[[Function], Function]:
    """Decorate an export: check `codes`, `ids`, and parameters with these constraints."""
    codes = ["array-like", HasMethods(["kneighbors", "rank"])]
    return validated(codes=codes, ids=["array-like", None], **constraints)


def read_items(codes, ids, *, weighted=False):
    """Read the arguments `codes` and `ids` of an export.

    Parameters
    ----------
    codes : array-like of shape (n_items, n_bits) of 0/1 or bool, PackedCodes, or index
        The codes, or a fitted index that holds them.

    ids : array-like of shape (n_items,) of int or str, or None
        The ids. None means the ids of an index, or its indices if it has no ids, and 0 to
        n_items - 1 for codes.

    weighted : bool, default=False
        Whether the engine stores a factor and an addend for each code. If so, codes without
        them get 1 and 0. If not, codes with factors or addends are refused.

    Returns
    -------
    items : Items
        The codes and their ids.

    Raises
    ------
    ValueError
        If `codes` are no codes or have factors or addends that would be lost, or if `ids`
        are not distinct or not one for each code.
    """
    if hasattr(codes, "kneighbors"):
        index = codes
        codes = index.codes_
        if ids is None:
            ids = index.indices_ if index.ids_ is None else index.ids_
    if weighted:
        packed = pack_codes(codes)
        terms = CodeTerms(packed.terms.pairs(len(packed)))
        packed = wrap_bytes(packed.data, packed.n_bits, terms=terms)
    else:
        packed = pack_codes(refuse_terms(codes, "codes"))
    ids = np.arange(len(packed)) if ids is None else check_ids(ids, len(packed))
    if len(np.unique(ids)) < len(ids):
        raise ValueError(
            "ids must be distinct, but some occur more than once. Pass one id for each "
            "code, or ids=None to number the codes."
        )
    return Items(packed, ids)


def check_table(table):
    """Raise ValueError if a name of a table would have to be quoted in a statement."""
    if not _TABLE_NAME.fullmatch(table):
        raise ValueError(
            "table must be a name of at most 63 letters, digits and underscores that "
            f'does not begin with a digit, such as table="codes", got {table!r}.'
        )


def refuse_text_ids(items, engine):
    """Raise ValueError if ids are strings, which an engine does not take."""
    if items.have_text_ids:
        raise ValueError(
            f"ids must be integers for {engine}, got strings. Number the codes with "
            "ids=range(n), and keep your own ids beside them."
        )


def warn_of_repeats(packed, *, n_links, n_items_per_node=1):
    """Warn if a graph index of these codes would lose items.

    A node of such a graph is linked to the `n_links` nearest nodes. If more nodes than that
    have its code, all of its links lead to these nodes, and no link leads to a node with
    another code.

    Parameters
    ----------
    packed : PackedCodes
        The codes.

    n_links : int
        Links of a node.

    n_items_per_node : int, default=1
        Items of equal code that a node holds. If a node holds several, then items are lost
        as soon as more items than that share a code, because a search visits few nodes.
    """
    _, counts = np.unique(packed.data, axis=0, return_counts=True)
    n_safe = n_links if n_items_per_node == 1 else n_items_per_node
    if counts.max() > n_safe:
        warn_caller(
            f"{len(packed)} items have only {len(counts)} distinct codes, and up to "
            f"{counts.max()} items share one code. In a graph index with {n_links} links "
            "per node, these items link only to each other, so searches miss other items. "
            "Index the distinct codes and expand each result to its items, or use an index "
            "that compares all codes, such as HammingNeighbors."
        )
