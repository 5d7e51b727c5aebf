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

# Queries that a way gets before the clock counts, since caches are cold then, and in each
# of two sets by the clock. Those that look buckets up share the costs of each step.
_WARM_UP = {"brute": 8, "lookup": 32, "multi_index": 32}
_TRIAL = {"brute": 4, "lookup": 32, "multi_index": 32}
_FEW = 32  # calls of fewer queries are a kind apart
_CLOSE = 0.4  # of the cost of comparing, for another way to be
_TRIAL_IF_CLOSE = 64  # queries compared by the clock then, since few of them may mislead
_TRIAL_OF_FEW = 8  # queries by the clock, in whole calls
_HEAD = 32  # queries that tell how far the neighbors are
_QUERIES_PER_BLOCK = 1_024  # as a rule

_HORIZON = 3  # calls of the same kind that the first two of them announce
_FROM_PAST = 0.2  # of the queries so far are expected once more
_LEAST_TO_WIN = 0.02  # seconds of the cheapest way so far that are worth a thought
_OPTIMISM = 0.8  # of the expected cost, since a trial puts it right
_MOST_SHARED = 0.7  # of the cost of a trial
_FASTER, _SLOWER = 0.7, 0.2  # weights of a new measurement: disturbances only slow down


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
        self.shared = {}  # seconds that a block takes besides, as they are expected
        self.n_timed = {}  # queries by the clock; none yet where a way is cold
        self.to_try = []
        self.n_asked = 0
        self.n_asked_at_next_thought = 0
        self.head = []  # pairs of the words of a query and the radius that it needs

    def note(self, algorithm, seconds, n_queries, n_together):
        """Take in what some queries have cost, unless the way was still cold.

        If more of them come together as a rule, each has a smaller share of the steps.
        """
        if algorithm not in self.n_timed:
            self.n_timed[algorithm] = 0
            return
        shared = min(self.shared.get(algorithm, 0.0), _MOST_SHARED * seconds)
        each = (seconds - shared) / n_queries + shared / max(n_queries, n_together)
        before = self.seconds.get(algorithm, each)
        weight = _FASTER if each < before else _SLOWER
        self.seconds[algorithm] = before + weight * (each - before)
        self.n_timed[algorithm] += n_queries

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
        """Find the codes within a radius."""
        return self._answer("within", queries, radius)

    def at_least(self, queries, n_items):
        """Find the codes within the smallest radius that holds so many items, if any."""
        return self._answer("at_least", queries, n_items)

    def _answer(self, question, queries, argument):
        is_few = self._n_queries < _FEW
        record = self._index.experience.record(question, argument, is_few)
        block = _Block(self, record, question, queries, argument)
        with self._index.experience.lock:
            self._explore(record, block)
        block.ask(record.cheapest(), len(queries))
        return block.found()

    def _explore(self, record, block):
        """Compare with all codes if that is new, then try what may be cheaper."""
        while block.n_left and not self._is_known(record, "brute"):
            block.try_out("brute")
        if self._is_time_to_think(record):
            record.to_try = self._ways_to_try(record)
            record.n_asked_at_next_thought = 2 * (record.n_asked + self._n_queries)
        while block.n_left and record.to_try:
            if self._is_worth_trying(record, *record.to_try[0]):
                block.try_out(record.to_try[0][0])
                continue
            record.to_try.pop(0)
            if record.cheapest() != "brute":
                break  # the rest of the block tells better whether another may be cheaper
        if self._is_close(record):
            block.ask("brute", _TRIAL_IF_CLOSE)
        record.n_asked += len(block.queries)

    def _is_known(self, record, algorithm):
        """Whether a way was timed often enough."""
        is_few = self._n_queries < _FEW
        enough = _TRIAL_OF_FEW if is_few else 2 * _TRIAL[algorithm]
        return record.n_timed.get(algorithm, 0) >= enough

    def _is_close(self, record):
        """Whether another way is little cheaper than comparing, as far as a few tell."""
        if self._n_queries < _FEW or record.cheapest() == "brute":
            return False
        is_close = record.seconds[record.cheapest()] > _CLOSE * record.seconds["brute"]
        return is_close and record.n_timed["brute"] < _TRIAL_IF_CLOSE

    def _is_worth_trying(self, record, algorithm, expected, tables):
        if algorithm in record.n_timed:  # on trial already
            return not self._is_known(record, algorithm)
        gain = record.seconds[record.cheapest()] - expected
        if gain <= 0 or gain * self._horizon(record) <= tables:
            return False
        in_first_call = record.n_asked < self._n_queries
        among_many = _FROM_PAST * record.n_asked * gain > tables
        lasts = tables + expected * self._n_queries
        return in_first_call or among_many or lasts < self._by_brute(record)

    def _is_time_to_think(self, record):
        """Whether there is something to win, and news since it was thought of last."""
        to_win = record.seconds.get(record.cheapest(), 0.0) * self._horizon(record)
        is_news = record.n_asked >= record.n_asked_at_next_thought
        return is_news and not record.to_try and to_win > _LEAST_TO_WIN

    def _horizon(self, record):
        """The number of queries that tables made now are expected to serve."""
        is_early = record.n_asked < 2 * self._n_queries
        now = self._n_queries * (_HORIZON if is_early else 1)
        return max(now, _FROM_PAST * record.n_asked)

    def _by_brute(self, record):
        """Seconds that the call takes if all codes are compared; none may take longer."""
        return record.seconds["brute"] * self._n_queries

    def _ways_to_try(self, record):
        """Ways not tried yet, seconds per query, and seconds to make their tables."""
        store = self._index.store
        words, radii = map(np.array, zip(*record.head, _beyond(record.head)))
        scan = record.seconds["brute"] / unit()
        ways = []
        for n_tables in sorted({1, n_tables_for(store)}):
            algorithm = "lookup" if n_tables == 1 else "multi_index"
            if algorithm not in record.n_timed:
                cost, shared = lookup_cost(store, n_tables, words, radii, scan)
                record.shared[algorithm] = shared * unit()
                cost += shared / min(self._n_queries, _QUERIES_PER_BLOCK)
                is_made = self._index.has_tables(algorithm)
                tables = 0.0 if is_made else index_cost(store, n_tables) * unit()
                ways.append((algorithm, _OPTIMISM * cost * unit(), tables))
        horizon = self._horizon(record)
        return sorted(ways, key=lambda way: way[1] * horizon + way[2])

    def measure(self, record, algorithm, question, queries, argument):
        """Have queries answered by one way, and note what that has cost.

        Few queries are not timed for ever: reading the clock may take as long as they do.
        """
        searcher = self._searcher(algorithm)
        if self._n_queries < _FEW and self._is_known(record, algorithm):
            return getattr(searcher, question)(queries, argument)
        began = clock()
        found = getattr(searcher, question)(queries, argument)
        together = min(self._n_queries, _QUERIES_PER_BLOCK)
        record.note(algorithm, clock() - began, len(queries), together)
        return found

    def _searcher(self, algorithm):
        """Faiss compares, if it is the backend, but NumPy looks buckets up."""
        if algorithm == "brute":
            return self._index.searcher("brute", self._backend)
        return self._index.bucket_searcher(algorithm, self._backend)


