"""Judged texts as tasks of mteb: by its floats, and by codes behind its search backend.

    python benchmarks/bench_mteb.py                # SciFact, Cranfield, CISI: minutes
    python benchmarks/bench_mteb.py --tables       # what is measured, as Markdown

Nothing is downloaded: the texts of a task are numbers of rows of SKLEARN_TALR_DATA, and the
encoder returns these rows. mteb (``pip install mteb``) searches by its own product of
floats, or passes embeddings to `HashedSearchBackend`. Scores are those that mteb reports
of the best hundred documents. Its predictions are saved and evaluated again: in the worst
and the best order of tied documents, and in the mean over all orders. A tie that goes on
beyond the hundredth document is cut there, by the order of the index.

*bytes* are those of the memory of the index for a document, identifiers included, or four
for each number. Every backend is a row of a CSV file, ``--csv``, and is not measured again.
"""

import argparse
import json
import time
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import mteb
import numpy as np
import torch
from _judged_tables import TITLES
from _judged_texts import SETS, load
from bench_unseen import append, read
from datasets import Dataset
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.models import ModelMeta, SearchEncoderWrapper

from sklearn_talr.hashing import AdditiveHasher, ITQHasher
from sklearn_talr.neighbors import HashedNeighbors, HashedSearchBackend
from sklearn_talr.runs import evaluate_run

KEY = ["data", "backend", "seed"]
OF_TIES = ["worst", "expected", "best"]
FIELDS = [*KEY, "bytes", "ndcg_at_10", "recall_at_100", *OF_TIES, "seconds"]


def backends(seed):
    """Backends by name; None is mteb's own search."""
    hashers = {
        f"{name}, {n_bits} bits": make(n_bits, random_state=seed)
        for (name, make), n_bits in product(
            {"additive": partial(AdditiveHasher, word_size=1), "ITQ": ITQHasher}.items(),
            (128, 256),
        )
    }
    found = {name: HashedNeighbors(hasher) for name, hasher in hashers.items()}
    found["ITQ, 128 bits, 100 rescored"] = HashedNeighbors(
        hashers["ITQ, 128 bits"], n_rescored=100, rescore_metric="inner_product"
    )
    return {"floats": None} | {name: HashedSearchBackend(of) for name, of in found.items()}


class Rows:
    """Encoder of mteb: a text is the name of a row."""

    def __init__(self, texts):
        self.rows = {"d": texts.documents, "q": texts.queries}
        meta = {"name": "local/rows", "revision": "1"}
        self.mteb_model_meta = ModelMeta.create_empty(meta)

    def encode(self, inputs, **kwargs):
        names = [text.strip() for batch in inputs for text in batch["text"]]
        return np.array([self.rows[name[0]][int(name[1:])] for name in names])

    def similarity(self, embeddings1, embeddings2):
        return torch.as_tensor(embeddings1) @ torch.as_tensor(embeddings2).T

    def similarity_pairwise(self, embeddings1, embeddings2):
        return (torch.as_tensor(embeddings1) * torch.as_tensor(embeddings2)).sum(axis=1)


def local_task(data, texts):
    """A task of mteb, and its judgments."""
    documents, queries = (
        [{"id": f"{kind}{i}", "text": f"{kind}{i}"} for i in range(len(rows))]
        for kind, rows in (("d", texts.documents), ("q", texts.queries))
    )
    judged = {
        query["id"]: {f"d{i}": 1 for i in np.flatnonzero(row)}
        for query, row in zip(queries, texts.relevant)
    }

    class Local(AbsTaskRetrieval):
        k_values = (1, 10, 100)
        metadata = mteb.TaskMetadata(
            dataset={"path": "local", "revision": "1"},
            name=data,
            description="Rows of an array",
            type="Retrieval",
            eval_langs=["eng-Latn"],
            main_score="ndcg_at_10",
        )

        def load_data(self, **kwargs):
            parts = {"relevant_docs": judged, "top_ranked": None}
            parts |= {
                "corpus": Dataset.from_list([row | {"title": ""} for row in documents]),
                "queries": Dataset.from_list(queries),
            }
            self.dataset = {"default": {"test": parts}}
            self.data_loaded = True

    return Local(), judged


def measure(data, name, seed):
    """A row of the CSV file."""
    texts = load(data)
    task, judged = local_task(data, texts)
    backend = backends(seed)[name]
    model = SearchEncoderWrapper(Rows(texts), index_backend=backend)
    options = {"cache": None, "co2_tracker": False, "show_progress_bar": False}
    start = time.process_time()
    with TemporaryDirectory() as folder:
        result = mteb.evaluate(model, task, prediction_folder=folder, **options)
        (path,) = Path(folder).rglob("*predictions.json")
        run = json.loads(path.read_text())["default"]["test"]
    seconds = round(time.process_time() - start, 1)
    (scores,) = result.task_results[0].scores["test"]
    ties = evaluate_run(judged, run, "nDCG@10").means["nDCG@10"]
    floats = 4 * texts.documents.shape[1]
    n_bytes = floats if backend is None else backend.n_bytes_per_item_
    if "rescored" in name:
        n_bytes += floats
    numbers = (
        *(scores[column] for column in ("ndcg_at_10", "recall_at_100")),
        *(ties[order] for order in OF_TIES),
    )
    return data, name, seed, round(n_bytes, 1), *(round(x, 5) for x in numbers), seconds


def print_table(rows):
    """Means over seeds, and what the order of ties makes of them."""
    print("| backend | bytes | " + " | ".join(TITLES.values()) + " |")
    print("|---" * (len(TITLES) + 2) + "|")
    for name in dict.fromkeys(row["backend"] for row in rows):
        cells = []
        for data in TITLES:
            mine = [row for row in rows if (row["backend"], row["data"]) == (name, data)]
            score, worst, best = (
                np.mean([float(row[key]) for row in mine] or [np.nan])
                for key in ("ndcg_at_10", "worst", "best")
            )
            cells.append(f"{score:.3f} ({worst:.3f} to {best:.3f})")
        n_bytes = np.mean([float(row["bytes"]) for row in rows if row["backend"] == name])
        print(f"| {name} | {n_bytes:.0f} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    path = Path(__file__).parent / "results" / "mteb.csv"
    parser.add_argument("--csv", type=Path, default=path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--backends", nargs="+", default=list(backends(0)))
    parser.add_argument("--seeds", nargs="+", type=int, default=(0, 1, 2))
    parser.add_argument("--tables", action="store_true")
    args = parser.parse_args()
    asked = () if args.tables else product(args.seeds, args.sets, args.backends)
    for seed, data, name in asked:
        known = [[row[key] for key in KEY] for row in read(args.csv)]
        is_drawn = name != "floats" or seed == 0
        if is_drawn and [data, name, str(seed)] not in known:
            append(args.csv, [measure(data, name, seed)], FIELDS)
    print_table(read(args.csv))


if __name__ == "__main__":
    main()
