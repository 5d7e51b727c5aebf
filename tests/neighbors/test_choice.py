"""Algorithms that algorithm="auto" takes, and what they are expected to cost."""

import numpy as np
import pytest
from neighbor_cases import CODES, draw, fit
from numpy.testing import assert_array_equal

from sklearn_talr.codes import pack_codes
from sklearn_talr.codes._packed import as_words
from sklearn_talr.neighbors import HammingNeighbors, _choice, _cost, _index, _scan
from sklearn_talr.neighbors._choice import Choice
from sklearn_talr.neighbors._found import Found
from sklearn_talr.neighbors._store import CodeStore

QUESTION = "at_least", 3


@pytest.fixture
def choose(monkeypatch):
    """Function that makes a choice by expected costs; comparing costs 1 a query."""

    def make(lookup, multi_index, tables=0.0):
        store = CodeStore.from_codes(pack_codes(draw("random", 1, 500, 24)[1]))
        costs = {1: (lookup, 0.0), _cost.n_tables_for(store): (multi_index, 0.0)}
        monkeypatch.setattr(_choice, "scan_cost", lambda store: 1.0)
        monkeypatch.setattr(_choice, "index_cost", lambda store, n: tables)
        monkeypatch.setattr(_choice, "cost_of_lookups", lambda store, n, *head: costs[n])
        made = {}
        choice = Choice(store, made)
        words = store.words[:32]
        nothing = np.zeros(0, dtype=np.int64)
        choice.see(*QUESTION, words, Found.of(nothing, nothing, nothing, 32))

        def call(n_queries):
            n_tables = choice.n_tables(*QUESTION, n_queries)
            made[n_tables] = True
            return n_tables

        return call

    return make


def test_the_cheapest_answers(choose):
    assert choose(2.0, 0.1)(1_000) == 3
    assert choose(0.1, 0.2)(1_000) == 1
    assert choose(2.0, 1.3)(1_000) == 0


def test_tables_are_made_once_they_pay(choose):
    """They save 0.9 a query; a call announces three of its kind."""
    assert choose(2.0, 0.1, tables=1_000)(100) == 0
    assert choose(2.0, 0.1, tables=1_000)(1_000) == 3
    call = choose(2.0, 0.1, tables=90)
    taken = [call(1) for _ in range(300)]
    assert taken.index(3) == 100  # as many were answered without as they cost
    assert set(taken[100:]) == {3}


@pytest.mark.parametrize("tables", [0.0, 50.0, 500.0, 5_000.0])
@pytest.mark.parametrize("each", [0.02, 0.5, 0.9, 1.2])
@pytest.mark.parametrize("n_queries", [1, 100, 1_000])
def test_many_calls_cost_little_more_than_the_best(tables, each, n_queries, choose):
    call, n_calls = choose(2.0, each, tables), 10_000 // n_queries
    taken = [call(n_queries) for _ in range(n_calls)]
    spent = n_queries * sum(each if n_tables else 1.0 for n_tables in taken)
    spent += tables if 3 in taken else 0
    best = min(10_000, tables + 10_000 * each)
    assert spent <= min(2 * best, best + tables + 1)
    assert (np.diff(taken) >= 0).all()  # tables once made are used


def test_what_could_not_pay_is_not_thought_about(choose, monkeypatch):
    call = choose(0.0, 0.0, tables=301)
    monkeypatch.setattr(_choice, "cost_of_lookups", None)
    assert call(100) == 0


