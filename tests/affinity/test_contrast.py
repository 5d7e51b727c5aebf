"""The check that an affinity leaves something to learn."""

import numpy as np
import pytest

from sklearn_talr.affinity import LabelAffinity, PrecomputedAffinity, _base

NOT_SIMILAR = "No two samples are similar"
ALL_SIMILAR = "All pairs of samples are equally similar"


def check(y):
    affinity = y if isinstance(y, PrecomputedAffinity) else LabelAffinity()
    affinity.check_contrast(affinity.check_targets(y), affinity.levels_)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1, 2], NOT_SIMILAR),
        (["a", "a", "a"], ALL_SIMILAR),
        ([0], NOT_SIMILAR),
        (PrecomputedAffinity(2 * np.eye(4, dtype=int)), NOT_SIMILAR),
        (PrecomputedAffinity([[0, 3], [3, 0]]), ALL_SIMILAR),
        ([0, 1, 1], None),
        ([0, 0, 1], None),
        (PrecomputedAffinity([[5, 1, 1], [1, 5, 1], [1, 2, 5]]), None),
    ],
)
def test_two_pairs_must_differ(y, message, monkeypatch):
    """Whatever the affinity of a sample to itself is."""
    for pairs_per_block in (2**20, 3):  # at once, and row by row
        monkeypatch.setattr(_base, "_PAIRS_PER_BLOCK", pairs_per_block)
        if message is None:
            check(y)
        else:
            with pytest.raises(ValueError, match=message):
                check(y)


def test_no_more_pairs_are_looked_at_than_needed():
    rows = []

    class Oracle(LabelAffinity):
        def __call__(self, y_query, y_database):
            rows.append(len(y_query))
            return super().__call__(y_query, y_database)

    y = np.arange(5_000) % 10
    Oracle().check_contrast(y, Oracle.levels_)
    assert rows == [209]  # 2**20 // 5_000
