"""An affinity of one's own: a function, or a class that knows more than its values."""

import pickle
from functools import wraps

import numpy as np
import pytest
from hashers import small
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from sklearn_talr import HammingNeighbors, PrecomputedAffinity, make_retrieval_scorer
from sklearn_talr.affinity import (
    BaseAffinity,
    LabelAffinity,
    SharedLabelAffinity,
    ThresholdAffinity,
    fit_affinity,
    resolve_affinity,
)
from sklearn_talr.histogram import hamming_histogram

RNG = np.random.default_rng(0)
INDICATOR = RNG.binomial(1, 0.4, (40, 5))


def near(y_query, y_database):
    """Numbers that differ by 1 are similar, and equal ones more so."""
    return np.maximum(0, 2 - np.abs(np.subtract.outer(y_query, y_database)))


near.levels_ = np.array([0, 1, 2])


class Near(BaseAffinity, BaseEstimator):
    """The same as a class, which groups targets and takes them in another form."""

    levels_ = near.levels_

    def fit(self, y):
        return self

    def check_targets(self, y):
        return np.asarray([int(name) for name in y])

    def group_targets(self, y):
        return np.unique(y, return_inverse=True)

    def __call__(self, y_query, y_database):
        return near(y_query, y_database)


class Unequal(LabelAffinity):
    """A subclass of a built-in oracle that compares in its own way."""

    @wraps(LabelAffinity.__call__)  # whose name and module it then has
    def __call__(self, y_query, y_database):
        return 1 - super().__call__(y_query, y_database)


class Alike(SharedLabelAffinity):
    """Rows that share a label are unlike, and all others are alike."""

    levels_ = np.array([0, 1])

    def fit(self, y):
        return self

    def levels_between(self, y_query, y_database):
        return self.levels_

    def __call__(self, y_query, y_database):
        return (super().__call__(y_query, y_database) == 0).astype(int)


def test_a_class_ranks_as_the_function_does(few_digits):
    X, y = few_digits
    by_function = small(affinity=near).fit(X, y)
    by_class = small(affinity=Near()).fit(X, y.astype(str))
    codes = by_function.transform(X)
    assert_array_equal(by_class.transform(X), codes)
    counts = hamming_histogram(codes, codes, near, y, y, exclude_self=True).counts
    names = y.astype(str)
    grouped = hamming_histogram(codes, codes, Near(), names, names, exclude_self=True)
    assert_array_equal(grouped.counts, counts)
    scorer = make_retrieval_scorer()
    assert scorer(by_class, X, names) == scorer(by_function, X, y)


def test_fitted_estimators_keep_what_the_user_gave(few_digits):
    X, y = few_digits
    hasher = small(affinity=near).fit(X, y)
    assert hasher.affinity_ is near
    neighbors = HammingNeighbors(affinity=near).fit(hasher.transform(X), y)
    assert neighbors.affinity_ is near
    with pytest.raises(ValueError, match=r"predict needs y of .* got function"):
        neighbors.predict(hasher.transform(X))
    assert pickle.loads(pickle.dumps(hasher)).affinity_ is near


@pytest.mark.parametrize(
    ("oracle", "targets"), [(Unequal(), np.arange(40) % 3), (Alike(), INDICATOR)]
)
def test_a_subclass_that_compares_in_its_own_way_is_asked(oracle, targets):
    """Training must not fall back to the comparison of the class above."""
    X = RNG.normal(size=(40, 6))
    expected = PrecomputedAffinity(np.asarray(oracle(targets, targets)))
    by_class = small(affinity=oracle).fit(X, targets)
    by_matrix = small().fit(X, expected)
    assert_array_equal(by_class.transform(X), by_matrix.transform(X))


def test_a_table_of_targets_needs_a_comparison_of_its_rows():
    class Half(BaseAffinity):
        levels_ = np.array([0, 1])

        def __call__(self, y_query, y_database):
            return (y_query[:, None] == y_database).astype(int)

        def batch_table(self, y):
            return y

    with pytest.raises(TypeError, match="Half defines batch_table, so it must also define"):
        small(affinity=Half()).fit(RNG.normal(size=(40, 6)), np.arange(40) % 3)


@pytest.mark.parametrize(
    ("oracle", "y"),
    [
        (LabelAffinity(), np.arange(40) % 3),
        (LabelAffinity(), (np.arange(40) % 3).astype(str)),
        (SharedLabelAffinity(), INDICATOR),
        (SharedLabelAffinity(binary=True), INDICATOR),
    ],
)
def test_what_oracles_know_beyond_their_values_agrees_with_them(oracle, y):
    torch = pytest.importorskip("torch")
    affinity, targets, levels = fit_affinity(oracle, np.eye(40), y)
    values = affinity(targets, targets)
    index = affinity.compare_batch(torch.as_tensor(affinity.batch_table(targets)))
    assert_array_equal(levels[index.numpy().astype(int)], values)
    assert_array_equal(levels[affinity.level_index(targets, targets, levels)], values)
    classes, members = affinity.memberships(targets)
    shared = (members.astype(int) @ members.T.astype(int)).toarray()
    assert_array_equal(shared.clip(max=levels[-1]), values)
    assert classes is None or members.shape == (40, len(classes))
    groups = affinity.group_targets(targets)
    if groups is not None:
        assert_array_equal(groups[0][groups[1]], targets)


def test_a_function_knows_nothing_but_affinities():
    affinity, targets = resolve_affinity(near, None, [1, 2, 5])
    assert affinity.given is near
    assert repr(affinity) == repr(near)
    assert affinity.group_targets(targets) is None
    assert affinity.memberships(targets) is None
    assert affinity.batch_table(targets) is None
    assert affinity.fit_clone(targets) is affinity
    assert affinity.with_levels([0, 1]) is affinity
    assert not affinity.by_distance
    assert not affinity.comes_with_targets
    assert_array_equal(affinity.gain_levels([0, 3]), [0, 3])
    assert_array_equal(affinity.targets_of(np.eye(2)), np.eye(2))


def test_values_beyond_the_levels_of_a_class_are_refused():
    class Wrong(Near):
        levels_ = np.array([0, 1])

    affinity, targets = resolve_affinity(Wrong(), None, ["1", "2"])
    with pytest.raises(ValueError, match="gave values that its levels_ lack"):
        affinity.level_index(targets, targets, Wrong.levels_)


def test_plain_forms_are_read_back():
    rows = RNG.normal(size=(30, 3))
    for affinity, y in [
        (LabelAffinity(), [0, 1]),
        (SharedLabelAffinity(binary=True), INDICATOR),
        (ThresholdAffinity(quantiles=(0.5,), levels=(3,)), rows),
    ]:
        fitted = affinity.fit(y)
        twin = BaseAffinity.from_plain(fitted.to_plain())
        assert type(twin) is type(fitted)
        assert_array_equal(twin(y, y), fitted(y, y))
    for affinity in (near, Near(), Unequal()):
        message = r"cannot be saved: only .*\bLabelAffinity, Shared"
        with pytest.raises(ValueError, match=message):
            BaseAffinity.from_oracle(affinity).to_plain()
    for key, value in [("_x", 1), ("levels_", "name"), ("levels_", [])]:
        with pytest.raises(ValueError, match="LabelAffinity"):
            BaseAffinity.from_plain({"name": "LabelAffinity", "state": {key: value}})
