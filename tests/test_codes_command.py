"""The command that tells which codes suit the embeddings of a file."""

import re

import numpy as np
import pytest
from scipy.io import savemat

from sklearn_talr.commands import codes as command

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 16)).astype(np.float32)
Y = np.arange(300) % 3


def write(path):
    """The rows as `path` says, beside labels y where a file can hold both."""
    kind = path.suffix
    if kind == ".npy":
        np.save(path, X)
    elif kind == ".npz":
        np.savez(path, X=X, y=Y)
    elif kind == ".parquet":
        pandas = pytest.importorskip("pandas")
        columns = {f"x{i}": column for i, column in enumerate(X.T)}
        columns = {"row": list(X)} if path.stem == "lists" else columns
        pandas.DataFrame(columns | {"y": Y}).to_parquet(path)
    elif kind == ".mat":
        savemat(path, {"X": X, "y": Y})
    elif kind == ".fvecs":
        rows = np.concatenate([np.full((300, 1), 16, np.int32).view(np.float32), X], axis=1)
        path.write_bytes(rows.astype("<f4").tobytes())
    elif kind == ".bvecs":
        octets = np.repeat(np.array([[16, 0, 0, 0]], np.uint8), 300, axis=0)
        path.write_bytes(np.hstack([octets, np.uint8(X * 40 + 128)]).tobytes())
    else:
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            file["deep/X"], file["y"] = X, Y
    return path


NAMES = ["a.npy", "a.npz", "a.parquet", "lists.parquet", "a.mat", "a.fvecs", "a.bvecs"]


@pytest.mark.parametrize("name", [*NAMES, "a.h5"])
def test_rows_and_labels_of_all_formats(name, tmp_path):
    path, labels = write(tmp_path / name), "y"
    if path.suffix in (".npy", ".fvecs", ".bvecs"):
        labels = tmp_path / "labels.txt"
        labels.write_text("\n".join(map(str, Y)))
    found, of_found = command.read_features(path, labels=str(labels))
    rows = np.uint8(X * 40 + 128).astype(np.float32) if path.suffix == ".bvecs" else X
    places = [np.flatnonzero((row == rows).all(axis=1))[0] for row in found]
    assert sorted(places) == list(range(300))
    assert of_found.astype(int).tolist() == Y[places].tolist()
    assert command.read_features(path)[1] is None


def test_ids_and_labels_are_no_features(tmp_path):
    pandas = pytest.importorskip("pandas")
    whole = {f"x{i}": column for i, column in enumerate(np.int64(X * 40).T)}
    pandas.DataFrame(whole | {"y": Y}).to_parquet(tmp_path / "whole.parquet")
    found, _ = command.read_features(tmp_path / "whole.parquet", labels="y")
    assert found.shape == (300, 16)
    columns = {"id": np.arange(300), "name": list("abc") * 100}
    columns |= {f"x{i}": column for i, column in enumerate(X.T)}
    pandas.DataFrame(columns).to_parquet(tmp_path / "ids.parquet")
    assert command.read_features(tmp_path / "ids.parquet")[0].shape == (300, 16)


def test_files_of_matlab_7_3_have_columns_first(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "new.mat", "w", userblock_size=512) as file:
        file["X"] = X.T
        file["X"].attrs["MATLAB_class"] = np.bytes_("single")
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    with open(tmp_path / "new.mat", "r+b") as file:
        file.write(header)
    found, _ = command.read_features(tmp_path / "new.mat")
    assert sorted(found[:, 0]) == sorted(X[:, 0])


def test_what_is_no_table_of_features_is_refused(tmp_path, capsys):
    path = tmp_path / "two.npz"
    np.savez(path, a=X, b=X[:, :4], c=Y)
    wrong = np.full_like(X, np.nan)
    np.save(tmp_path / "nan.npy", wrong)
    np.save(tmp_path / "few.npy", X[:9])
    (tmp_path / "cut.fvecs").write_bytes(write(tmp_path / "a.fvecs").read_bytes()[:-4])
    (tmp_path / "a.txt").write_text("1 2")
    for argv, message in {
        ("two.npz",): "has a (300, 16), b (300, 4), c (300,). Choose a table of numbers",
        ("two.npz", "--array", "c"): "Choose a table of numbers with --array",
        ("nan.npy",): "must have at least 100 rows of finite numbers",
        ("few.npy",): "must have at least 100 rows of finite numbers",
        ("cut.fvecs",): "does not have rows of equal length",
        ("a.txt",): "must be a file of features: .npy",
        ("gone.npy",): "No such file",
    }.items():
        assert command.main([str(tmp_path / argv[0]), *argv[1:]]) == 1
        assert message in capsys.readouterr().err
    assert command.read_features(path, "b")[0].shape == (300, 4)


def test_rows_are_centered_and_of_unit_length_under_the_cosine_alone():
    for metric, is_unit in (("cosine", True), ("euclidean", False)):
        parts = command.split(X + 3, metric)
        assert [len(part) for part in parts] == [100, 100, 100]
        for part in parts:
            assert np.allclose(np.linalg.norm(part, axis=1), 1, atol=1e-6) == is_unit
    cosine = command.split(X + 3, "cosine")[1]
    assert np.abs(cosine.mean(axis=0)).max() < 0.2


def test_what_it_prints(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "SIZES", (2, 4))
    monkeypatch.setattr(command, "find_spec", lambda name: name != "faiss")
    path = write(tmp_path / "mine.npz")
    assert command.main([str(path), "--labels", "y"]) == 0
    printed = capsys.readouterr().out
    assert "100 queries, 100 items, 100 rows to fit" in printed
    assert "TALRHasher(random_state=0)  # 4 bytes: bits 0." in printed
    table = [line.split() for line in printed.splitlines()]
    rows = [line for line in table if line[:1] in (["2"], ["4"])]
    assert len(rows) == 2 * 3
    best = max(rows[:3], key=lambda row: float(row[1]))
    assert rows[2] == best
    lines = printed.split("each size:")[1]
    made = re.findall(r"^(\w+)\(.*\)  # (\d) bytes$", lines, flags=re.M)
    assert made[0] == (best[4].strip(","), "2")
    assert (tmp_path / "mine_recall.png").stat().st_size
    assert command.main([str(path), "--minutes", "0"]) == 0
    assert "AdditiveHasher, 4 bytes: skipped, time limit" in capsys.readouterr().out
