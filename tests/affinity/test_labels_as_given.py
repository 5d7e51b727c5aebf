"""Labels as files and other programs hold them: read, or refused with the line to write."""

import io

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from scipy.io import loadmat, savemat

from sklearn_talr import ClassProbabilities, TALRHasher
from sklearn_talr.affinity import (
    JudgmentAffinity,
    LabelAffinity,
    PrecomputedAffinity,
    SharedLabelAffinity,
    ThresholdAffinity,
    query_groups,
)
from sklearn_talr.baselines import BREHasher
from sklearn_talr.histogram import HammingHistogram, RankingHistogram, hamming_histogram
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.measures import AP
from sklearn_talr.metrics import retrieval_report
from sklearn_talr.neighbors import HammingNeighbors, rescore
from sklearn_talr.svm import RankingSVC, loss_augmented_ranks

RNG = np.random.default_rng(0)
X, KIND = RNG.normal(size=(60, 8)), np.arange(60) % 3
NAMES = np.array([["cat"], ["dog"], ["bird"]], dtype=object)[KIND]
INDICATORS = np.eye(3, dtype=int)[KIND]
INDICATORS[::4, 0] = 1
CALLS = {
    "hasher": lambda y: TALRHasher(8, max_iter=1, random_state=0).fit(X, y),
    "affinity": LabelAffinity().fit,
    "search": lambda y: HammingNeighbors().fit(X > 0, y).score(X > 0, y),
    "probabilities": lambda y: ClassProbabilities().fit(X, y),
    "classifier": lambda y: KernelRidgeClassifierCV().fit(X, y),
    "histogram": lambda y: hamming_histogram(X > 0, X > 0, "auto", y, y),
}


def loaded(y, **options):
    """What scipy.io.loadmat makes of an array that MATLAB has stored."""
    file = io.BytesIO()
    savemat(file, {"y": y}, oned_as="row")
    file.seek(0)
    return loadmat(file, **options)["y"]


@pytest.mark.parametrize("y", [NAMES, NAMES.T], ids=["column", "row"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_cells(call, y):
    cells = loaded(y)
    with pytest.raises(ValueError, match=r"label\[0\].*y\.ravel\(\).*simplify_cells=True"):
        call(cells)
    labels = [str(label[0]) for label in cells.ravel()]
    assert labels == NAMES.ravel().tolist()
    call(labels)
    call(loaded(y, simplify_cells=True))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_row_of_numbers(call):
    row = loaded((KIND + 1).astype("uint8"))
    assert row.shape == (1, 60)
    with pytest.raises(ValueError, match=r"np\.ravel\(y\)"):
        call(row)
    call(np.ravel(row))


def test_a_row_of_two_classes():
    with pytest.raises(ValueError, match=r"np\.ravel\(y\)"):
        RankingSVC().fit(X, (KIND > 0)[None])


def test_lists_of_labels_are_lists():
    for y in ([["a"], ["b", "c"], []], np.array([["a"], ["b", "c"]], dtype=object)):
        with pytest.raises(ValueError, match="MultiLabelBinarizer"):
            LabelAffinity().fit(y)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.coo_array], ids=str)
@pytest.mark.parametrize("dtype", [int, float, np.int8])
@pytest.mark.parametrize("name", ["hasher", "probabilities", "classifier", "histogram"])
def test_indicators_of_minus_one(name, dtype, make):
    y = make((2 * INDICATORS - 1).astype(dtype))
    with pytest.raises(ValueError, match=r"\(y > 0\)\.astype\(int\)"):
        CALLS[name](y)
    with pytest.raises(ValueError, match=r"\(y > 0\)\.astype\(int\).*PrecomputedAffinity"):
        SharedLabelAffinity().fit(y)


@pytest.mark.parametrize("name", ["hasher", "probabilities", "classifier", "histogram"])
def test_probabilities_of_labels(name):
    y = np.where(INDICATORS > 0, 0.9, 0.1)
    with pytest.raises(ValueError, match=r"\(y > 0\.5\)\.astype\(int\)"):
        CALLS[name](y)


@pytest.mark.parametrize("y", [INDICATORS + 1, 255 * INDICATORS], ids=["1, 2", "0, 255"])
def test_other_numbers_than_zero_and_one(y):
    with pytest.raises(ValueError, match=r"0/1 label indicator.*\(y == 2\)"):
        SharedLabelAffinity().fit(y)
    for name in ("hasher", "probabilities", "classifier"):
        with pytest.raises(ValueError, match="0/1 label indicator"):
            CALLS[name](y)


