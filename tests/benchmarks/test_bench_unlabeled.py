"""The runner for rows without labels: expected affinities, their loss, that it goes on."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch

from sklearn_talr.losses import TieAwareLoss

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("bench_unlabeled")


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("softened", [0, 0.5])
def test_affinity_is_the_probability_of_something_shared(bench, several, softened):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=5)
    labels = np.eye(3)[[0, 0]]
    affinity = bench.ExpectedAffinity(p, labels, softened, several)
    rows = np.array([4, 1, 3, 0])
    level = affinity(rows, rows)
    for i, j in np.ndindex(4, 4):
        a, b = rows[i], rows[j]
        expected = 1 - np.prod(1 - p[a] * p[b]) if several else p[a] @ p[b]
        if max(a, b) < 2:
            expected = softened * expected + (1 - softened)
        assert abs(level[i, j] - (bench.N_LEVELS - 1) * expected) < 0.501


def test_sure_affinities_cost_what_labels_cost(bench):
    rng = np.random.default_rng(0)
    activations = torch.from_numpy(rng.normal(size=(20, 6)))
    y = torch.from_numpy(rng.integers(3, size=20))
    index = (y[:, None] == y).to(torch.uint8) * (bench.N_LEVELS - 1)
    loss = bench.expected_loss(torch.tanh(activations.float()), index)
    torch.testing.assert_close(loss, TieAwareLoss()(activations.float(), y))


@pytest.mark.parametrize("several", [False, True])
def test_calibration_undoes_a_temperature(bench, several):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), size=2000)
    true = rng.random(p.shape) < p if several else rng.multinomial(1, p)
    heated = bench.at_temperature(p, 3, several)
    again, _ = bench.calibrated([heated, heated], true, several)
    assert np.abs(again - p).mean() < 0.02 < np.abs(heated - p).mean()


def test_runs_and_goes_on(bench, monkeypatch, tmp_path, capsys):
    path = tmp_path / "unlabeled.csv"
    monkeypatch.setitem(bench.N_LABELED, "digits", 100)
    monkeypatch.setattr(bench, "settings", lambda *_: {"max_iter": 2})
    command = ["bench_unlabeled.py", "--csv", str(path), "--sets", "digits", "--seeds", "0"]
    contenders = ["labeled only", "probabilities", "labeled only, two stages"]
    monkeypatch.setattr(sys, "argv", [*command, "--contenders", *contenders])
    bench.load.cache_clear()
    bench.main()
    rows = bench.read(path)
    assert [row["n_trained"] for row in rows] == ["100", "1618", "100"]
    assert all(0.2 < float(row["ap"]) < 1 for row in rows)
    assert "| probabilities | 0." in capsys.readouterr().out
    monkeypatch.setattr(bench, "measure", None)  # all is measured
    bench.main()
    assert bench.read(path) == rows
