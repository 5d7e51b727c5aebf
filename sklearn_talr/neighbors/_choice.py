"""Choice of the cheapest algorithm, by what each is expected to cost.

To compare with all codes is never far wrong. To look buckets up costs less where neighbors
are near, and its cost follows from how far the neighbors of a few queries are. Tables cost
something first. They are made when they save more than that on the queries that are to be
expected. No clock is read, so the same questions always lead to the same algorithms.
"""

from dataclasses import dataclass, field

import numpy as np

from ._cost import cost_of_lookups, index_cost, n_tables_for, scan_cost

_HEAD = 32  # queries whose neighbors tell how far those of others are
_HORIZON = 3  # calls of the same kind that a call announces
_QUERIES_PER_BLOCK = 1_024


@dataclass
class _Asked:
    """A question asked before; its head are a few queries and the radii that they need."""

    head: list = field(default_factory=list)
    n_asked: int = 0
    costs: dict | None = None


class Choice:
    """The number of tables that answers a question at the least cost, 0 for comparing.

    Parameters
    ----------
    store : CodeStore
        The codes.

    tables : dict
        The tables made so far, by their number.
    """

    def __init__(self, store, tables):
        self._store = store
        self._tables = tables
        self._questions = {}

    def n_unknown(self, question, argument):
        """How many queries must be compared before anything else is worth a thought."""
        return max(0, _HEAD - len(self._known(question, argument).head))

    def see(self, question, argument, queries, found):
        """Take in the radii that some queries need."""
        radii = found.radius().tolist()
        if question == "within":
            radii = [argument] * len(queries)
        # A copy, since the caller may change the queries.
        self._known(question, argument).head += zip(queries.copy(), radii)

    def n_tables(self, question, argument, n_queries):
        """The number of tables for the next queries."""
        known = self._known(question, argument)
        known.n_asked += n_queries
        expected = max(known.n_asked, _HORIZON * n_queries)
        scan = expected * scan_cost(self._store)
        if scan < index_cost(self._store, 1) or len(known.head) < _HEAD:
            return 0
        if known.costs is None:
            known.costs = self._expected_costs(known)
        totals = {0: scan}
        for n_tables, (cost, shared) in known.costs.items():
            each = cost + shared / min(n_queries, _QUERIES_PER_BLOCK)
            is_made = n_tables in self._tables
            tables = 0 if is_made else index_cost(self._store, n_tables)
            totals[n_tables] = expected * each + tables
        return min(totals, key=totals.get)

    def _known(self, question, argument):
        return self._questions.setdefault((question, argument), _Asked())

    def _expected_costs(self, known):
        """Cost of a query, and of the steps of a block, by the number of tables."""
        words, radii = map(np.array, zip(*known.head, _beyond(known.head)))
        return {
            n_tables: cost_of_lookups(self._store, n_tables, words, radii)
            for n_tables in {1, n_tables_for(self._store)}
        }


def _beyond(head):
    """A query that is farther than all of a few by as much as they differ.

    It stands for those that the few leave out. A single table takes thousands of times
    longer for them, and several tables do not.
    """
    farthest, last = max(head, key=lambda pair: pair[1])
    least = min(radius for _, radius in head)
    return farthest, 2 * last - least + (last > least)
