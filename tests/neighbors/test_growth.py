"""Databases that grow and shrink, and the files they are kept in."""

import os
import signal
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import CODES, draw, random_codes, ranking
from numpy.testing import assert_array_equal

from sklearn_talr import PrecomputedAffinity
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.codes import pack_codes
from sklearn_talr.metrics import tie_aware_ndcg
from sklearn_talr.neighbors import HammingNeighbors, _archive


def check_same(neighbors, other, queries):
    """Both hold the same items and find the same."""
    assert_array_equal(neighbors.indices_, other.indices_)
    assert_array_equal(neighbors.codes_, other.codes_)
    assert neighbors.n_samples_fit_ == other.n_samples_fit_
    for mine, theirs in zip(neighbors.kneighbors(queries, 3), other.kneighbors(queries, 3)):
        assert_array_equal(mine, theirs)


@settings(deadline=None, max_examples=60)
@given(
    n_bits=st.sampled_from([1, 5, 8, 16, 40, 64, 65, 130]),
    kind=st.sampled_from(sorted(CODES)),
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    seed=st.integers(0, 999),
)
def test_parts_added_one_by_one_equal_all_at_once(n_bits, kind, sizes, seed):
    queries, database = draw(kind, 3, sum(sizes) + 2, n_bits, seed)
    neighbors = HammingNeighbors().partial_fit(database[:2])
    start = 2
    for size in sizes:
        neighbors.partial_fit(database[start : start + size])
        start += size
    check_same(neighbors, HammingNeighbors().fit(database), queries)


@settings(deadline=None, max_examples=60)
@given(
    n_bits=st.sampled_from([1, 5, 16, 64, 130]),
    kind=st.sampled_from(sorted(CODES)),
    data=st.data(),
)
def test_what_is_removed_is_not_found_and_nothing_else_changes(n_bits, kind, data):
    queries, database = draw(kind, 3, 20, n_bits, data.draw(st.integers(0, 999)))
    removed = data.draw(st.sets(st.integers(0, 19), max_size=16))
    neighbors = HammingNeighbors().fit(database).remove(sorted(removed))
    kept = np.setdiff1d(np.arange(20), list(removed))
    assert_array_equal(neighbors.indices_, kept)
    assert_array_equal(neighbors.codes_, database[kept])
    assert (neighbors.n_items_, neighbors.n_samples_fit_) == (len(kept), 20)
    _, indices = neighbors.kneighbors(queries, 4)
    for found, row in zip(indices, ranking(queries, database)):
        assert_array_equal(found, [i for _, i in row if i not in removed][:4])
    assert_array_equal(
        neighbors.rank(queries).indices,
        [[i for _, i in row if i not in removed] for row in ranking(queries, database)],
    )


def test_indices_of_removed_items_are_not_given_again():
    neighbors = HammingNeighbors(n_neighbors=1).fit([[0, 0], [0, 1], [1, 1]])
    neighbors.remove([2]).partial_fit([[1, 1]])
    assert_array_equal(neighbors.indices_, [0, 1, 3])
    assert_array_equal(neighbors.kneighbors([[1, 1]])[1], [[3]])
    assert neighbors.kneighbors_graph([[1, 1]]).shape == (1, 4)


def test_items_as_queries_after_removal():
    neighbors = HammingNeighbors(n_neighbors=1).fit([[0, 0], [1, 1], [0, 1], [1, 1]])
    distances, indices = neighbors.remove([1]).kneighbors()
    assert_array_equal(indices, [[2], [0], [2]])
    assert_array_equal(distances, [[1], [1], [1]])


def test_what_is_found_is_new_after_every_change():
    """Tables made for one state of the database do not answer for the next."""
    for algorithm in ("brute", "lookup", "multi_index"):
        neighbors = HammingNeighbors(1, algorithm=algorithm).fit([[0, 0], [1, 1]])
        assert_array_equal(neighbors.kneighbors([[0, 1]])[1], [[0]])
        neighbors.partial_fit([[0, 1]])
        assert_array_equal(neighbors.kneighbors([[0, 1]])[1], [[2]])
        neighbors.remove([2])
        assert_array_equal(neighbors.kneighbors([[0, 1]])[1], [[0]])


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([3], r"indices contains \[3\], which are not in the database"),
        ([-1], r"indices contains \[-1\]"),
        ([0], r"indices contains \[0\]"),  # already removed
        ([[1]], "indices must be integers of shape"),
        ([1.0], "indices must be integers of shape"),
        ([False, True, False], "Turn a mask into indices"),
        ([1, 2], "indices would leave no item"),
    ],
)
def test_what_cannot_be_removed_is_refused(indices, message):
    neighbors = HammingNeighbors().fit([[0, 0], [0, 1], [1, 1]]).remove([0])
    with pytest.raises(ValueError, match=message):
        neighbors.remove(indices)
    assert_array_equal(neighbors.indices_, [1, 2])


