"""Places of affinities are among the levels before loops index tables by them."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from sklearn_talr import TALRHasher
from sklearn_talr.affinity import (
    BaseAffinity,
    LabelAffinity,
    PrecomputedAffinity,
    SharedLabelAffinity,
)
from sklearn_talr.baselines import BREHasher
from sklearn_talr.hashing import CrossViewHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.losses import ContrastiveLoss

RNG = np.random.default_rng(0)
X, CODES, Y = RNG.normal(size=(90, 5)), RNG.integers(0, 2, (90, 8)), np.arange(90) % 3


class OwnAffinity(BaseAffinity):
    levels_ = np.array([0, 500])

    def __call__(self, y_query, y_database):
        return 500 * np.equal.outer(y_query, y_database)

    def __repr__(self):
        return "OwnAffinity()"


class OwnPlaces(OwnAffinity):
    """Places that are made by a function, as `level_index` and as `compare_batch`."""

    def __init__(self, make):
        self.make = make

    def level_index(self, y_query, y_database, levels):
        return self.make(np.equal.outer(y_query, y_database))


class OwnBatches(OwnAffinity):
    def __init__(self, make):
        self.make = make

    def batch_table(self, y):
        return y

    def compare_batch(self, rows):
        return self.make(rows[:, None] == rows)


BEYOND = {
    "affinities": lambda same: 500 * same,
    "one beyond": lambda same: same + 1,
    "wraps in int16": lambda same: np.where(same, 1, 2**16),
    "below -1": lambda same: np.where(same, 1, -(2**16) - 2),
    "NaN": lambda same: np.where(same, 1.0, np.nan),
    "infinite": lambda same: np.where(same, 1.0, np.inf),
}
OF_ANOTHER_FORM = {
    "one row": lambda same: same[:1].astype(int),
    "strings": lambda same: same.astype(str),
    "complex": lambda same: same + 0j,
}


def fit(affinity, **options):
    return TALRHasher(4, affinity=affinity, max_iter=2, random_state=0, **options).fit(X, Y)


@pytest.mark.parametrize(
    "make", (BEYOND | OF_ANOTHER_FORM).values(), ids=BEYOND | OF_ANOTHER_FORM
)
def test_places_of_an_own_oracle(make):
    affinity = OwnPlaces(make)
    calls = [
        lambda: hamming_histogram(CODES, CODES, affinity, Y, Y),
        lambda: hamming_histogram(CODES, CODES, affinity, Y, Y, exclude_self=True),
        lambda: fit(affinity),
        lambda: BREHasher(4, affinity=affinity, random_state=0).fit(X, Y),
        lambda: CrossViewHasher(4, affinity=affinity, max_iter=1).fit(
            X, Y, X_query=X, y_query=Y
        ),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"OwnAffinity\(\).*levels"):
            call()


@pytest.mark.parametrize("make", BEYOND.values(), ids=BEYOND)
@pytest.mark.parametrize("loss", ["AP", "nDCG"])
def test_places_of_own_batches(make, loss):
    with pytest.raises(ValueError, match=r"OwnAffinity\(\).*levels"):
        fit(OwnBatches(make), loss=loss)


@pytest.mark.parametrize("make", [BEYOND["affinities"], BEYOND["one beyond"]])
def test_places_of_own_batches_under_torch(make):
    torch = pytest.importorskip("torch")
    affinity = OwnBatches(lambda same: torch.as_tensor(make(same.numpy())))
    with pytest.raises(ValueError, match=r"OwnAffinity\(\).*levels"):
        fit(affinity, loss=ContrastiveLoss())


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float32])
def test_places_of_any_type(dtype):
    affinity = OwnPlaces(lambda same: same.astype(dtype))
    counts = hamming_histogram(CODES, CODES, affinity, Y, Y).counts
    assert_array_equal(counts, hamming_histogram(CODES, CODES, "auto", Y, Y).counts)
    assert len(fit(affinity).loss_curve_) == 2
    assert len(fit(OwnBatches(lambda same: same.astype(dtype))).loss_curve_) == 2


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("value", [3, 100_000, -7])
@pytest.mark.parametrize("levels", [(0, 1, 2), (0, 1, 5)])
def test_a_matrix_that_changes(is_sparse, value, levels):
    matrix = np.random.default_rng(1).choice(levels, (90, 90))
    matrix = sp.csr_array(matrix) if is_sparse else matrix
    affinity = PrecomputedAffinity(matrix)
    if is_sparse:
        matrix.data[:200] = value
    else:
        matrix[:, 5] = value
    if value < 0 and levels[-1] > 2:  # a pair below 0 does not count
        counts = hamming_histogram(CODES, CODES, "auto", affinity, affinity).counts
        assert counts.sum() == 90 * 90 - (affinity.toarray() < 0).sum()
        return
    with pytest.raises(ValueError, match=r"PrecomputedAffinity.*levels"):
        hamming_histogram(CODES, CODES, "auto", affinity, affinity)
    with pytest.raises(ValueError, match=r"PrecomputedAffinity.*levels"):
        TALRHasher(4, loss="nDCG", max_iter=1, random_state=0).fit(X, affinity)


def test_many_levels_keep_their_places():
    """Places beyond 16 bits."""
    n_levels = 2**15 + 5
    matrix = np.zeros((n_levels // 100 + 1, n_levels // 100 + 1), int)
    matrix.flat[: n_levels - 1] = np.arange(1, n_levels)
    affinity = PrecomputedAffinity(matrix)
    rows = np.random.default_rng(0).normal(size=(len(matrix), 4))
    hasher = TALRHasher(4, loss="AP", max_iter=1, random_state=0)
    ones = PrecomputedAffinity((matrix > 0).astype(int))
    weights = [hasher.fit(rows, y).coefs_[0] for y in (affinity, ones)]
    assert_array_equal(*weights)


def oracle(function):
    function.levels_ = [0, 1]
    return function


VALUES = {
    "CSR": (lambda a, b: sp.csr_array(np.equal.outer(a, b).astype(int)), "toarray"),
    "transposed": (lambda a, b: np.equal.outer(b, a)[:, :3], "shape"),
    "strings": (lambda a, b: np.equal.outer(a, b).astype(str), "numbers"),
    "objects": (lambda a, b: np.equal.outer(a, b).astype(object), "numbers"),
    "None": (lambda a, b: None, "shape"),
    "masked": (lambda a, b: np.ma.masked_equal(np.equal.outer(a, b) * 1, 0), "masked"),
    "halves": (lambda a, b: np.equal.outer(a, b) / 2, "levels_ lack, such as 0.5"),
    "infinite": (lambda a, b: np.where(np.equal.outer(a, b), np.inf, 0), "levels_ lack"),
}


@pytest.mark.parametrize(("function", "message"), VALUES.values(), ids=VALUES)
def test_values_that_are_no_affinities(function, message):
    affinity = oracle(function)
    with pytest.raises(ValueError, match=rf"affinity <.*{message}"):
        hamming_histogram(CODES, CODES, affinity, Y, Y)
    with pytest.raises(ValueError, match=rf"affinity <.*{message}"):
        fit(affinity)


def test_values_of_any_real_form():
    right = hamming_histogram(CODES, CODES, "auto", Y, Y).counts
    forms = {
        "list": lambda same: same.astype(int).tolist(),
        "bool": lambda same: same,
        "float": lambda same: same.astype(float),
        "unsigned": lambda same: same.astype(np.uint8),
    }
    for make in forms.values():
        affinity = oracle(lambda a, b, make=make: make(np.equal.outer(a, b)))
        assert_array_equal(hamming_histogram(CODES, CODES, affinity, Y, Y).counts, right)


def test_a_frame_of_affinities():
    pd = pytest.importorskip("pandas")
    affinity = oracle(lambda a, b: pd.DataFrame(np.equal.outer(a, b).astype(int)))
    right = hamming_histogram(CODES, CODES, "auto", Y, Y).counts
    assert_array_equal(hamming_histogram(CODES, CODES, affinity, Y, Y).counts, right)


def test_negative_and_missing_values_do_not_count():
    for value in (-1, -7, np.nan):
        affinity = oracle(lambda a, b, v=value: np.where(np.equal.outer(a, b), 1, v))
        counts = hamming_histogram(CODES, CODES, affinity, Y, Y).counts
        assert_array_equal(counts.sum(axis=(1, 2)), np.bincount(Y)[Y])


class Doubled(LabelAffinity, BaseEstimator):
    """A subclass whose values are other than those of its levels."""

    def __call__(self, y_query, y_database):
        return 2 * super().__call__(y_query, y_database)


def test_a_subclass_that_compares_otherwise():
    with pytest.raises(ValueError, match=r"Doubled\(\).*levels"):
        hamming_histogram(CODES, CODES, Doubled(), Y, Y)


@pytest.mark.parametrize(
    "levels", [[], [1, 2], [0, 2, 1], [0, np.nan], ["0", "1"], [[0, 1]], 0, [0, 0]]
)
def test_levels_that_do_not_ascend_from_zero(levels):
    def equal(a, b):
        return np.equal.outer(a, b).astype(int)

    equal.levels_ = levels
    with pytest.raises(ValueError, match=r"levels_ must ascend from 0"):
        hamming_histogram(CODES, CODES, equal, Y, Y)
    with pytest.raises(ValueError, match=r"levels_ must ascend from 0"):
        fit(equal)


@pytest.mark.parametrize(
    ("affinity", "targets"),
    [(LabelAffinity(), Y), (SharedLabelAffinity(), np.eye(3, dtype=int)[Y])],
    ids=["labels", "shared labels"],
)
def test_targets_that_were_checked_are_not_checked_again(affinity, targets, monkeypatch):
    affinity = affinity.fit_clone(targets)
    levels = affinity.levels_between(targets, targets)
    expected = affinity(targets[:9], targets)

    def refuse(self, y):
        raise AssertionError("checked again")

    monkeypatch.setattr(type(affinity), "check_targets", refuse)
    assert_array_equal(affinity.level_index(targets[:9], targets, levels), expected)


class Unprintable(OwnAffinity):
    def __repr__(self):
        raise AssertionError("printed without an error")


def test_an_affinity_is_printed_in_errors_only():
    hasher = TALRHasher(8, affinity=Unprintable(), max_iter=2, random_state=0)
    assert hasher.fit(X, Y).n_iter_ == 2
    assert_array_equal(
        hamming_histogram(CODES, CODES, Unprintable(), Y, Y).counts,
        hamming_histogram(CODES, CODES, OwnAffinity(), Y, Y).counts,
    )
