"""The script for a GPU runs without one, in small, and goes on where it stopped."""

import sys
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    return import_module("bench_gpu")


def test_all_parts_in_small(bench, monkeypatch, tmp_path, capsys):
    path = tmp_path / "gpu.csv"
    arguments = ["bench_gpu", "--device", "cpu", "--quick", "--csv", str(path)]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr("bench_many_rows.N_ITEMS", 1000)
    # Whether a process of pytest begins is not tested: it takes seconds.
    outcome = CompletedProcess([], 0, stdout="9 skipped in 1 s\n")
    monkeypatch.setattr(bench.subprocess, "run", lambda command, **how: outcome)
    bench.main()
    rows = bench.Store(path, ["device", "part", "line", "quantity"], ["value"]).rows()
    assert {row["device"] for row in rows} == {"CPU"}
    figures = {(row["part"], row["line"], row["quantity"]): row["value"] for row in rows}
    assert figures["tests", "pytest -m gpu", "outcome"] == "9 skipped in 1 s"
    for batch in (64, 128):
        of_engines = [
            float(figures["steps", f"{engine} engine, batch of {batch}", "AP"])
            for engine in ("host", "torch")
        ]
        assert of_engines[0] == pytest.approx(of_engines[1], abs=0.05)
    assert len([key for key in figures if key[0] == "fit"]) == 6
    capsys.readouterr()
    bench.main()
    assert capsys.readouterr().out == ""


def test_a_gpu_is_asked_for_by_default(bench, monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["bench_gpu"])
    with pytest.raises(SystemExit):
        bench.main()
    assert "--device cpu --quick" in capsys.readouterr().err
