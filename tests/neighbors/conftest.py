"""Fixtures of the tests of search."""

import pytest

from sklearn_talr.neighbors import _cost, _faiss, _scan


@pytest.fixture
def eager(monkeypatch):
    """Have buckets looked up however many there are."""
    monkeypatch.setattr(_cost, "COMPARE_WORD", 1e9)
    monkeypatch.setattr(_cost, "COMPARE_WORD_BY_FAISS", 1e9)


@pytest.fixture
def only_buckets(eager, monkeypatch):
    """Have buckets looked up, and fail where codes are compared instead."""

    def fail(self, queries, argument):
        raise AssertionError("compared with all codes")

    for scanner in (_scan.Scanner, _faiss.FaissScanner):
        monkeypatch.setattr(scanner, "within", fail)
        monkeypatch.setattr(scanner, "at_least", fail)
