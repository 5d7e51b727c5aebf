"""What probing costs against scanning, in the time of comparing one word of one code.

The unit costs are ratios measured by ``benchmarks/bench_neighbors.py crossover``. They
decide which way is taken, never what is found.
"""

from math import comb, inf, log2

COMPARE_WORD = 1.0  # a scan, for each word of each code
PROBE = 8.0  # look a bucket up
CANDIDATE = 25.0  # fetch a code from a bucket and compare it
INDEX_CODE = 200.0  # put a code into one table

_COUNTLESS = 2**40  # buckets that nobody looks up
_FEWEST_BITS = 8  # that are worth a table


def scan_cost(store):
    """Cost of comparing a query with all codes."""
    return COMPARE_WORD * len(store) * store.words.shape[1]


def shell_cost(store, width, radius):
    """Cost of looking up all buckets at a radius, in a table keyed by so many bits."""
    n_buckets = comb(width, radius)
    if n_buckets > _COUNTLESS:
        return inf
    return n_buckets * PROBE + _candidates(store, width, n_buckets) * CANDIDATE


def ball_cost(store, widths, radius):
    """Cost of what :meth:`BucketSearcher.within` looks up, table by table."""
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
    return max(1, round(store.n_bits / max(_FEWEST_BITS, log2(len(store)))))


def table_widths(n_bits, n_tables):
    """Bits of each table, as equal as can be."""
    whole, rest = divmod(n_bits, n_tables)
    return [whole + (table < rest) for table in range(n_tables)]


def _candidates(store, width, n_buckets):
    """Codes that so many buckets hold if they are spread evenly."""
    return len(store) * n_buckets / 2 ** min(width, address_bits(store))


def index_cost(store, n_tables):
    """Cost of making the tables."""
    return INDEX_CODE * len(store) * n_tables
