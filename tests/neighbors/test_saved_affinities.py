"""Every affinity, with every option, is read back from the folder of an index."""

from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from neighbor_cases import draw
from numpy.testing import assert_array_equal

from sklearn_talr.affinity import (
    JudgmentAffinity,
    LabelAffinity,
    SharedLabelAffinity,
    ThresholdAffinity,
)
from sklearn_talr.hashing import ITQHasher
from sklearn_talr.neighbors import (
    HammingNeighbors,
    HashedNeighbors,
    WeightedHammingNeighbors,
)

N_ITEMS, N_QUERIES = 40, 6
QUERIES, DATABASE = draw("learned", N_QUERIES, N_ITEMS, 12)
rng = np.random.default_rng(0)
LABELS = rng.integers(0, 3, N_ITEMS)
NAMES = np.array(["ant", "bee", "?"])[LABELS]
INDICATORS = rng.integers(0, 2, (N_ITEMS, 4))
FRAME = pd.DataFrame(INDICATORS, columns=list("abcd"))
SETS = (rng.random((N_ITEMS, 30)) < 0.2).astype(int)
ROWS = rng.random((N_ITEMS, 3))
GRADES = rng.integers(-1, 3, (N_QUERIES, N_ITEMS))
HALVES = (0.5, 0.1)
CASES = {
    "labels": ("auto", LABELS),
    "labels, plain": (LabelAffinity(), LABELS),
    "labels, ignored integer": (LabelAffinity(ignored=2), LABELS),
    "labels, ignored of NumPy": (LabelAffinity(ignored=np.int64(2)), LABELS),
    "labels, ignored float": (LabelAffinity(ignored=2.0), LABELS.astype(float)),
    "labels, ignored string": (LabelAffinity(ignored="?"), NAMES),
    "labels, ignored string of NumPy": (LabelAffinity(ignored=NAMES[0]), NAMES),
    "labels, dates": ("auto", LABELS.astype("datetime64[D]")),
    "labels, bool": ("auto", LABELS > 0),
    "indicators": ("auto", INDICATORS),
    "indicators, sparse": (SharedLabelAffinity(), sp.csr_array(INDICATORS)),
    "indicators, named": (SharedLabelAffinity(), FRAME),
    "indicators, binary": (SharedLabelAffinity(binary=True), FRAME),
    "rows": (ThresholdAffinity(HALVES, (1, 2)), ROWS),
    "rows, float32": (ThresholdAffinity(HALVES, (1, 2)), ROWS.astype(np.float32)),
    "rows, arrays": (ThresholdAffinity(np.array(HALVES), np.arange(1, 3)), ROWS),
    "rows, range": (ThresholdAffinity(pd.Series(HALVES), range(1, 3)), ROWS),
    "rows, sample": (ThresholdAffinity(HALVES, (1, 2), subsample=np.int64(9)), ROWS),
    "rows, any seed": (ThresholdAffinity(HALVES, (1, 2), random_state=None), ROWS),
    "rows, generator": (
        ThresholdAffinity(HALVES, (1, 2), random_state=np.random.RandomState(3)),
        ROWS,
    ),
    "rows, fitted": (ThresholdAffinity(HALVES, (1, 2)).fit(ROWS[:20]), ROWS),
    "numbers": (ThresholdAffinity(HALVES, (1, 2)), ROWS[:, 0]),
    "sets": (ThresholdAffinity((0.3, 0.1), (1, 2), metric="jaccard"), SETS),
    "sets, sparse": (
        ThresholdAffinity((0.3, 0.1), (1, 2), metric="jaccard"),
        sp.csr_array(SETS),
    ),
    "sets, fitted": (
        ThresholdAffinity((0.3, 0.1), (1, 2), metric="jaccard").fit(SETS),
        SETS,
    ),
    "judgments": (JudgmentAffinity(), None),
    "judgments, ignored": (JudgmentAffinity(unjudged="ignored"), None),
    "judgments, fitted": (JudgmentAffinity().fit(GRADES), None),
}


