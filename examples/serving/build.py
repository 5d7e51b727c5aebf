"""Create the folder that ``app.py`` serves, from embeddings and metadata.

    python build.py embeddings.npy items.jsonl data

Line i of ``items.jsonl`` is a JSON object with the "id" of row i. The other keys of the
object are its metadata. :doc:`/user_guide/deploy` explains the service.
"""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.frozen import FrozenEstimator

from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import HashedNeighbors

N_BITS = 256
ROWS_TO_FIT = 20_000
ROWS_PER_BLOCK = 10_000


def build(embeddings, lines, folder, n_bits=N_BITS):
    """Write an index and a catalog. Each line is the JSON of one row of `embeddings`."""
    if folder.exists():
        raise FileExistsError(f"{folder} exists already. Remove it, or pass another name.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent) as unfinished:
        new = Path(unfinished, "new")
        new.mkdir()
        ids = write_catalog(lines, new / "catalog.db")
        if len(ids) != len(embeddings):
            raise ValueError(
                f"There are {len(ids)} items and {len(embeddings)} rows of embeddings. "
                "Write one line for each row, in the same order."
            )
        write_index(embeddings, ids, new / "index-1", n_bits)
        new.rename(folder)


def write_catalog(lines, path):
    """Write ids and metadata of version 1, and return the ids."""
    ids = []
    with closing(sqlite3.connect(path)) as catalog, catalog:
        catalog.execute(
            "CREATE TABLE items (id TEXT PRIMARY KEY, since INTEGER, metadata TEXT)"
        )
        for number, line in enumerate(lines, 1):
            try:
                name, metadata = read_item(line)
                insert = "INSERT OR IGNORE INTO items VALUES (?, 1, json(?))"
                if catalog.execute(insert, (name, metadata)).rowcount == 0:
                    raise ValueError(f"the id {name!r} is in an earlier line")
                ids.append(name)
            except (ValueError, sqlite3.OperationalError) as error:
                reason = getattr(error, "msg", error)
                raise ValueError(f"line {number}: {reason}") from error
        catalog.execute("PRAGMA user_version = 1")
    return ids


def read_item(line):
    """Return the id of an item, and its metadata as JSON."""
    item = json.loads(line)
    name = item.pop("id", None) if isinstance(item, dict) else None
    if not isinstance(name, str) or not 1 <= len(name) <= 200 or "\0" in name:
        raise ValueError('expected an object with an "id" of 1 to 200 characters')
    return name, json.dumps(item, allow_nan=False)


def write_index(embeddings, ids, path, n_bits):
    """Fit a hasher to a sample of the rows, and write the codes of all rows."""
    n_rows = len(embeddings)
    rng = np.random.default_rng(0)
    sample = np.sort(rng.choice(n_rows, min(n_rows, ROWS_TO_FIT), replace=False))
    print(f"Fitting the hasher to {len(sample)} of {n_rows} rows", flush=True)
    hasher = AdditiveHasher(n_bits, verbose=True, random_state=0)
    index = HashedNeighbors(FrozenEstimator(hasher.fit(embeddings[sample])))
    for start in range(0, n_rows, ROWS_PER_BLOCK):
        rows = slice(start, start + ROWS_PER_BLOCK)
        index.add(embeddings[rows], ids=ids[rows])
        print(f"Encoded {index.n_items_} of {n_rows} rows", flush=True)
    index.save(path)


if __name__ == "__main__":
    embeddings, items, folder = map(Path, sys.argv[1:])
    try:
        # With newline="\n", other separators such as U+2028 do not end a line.
        with items.open(encoding="utf-8", newline="\n") as lines:
            build(np.load(embeddings, mmap_mode="r"), lines, folder)
    except (OSError, ValueError) as error:
        sys.exit(f"build.py: {error}")
