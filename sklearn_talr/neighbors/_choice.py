"""Which way is cheapest: what each is expected to cost, and what it turned out to cost.

Comparing with all codes is the way to begin with, and never far wrong. Looking buckets up
is tried where a sample tells that it costs less, and where making the tables pays for the
queries that are to be expected. A trial takes a few queries. The others go to the way that
was cheapest in fact. What each way has cost is remembered as long as the codes stay.
"""

from threading import Lock

import numpy as np

from ._cost import clock, index_cost, lookup_cost, n_tables_for, unit
from ._found import join

_QUERIES_TO_WARM_UP = 4  # what is made on first use, and cold caches, are not timed
_QUERIES_PER_TRIAL = {"brute": 12, "lookup": 96, "multi_index": 96}  # which share steps
_FEW = 32  # calls of fewer queries are a kind apart
_HEAD = 16  # queries that tell how far the neighbors are
_QUERIES_PER_STEP = 1_024

_HORIZON = 2  # calls of the same kind, the first included, that a first call announces
_FROM_PAST = 0.2  # of the queries so far are expected once more
_LEAST_TO_WIN = 0.02  # seconds of comparing that are worth a thought
_OPTIMISM = 0.8  # of the expected cost, since a trial puts it right
_NEWEST = 0.5  # weight of the last measurement


class Experience:
    """What the ways to search some codes have cost, question by question."""

    def __init__(self):
        self.lock = Lock()
        self._records = {}

    def record(self, question, argument, is_few):
        """What is known of a question that is asked by few queries at a time, or many."""
        return self._records.setdefault((question, argument, is_few), _Record())


class _Record:
    """Seconds per query of each way that was tried, and queries that are typical."""

    def __init__(self):
        self.seconds = {}
        self.is_warm = set()
        self.n_asked = 0
        self.n_asked_at_next_thought = 0
        self.head = []  # pairs of the words of a query and the radius that it needs

    def note(self, algorithm, seconds):
        """Take in what a query has cost, unless the way was still cold."""
        if algorithm in self.is_warm:
            before = self.seconds.get(algorithm, seconds)
            self.seconds[algorithm] = before + _NEWEST * (seconds - before)
        self.is_warm.add(algorithm)

    def cheapest(self):
        return min(self.seconds, key=self.seconds.get, default="brute")


class Choice:
    """A searcher that leaves each block of queries to the cheapest searcher.

    Parameters
    ----------
    index : CodeIndex
        Has the searchers, and the experience with them.

    backend : str
        Parameter of HammingNeighbors.

    n_queries : int
        Number of queries of the call, all blocks together.
    """

    def __init__(self, index, backend, n_queries):
        self._index = index
        self._backend = backend
        self._n_queries = n_queries

    def within(self, queries, radius):
        """Codes within a radius, see :mod:`~._found`."""
        return self._answer("within", queries, radius)

    def at_least(self, queries, n_items):
        """Codes within the smallest radius that holds so many items, if there are."""
        return self._answer("at_least", queries, n_items)

    def _answer(self, question, queries, argument):
        is_few = self._n_queries < _FEW
        record = self._index.experience.record(question, argument, is_few)
        block = _Block(self, record, question, queries, argument)
        if "brute" not in record.seconds or self._is_time_to_think(record, queries):
            with self._index.experience.lock:
                self._explore(record, block)
        block.ask(record.cheapest(), len(queries))
        record.n_asked += len(queries)
        return block.found()

    def _explore(self, record, block):
        """Compare with all codes if that is new, then try what may be cheaper."""
        while block.n_left and "brute" not in record.seconds:
            block.try_out("brute")
        if not self._is_time_to_think(record, block.queries):
            return
        expected = self._expected_seconds(record)
        for algorithm in sorted(expected, key=expected.get):
            if self._may_pay(record, algorithm, expected[algorithm]):
                while block.n_left and algorithm not in record.seconds:
                    block.try_out(algorithm)
        record.n_asked_at_next_thought = 2 * (record.n_asked + self._n_queries)

    def _is_time_to_think(self, record, queries):
        """Whether there is something to win, and news since it was thought of last."""
        n_asked = record.n_asked + len(queries)
        to_win = record.seconds.get("brute", 0.0) * self._horizon(record)
        return n_asked >= record.n_asked_at_next_thought and to_win > _LEAST_TO_WIN

    def _horizon(self, record):
        """The number of queries that tables made now are expected to serve."""
        in_first_call = record.n_asked < self._n_queries
        now = self._n_queries * (_HORIZON if in_first_call else 1)
        return max(now, _FROM_PAST * record.n_asked)

    def _expected_seconds(self, record):
        """Seconds per query of the ways that were not tried yet."""
        store = self._index.store
        words, radii = map(np.array, zip(*record.head))
        scan = record.seconds["brute"] / unit()
        together = min(self._n_queries, _QUERIES_PER_STEP)
        ways = {"multi_index": n_tables_for(store)} | {"lookup": 1}
        if ways["multi_index"] == 1:
            del ways["multi_index"]  # which is the same then
        return {
            algorithm: unit() * lookup_cost(store, n, words, radii, scan, together)
            for algorithm, n in ways.items()
            if algorithm not in record.seconds
        }

    def _may_pay(self, record, algorithm, expected):
        store = self._index.store
        gain = record.seconds[record.cheapest()] - _OPTIMISM * expected
        tables = 0.0
        if not self._index.has_tables(algorithm):
            n_tables = 1 if algorithm == "lookup" else n_tables_for(store)
            tables = unit() * index_cost(store, n_tables)
        return gain > 0 and gain * self._horizon(record) > tables

    def searcher(self, algorithm):
        """Faiss compares, if it is the backend, but NumPy looks buckets up."""
        if algorithm == "brute":
            return self._index.searcher("brute", self._backend)
        return self._index.bucket_searcher(algorithm, self._backend)


class _Block:
    """Queries of a block, answered part by part in order."""

    def __init__(self, choice, record, question, queries, argument):
        self.queries = queries
        self.n_left = len(queries)
        self._choice = choice
        self._record = record
        self._question = question
        self._argument = argument
        self._parts = []

    def try_out(self, algorithm):
        """Have a few queries answered, first to warm up, then by the clock."""
        is_warm = algorithm in self._record.is_warm
        self.ask(
            algorithm, _QUERIES_PER_TRIAL[algorithm] if is_warm else _QUERIES_TO_WARM_UP
        )

    def ask(self, algorithm, n_queries):
        """Have the next queries answered by one way, and note what that has cost."""
        start = len(self.queries) - self.n_left
        queries = self.queries[start : start + n_queries]
        if not len(queries):
            return
        searcher = self._choice.searcher(algorithm)
        began = clock()
        found = getattr(searcher, self._question)(queries, self._argument)
        self._record.note(algorithm, (clock() - began) / len(queries))
        self._parts.append((np.arange(start, start + len(queries)), found))
        self.n_left -= len(queries)
        if len(self._record.head) < _HEAD:
            self._remember(queries[:_HEAD], found)

    def _remember(self, queries, found):
        if self._question == "within":
            radii = [self._argument] * len(queries)
        else:
            radii = found.radius().tolist()
        self._record.head += zip(queries, radii)

    def found(self):
        """The answer about all queries."""
        rows, parts = zip(*self._parts)
        return parts[0] if len(parts) == 1 else join(parts, rows, len(self.queries))
