"""Folders that databases are kept in: whole, or refused."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from neighbor_cases import check_same, draw, random_codes
from numpy.testing import assert_array_equal

from sklearn_talr import PrecomputedAffinity
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import (
    HammingNeighbors,
    HashedNeighbors,
    WeightedHammingNeighbors,
    _files,
)


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
    return tmp_path / "codes"


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
    params = {"n_neighbors": 3, "radius": 1, "n_jobs": 1}
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
    both = [n.add(queries, None if y is None else y[:4]) for n in (loaded, neighbors)]
    check_same(*both, queries)


def test_column_names_are_kept(path):
    pd = pytest.importorskip("pandas")
    HammingNeighbors().fit(pd.DataFrame(np.eye(3), columns=list("abc"))).save(path)
    loaded = HammingNeighbors.load(path)
    assert_array_equal(loaded.feature_names_in_, ["a", "b", "c"])


def test_what_has_no_plain_form_is_not_saved(path):
    codes = [[0, 0], [0, 1]]
    precomputed = HammingNeighbors().fit(codes, PrecomputedAffinity([[1, 0], [0, 1]]))
    with pytest.raises(ValueError, match="affinity PrecomputedAffinity cannot be saved"):
        precomputed.save(path)
    with pytest.raises(ValueError, match="scoring is a function, which cannot be saved"):
        HammingNeighbors(scoring=len).fit(codes).save(path)
    with pytest.raises(ValueError, match="y holds Python objects, which cannot be saved"):
        HammingNeighbors().fit(codes, np.array([b"a", b"b"], dtype=object)).save(path)
    with pytest.raises(ValueError, match="affinity _MyLabels cannot be saved"):
        HammingNeighbors(affinity=_MyLabels()).fit(codes, [0, 1]).save(path)
    assert not path.exists()


class _MyLabels(LabelAffinity):
    """What it does beside is unknown to the file."""


def data_of(path):
    """The folder of the arrays."""
    return path / json.loads((path / "index.json").read_text())["folder"]


@pytest.mark.parametrize(("metric", "terms"), [("cosine", 1), ("euclidean", 2)])
def test_an_item_costs_its_code_and_its_bytes(metric, terms, path):
    """In memory, and on disk but for the header of each file."""
    X = np.random.default_rng(0).normal(size=(3_000, 8))
    hasher = AdditiveHasher(32, method="bits", metric=metric, random_state=0)
    index = HashedNeighbors(hasher).fit(X)
    assert index.n_bytes_per_item_ == 4 + terms
    index.save(path)
    parts = [data_of(path) / f"{name}.npy" for name in ("words", "factors", "lengths")]
    n_bytes = sum(part.stat().st_size for part in parts if part.exists())
    assert n_bytes == (4 + terms) * 3_000 + (1 + terms) * 128
    loaded = HashedNeighbors.load(path, mmap=True)
    assert loaded.n_bytes_per_item_ == 4 + terms
    for mine, theirs in zip(index.kneighbors(X[:9]), loaded.kneighbors(X[:9])):
        assert_array_equal(mine, theirs)


def test_a_folder_of_others_is_left_alone(path):
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="no folder that `save` has written"):
        HammingNeighbors().fit([[0, 1]]).save(path)
    assert [each.name for each in path.iterdir()] == ["notes.txt"]
    with pytest.raises(FileNotFoundError):
        HammingNeighbors.load(path)


@each_mmap
@pytest.mark.parametrize("name", ["words.npy", "targets.npy"])
def test_a_truncated_file_is_refused(name, mmap, path):
    HammingNeighbors().fit(np.eye(200, dtype=int), np.arange(200)).save(path)
    file = data_of(path) / name
    content = file.read_bytes()
    for length in (0, 5, 100, len(content) - 1):
        file.write_bytes(content[:length])
        with pytest.raises(ValueError, match="save it anew"):
            HammingNeighbors.load(path, mmap=mmap)
    file.unlink()
    with pytest.raises(ValueError, match="save it anew"):
        HammingNeighbors.load(path, mmap=mmap)


def change_header(**changes):
    def change(path):
        header = json.loads((path / "index.json").read_text()) | changes
        (path / "index.json").write_text(json.dumps(header))

    return change


def change_array(name, function):
    def change(path):
        file = data_of(path) / f"{name}.npy"
        np.save(file, function(np.load(file)))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_header(version=5), "has version 5 of the format"),
        (change_header(format="other"), "no folder that `save`"),
        (change_header(kind="Other"), "was saved by Other; load it by that class"),
        (change_header(n_bits=40), "save it anew"),
        (change_header(n_bits="11"), "save it anew"),
        (change_header(n_samples=3), "save it anew"),
        (change_header(bitorder="big"), "contradict each other.*bitorder"),
        (change_header(shapes={"words": [2, 2]}), "contradict each other"),
        (change_header(shapes={}), "lacks or misstates"),
        (change_header(params=7), "save it anew"),
        (change_header(feature_names=["a"]), "feature_names"),
        (change_header(affinity=None), "targets"),
        (change_array("words", lambda words: words | 0x8000), "words"),
        (change_array("words", lambda words: words.astype(np.float32)), "words"),
        (change_array("words", lambda words: words[:, :3]), "contradict"),
        (change_array("numbers", lambda numbers: numbers[::-1].copy()), "numbers"),
        (change_array("numbers", lambda numbers: numbers + 2), "numbers"),
        (change_array("ids_values", lambda ids: ids.astype(float)), "ids"),
        (change_array("ids_order", lambda order: order + 1), "ids"),
        (change_array("given", lambda terms: terms * np.nan), "terms"),
        (change_array("given", lambda terms: terms.astype(float)), "terms"),
        (change_array("targets", lambda targets: targets[:4]), "contradict"),
        (change_array("targets", lambda targets: targets.astype(object)), "save it anew"),
    ],
)
def test_what_contradicts_itself_is_refused(change, message, path):
    from sklearn_talr.codes import PackedCodes, pack_codes

    codes = pack_codes(random_codes(np.random.default_rng(0), 8, 11))
    codes = PackedCodes(codes.data, 11, terms=np.ones((8, 1)))
    index = WeightedHammingNeighbors().fit(codes, np.arange(8), ids=range(8))
    index.remove([3]).save(path)
    change(path)
    for mmap in (False, True):
        with pytest.raises(ValueError, match=message):
            WeightedHammingNeighbors.load(path, mmap=mmap)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ids_octets", lambda octets: octets[:-1]),
        ("ids_octets", lambda octets: octets.astype(np.int16)),
        ("ids_offsets", lambda offsets: offsets[::-1].copy()),
        ("ids_offsets", lambda offsets: offsets + 1),
        ("ids_offsets", lambda offsets: offsets[:-1]),
        ("ids_offsets", lambda offsets: offsets.astype(float)),
        ("ids_slots", lambda slots: slots + 1),
        ("ids_slots", lambda slots: slots - 1),
        ("ids_slots", lambda slots: slots[:0]),
    ],
)
def test_damaged_strings_are_refused(name, change, path):
    index = HammingNeighbors().fit(np.eye(8), ids=[f"item {i}" for i in range(8)])
    index.save(path)
    change_array(name, change)(path)
    header = json.loads((path / "index.json").read_text())
    shape = np.load(data_of(path) / f"{name}.npy").shape
    change_header(shapes=header["shapes"] | {name: list(shape)})(path)
    for mmap in (False, True):
        with pytest.raises(ValueError, match=r"contradict each other: ids\."):
            HammingNeighbors.load(path, mmap=mmap)


def test_a_wrong_table_of_ids_finds_no_wrong_ones(path):
    names = [f"item {i}" for i in range(8)]
    HammingNeighbors(1).fit(np.eye(8), ids=names).save(path)
    change_array("ids_slots", lambda slots: np.zeros_like(slots))(path)
    loaded = HammingNeighbors.load(path)
    assert loaded.ids_.tolist() == names
    assert loaded.kneighbors(np.eye(8)[3:4])[1].tolist() == [["item 3"]]
    with pytest.raises(ValueError, match=r"indices contains \['item 3'\]"):
        loaded.remove(["item 3"])


@each_mmap
def test_an_id_may_be_empty(mmap, path):
    HammingNeighbors(1).fit([[0, 1]], ids=[""]).save(path)
    loaded = HammingNeighbors.load(path, mmap=mmap)
    assert loaded.add([[1, 1]], ids=["a"]).ids_.tolist() == ["", "a"]
    assert loaded.remove([""]).ids_.tolist() == ["a"]


def test_an_error_while_saving_leaves_the_old_folder(path, monkeypatch):
    HammingNeighbors().fit(np.eye(9, dtype=int)).save(path)
    before = sorted(path.rglob("*"))
    calls = []

    def fail_late(file):
        calls.append(file)
        if len(calls) == 2:
            raise OSError("No space left on device")

    monkeypatch.setattr(_files, "_flush", fail_late)
    with pytest.raises(OSError, match="No space left"):
        HammingNeighbors().fit([[0, 1]], [1]).save(path)
    assert sorted(path.rglob("*")) == before
    assert HammingNeighbors.load(path).n_items_ == 9


# Adds, removes and saves until it is killed, again and again. What is read afterwards is
# the state of the last save that was reported, or of the next, with the codes of its ids.
KILLED = """
import os, random, signal, sys, time
from itertools import count
import numpy as np
from sklearn_talr.neighbors import HammingNeighbors