def test_questions_are_judged_one_by_one():
    """Neighbors lie near the items, and farther from other codes."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (30_000, 32), dtype=np.uint8)
    neighbors = HammingNeighbors(1).fit(codes)
    choice = neighbors._fitted.index._choice
    neighbors.kneighbors(codes[:1_000], 1)
    neighbors.kneighbors(codes[:1_000], 5_000)
    assert choice.n_tables("at_least", 1, 1_000) > 0
    assert choice.n_tables("at_least", 5_000, 1_000) == 0


def test_a_query_beyond_the_sample_is_expected():
    """A few queries rarely tell of one that is far, which one table cannot bear."""
    near, far = np.zeros(1), np.ones(1)
    assert _choice._beyond([(near, 1), (far, 3), (near, 0)]) == (far, 7)
    assert _choice._beyond([(near, 2), (near, 2)]) == (near, 2)  # as all are within 2


def test_one_table_is_charged_for_a_far_query_and_several_are_not():
    """Neighbors lie within 1 of twelve queries, and perhaps within 3 of another."""
    codes = pack_codes(draw("random", 1, 100_000, 64)[1])
    store = CodeStore.from_codes(codes)
    words, radii = store.words[:13], np.arange(13) % 2
    several = _cost.n_tables_for(store)
    near = {n: _cost.cost_of_lookups(store, n, words, radii)[0] for n in (1, several)}
    radii[-1] = 3
    far = {n: _cost.cost_of_lookups(store, n, words, radii)[0] for n in (1, several)}
    assert far[1] > 2 * near[1]
    assert far[several] < 1.2 * near[several]


def test_whoever_answers_finds_the_same(monkeypatch):
    """Every number of tables answers a call."""
    for kind in CODES:
        queries, database = draw(kind, 400, 300, 40)
        brute = fit(database, "brute")
        expected = brute.kneighbors(queries), brute.radius_neighbors(queries, 3)[1]
        for n_tables in (0, 1, 4):
            monkeypatch.setattr(Choice, "n_tables", lambda *question, n=n_tables: n)
            neighbors = fit(database, "auto")
            for _ in range(2):
                assert_array_equal(neighbors.kneighbors(queries), expected[0])
                found = neighbors.radius_neighbors(queries, 3)[1]
                for mine, theirs in zip(found, expected[1], strict=True):
                    assert_array_equal(mine, theirs)
            assert neighbors._fitted.index._tables.keys() == {n_tables} - {0}


def test_the_first_queries_are_compared(monkeypatch):
    asked = []
    monkeypatch.setattr(_index.CodeIndex, "searcher", _spy(asked))
    queries, database = draw("random", 100, 300, 40)
    neighbors = fit(database, "auto")
    neighbors.kneighbors(queries, 3)
    neighbors.kneighbors(queries, 3)
    assert asked == [(0, 32), (0, 68), (0, 100)]


def _spy(asked):
    make = _index.CodeIndex.searcher

    def searcher(index, n_tables):
        inner = make(index, n_tables)
        at_least = inner.at_least
        inner.at_least = lambda queries, n: (
            asked.append((n_tables, len(queries))) or at_least(queries, n)
        )
        return inner

    return searcher


def test_the_estimate_agrees_with_what_is_looked_up(monkeypatch):
    """Buckets exactly, candidates about: they are counted in a sample of the codes."""
    monkeypatch.setattr(_scan, "scan_cost", lambda store: 1e18)
    monkeypatch.setattr(_cost, "scan_cost", lambda store: 1e18)
    for kind in ("random", "crowded"):
        queries, database = draw(kind, 30, 5_000, 36)
        store = CodeStore.from_codes(pack_codes(database))
        words = as_words(pack_codes(queries).data)
        radii = np.full(30, 4)
        for n_tables, algorithm in ((1, "lookup"), (3, "multi_index")):
            assert n_tables in (1, _cost.n_tables_for(store))
            found = fit(database, algorithm).lookup(queries, radius=4)
            expected = _cost.PROBE * found.n_buckets.mean()
            expected += _cost.CANDIDATE * found.n_candidates.mean()
            cost, shared = _cost.cost_of_lookups(store, n_tables, words, radii)
            assert cost == pytest.approx(expected, rel=0.2)
            assert shared == 5 * _cost.STEP  # 5 radii, in one table or shared out


def test_what_would_be_given_up_is_expected_to_cost_twice_a_scan():
    queries, database = draw("random", 4, 500, 36)
    store = CodeStore.from_codes(pack_codes(database))
    words = as_words(pack_codes(queries).data)
    cost, _ = _cost.cost_of_lookups(store, 1, words, np.full(4, 9))
    assert cost == 2 * _cost.scan_cost(store)
