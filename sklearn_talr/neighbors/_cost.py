"""Costs of looking buckets up and of comparing codes.

The unit is the time that NumPy takes to compare one word of one code. Other steps were
measured in this unit by ``benchmarks/bench_neighbors.py crossover``, and differ little
between machines. Costs decide which way is taken, never what is found.
"""

from math import comb, inf, log2

import numpy as np

PROBE = 8.0  # look a bucket up
CANDIDATE = 27.0  # fetch a code from a bucket and compare it
INDEX_CODE = 130.0  # put a code into one table, and prepare the table's addresses
STEP = 150_000.0  # look up buckets of one radius in one table, for a block of queries

_SAMPLE = 2_048  # codes from which the number of candidates is estimated


def scan_cost(store):
    """Cost of comparing a query with all codes."""
    return float(store.columns.size)


def shell_cost(store, width, radius):
    """Cost of looking up all buckets at a radius, in a table keyed by so many bits."""
    n_buckets = comb(width, radius)
    if n_buckets > 2**40:
        return inf
    candidates = len(store) * n_buckets / 2 ** min(width, address_bits(store))
    return n_buckets * PROBE + candidates * CANDIDATE


def ball_cost(store, widths, radius):
    """Cost of looking up all buckets that a radius takes, table by table."""
    cost = 0.0
    for width, last in zip(widths, radii_of_tables(radius, len(widths))):
        for r in range(min(last, width) + 1):
            cost += shell_cost(store, width, r)
            if cost == inf:
                return cost
    return cost


def radii_of_tables(radius, n_tables):
    """Radii that find every code within `radius` in one of the tables.

    A code that differs in at most `radius` bits cannot exceed all of them: it would have
    to differ in ``sum(r + 1) = radius + 1`` bits.
    """
    whole, rest = divmod(radius, n_tables)
    return [whole - (table > rest) for table in range(n_tables)]


def address_bits(store):
    """Bits of an address: enough that most buckets are empty, and a table is not huge."""
    n_bits = len(store).bit_length()
    return max(16, min(n_bits + 3, 24), n_bits + 1)


def n_tables_for(store):
    """As many tables as make one of them have about as many buckets as there are codes."""
    return max(1, round(store.n_bits / max(8, log2(len(store)))))


def table_widths(n_bits, n_tables):
    """Bits of each table, as equal as can be."""
    whole, rest = divmod(n_bits, n_tables)
    return [whole + (table < rest) for table in range(n_tables)]


def table_masks(store, n_tables):
    """Ones at the bits of each table, in the words of a code, shape (n_tables, n_words)."""
    ones = np.zeros((n_tables, store.words[:1].nbytes * 8), dtype=np.uint8)
    stop = np.cumsum(table_widths(store.n_bits, n_tables))
    for row, last, first in zip(ones, stop, np.concatenate(([0], stop[:-1]))):
        row[first:last] = 1
    return np.packbits(ones, axis=1, bitorder="little").view(store.words.dtype)


def index_cost(store, n_tables):
    """Cost of making the tables."""
    return INDEX_CODE * len(store) * n_tables


def cost_of_lookups(store, n_tables, queries, radii):
    """Cost of looking up all buckets within a radius, as a sample of codes tells.

    Parameters
    ----------
    store : CodeStore
        The codes.

    n_tables : int
        Number of tables.

    queries : ndarray of shape (n_queries, n_words)
        Words of a few queries.

    radii : ndarray of shape (n_queries,)
        The radius that each of them needs.

    Returns
    -------
    cost : float
        Mean cost of a query. A query that would cost more than comparing is counted as two
        comparisons: the buckets are given up, and the codes are compared after all.

    shared : float
        Cost of the steps, which the queries of a block share.
    """
    widths, n_steps = table_widths(store.n_bits, n_tables), 0
    sample = store.columns[:, :: max(1, len(store) // _SAMPLE)].copy()
    per_code = len(store) / sample.shape[1]
    masks = table_masks(store, n_tables)
    costs = np.zeros(len(queries))
    for place, (query, radius) in enumerate(zip(queries, radii.tolist())):
        differing = query[:, None] ^ sample
        for width, mask, last in zip(widths, masks, radii_of_tables(radius, n_tables)):
            if last < 0:
                continue
            n_steps += min(last, width) + 1
            n_buckets = sum(comb(width, r) for r in range(min(last, width) + 1))
            distance = np.bitwise_count(differing & mask[:, None]).sum(axis=0)
            candidates = per_code * np.count_nonzero(distance <= last)
            if width > address_bits(store):  # other codes share the addresses
                candidates += len(store) * n_buckets / 2 ** address_bits(store)
            costs[place] += n_buckets * PROBE + candidates * CANDIDATE
    scan = scan_cost(store)
    costs[costs > scan] = 2 * scan
    return float(costs.mean()), STEP * n_steps / len(queries)
