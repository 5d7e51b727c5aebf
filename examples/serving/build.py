"""Make the folder that ``app.py`` serves, from embeddings and what belongs to each.

    python build.py embeddings.npy items.jsonl data

Line i of ``items.jsonl`` is a JSON object with the "id" of row i; the rest of the object is
its metadata. :doc:`/user_guide/deploy` explains it.
"""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
from sklearn.frozen import FrozenEstimator

from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import HashedNeighbors

N_BITS, ROWS_TO_FIT, ROWS_PER_BLOCK = 256, 20_000, 10_000


def build(embeddings, items, folder, n_bits=N_BITS):
    """Write an index and a catalog; a row of `embeddings` for each dict of `items`."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    n_fitted = min(len(embeddings), ROWS_TO_FIT)
    sample = np.sort(rng.choice(len(embeddings), n_fitted, replace=False))
    hasher = AdditiveHasher(n_bits, random_state=0).fit(embeddings[sample])
    index = HashedNeighbors(FrozenEstimator(hasher))
    for start in range(0, len(embeddings), ROWS_PER_BLOCK):
        index.partial_fit(embeddings[start : start + ROWS_PER_BLOCK])
    index.save(folder / "index-1.npz")
    with closing(sqlite3.connect(folder / "catalog.db")) as catalog, catalog:
        catalog.execute(
            "CREATE TABLE items (place INTEGER PRIMARY KEY, id TEXT UNIQUE, metadata TEXT)"
        )
        catalog.executemany(
            "INSERT INTO items VALUES (?, ?, ?)",
            (
                (
                    place,
                    item["id"],
                    json.dumps({k: v for k, v in item.items() if k != "id"}),
                )
                for place, item in enumerate(items)
            ),
        )
        catalog.execute("PRAGMA user_version = 1")


if __name__ == "__main__":
    embeddings, items, folder = map(Path, sys.argv[1:])
    lines = items.read_text(encoding="utf-8").splitlines()
    build(np.load(embeddings, mmap_mode="r"), map(json.loads, lines), folder)
