"""Targets as tables of pandas, and arrays of which something is masked."""

import numpy as np
import pandas as pd
import pytest
from hashers import small
from numpy.testing import assert_array_equal

from sklearn_talr import (
    ClassProbabilities,
    HashedNeighbors,
    ITQHasher,
    PrecomputedAffinity,
)
from sklearn_talr.affinity import (
    JudgmentAffinity,
    LabelAffinity,
    SharedLabelAffinity,
    ThresholdAffinity,
    resolve_affinity,
)
from sklearn_talr.codes import (
    PackedCodes,
    hamming_distances,
    maxsim_scores,
    pack_codes,
    weighted_scores,
)
from sklearn_talr.export import to_bit_strings
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.neighbors import (
    HammingNeighbors,
    MaxSimNeighbors,
    WeightedHammingNeighbors,
    rescore,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
LABELS = (RNG.random((60, 3)) > 0.5).astype(int)
FRAME = pd.DataFrame(LABELS, columns=["cat", "dog", "car"])
SQUARE = LABELS @ LABELS.T
TYPES = ["Int64", "UInt8", "Float64", object]


def same(affinity, y, plain):
    """Whether targets mean the same to an affinity."""
    resolved = (resolve_affinity(affinity, None, t) for t in (y, plain))
    (one, targets), (other, others) = resolved
    assert type(one) is type(other)
    one, other = one.fit_clone(targets), other.fit_clone(others)
    if isinstance(one, JudgmentAffinity):
        others = targets = None, np.arange(3)
    assert_array_equal(one.levels_, other.levels_)
    return np.array_equal(one(targets, targets), other(others, others))


@pytest.mark.parametrize("dtype", [*TYPES, "boolean"])
def test_numbers_of_pandas_are_those_of_numpy(dtype):
    frame = FRAME.astype(bool).astype(dtype)
    assert same("auto", frame, LABELS)
    assert same(SharedLabelAffinity(), frame, LABELS)
    assert_array_equal(JudgmentAffinity().check_targets(frame).toarray(), LABELS)
    assert same("auto", FRAME["cat"].astype(bool).astype(dtype), LABELS[:, 0] > 0)
    counts = hamming_histogram(X > 0, X > 0, "auto", frame, frame).counts
    expected = hamming_histogram(X > 0, X > 0, "auto", LABELS, LABELS)
    assert_array_equal(counts, expected.counts)
    if dtype == "boolean":
        return
    assert same("auto", pd.DataFrame(SQUARE).astype(dtype), SQUARE)
    ages = pd.Series(LABELS @ [9, 5, 1]).astype(dtype)
    assert same(ThresholdAffinity(), ages, ages.astype(int))


@pytest.mark.parametrize("dtype", TYPES)
def test_what_is_refused_in_numpy_is_refused_in_pandas(dtype):
    with pytest.raises(ValueError, match="labels of -1 among others"):
        resolve_affinity(
            "auto",
            None,
            pd.Series([-1, 0, 2] * 9).astype(dtype if dtype != "UInt8" else "Int64"),
        )
    missing = FRAME.astype(dtype)
    missing.iloc[3, 1] = None
    for affinity in ("auto", SharedLabelAffinity(), JudgmentAffinity()):
        with pytest.raises(ValueError, match="y contains N"):
            resolve_affinity(affinity, None, missing)
    with pytest.raises(ValueError, match="look like values of a quantity"):
        resolve_affinity("auto", None, pd.Series(X[:, 0], dtype="Float64"))


class TestNames:
    """Labels are known by the names of their columns, as features are to scikit-learn."""

    other = FRAME[["dog", "cat", "car"]]
    renamed = FRAME.rename(columns={"cat": "bird"})
    message = (
        r"y has labels named \['(dog|bird)', .*those of fit.* are \['cat', 'dog', 'car'\]"
    )

    def refused(self, call):
        for y in (self.other, self.renamed):
            with pytest.raises(ValueError, match=self.message):
                call(y)
        call(FRAME)
        call(LABELS)  # without names

    @pytest.mark.parametrize("affinity", ["auto", SharedLabelAffinity()])
    def test_of_a_hasher(self, affinity):
        hasher = small(affinity=affinity).fit(X, FRAME)
        self.refused(lambda y: hasher.score(X, y))
        self.refused(hasher.affinity_.check_targets)
        self.refused(
            lambda y: small(affinity=affinity).partial_fit(X, FRAME).partial_fit(X, y)
        )
        hasher.fit(X, self.other)
        assert hasher.affinity_.label_names_in_.tolist() == ["dog", "cat", "car"]
        assert affinity == "auto" or not hasattr(affinity, "label_names_in_")

    def test_of_an_index(self, tmp_path):
        index = HashedNeighbors(ITQHasher(8)).fit(X, FRAME)
        index.save(tmp_path / "index")
        for fitted in (index, HashedNeighbors.load(tmp_path / "index")):
            self.refused(lambda y, fitted=fitted: fitted.score(X, y))
            self.refused(lambda y, fitted=fitted: fitted.add(X, y))
        assert index.n_items_ == 3 * len(X)

    def test_of_a_table_of_counts(self):
        self.refused(lambda y: hamming_histogram(X > 0, X > 0, "auto", y, FRAME))

    def test_of_an_oracle(self):
        affinity = SharedLabelAffinity().fit(FRAME)
        self.refused(lambda y: affinity(y, LABELS))
        assert affinity.fit(self.renamed).label_names_in_[0] == "bird"
        assert not hasattr(affinity.fit(LABELS), "label_names_in_")
        affinity.fit(FRAME.rename(columns=dict(zip(FRAME, range(3)))))
        assert not hasattr(affinity, "label_names_in_")  # numbers are no names

    def test_of_a_matrix(self):
        names = [f"photo {i}" for i in range(60)]
        frame = pd.DataFrame(SQUARE, index=names, columns=names)
        for y in (frame, frame.reset_index(drop=True)):
            assert_array_equal(PrecomputedAffinity(y).toarray(), SQUARE)
        for affinity in (PrecomputedAffinity, lambda y: resolve_affinity("auto", None, y)):
            with pytest.raises(ValueError, match=r"another order.*affinity\.loc\[:, aff"):
                affinity(frame[names[::-1]])


def masked(values):
    places = np.arange(np.size(values)).reshape(np.shape(values))
    return np.ma.masked_array(values, places == 1)


CODES, ODD = X > 0, masked(X)
INDEX = HashedNeighbors(ITQHasher(8)).fit(X)
MASKED = {
    "X": [
        lambda: ITQHasher(8).fit(ODD),
        lambda: small().fit(ODD, LABELS),
        lambda: INDEX.hasher_.transform(ODD),
        lambda: INDEX.add(ODD),
        lambda: INDEX.kneighbors(ODD),
        lambda: HammingNeighbors().fit(masked(CODES)),
        lambda: WeightedHammingNeighbors().fit(CODES).kneighbors(ODD),
        lambda: ClassProbabilities().fit(ODD, LABELS),
        lambda: KernelRidgeClassifierCV().fit(ODD, LABELS[:, 0]),
        lambda: KernelRidgeClassifierCV().fit(X, LABELS[:, 0]).predict(ODD),
    ],
    "X_database": [lambda: rescore(X, ODD, np.zeros((60, 1), dtype=int))],
    "X_query": [lambda: rescore(ODD, X, np.zeros((60, 1), dtype=int))],
    "codes": [lambda: pack_codes(masked(CODES)), lambda: to_bit_strings(masked(CODES))],
    "query_codes": [lambda: hamming_distances(masked(CODES), CODES)],
    "query_weights": [lambda: weighted_scores(ODD, CODES)],
    "numbers": [lambda: PackedCodes.from_integers(masked(np.arange(3)), 8)],
    "groups": [lambda: maxsim_scores(X, CODES, groups=masked(np.arange(60)))],
    "include": [lambda: INDEX.kneighbors(X, include=masked(np.ones(60, dtype=bool)))],
    "ids": [lambda: HammingNeighbors().fit(CODES, ids=masked(np.arange(60)))],
    "affinity": [lambda: PrecomputedAffinity(masked(SQUARE))],
    "y": [
        lambda: small().fit(X, masked(LABELS)),
        lambda: INDEX.fit(X, masked(LABELS[:, 0])),
        lambda: ThresholdAffinity().fit(ODD),
        lambda: LabelAffinity().fit(masked(LABELS[:, 0])),
        lambda: KernelRidgeClassifierCV().fit(X, masked(LABELS[:, 0])),
        lambda: ClassProbabilities().fit(X, masked(LABELS)),
    ],
}


@pytest.mark.parametrize(
    ("name", "call"), [(name, call) for name, calls in MASKED.items() for call in calls]
)
def test_masked_entries_are_refused_where_the_mask_would_be_lost(name, call):
    with pytest.raises(ValueError, match=rf"\b{name} has masked entries"):
        call()


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_groups_that_are_missing_are_refused(missing):
    index = MaxSimNeighbors(ITQHasher(8))
    mixed = pd.Series(["a", missing, 3] * 20)
    for groups in (["a", "b", missing] * 20, mixed, [missing] * 60):
        for call in (
            lambda groups: index.fit(X, groups=groups),
            lambda groups: maxsim_scores(X, CODES, groups=groups),
            lambda groups: maxsim_scores(X, CODES, query_groups=groups),
        ):
            with pytest.raises(ValueError, match="groups contains NaN, NaT or None"):
                call(groups)
