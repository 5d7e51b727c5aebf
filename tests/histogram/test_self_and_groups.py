"""No query ranks itself, whatever its groups are; useless groups are errors."""

from datetime import date

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr import TALRHasher
from sklearn_talr.affinity import (
    BaseAffinity,
    LabelAffinity,
    PrecomputedAffinity,
    SharedLabelAffinity,
)
from sklearn_talr.hashing import CrossViewHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.metrics import make_retrieval_scorer, retrieval_report

N_SAMPLES, N_BITS = 80, 6
RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 2, (N_SAMPLES, N_BITS))
Y = RNG.integers(0, 3, N_SAMPLES)
INDICATORS = (RNG.random((N_SAMPLES, 4)) < 0.4).astype(int)


class OwnAffinity(BaseAffinity):
    levels_ = np.array([0, 1])

    def __call__(self, y_query, y_database):
        return np.equal.outer(y_query, y_database).astype(int)


TARGETS = {
    "labels": (LabelAffinity(), Y),
    "ignored": (LabelAffinity(ignored=2), Y),
    "indicators": (SharedLabelAffinity(), INDICATORS),
    "matrix": (PrecomputedAffinity(RNG.integers(-1, 3, (N_SAMPLES, N_SAMPLES))),) * 2,
    "own": (OwnAffinity(), Y),
}
GROUPS = {
    "none in common": (np.arange(N_SAMPLES), np.arange(N_SAMPLES) + 100),
    "own and others": (np.arange(N_SAMPLES) // 4, np.arange(N_SAMPLES) // 3),
    "the same": (np.arange(N_SAMPLES) // 4,) * 2,
    "turned": (np.arange(N_SAMPLES) // 4, (np.arange(N_SAMPLES) // 4)[::-1].copy()),
    "one of all": (np.zeros(N_SAMPLES), np.zeros(N_SAMPLES)),
    "text": (np.repeat(["a", "b"], 40), np.tile(["b", "c"], 40)),
}


def counted_one_by_one(affinity, y, groups):
    values = np.asarray(affinity(y, y))
    levels = affinity.levels_between(y, y)
    counts = np.zeros((N_SAMPLES, len(levels), N_BITS + 1), int)
    for query in range(N_SAMPLES):
        for item in range(N_SAMPLES):
            if query == item or groups[0][query] == groups[1][item]:
                continue
            if values[query, item] >= 0:
                place = np.flatnonzero(levels == values[query, item])[0]
                counts[query, place, np.sum(CODES[query] != CODES[item])] += 1
    return counts


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize(("affinity", "y"), TARGETS.values(), ids=TARGETS)
def test_counts(affinity, y, groups):
    of_both = {"groups_query": groups[0], "groups_database": groups[1]}
    found = hamming_histogram(CODES, CODES, affinity, y, y, exclude_self=True, **of_both)
    assert_array_equal(found.counts, counted_one_by_one(affinity, y, groups))


def test_report():
    first, second = GROUPS["own and others"]
    of_both = {"groups_query": first, "groups_database": second}
    report = retrieval_report(
        *(CODES, CODES, "auto", Y, Y),
        exclude_self=True, measures=["AP"], as_frame=False, **of_both,
    )  # fmt: skip
    affinity = PrecomputedAffinity(
        np.where(
            np.equal.outer(first, second) | np.eye(N_SAMPLES, dtype=bool),
            -1,
            np.equal.outer(Y, Y),
        )
    )
    expected = retrieval_report(
        *(CODES, CODES, "auto", affinity, affinity), measures=["AP"], as_frame=False
    )
    assert_allclose(report["AP"]["expected"], expected["AP"]["expected"])


@pytest.mark.parametrize(
    ("of_query", "of_database"),
    [
        (np.arange(N_SAMPLES), np.arange(N_SAMPLES).astype(str)),
        (np.arange(N_SAMPLES), np.arange(N_SAMPLES).astype("datetime64[D]")),
        ([date(2020, 1, 1)] * N_SAMPLES, np.ones(N_SAMPLES)),
        (np.array(["a"] * N_SAMPLES), np.array([b"a"] * N_SAMPLES)),
    ],
)
def test_groups_that_can_never_be_equal(of_query, of_database):
    with pytest.raises(
        ValueError, match=r"groups_query and groups_database.*astype\(str\)"
    ):
        hamming_histogram(
            CODES, CODES, "auto", Y, Y, groups_query=of_query, groups_database=of_database
        )


def test_groups_of_dates_and_booleans():
    days = np.arange(N_SAMPLES) // 4
    both = [days.astype("datetime64[D]"), [date(1970, 1, 1 + int(day)) for day in days]]
    for groups in both:
        found = hamming_histogram(
            CODES, CODES, "auto", Y, Y, groups_query=groups, groups_database=groups
        )
        assert_array_equal(found.n_items, N_SAMPLES - 4)
    found = hamming_histogram(
        CODES, CODES, "auto", Y, Y, groups_query=days > 9, groups_database=days // 10
    )
    assert_array_equal(found.n_items, N_SAMPLES - 40)


@pytest.mark.parametrize("name", ["groups_query", "groups_database"])
def test_groups_of_one_side(name):
    for exclude_self in (False, True):
        with pytest.raises(ValueError, match="Pass both"):
            hamming_histogram(
                CODES, CODES, "auto", Y, Y, exclude_self=exclude_self, **{name: Y}
            )


def test_groups_of_queries_that_there_are_not():
    hasher = CrossViewHasher(4, max_iter=1, random_state=0)
    with pytest.raises(
        ValueError, match=r"groups_query.*X_query is not.*Pass groups alone"
    ):
        hasher.fit(CODES, Y, groups=Y, groups_query=Y)


def test_scorers_leave_the_sample_out():
    X = np.random.default_rng(1).normal(size=(N_SAMPLES, 5))
    hasher, groups = TALRHasher(4, max_iter=1, random_state=0).fit(X, Y), np.arange(80) // 2
    score = make_retrieval_scorer("AP")(hasher, X, Y, groups=groups)
    codes = hasher.transform(X)
    expected = retrieval_report(
        *(codes, codes, "auto", Y, Y), measures=["AP"], as_frame=False,
        groups_query=groups, groups_database=groups,
    )  # fmt: skip
    assert_allclose(score, expected["AP"]["expected"])