@pytest.mark.parametrize("dtype", [bool, float, np.int8, np.uint8, object])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.coo_array, sp.dok_array])
def test_indicators_of_all_types(dtype, make):
    if dtype is object and make is not np.asarray:
        with pytest.raises((ValueError, TypeError)):  # SciPy has no matrix of objects
            make(INDICATORS.astype(dtype))
        return
    y = make(INDICATORS.astype(dtype))
    found = SharedLabelAffinity().fit(y)(y, y)
    assert_array_equal(found, SharedLabelAffinity().fit(INDICATORS)(INDICATORS, INDICATORS))
    classifier = KernelRidgeClassifierCV(random_state=0)
    expected = classifier.fit(X, INDICATORS).predict_proba(X)
    assert_array_equal(classifier.fit(X, y).predict_proba(X), expected)


EMPTY = {
    "list": [],
    "array": np.array([]),
    "table": np.empty((0, 3)),
    "sparse": sp.csr_array((0, 3)),
}


@pytest.mark.parametrize("y", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("estimator", [ClassProbabilities(), KernelRidgeClassifierCV()])
def test_no_labels(estimator, y):
    with pytest.raises(ValueError, match="y is empty, of shape"):
        estimator.fit(X, y)
    estimator.fit(X, KIND)


@pytest.mark.parametrize("y", [3.0, "abc", {0: 1}, {1, 2}, np.ones((60, 2, 2))], ids=repr)
def test_what_is_no_array_of_classes(y):
    with pytest.raises(ValueError, match=r"y must be one class for each sample.*shape \("):
        KernelRidgeClassifierCV().fit(X, y)


def test_bytes():
    y = np.array([b"cat", b"dog"])[KIND % 2]
    with pytest.raises(ValueError, match=r"np\.char\.decode\(y\)"):
        KernelRidgeClassifierCV().fit(X, y)
    KernelRidgeClassifierCV().fit(X, np.char.decode(y))


def masked(array):
    mask = np.zeros(np.shape(array), dtype=bool)
    mask.flat[3] = True
    return np.ma.array(array, mask=mask)


SQUARE, CODES = np.equal.outer(KIND, KIND).astype(int), (X > 0).astype(int)
MASKED = {
    "PrecomputedAffinity": lambda: PrecomputedAffinity(masked(SQUARE)),
    "JudgmentAffinity": lambda: JudgmentAffinity().fit(masked(SQUARE)),
    "query_groups": lambda: query_groups(masked(SQUARE)),
    "LabelAffinity": lambda: LabelAffinity().fit(masked(KIND)),
    "SharedLabelAffinity": lambda: SharedLabelAffinity().fit(masked(INDICATORS)),
    "ThresholdAffinity": lambda: ThresholdAffinity().fit(masked(X)),
    "sets": lambda: ThresholdAffinity(metric="jaccard").fit(masked(CODES)),
    "hasher, y": lambda: TALRHasher(4).fit(X, masked(KIND)),
    "hasher, square y": lambda: TALRHasher(4).fit(X, masked(SQUARE)),
    "hasher, groups": lambda: TALRHasher(4).fit(X, KIND, groups=masked(KIND)),
    "baseline, y": lambda: BREHasher(4).fit(X, masked(KIND)),
    "classifier, X": lambda: KernelRidgeClassifierCV().fit(masked(X), KIND),
    "classifier, y": lambda: KernelRidgeClassifierCV().fit(X, masked(KIND)),
    "classifier, weights": lambda: KernelRidgeClassifierCV().fit(X, KIND, masked(X[:, 0])),
    "probabilities, y": lambda: ClassProbabilities().fit(X, masked(KIND)),
    "SVC, X": lambda: RankingSVC().fit(masked(X), KIND > 0),
    "SVC, y": lambda: RankingSVC().fit(X, masked(KIND > 0)),
    "SVC, groups": lambda: RankingSVC().fit(X, KIND > 0, groups=masked(KIND)),
    "SVC, score": lambda: RankingSVC().fit(X, KIND > 0).score(X, masked(KIND > 0)),
    "ranks": lambda: loss_augmented_ranks(masked([1.0, 2, 3, 4]), [1.0]),
    "histogram": lambda: hamming_histogram(CODES, CODES, "auto", masked(KIND), KIND),
    "histogram, codes": lambda: hamming_histogram(masked(CODES), CODES, "auto", KIND, KIND),
    "report": lambda: retrieval_report(CODES, CODES, "auto", masked(KIND), KIND),
    "report, by": lambda: retrieval_report(
        CODES, CODES, "auto", KIND, KIND, by=masked(KIND)
    ),
    "scores": lambda: RankingHistogram.from_scores(SQUARE, masked(SQUARE)),
    "pairs": lambda: HammingHistogram.from_pairs(CODES, CODES, masked(KIND)),
    "measure": lambda: AP.score(masked(SQUARE), SQUARE),
    "measure, weights": lambda: AP.score(SQUARE, SQUARE, sample_weight=masked(X[:, 0])),
    "rescore": lambda: rescore(X, X, masked(np.tile(np.arange(60), (60, 1)))),
}


@pytest.mark.parametrize("call", MASKED.values(), ids=MASKED)
def test_masked_entries(call):
    with pytest.raises(ValueError, match="has masked entries"):
        call()