def targets_of_queries(y):
    if y is None:
        return sp.csr_array(GRADES)
    return y.iloc[:N_QUERIES] if hasattr(y, "iloc") else y[:N_QUERIES]


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_score_is_the_same(case, mmap, tmp_path):
    affinity, y = CASES[case]
    index = HammingNeighbors(3, affinity=affinity).fit(DATABASE, y)
    index.save(tmp_path / "index")
    loaded = HammingNeighbors.load(tmp_path / "index", mmap=mmap)
    expected = index.score(QUERIES, targets_of_queries(y))
    assert np.isfinite(expected)
    assert loaded.score(QUERIES, targets_of_queries(y)) == expected
    assert type(loaded.affinity) is type(affinity)
    if affinity != "auto":
        for name, value in affinity.get_params().items():
            if name != "random_state":
                assert_array_equal(loaded.affinity.get_params()[name], value)
    # What is loaded is saved, and fitted anew, as the first
    loaded.save(tmp_path / "again")
    again = HammingNeighbors.load(tmp_path / "again")
    assert again.score(QUERIES, targets_of_queries(y)) == expected
    if "seed" not in case and "generator" not in case:
        refitted = loaded.fit(DATABASE, y)
        assert refitted.score(QUERIES, targets_of_queries(y)) == expected
    if isinstance(affinity, LabelAffinity | SharedLabelAffinity):
        assert_array_equal(again.predict(QUERIES), index.predict(QUERIES))


@pytest.mark.parametrize("case", CASES)
def test_an_affinity_without_targets_is_kept(case, tmp_path):
    """An index that was fitted without y loads again, and has its parameter."""
    affinity, _ = CASES[case]
    for index in (HammingNeighbors(3), WeightedHammingNeighbors(3, n_candidates=5)):
        index.set_params(affinity=affinity).fit(DATABASE)
        index.save(tmp_path / type(index).__name__)
        loaded = type(index).load(tmp_path / type(index).__name__)
        assert type(loaded.affinity) is type(affinity)
        assert_array_equal(loaded.codes_, index.codes_)


def test_an_affinity_of_ones_own_has_no_plain_form(tmp_path):
    def affinity(y_query, y_database):
        return np.equal.outer(y_query, y_database).astype(int)

    affinity.levels_ = [0, 1]
    for y in (LABELS, None):
        index = HammingNeighbors(affinity=affinity).fit(DATABASE, y)
        with pytest.raises(ValueError, match=r"affinity function cannot be saved.*'auto'"):
            index.save(tmp_path / "index")
    assert not list(tmp_path.iterdir())


# Paths


class Elsewhere(PathLike):
    """A path of another library."""

    def __init__(self, text):
        self.text = text

    def __fspath__(self):
        return self.text


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.chdir(tmp_path / "work")
    return home


INDEX = HammingNeighbors(3).fit(DATABASE)
HASHER = ITQHasher(6, random_state=0).fit(rng.normal(size=(50, 6)))


@pytest.mark.parametrize("form", [str, Path, Elsewhere, lambda path: path.encode()])
def test_a_tilde_is_the_home_folder(form, home, tmp_path):
    INDEX.save(form("~/indexes/first"))
    assert (home / "indexes" / "first" / "index.json").exists()
    loaded = HammingNeighbors.load(form("~/indexes/first"))
    assert_array_equal(loaded.codes_, INDEX.codes_)
    assert not list((tmp_path / "work").iterdir())
    # A folder of this name, and relative paths
    INDEX.save("./~")
    INDEX.save(form("plain"))
    assert {path.name for path in (tmp_path / "work").iterdir()} == {"~", "plain"}


@pytest.mark.parametrize(
    "url",
    [
        "s3://bucket/index",
        "gs://bucket/index",
        "hf://datasets/me/index",
        "https://example.org/index",
        "file:///tmp/index",
        "dbfs:/mnt/index",
        "abfss+x://container@account/index",
        Path("s3://bucket/index"),
        Elsewhere("S3://bucket/index"),
    ],
)
def test_urls_are_no_paths(url, home, tmp_path):
    for call in (
        lambda: INDEX.save(url),
        lambda: HammingNeighbors.load(url),
        lambda: HashedNeighbors.load(url),
    ):
        with pytest.raises(ValueError, match=r"URL and no path.*local folder and upload"):
            call()
    assert not list((tmp_path / "work").iterdir())


def test_what_is_no_path_is_refused(home):
    for path in (None, 7, INDEX, ["a"]):
        with pytest.raises(TypeError, match="path must be a str or path-like, got"):
            INDEX.save(path)
        with pytest.raises(TypeError, match="path must be a str or path-like, got"):
            HammingNeighbors.load(path)
    with pytest.raises(ValueError, match="no home folder of that name is known"):
        INDEX.save("~nobody-of-this-name/index")


def test_graphs_are_written_to_local_paths(home, tmp_path):
    pytest.importorskip("onnx")
    from sklearn_talr.export import to_onnx

    to_onnx(HASHER, "~/hasher.onnx")
    assert (home / "hasher.onnx").stat().st_size
    with pytest.raises(ValueError, match="is a URL and no path"):
        to_onnx(HASHER, "s3://bucket/hasher.onnx")
    assert not list((tmp_path / "work").iterdir())