def test_removing_nothing_changes_nothing():
    neighbors = HammingNeighbors().fit([[0, 0], [0, 1]])
    assert_array_equal(neighbors.remove([]).indices_, [0, 1])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([0, 1], [1, 2]),
        (["a", "b"], ["cc", "b"]),
        (np.eye(2, dtype=int), np.array([[1, 1], [0, 1]])),
        (sp.csr_array(np.eye(2, dtype=int)), np.array([[1, 1], [0, 1]])),
    ],
)
def test_targets_grow_with_the_codes(first, second):
    affinity = SharedLabelAffinity() if np.ndim(second) == 2 else "auto"
    codes = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    grown = HammingNeighbors(2, affinity=affinity)
    grown.partial_fit(codes[:2], first).partial_fit(codes[2:], second)
    both = [y.toarray() if sp.issparse(y) else np.asarray(y) for y in (first, second)]
    y = np.concatenate(both)
    whole = HammingNeighbors(2, affinity=affinity).fit(codes, y)
    assert_array_equal(grown.predict(codes), whole.predict(codes))
    assert grown.score(codes, y) == whole.score(codes, y)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([0, 1], None, "added with y, so must the others"),
        (None, [0, 1], "added without y, so must the others"),
        ([0, 1], [0], "must have the same number of samples, got 2 and 1"),
        ([0, 1], ["a", "b"], "y has dtype <U1, but that of the first items"),
        (
            PrecomputedAffinity(np.eye(2, dtype=int)),
            PrecomputedAffinity(np.eye(2, dtype=int)),
            "Call fit with all codes and the whole matrix",
        ),
    ],
)
def test_targets_that_do_not_continue_are_refused(first, second, message):
    neighbors = HammingNeighbors(1).fit([[0, 0], [0, 1]], first)
    with pytest.raises(ValueError, match=message):
        neighbors.partial_fit([[1, 1], [1, 0]], second)
    assert neighbors.n_items_ == 2


def test_indicators_of_other_labels_are_refused():
    affinity = SharedLabelAffinity()
    neighbors = HammingNeighbors(1, affinity=affinity).fit([[0, 0], [0, 1]], np.eye(2))
    with pytest.raises(ValueError, match="y has 3 columns, but that of the first items 2"):
        neighbors.partial_fit([[1, 1]], [[1, 0, 0]])


# Files


def targets_of(kind, n):
    rng = np.random.default_rng(1)
    indicator = rng.integers(0, 2, (n, 4))
    return {
        "none": (None, "auto"),
        "labels": (rng.integers(0, 3, n), "auto"),
        "strings": (np.array(["cat", "dog", "horse"])[rng.integers(0, 3, n)], "auto"),
        "indicator": (indicator, SharedLabelAffinity(binary=True)),
        "sparse": (sp.csr_array(indicator), "auto"),
        "features": (rng.random((n, 3)), ThresholdAffinity((0.5, 0.1), (1, 2))),
    }[kind]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "codes.npz"


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize(
    "kind", ["none", "labels", "strings", "indicator", "sparse", "features"]
)
@pytest.mark.parametrize("n_bits", [1, 12, 32, 64, 70, 200])
def test_a_file_holds_all_that_is_needed(n_bits, kind, mmap, path):
    queries, database = draw("learned", 4, 30, n_bits)
    y, affinity = targets_of(kind, 30)
    params = {"n_neighbors": 3, "radius": 1, "algorithm": "lookup", "n_jobs": 1}
    neighbors = HammingNeighbors(**params, affinity=affinity).fit(database, y)
    neighbors.remove([4, 7])
    neighbors.save(path)
    loaded = HammingNeighbors.load(path, mmap=mmap)
    check_same(loaded, neighbors, queries)
    assert {name: loaded.get_params()[name] for name in params} == params
    assert type(loaded.affinity) is type(affinity)
    assert loaded.n_features_in_ == n_bits
    if y is not None:
        rows = [0, 5, 9]
        assert loaded.score(database[rows], y[rows]) == neighbors.score(
            database[rows], y[rows]
        )
    if kind not in ("none", "features"):
        assert_array_equal(loaded.predict(queries), neighbors.predict(queries))
    both = [
        n.partial_fit(queries, None if y is None else y[:4]) for n in (loaded, neighbors)
    ]
    check_same(*both, queries)


