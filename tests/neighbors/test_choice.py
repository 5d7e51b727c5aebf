"""What algorithm="auto" tries, keeps and gives up, by a clock that the test winds on."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from neighbor_cases import CODES, draw, fit
from numpy.testing import assert_array_equal

from sklearn_talr.codes import pack_codes
from sklearn_talr.codes._packed import as_words
from sklearn_talr.neighbors import _choice, _cost, _index
from sklearn_talr.neighbors._choice import Choice, Experience
from sklearn_talr.neighbors._found import nothing_found
from sklearn_talr.neighbors._store import CodeStore

BRUTE = 1e-3  # seconds per query


class Index:
    """Searchers that cost what they are told to, by a clock of their own."""

    def __init__(self, monkeypatch, lookup, multi_index, tables=0.0, expected=None):
        self.now = 0.0
        self.costs = {"brute": BRUTE, "lookup": lookup, "multi_index": multi_index}
        self.tables = tables
        self.made = set()
        self.asked = dict.fromkeys(self.costs, 0)
        self.experience = Experience()
        codes = pack_codes(draw("random", 1, 500, 24)[1])
        self.store = CodeStore.from_codes(codes)
        expected = self.costs if expected is None else {"brute": BRUTE} | expected
        names = {1: "lookup", _cost.n_tables_for(self.store): "multi_index"}
        monkeypatch.setattr(_choice, "clock", lambda: self.now)
        monkeypatch.setattr(_choice, "unit", lambda: 1.0)
        monkeypatch.setattr(_choice, "index_cost", lambda store, n: self.tables)
        monkeypatch.setattr(
            _choice, "lookup_cost", lambda store, n, *rest: (expected[names[n]], 0.0)
        )

    def searcher(self, algorithm, backend):
        return SimpleNamespace(at_least=lambda queries, n: self.answer(algorithm, queries))

    def bucket_searcher(self, algorithm, backend):
        if algorithm not in self.made:
            self.made.add(algorithm)
            self.now += self.tables
        return self.searcher(algorithm, backend)

    def has_tables(self, algorithm):
        return algorithm in self.made

    def answer(self, algorithm, queries):
        self.asked[algorithm] += len(queries)
        self.now += self.costs[algorithm] * len(queries)
        return nothing_found(len(queries))

    def call(self, n_queries):
        """Seconds of a call."""
        began = self.now
        Choice(self, "numpy", n_queries).at_least(self.store.words[[0] * n_queries], 3)
        return self.now - began


def test_what_costs_less_answers_all_but_a_few(monkeypatch):
    index = Index(monkeypatch, lookup=2 * BRUTE, multi_index=BRUTE / 10, tables=0.1)
    for _ in range(10):
        index.call(1_000)
    assert index.asked["multi_index"] > 9_900
    assert index.made == {"multi_index"}


def test_what_costs_more_is_not_tried(monkeypatch):
    index = Index(monkeypatch, lookup=2 * BRUTE, multi_index=1.3 * BRUTE)
    for _ in range(20):
        index.call(1_000)
    assert index.asked == {"brute": 20_000, "lookup": 0, "multi_index": 0}
    assert not index.made


@pytest.mark.parametrize("n_queries", [1, 20, 1_000])
def test_what_turns_out_slower_is_undone_and_remembered(n_queries, monkeypatch):
    few = {"lookup": BRUTE / 10, "multi_index": BRUTE / 20}
    index = Index(monkeypatch, 3 * BRUTE, 2 * BRUTE, tables=0.01, expected=few)
    for _ in range(20_000 // n_queries):
        index.call(n_queries)
    asked = dict(index.asked)
    assert 0 < asked["lookup"] <= 100
    assert 0 < asked["multi_index"] <= 100
    for _ in range(20_000 // n_queries):
        index.call(n_queries)
    assert index.asked["lookup"] == asked["lookup"]
    assert index.asked["multi_index"] == asked["multi_index"]


def test_comparing_is_timed_again_where_another_way_is_close(monkeypatch):
    """The first 16 queries take three times as long to compare as the others."""
    expected = {"lookup": BRUTE, "multi_index": BRUTE}
    index = Index(monkeypatch, 2 * BRUTE, 1.8 * BRUTE, expected=expected)
    answer = index.answer

    def slow_at_first(algorithm, queries):
        if algorithm == "brute" and index.asked["brute"] < 16:
            index.now += 2 * BRUTE * len(queries)
        return answer(algorithm, queries)

    monkeypatch.setattr(index, "answer", slow_at_first)
    for _ in range(10):
        index.call(1_000)
    assert index.asked["multi_index"] > 0
    assert index.asked["brute"] > 9_700


def test_another_way_is_tried_where_the_first_disappoints(monkeypatch):
    """Looking up all bits is faster than comparing, but slower than was expected."""
    expected = {"lookup": 0.05 * BRUTE, "multi_index": 0.1 * BRUTE}
    index = Index(monkeypatch, BRUTE / 2, BRUTE / 10, tables=0.2, expected=expected)
    seconds = [index.call(1_000) for _ in range(10)]
    assert index.made == {"lookup", "multi_index"}
    assert index.asked["multi_index"] > 8_500
    assert max(seconds[1:]) < 1_000 * BRUTE


def test_a_query_beyond_the_sample_is_expected():
    """A few queries rarely tell of one that is far, which one table cannot bear."""
    near, far = np.zeros(1), np.ones(1)
    assert _choice._beyond([(near, 1), (far, 3), (near, 0)]) == (far, 7)
    assert _choice._beyond([(near, 2), (near, 2)]) == (near, 2)  # as all are within 2


def test_one_table_is_charged_for_a_far_query_and_several_are_not(monkeypatch):
    """Neighbors lie within 1 of twelve queries, and perhaps within 3 of another."""
    codes = pack_codes(draw("random", 1, 100_000, 64)[1])
    index = _index.CodeIndex(CodeStore.from_codes(codes))
    record = index.experience.record("at_least", 3, is_few=False)
    record.seconds["brute"] = 100_000 * _cost.unit()
    record.head = [(index.store.words[i], i % 2) for i in range(12)]
    record.n_timed["brute"] = 12

    def expected():
        """Seconds per query of each way."""
        ways = Choice(index, "numpy", 1_000)._ways_to_try(record)
        return {algorithm: seconds for algorithm, seconds, _ in ways}

    far = expected()
    monkeypatch.setattr(_choice, "_beyond", lambda head: head[1])
    near = expected()
    assert far["lookup"] > 2 * near["lookup"]
    assert far["multi_index"] < 1.2 * near["multi_index"]


def test_tables_are_not_made_for_a_few_queries(monkeypatch):
    index = Index(monkeypatch, 2 * BRUTE, BRUTE / 10, tables=1_000 * BRUTE)
    index.call(100)
    assert not index.made
    for _ in range(100):
        index.call(1)
    assert not index.made


def test_tables_are_made_once_many_queries_have_come_one_by_one(monkeypatch):
    index = Index(monkeypatch, 2 * BRUTE, BRUTE / 10, tables=100 * BRUTE)
    seconds = [index.call(1) for _ in range(5_000)]
    assert index.made == {"multi_index"}
    assert index.asked["multi_index"] > 3_000
    assert np.median(seconds) < BRUTE / 5
    assert sum(second > 2 * BRUTE for second in seconds) == 1  # that makes the tables


def test_tables_that_pay_late_are_made_late(monkeypatch):
    """Half a call of comparing for tables, to save an eighth of each of many calls."""
    costs = {"lookup": 2 * BRUTE, "multi_index": 0.87 * BRUTE}
    expected = {"lookup": 2 * BRUTE, "multi_index": 1.1 * BRUTE}
    index = Index(monkeypatch, **costs, tables=500 * BRUTE, expected=expected)
    seconds = [index.call(1_000) for _ in range(60)]
    assert index.made == {"multi_index"}
    assert 10 <= int(np.argmax(seconds)) <= 40
    assert max(seconds) < 1_500 * BRUTE
    assert seconds[-1] == pytest.approx(870 * BRUTE)


def test_small_databases_are_not_thought_about(monkeypatch):
    index = Index(monkeypatch, BRUTE / 100, BRUTE / 100)
    monkeypatch.setattr(_choice, "lookup_cost", None)
    assert index.call(5) == pytest.approx(5 * BRUTE)


def test_questions_are_judged_one_by_one(monkeypatch):
    """A radius may cost more than brute force and another one less."""
    index = Index(monkeypatch, 2 * BRUTE, 0.1 * BRUTE)
    index.call(1_000)
    index.costs["multi_index"] = 2 * BRUTE
    before = index.asked["multi_index"]
    queries = index.store.words[[0] * 1_000]
    Choice(index, "numpy", 1_000).at_least(queries, 300)
    assert index.asked["multi_index"] - before <= 100


@settings(deadline=None, max_examples=200)
@given(
    lookup=st.floats(0.01, 3),
    multi_index=st.floats(0.01, 3),
    tables=st.floats(0, 0.5),
    error=st.floats(0.8, 1.25),
)
@example(lookup=0.9375, multi_index=0.9375, tables=0.375, error=0.8125)
def test_ten_calls_cost_little_more_than_the_best(lookup, multi_index, tables, error):
    """Costs are in those of brute force; tables cost up to half a call of it."""
    with pytest.MonkeyPatch.context() as patch:
        costs = {"lookup": lookup * BRUTE, "multi_index": multi_index * BRUTE}
        expected = {name: error * cost for name, cost in costs.items()}
        tables *= 1_000 * BRUTE
        index = Index(patch, **costs, tables=tables, expected=expected)
        seconds = [index.call(1_000) for _ in range(10)]
    best = min(10_000 * BRUTE, *(tables + 10_000 * cost for cost in index.costs.values()))
    # A trial that fails costs the tables and a hundred queries, for each of two ways.
    assert sum(seconds) <= 1.1 * best + 1.1 * tables + 120 * BRUTE
    # Any call may make tables. Besides, it takes little longer than brute force.
    assert max(seconds[1:]) <= 1.1 * 1_000 * BRUTE + tables


@pytest.mark.parametrize("backend", ["numpy", "faiss"])
def test_whoever_answers_finds_the_same(backend, monkeypatch):
    """Every way is tried in one call."""
    monkeypatch.setattr(_choice, "_LEAST_TO_WIN", 0.0)
    monkeypatch.setattr(_choice, "index_cost", lambda store, n: 0.0)
    monkeypatch.setattr(_choice, "lookup_cost", lambda *arguments: (0.0, 0.0))
    for kind in CODES:
        queries, database = draw(kind, 400, 300, 40)
        neighbors, brute = fit(database, "auto", backend), fit(database, "brute")
        experience = neighbors._fitted.index.experience
        for _ in range(2):
            found, expected = neighbors.kneighbors(queries), brute.kneighbors(queries)
            assert_array_equal(found, expected)
            found = neighbors.radius_neighbors(queries, 3)[1]
            expected = brute.radius_neighbors(queries, 3)[1]
            for mine, theirs in zip(found, expected, strict=True):
                assert_array_equal(mine, theirs)
        for question, argument in (("at_least", 10), ("within", 3)):
            record = experience.record(question, argument, is_few=False)
            assert record.seconds.keys() >= {"brute", "lookup"}


def test_the_estimate_agrees_with_what_is_looked_up():
    """Buckets exactly, candidates about: they are counted in a sample of the codes."""
    for kind in ("random", "crowded"):
        queries, database = draw(kind, 30, 5_000, 36)
        store = CodeStore.from_codes(pack_codes(database))
        words = as_words(pack_codes(queries).data)
        radii = np.full(30, 4)
        for n_tables, algorithm in ((1, "lookup"), (3, "multi_index")):
            assert n_tables in (1, _cost.n_tables_for(store))
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(_cost, "COMPARE_WORD", 1e12)
                found = fit(database, algorithm).lookup(queries, radius=4)
            expected = _cost.START
            expected += _cost.PROBE * found.n_buckets.mean()
            expected += _cost.CANDIDATE * found.n_candidates.mean()
            cost, shared = _cost.lookup_cost(store, n_tables, words, radii, np.inf)
            assert cost == pytest.approx(expected, rel=0.2)
            assert shared == 5 * _cost.STEP  # 5 radii, in one table or shared out


def test_what_would_be_given_up_is_expected_to_cost_twice_a_scan():
    queries, database = draw("random", 4, 500, 36)
    store = CodeStore.from_codes(pack_codes(database))
    words = as_words(pack_codes(queries).data)
    cost, _ = _cost.lookup_cost(store, 1, words, np.full(4, 9), 700.0)
    assert cost == _cost.START + 1_400
