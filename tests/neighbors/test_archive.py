"""Files that databases are kept in: whole, or refused."""

import math
import os
import signal
import stat
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from neighbor_cases import check_same, draw, random_codes
from numpy.testing import assert_array_equal

from sklearn_talr import PrecomputedAffinity
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.codes import pack_codes
from sklearn_talr.neighbors import HammingNeighbors, _archive, _layout


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


each_mmap = pytest.mark.parametrize("mmap", [False, True])


@each_mmap
@pytest.mark.parametrize(
    ("n_bits", "kind"),
    [
        (1, "none"),
        (12, "labels"),
        (32, "strings"),
        (64, "indicator"),
        (70, "sparse"),
        (200, "features"),
    ],
)
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
        assert b'"version": 3' in arrays["header"].tobytes()
    assert_array_equal(codes_by_item, pack_codes(codes).data.view("<u8")[:, 0])


def test_mapped_arrays_stay_on_disk_and_are_aligned(path):
    codes = random_codes(np.random.default_rng(0), 500, 128)
    HammingNeighbors().fit(codes, np.arange(500)).save(path)
    store = HammingNeighbors.load(path, mmap=True)._fitted.store
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


@each_mmap
def test_a_truncated_file_is_refused(mmap, path):
    whole = saved(path)
    for fraction in (0.0, 0.01, 0.3, 0.7, 0.97, 0.999):
        path.write_bytes(whole[: int(fraction * len(whole))])
        with pytest.raises(ValueError, match="truncated, damaged, or no file of"):
            HammingNeighbors.load(path, mmap=mmap)


