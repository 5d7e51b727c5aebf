"""The runner of late interaction: its contenders find the same, and its file is read."""

import csv
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    bench = import_module("bench_maxsim")
    for name, value in (("BITS", (16,)), ("CODES", {"single bits": 1}), ("N_QUERIES", 3)):
        monkeypatch.setattr(bench, name, value)
    return bench


def test_loops_and_blocks_have_the_same_scores(bench):
    tokens, queries = bench.draw_tokens(60, np.random.default_rng(0))
    assert tokens.shape == (60 * bench.N_TOKENS, bench.N_FEATURES)
    query = queries[: bench.N_QUERY_TOKENS]
    expected = bench.float_loop(query, tokens)
    np.testing.assert_allclose(bench.float_blocks(query, tokens), expected, rtol=1e-5)


def test_every_contender_has_a_row(bench, tmp_path, capsys):
    bench.measure_all(30, tmp_path / "maxsim.csv")
    with open(tmp_path / "maxsim.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [row["contender"] for row in rows]
    assert len(names) == len(set(names)) >= 5
    assert all(float(row["ms"]) > 0 for row in rows)
    bench.print_table(tmp_path / "maxsim.csv")
    assert "decoding loop" in capsys.readouterr().out