def test_numpy_reads_the_file_without_pickle(path):
    codes = random_codes(np.random.default_rng(0), 9, 64)
    HammingNeighbors().fit(codes).save(path)
    with np.load(path, allow_pickle=False) as arrays:
        words = arrays["columns"][0]
        codes_by_item = np.empty(9, words.dtype)
        codes_by_item[arrays["members"]] = words
        assert b'"bitorder": "little"' in arrays["header"].tobytes()
        assert b'"n_bits": 64' in arrays["header"].tobytes()
        assert b'"version": 1' in arrays["header"].tobytes()
    assert_array_equal(codes_by_item, pack_codes(codes).data.view("<u8")[:, 0])


def test_mapped_arrays_stay_on_disk_and_are_aligned(path):
    codes = random_codes(np.random.default_rng(0), 500, 128)
    HammingNeighbors().fit(codes, np.arange(500)).save(path)
    store = HammingNeighbors.load(path, mmap=True)._store
    for array in (store.columns, store.starts, store.members):
        base = array
        while base is not None and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)
        assert array.flags.aligned
        assert array.ctypes.data % 64 == 0
        assert not array.flags.writeable
    assert np.shares_memory(store.words, store.columns)


def test_numbers_of_numpy_are_saved_as_parameters(path):
    HammingNeighbors(np.int64(2), radius=np.int8(1)).fit(np.eye(3)).save(path)
    loaded = HammingNeighbors.load(path)
    assert (loaded.n_neighbors, loaded.radius) == (2, 1)


def test_column_names_are_kept(path):
    pd = pytest.importorskip("pandas")
    HammingNeighbors().fit(pd.DataFrame(np.eye(3), columns=list("abc"))).save(path)
    loaded = HammingNeighbors.load(path)
    assert_array_equal(loaded.feature_names_in_, ["a", "b", "c"])


def saved(path):
    rng = np.random.default_rng(0)
    codes = random_codes(rng, 400, 64)
    HammingNeighbors().fit(codes, rng.integers(0, 3, 400)).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.3, 0.7, 0.97, 0.999])
def test_a_truncated_file_is_refused(fraction, mmap, path):
    whole = saved(path)
    path.write_bytes(whole[: int(fraction * len(whole))])
    with pytest.raises(ValueError, match="truncated, damaged, or no file of"):
        HammingNeighbors.load(path, mmap=mmap)


@pytest.mark.parametrize("mmap", [False, True])
@settings(deadline=None, max_examples=100)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_damaged_file_is_refused_or_means_the_same(tmp_path_factory, mmap, place, bit):
    """Any bit may flip. Some of the zip's own, such as dates, mean nothing."""
    path = tmp_path_factory.mktemp("damaged") / "codes.npz"
    damaged = bytearray(saved(path))
    good = HammingNeighbors.load(path)
    damaged[int(place * len(damaged))] ^= 1 << bit
    path.write_bytes(bytes(damaged))
    try:
        loaded = HammingNeighbors.load(path, mmap=mmap)
    except ValueError:
        return
    check_same(loaded, good, np.eye(4, 64))
    assert_array_equal(loaded._targets, good._targets)


@pytest.mark.parametrize("mmap", [False, True])
def test_foreign_files_are_refused(path, mmap):
    np.savez(path, a=np.arange(3))
    with pytest.raises(ValueError, match=r"is no file of HammingNeighbors\.save"):
        HammingNeighbors.load(path, mmap=mmap)
    np.savez(path, header=np.arange(3))
    with pytest.raises(ValueError, match=r"is no file of HammingNeighbors\.save"):
        HammingNeighbors.load(path, mmap=mmap)
    np.savez(path, header=np.array([{"format": "pickled"}]))
    with pytest.raises(ValueError, match=r"is no file of HammingNeighbors\.save"):
        HammingNeighbors.load(path, mmap=mmap)
    np.save(path.with_suffix(".npy"), np.arange(3))
    with pytest.raises(ValueError, match="truncated, damaged, or no file of"):
        HammingNeighbors.load(path.with_suffix(".npy"), mmap=mmap)
    with pytest.raises(FileNotFoundError):
        HammingNeighbors.load(path.with_name("missing.npz"), mmap=mmap)


def rewrite(path, change_header=None, **changes):
    """A well-formed file of other content."""
    header, arrays = _archive.read_arrays(path, mmap=False)
    arrays.pop("header")
    arrays |= changes
    _archive.write_arrays(
        path,
        header | (change_header or {}),
        {name: array for name, array in arrays.items() if array is not None},
    )


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"version": 2}, {}, "has version 2 of the format, this package reads version 1"),
        ({"n_bits": 65}, {}, "contradict each other"),
        ({"bitorder": "big"}, {}, "contradict each other"),
        ({"n_samples": 399}, {}, "contradict each other"),
        ({}, {"starts": np.arange(400)}, "contradict each other"),
        ({}, {"starts": np.arange(401)[::-1]}, "contradict each other"),
        ({}, {"members": np.arange(-1, 399)}, "contradict each other"),
        ({}, {"members": None}, "lacks or misstates 'members'"),
        ({"params": {"leaves": 3}}, {}, "lacks or misstates"),
        ({"affinity": {"name": "eval", "state": {}}}, {}, "lacks or misstates 'eval'"),
        ({}, {"targets": np.arange(3)}, "contradict each other"),
    ],
)
def test_files_that_contradict_themselves_are_refused(header, arrays, message, path, mmap):
    saved(path)
    rewrite(path, header, **arrays)
    with pytest.raises(ValueError, match=message):
        HammingNeighbors.load(path, mmap=mmap)


