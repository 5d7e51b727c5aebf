"""The examples run from a clean directory and leave their pictures."""

import io
import os
import re
import runpy
import subprocess
import sys
from contextlib import redirect_stdout
from functools import cache, partial
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCS = EXAMPLES.parent / "docs"
STYLE = mpl.rc_params_from_file(DOCS / "talr.mplstyle", use_default_template=False)
METHODS = ("signs", "ITQ", "TALR", "additive")
# `make docs` runs all examples on every change. So examples that take longer than five
# seconds, and whose numbers no test compares, are marked slow, or see fewer digits.
SLOWLY = partial(pytest.param, marks=pytest.mark.slow)
STEPS = {
    "beyond_hashing/plot_ranking_svm.py": 4,
    "first_steps/plot_quickstart.py": 3,
}


def load_some_digits(step, **options):
    """Every so many-th of the digits."""
    return tuple(array[::step] for array in load_digits(**options))


def run(script, folder):
    """Run an example as a user does, but without warnings; returns what it printed."""
    threads = torch.get_num_threads()
    printed = io.StringIO()
    with (
        mpl.rc_context(STYLE),
        pytest.MonkeyPatch.context() as patch,
        torch.random.fork_rng(devices=[]),
    ):
        patch.chdir(folder)
        patch.setenv("SKLEARN_TALR_DATA", "")
        patch.setattr(sys, "argv", [script])
        if script in STEPS:
            some_digits = partial(load_some_digits, STEPS[script])
            patch.setattr("sklearn.datasets.load_digits", some_digits)
        try:
            with redirect_stdout(printed):
                runpy.run_path(str(EXAMPLES / script), run_name="__main__")
        finally:
            torch.set_num_threads(threads)
            plt.close("all")
    return printed.getvalue()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Run each example once; returns its folder and what it printed."""

    @cache
    def run_once(script):
        folder = tmp_path_factory.mktemp(Path(script).stem)
        return folder, run(script, folder)

    return run_once


@pytest.mark.parametrize(
    ("script", "pictures"),
    [
        ("first_steps/plot_quickstart.py", ["quickstart.png"]),
        SLOWLY("papers/plot_labelme_protocol.py", ["labelme_protocol.png"]),
        (
            "ties_and_metrics/plot_displays.py",
            ["tie_breaking.png", "retrieval_curve.png", "radius.png"],
        ),
        ("papers/plot_ramap_tables.py", ["ramap_tables.png"]),
        ("beyond_hashing/plot_ranking_svm.py", ["ranking_svm.png"]),
        SLOWLY("beyond_hashing/plot_own_network.py", ["own_network.png"]),
        ("search/plot_weighted_queries.py", ["weighted_queries.png"]),
        ("search/plot_near_duplicates.py", ["near_duplicates.png", "pairs_found.png"]),
        SLOWLY("search/plot_fingerprints.py", ["fingerprints.png"]),
        ("beyond_hashing/plot_grouped_search.py", ["grouped_search.png"]),
        SLOWLY("ties_and_metrics/plot_quality_per_byte.py", ["quality_per_byte.png"]),
    ],
)
def test_example_leaves_its_pictures(script, pictures, finished):
    folder, _ = finished(script)
    assert {path.name for path in folder.iterdir()} == set(pictures)
    for picture in pictures:
        assert (folder / picture).stat().st_size > 10_000


@pytest.mark.slow
def test_cross_entropy_first_is_better_than_the_loss_alone(finished):
    _, printed = finished("beyond_hashing/plot_own_network.py")
    stages, warm, cold = (float(ap) for ap in re.findall(r"(0\.\d+)$", printed, re.M))
    assert min(stages, warm) > cold + 0.03


def test_weighted_queries_find_more(finished):
    """In short codes. In long ones of classes there is little left to find."""
    _, printed = finished("search/plot_weighted_queries.py")
    found = re.findall(r" (?:bits|weights) +(0\..*)", printed)
    rows = [np.array(row.split(), dtype=float) for row in found]
    assert len(rows) == 6
    for binary, weighted in zip(rows[::2], rows[1::2]):
        assert weighted[0] > binary[0]
        assert weighted.mean() > binary.mean()


def test_ramap_tables_show_what_the_paper_shows(finished):
    _, printed = finished("papers/plot_ramap_tables.py")
    for table in printed.split("Table")[1:]:
        lines = [line for line in table.splitlines() if "LSH" in line]
        rows = {(line[:10].strip(), line[10:22].strip()): line[22:] for line in lines}
        assert len(rows) == len(lines) > 0
        for (metric, method), values in rows.items():
            first = [float(value) for value in rows[metric, "LSH"].split()[:-1]]
            values = [float(value) for value in values.split()[: len(first)]]
            if method == "LSH" or metric == "buckets":
                continue
            if metric == "RAMAP":
                start = 0 if method == "LSHDE" else 1
                assert all(v < f for v, f in zip(values[start:], first[start:]))
            else:
                assert values == first


@pytest.mark.slow
def test_rescoring_finds_more_than_codes_alone(finished):
    pytest.importorskip("wordllama")
    folder, printed = finished("search/plot_text_embeddings.py")
    assert [path.name for path in folder.iterdir()] == ["text_embeddings.png"]
    lines = [line.split() for line in printed.splitlines()]
    rows = {line[0]: line[1:] for line in lines if line and line[0] in METHODS}
    assert len(rows) == 4
    for values in rows.values():
        recalls = [float(value) for value in values]
        assert recalls == sorted(recalls)
        assert recalls[-1] > 0.9
    assert float(rows["signs"][0]) < float(rows["ITQ"][0])
    assert float(rows["additive"][0]) > 0.7


@pytest.mark.slow  # losses/test_gathering.py has a quick test of both ways
def test_two_processes_train_one_network(tmp_path):
    """Averaging gradients and DistributedDataParallel are the same thing."""
    root = EXAMPLES.parent
    launch = "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"
    result = subprocess.run(
        [sys.executable, *launch, EXAMPLES / "beyond_hashing/train_on_several_devices.py"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    title, *lines = result.stdout.splitlines()
    assert title.startswith("2 processes")
    by_hand, parallel = (float(line.split()[-1]) for line in lines)
    assert by_hand == parallel > 0.8
