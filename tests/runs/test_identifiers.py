"""Identifiers that differ little or are alike, and data that other processes read."""

import numpy as np
import pytest

from sklearn_talr.runs import Qrels, Run, evaluate_run


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
def test_documents_of_one_pattern_are_told_apart(documents):
    """Each is judged in a query of its own, where all are ranked."""
    scores = {document: -float(rank) for rank, document in enumerate(documents, 1)}
    run = Run({f"q{i}": scores for i in range(0, len(documents), 9)})
    qrels = Qrels({query: {documents[int(query[1:])]: 1} for query in run.queries})
    ranks = np.arange(1, len(documents) + 1, 9)
    assert evaluate_run(qrels, run, "RR").expected[:, 0].tolist() == (1 / ranks).tolist()


def test_bytes_that_are_no_text_tie_in_the_order_of_bytes():
    """Where the order of the characters that stand for them is another."""
    bytes_in_order = [b"a", b"\x7f", b"\x80", b"\xc3\xa9", b"\xed\x95\x9c", b"\xff"]
    documents = [name.decode("utf-8", "surrogateescape") for name in bytes_in_order]
    assert documents != sorted(documents)
    run = Run({"q": dict.fromkeys(documents, 1.0)})
    assert list(run.to_dict()["q"]) == documents[::-1]
