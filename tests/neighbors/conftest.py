"""Fixtures of the tests of search."""

import pytest

from sklearn_talr.neighbors import _scan


@pytest.fixture
def eager(monkeypatch):
    """Have buckets looked up however many there are."""
    monkeypatch.setattr(_scan, "scan_cost", lambda store: 1e18)


@pytest.fixture
def only_buckets(eager, monkeypatch):
    """Have buckets looked up, and fail where codes are compared instead."""

    def fail(self, queries, argument):
        raise AssertionError("compared with all codes")

    monkeypatch.setattr(_scan.Scanner, "within", fail)
    monkeypatch.setattr(_scan.Scanner, "at_least", fail)
