"""Tables of codes that answer searches within a small radius, made once they pay."""

# Below this number of items a scan is fast enough.
_MIN_ITEMS = 2**18

# Queries within a radius that an index answers by a scan before it makes tables.
_MIN_QUERIES = 100

# Codes that a scan compares in the time of one code that is looked up.
_SCANNED_PER_LOOKED_UP = 64


class RadiusLookup:
    """The tables of one index, and how many queries have asked for a radius.

    It is a cache: searches find the same items with it and without it.

    Attributes
    ----------
    n_queries : int
        Queries within a radius so far.

    buckets : Buckets or None
        The tables, once they are made.
    """

    def __init__(self):
        self.n_queries = 0
        self.buckets = None

    def buckets_for(self, index, radius, n_queries):
        """Tables for a search of an index.

        Parameters
        ----------
        index : Index
            The items.

        radius : int
            The radius.

        n_queries : int
            Number of queries of this search.

        Returns
        -------
        buckets : Buckets or None
            Tables that hold all codes within the radius of a query. None if a scan takes
            less time, or if there have been too few queries to make tables.
        """
        n_tables = radius + 1
        width = min(index.n_bits // n_tables, index.n_items.bit_length() - 1)
        has_size = _MIN_ITEMS <= index.n_items < 2**31
        if not has_size or n_tables * _SCANNED_PER_LOOKED_UP > 2**width:
            return None
        self.n_queries += n_queries
        if self.buckets is None or len(self.buckets.firsts) < n_tables:
            if self.n_queries < _MIN_QUERIES:
                return None
            self.buckets = _make_buckets(index, n_tables=n_tables, width=width)
        buckets = self.buckets
        pays = buckets.n_candidates * _SCANNED_PER_LOOKED_UP <= index.n_items
        return buckets if pays else None

    @property
    def nbytes(self):
        """Bytes of the tables."""
        return 0 if self.buckets is None else self.buckets.nbytes


def _make_buckets(index, n_tables, width):
    from .._loops._buckets import Buckets

    return Buckets.from_codes(
        index.words, n_bits=index.n_bits, n_tables=n_tables, width=width
    )