def _beyond(head):
    """A query that is farther than all of a few by as much as they differ.

    It stands for those that the few leave out. A single table takes thousands of times
    longer for them, and several tables do not.
    """
    farthest, last = max(head, key=lambda pair: pair[1])
    least = min(radius for _, radius in head)
    return farthest, 2 * last - least + (last > least)


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
        is_warm = algorithm in self._record.n_timed
        self.ask(algorithm, (_TRIAL if is_warm else _WARM_UP)[algorithm])

    def ask(self, algorithm, n_queries):
        """Have the next queries answered by one way, and note what that has cost."""
        start = len(self.queries) - self.n_left
        queries = self.queries[start : start + n_queries]
        if not len(queries):
            return
        found = self._choice.measure(
            self._record, algorithm, self._question, queries, self._argument
        )
        self._parts.append((np.arange(start, start + len(queries)), found))
        self.n_left -= len(queries)
        if len(self._record.head) < _HEAD:
            self._remember(queries[:_HEAD], found)

    def _remember(self, queries, found):
        if self._question == "within":
            radii = [self._argument] * len(queries)
        else:
            radii = found.radius().tolist()
        queries = queries.copy()  # of the caller, who may change them
        self._record.head += zip(queries, radii)

    def found(self):
        """The answer about all queries."""
        rows, parts = zip(*self._parts)
        return parts[0] if len(parts) == 1 else join(parts, rows, len(self.queries))