def ids_of(step):
    names = [(i, j) for i in range(step + 1) for j in range(3)]
    return [f"{i}/{'x' * (i % 7)}{j}" for i, j in names if j or i > step - 2]

def codes_of(ids):
    numbers = [10 * int(name.split("/")[0]) + int(name[-1]) for name in ids]
    return (np.array(numbers)[:, None] >> np.arange(16)) & 1

def change(index, step):
    if step > 1:
        index.remove(f"{step - 2}/{'x' * ((step - 2) % 7)}0")
    new = ids_of(step)[-3:]
    return index.add(codes_of(new), ids=new)

path, n_kills = sys.argv[1], int(sys.argv[2])
change(HammingNeighbors(), 0).save(path)
last = 0
for _ in range(n_kills):
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        index = HammingNeighbors.load(path)
        for step in count(last + 1):
            change(index, step).save(path)
            os.write(theirs, b".")
    time.sleep(random.random() / 10)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(theirs)
    reported = last + len(os.read(ours, 9_999))
    os.close(ours)
    index = HammingNeighbors.load(path)
    ids = index.ids_.tolist()
    [last] = [step for step in (reported, reported + 1) if ids == ids_of(step)]
    assert np.array_equal(index.codes_, codes_of(ids))
    assert index.remove(ids[1:]).ids_.tolist() == ids[:1]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("n_kills", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_a_kill_at_any_moment_leaves_a_whole_state(path, n_kills):
    command = [sys.executable, "-c", KILLED, path, str(n_kills)]
    subprocess.run(command, capture_output=True, text=True, check=True)
    for left in path.glob("data-*"):
        os.utime(left, (0, 0))  # of a save that cannot be going on
    HammingNeighbors().fit([[0, 1]]).save(path)
    assert len(list(path.glob("data-*"))) == 1


def while_it_works(monkeypatch, name, path):
    """Have an index of 5 items saved by another process in the middle of a step."""
    step, others = getattr(_files, name), [HammingNeighbors().fit(np.eye(5, dtype=int))]

    def disturbed(*arguments):
        if others:
            others.pop().save(path)
        return step(*arguments)

    monkeypatch.setattr(_files, name, disturbed)


@pytest.mark.parametrize("times", [1, 2])
def test_two_saves_at_once_leave_one_of_both(path, monkeypatch, times):
    for _ in range(times):
        while_it_works(monkeypatch, "_flush", path)
        HammingNeighbors().fit(np.eye(9, dtype=int)).save(path)
        assert HammingNeighbors.load(path).n_items_ == 9


def test_a_reader_finds_what_is_saved_meanwhile(path, monkeypatch):
    HammingNeighbors().fit(np.eye(9, dtype=int)).save(path)
    while_it_works(monkeypatch, "_load", path)
    assert HammingNeighbors.load(path).n_items_ == 5


def test_an_interrupt_after_the_last_step_loses_nothing(path, monkeypatch):
    replace = os.replace

    def interrupted(*names):
        replace(*names)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        HammingNeighbors().fit(np.eye(9, dtype=int)).save(path)
    assert HammingNeighbors.load(path).n_items_ == 9
