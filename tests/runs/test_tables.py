"""Keys of rows: secret, so that nobody can make many equal, and in no result."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import run_cases
from numpy.testing import assert_array_equal

from sklearn_talr.runs import Qrels, Run, evaluate_run

# Documents whose keys have the same highest bits in the process that runs this
CRAFT = """
import numpy as np
from sklearn_talr.runs import Run

documents = [f"d{i}" for i in range(100_000)]
table = Run({"q": dict.fromkeys(documents, 1.0)}).table
bucket = table.keys >> np.uint64(64 - 7)
print(*np.array(documents)[bucket == bucket[0]])
"""


def keys_of(documents):
    return Run({"q": dict.fromkeys(documents, 1.0)}).table.keys


def test_no_file_can_make_keys_collide():
    """What shares a slot elsewhere is spread here, so that a search stays short."""
    command = [sys.executable, "-c", CRAFT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    crafted = done.stdout.split()
    assert len(crafted) > 500
    counts = np.bincount((keys_of(crafted) >> np.uint64(64 - 7)).astype(int))
    assert counts.max() < 50


@pytest.mark.parametrize(
    "documents",
    [
        [f"{a}{'x' * 7}{b}{'x' * 7}" for a in map(chr, range(65, 127)) for b in "abcdefgh"],
        ["".join("\x01\udc81"[i >> j & 1] + "x" * 7 for j in range(9)) for i in range(512)],
        ["".join("aq"[i >> j & 1] * 8 for j in range(9)) for i in range(512)],
        [f"{i:064b}" for i in range(512)],
        ["x" * (8 * i + 1) for i in range(100)],
    ],
    ids=["first bytes", "highest bits", "words", "numbers", "lengths"],
)
def test_documents_of_one_pattern_have_keys_of_their_own(documents):
    """Differences that a mere multiplication would not carry to other bits."""
    assert len(np.unique(keys_of(documents))) == len(documents)


def test_equal_documents_have_equal_keys_beside_longer_ones():
    """Rows are then wider, by words of zeros."""
    short = ["a", "abcdefgh", "abcdefghi"]
    assert_array_equal(keys_of([*short, "x" * 1_000])[:3], keys_of(short))


def test_queries_are_part_of_the_key():
    table = Run({query: {"d": 1.0} for query in "abc"}).table
    assert len(np.unique(table.keys)) == 3


READ = """
import pickle
import sys
from sklearn_talr.runs import evaluate_run

with open(sys.argv[1], "rb") as file:
    qrels, run = pickle.load(file)
evaluation = evaluate_run(qrels, run, ["AP", "nDCG@10"])
print(evaluation.to_dict(per_query=True))
"""


def test_pickles_have_no_keys_and_are_read_in_other_processes(tmp_path):
    qrels, run = run_cases.random_run(0, n_queries=20, n_scores=5)
    qrels, run = Qrels(qrels), Run(run)
    expected = evaluate_run(qrels, run, ["AP", "nDCG@10"]).to_dict(per_query=True)
    for data in (qrels, run):
        assert len(pickle.dumps(data)) < 24 * len(data.table) + 2_000
    (tmp_path / "pickled").write_bytes(pickle.dumps((qrels, run)))
    command = [sys.executable, "-c", READ, str(tmp_path / "pickled")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(expected)
