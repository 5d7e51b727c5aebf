"""Benchmark splits, on made-up files of the same form."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def load_benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("benchmark_sets").load_benchmark


@pytest.fixture
def data_home(tmp_path):
    """Files of the right names, with features that are far from centered."""
    rng = np.random.default_rng(0)
    files = {"cifar10_cnn512": "y", "coco17_cnn512": "Y", "tmc2007": "Y"}
    for file, target in [*files.items(), ("scenes_gist512", None)]:
        n_samples = 7500
        X = (rng.standard_normal((n_samples, 6)) + 3).astype(np.float16)
        targets = {
            None: {},
            "y": {"y": (np.arange(n_samples) % 10).astype(np.uint8)},
            "Y": {"Y": rng.integers(2, size=(n_samples, 4), dtype=np.uint8)},
        }[target]
        np.savez(tmp_path / f"{file}.npz", X=X, **targets)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("cifar10", LabelAffinity),
        ("coco17", SharedLabelAffinity),
        ("tmc2007", SharedLabelAffinity),
        ("scenes", ThresholdAffinity),
    ],
)
def test_protocol(name, oracle, data_home, load_benchmark):
    data = load_benchmark(name, 0, data_home=data_home)
    assert isinstance(data.affinity, oracle)
    assert len(data.X_query) + len(data.X_database) == 7500
    assert len(data.X_query) == (1000 if name == "cifar10" else 2000)
    assert len(data.X_train) == 5000
    for part in ("train", "query", "database"):
        X, y = data[f"X_{part}"], data[f"y_{part}"]
        assert len(X) == len(y)
        assert X.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-5)
    assert np.abs(data.X_train.mean(axis=0)).max() < 0.03  # 0.4 if it were not centered
    database = {row.tobytes() for row in data.X_database}
    assert all(row.tobytes() in database for row in data.X_train)
    assert not any(row.tobytes() in database for row in data.X_query)


def test_missing_folder_file_or_name(load_benchmark, monkeypatch, tmp_path):
    monkeypatch.delenv("SKLEARN_TALR_DATA", raising=False)
    with pytest.raises(ValueError, match="SKLEARN_TALR_DATA"):
        load_benchmark("cifar10")
    with pytest.raises(FileNotFoundError):
        load_benchmark("cifar10", data_home=tmp_path)