def test_a_compressed_file_is_read_but_not_mapped(path):
    saved(path)
    with np.load(path) as arrays:
        np.savez_compressed(path, **arrays)
    assert HammingNeighbors.load(path).n_items_ == 400
    with pytest.raises(ValueError, match="is compressed and cannot be mapped"):
        HammingNeighbors.load(path, mmap=True)


def test_what_has_no_plain_form_is_not_saved(path):
    codes = [[0, 0], [0, 1]]
    precomputed = HammingNeighbors().fit(codes, PrecomputedAffinity([[1, 0], [0, 1]]))
    with pytest.raises(ValueError, match="affinity PrecomputedAffinity cannot be saved"):
        precomputed.save(path)
    with pytest.raises(ValueError, match="scoring is a function, which cannot be saved"):
        HammingNeighbors(scoring=tie_aware_ndcg).fit(codes).save(path)
    with pytest.raises(ValueError, match="y holds Python objects, which cannot be saved"):
        HammingNeighbors().fit(codes, np.array([0, 1], dtype=object)).save(path)
    with pytest.raises(ValueError, match="affinity _MyLabels cannot be saved"):
        HammingNeighbors(affinity=_MyLabels()).fit(codes, [0, 1]).save(path)
    assert list(path.parent.iterdir()) == []


class _MyLabels(LabelAffinity):
    """What it does beside is unknown to the file."""


def test_an_error_while_saving_leaves_the_old_file(path, monkeypatch):
    before = saved(path)
    write_member = _archive._write_member

    def fail_late(archive, name, array):
        write_member(archive, name, array)
        if name == "starts.npy":
            raise OSError("No space left on device")

    monkeypatch.setattr(_archive, "_write_member", fail_late)
    with pytest.raises(OSError, match="No space left"):
        HammingNeighbors().fit([[0, 1]]).save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


# Saves to each path, and dies as soon as the member after it is written.
CRASH = """
import os, signal, sys
import numpy as np
from sklearn_talr.neighbors import HammingNeighbors, _archive

write_member = _archive._write_member

def crash(archive, name, array):
    write_member(archive, name, array)
    if name == member:
        archive.fp.flush()
        os.kill(os.getpid(), signal.SIGKILL)

_archive._write_member = crash
neighbors = HammingNeighbors().fit(np.ones((5, 64)), np.ones(5))
for path, member in zip(sys.argv[1::2], sys.argv[2::2]):
    if os.fork() == 0:
        neighbors.save(path)
        os._exit(0)
    print(os.WTERMSIG(os.wait()[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_crash_while_saving_leaves_what_was_there(tmp_path):
    before, arguments = {}, []
    for member in ("header.npy", "columns.npy", "targets.npy"):
        for replaces in (False, True):
            path = tmp_path / f"{member} {replaces}" / "codes.npz"
            path.parent.mkdir()
            before[path] = saved(path) if replaces else None
            arguments += [path, member]
    command = [sys.executable, "-c", CRASH, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split() == [str(int(signal.SIGKILL))] * len(before)
    for path, old in before.items():
        if old is None:
            assert not path.exists()
        else:
            assert path.read_bytes() == old
            assert HammingNeighbors.load(path).n_items_ == 400
        (aside,) = set(path.parent.iterdir()) - {path}  # a part, under another name
        with pytest.raises(ValueError, match="truncated"):
            HammingNeighbors.load(aside)


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps files that are mapped")
def test_replacing_a_mapped_file_is_safe(path):
    queries, database = draw("random", 3, 50, 64)
    HammingNeighbors().fit(database).save(path)
    mapped = HammingNeighbors.load(path, mmap=True)
    HammingNeighbors().fit(1 - database[:7]).save(path)
    check_same(mapped, HammingNeighbors().fit(database), queries)
    mapped.save(path)
    check_same(HammingNeighbors.load(path), HammingNeighbors().fit(database), queries)


def test_file_is_a_zip_of_stored_arrays(path):
    saved(path)
    with zipfile.ZipFile(path) as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