@each_mmap
@settings(deadline=None, max_examples=150)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@example(place=0.9997130594616134, bit=0)  # the zip's own offset of its directory
def test_a_damaged_file_is_refused_or_means_the_same(whole, mmap, place, bit):
    """Any bit may flip. Some of the zip's own, such as dates, mean nothing."""
    content, good, folder = whole
    damaged = bytearray(content)
    damaged[int(place * len(damaged))] ^= 1 << bit
    path = folder / "damaged.npz"
    path.write_bytes(bytes(damaged))
    loaded, refusal = None, ""
    try:
        loaded = HammingNeighbors.load(path, mmap=mmap)
    except ValueError as error:
        refusal = str(error)
    if loaded is None:
        assert str(path) in refusal
    else:
        check_same(loaded, good, np.eye(4, 64))
        assert_array_equal(loaded._fitted.targets.values, good._fitted.targets.values)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Content of a sound file, what it holds, and a folder."""
    path = tmp_path_factory.mktemp("damaged") / "codes.npz"
    return saved(path), HammingNeighbors.load(path), path.parent


@each_mmap
def test_foreign_files_are_refused(path, mmap):
    np.savez(path, a=np.arange(3))
    with pytest.raises(ValueError, match=r"is no file that `save`"):
        HammingNeighbors.load(path, mmap=mmap)
    np.savez(path, header=np.arange(3))
    with pytest.raises(ValueError, match=r"is no file that `save`"):
        HammingNeighbors.load(path, mmap=mmap)
    np.savez(path, header=np.array([{"format": "pickled"}]))
    with pytest.raises(ValueError, match=r"is no file that `save`"):
        HammingNeighbors.load(path, mmap=mmap)
    np.save(path.with_suffix(".npy"), np.arange(3))
    with pytest.raises(ValueError, match="truncated, damaged, or no file of"):
        HammingNeighbors.load(path.with_suffix(".npy"), mmap=mmap)
    with pytest.raises(FileNotFoundError):
        HammingNeighbors.load(path.with_name("missing.npz"), mmap=mmap)


def rewrite(path, change_header=None, **changes):
    """A well-formed file of other content."""
    header, arrays = _archive.read_arrays(path, _layout._ARRAYS, mmap=False)
    arrays |= changes
    _archive.write_arrays(
        path,
        header | (change_header or {}),
        {name: array for name, array in arrays.items() if array is not None},
    )


def of_shared(**state):
    return {"affinity": {"name": "SharedLabelAffinity", "state": state}}


def of_thresholds(**state):
    state = {"quantiles": [0.5, 0.1], "levels": [1, 2], "levels_": [0, 1, 2]} | state
    return {"affinity": {"name": "ThresholdAffinity", "state": state}}


ORDERED = np.arange(400, dtype=np.int32)


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"version": 4}, {}, "has version 4 .* reads versions 2 to 3. Update sklearn-talr"),
        (
            {"version": 1},
            {},
            "has version 1 .* reads versions 2 to 3. Fit and save it anew",
        ),
        ({"version": "3"}, {}, "has version '3' .* Fit and save it anew"),
        ({"version": 3.0}, {}, "has version 3.0 .* Fit and save it anew"),
        ({"version": None}, {}, "has version None .* Fit and save it anew"),
        ({"n_bits": 65}, {}, "contradict each other"),
        ({"n_bits": 63}, {}, "contradict each other"),  # codes have a bit more
        ({"bitorder": "big"}, {}, "contradict each other"),
        ({"n_samples": 399}, {}, "contradict each other"),
        ({"n_samples": 2**62}, {}, "contradict each other"),
        ({"n_samples": None}, {}, "lacks or misstates"),
        ({"feature_names": ["a"]}, {}, "contradict each other"),
        ({}, {"starts": np.arange(400)}, "contradict each other"),
        ({}, {"starts": np.arange(401)[::-1]}, "contradict each other"),
        ({}, {"members": np.arange(-1, 399)}, "contradict each other"),
        ({}, {"members": ORDERED * 0}, "contradict each other"),  # one item many times
        ({}, {"columns": np.arange(400, dtype="u8")[None, ::-1]}, "contradict each other"),
        ({}, {"columns": np.zeros((1, 400), "u8")}, "contradict each other"),
        ({}, {"members": None}, "lacks or misstates 'members'"),
        ({"params": {"leaves": 3}}, {}, "lacks or misstates"),
        ({"params": {"n_neighbors": -3}}, {}, "lacks or misstates"),
        ({"affinity": {"name": "eval", "state": {}}}, {}, "lacks or misstates 'eval'"),
        ({"n_samples": math.inf}, {}, "lacks or misstates n_bits 64 or n_samples inf"),
        ({"affinity": {"name": "LabelAffinity", "state": {"fit": 3}}}, {}, "has no 'fit'"),
        (of_shared(levels_=None), {}, "levels_ of SharedLabelAffinity is no list of num"),
        (of_shared(levels_=[]), {}, "levels_ of SharedLabelAffinity is no list of num"),
        (of_shared(levels_=[0, 2**70]), {}, "levels_ of SharedLabelAffinity is no list"),
        (of_shared(binary=None), {}, "The 'binary' parameter of SharedLabelAffinity"),
        ({"affinity": None}, {}, "contradict each other"),
        ({}, {"targets": np.arange(3)}, "contradict each other"),
        ({}, {"targets": np.zeros((400, 1))}, "contradict each other"),
        ({}, {"targets": np.zeros(400, complex)}, "contradict each other"),
        ({}, {"targets": np.zeros(400, "V4")}, "contradict each other"),
        ({}, {"targets": np.full(400, np.nan)}, "contradict each other"),
        ({}, {"columns": np.arange(400, dtype=">u8")[None]}, "contradict each other"),
        ({}, {"columns": np.arange(800, dtype="u4").reshape(2, 400)}, "contradict each"),
        ({}, {"starts": np.arange(401, dtype="u8")}, "contradict each other"),
        ({}, {"members": np.arange(400, dtype="u4")}, "contradict each other"),
        (of_thresholds(), {"targets": np.zeros((400, 3))}, "lacks or misstates"),
        (
            of_thresholds(thresholds_=[1.0]),
            {"targets": np.zeros((400, 3))},
            "lacks or miss",
        ),
    ],
)
def test_files_that_contradict_themselves_are_refused(header, arrays, message, path):
    saved(path)
    rewrite(path, header, **arrays)
    for mmap in (False, True):
        with pytest.raises(ValueError, match=message) as error:
            HammingNeighbors.load(path, mmap=mmap)
        assert str(path) in str(error.value)


def test_files_of_the_version_before_are_read(path):
    before = saved(path)
    good = HammingNeighbors.load(path)
    rewrite(path, {"version": 2})
    assert path.read_bytes() != before
    check_same(HammingNeighbors.load(path), good, np.eye(4, 64))


def test_items_of_a_code_out_of_order_are_refused(path):
    """Ties would be found in that order."""
    HammingNeighbors().fit([[0, 1], [0, 1], [1, 1]]).save(path)
    rewrite(path, members=np.array([1, 0, 2]))
    with pytest.raises(ValueError, match="contradict each other"):
        HammingNeighbors.load(path)


def test_sparse_targets_that_contradict_themselves_are_refused(path):
    y = sp.csr_array(np.eye(400, 10))
    HammingNeighbors().fit(random_codes(np.random.default_rng(0), 400, 64), y).save(path)
    rewrite(path, targets_indptr=np.append(y.indptr[:-1], np.iinfo(np.int32).min))
    with pytest.raises(ValueError, match="contradict each other"):
        HammingNeighbors.load(path)


def test_a_header_too_deep_to_read_is_refused(path):
    np.savez(path, header=np.frombuffer(b"[" * 200_000, dtype=np.uint8))
    with pytest.raises(ValueError, match=r"is no file that `save`"):
        HammingNeighbors.load(path)


def test_what_has_no_plain_form_is_not_saved(path):
    codes = [[0, 0], [0, 1]]
    precomputed = HammingNeighbors().fit(codes, PrecomputedAffinity([[1, 0], [0, 1]]))
    with pytest.raises(ValueError, match="affinity PrecomputedAffinity cannot be saved"):
        precomputed.save(path)
    with pytest.raises(ValueError, match="scoring is a function, which cannot be saved"):
        HammingNeighbors(scoring=len).fit(codes).save(path)
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


@pytest.mark.skipif(os.name == "nt", reason="Windows knows neither mode bits nor links")
def test_a_saved_file_keeps_its_mode_and_its_link(path, tmp_path):
    saved(path)
    path.chmod(0o640)
    link = tmp_path / "link.npz"
    link.symlink_to(path)
    HammingNeighbors().fit([[0, 1]]).save(link)
    assert link.is_symlink()
    assert HammingNeighbors.load(path).n_items_ == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps files that are open")
def test_what_is_mapped_is_what_was_checked(path, monkeypatch):
    """Another file takes the name between the check and the mapping."""
    queries, database = draw("random", 3, 50, 64)
    HammingNeighbors().fit(database).save(path)
    read_header = _archive._read_header

    def replace_then_read(*arguments):
        HammingNeighbors().fit(1 - database).save(path)
        return read_header(*arguments)

    monkeypatch.setattr(_archive, "_read_header", replace_then_read)
    loaded = HammingNeighbors.load(path, mmap=True)
    check_same(loaded, HammingNeighbors().fit(database), queries)
