"""A search service: clients send vectors and get ids and metadata of the nearest items.

:doc:`/user_guide/deploy` explains the service. ``build.py`` creates the folder that it
serves.
"""

import asyncio
import json
import logging
import os
import re
import shutil
import sqlite3
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Annotated

import numpy as np
from fastapi import Body, FastAPI, HTTPException, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field

from sklearn_talr import warm_up
from sklearn_talr.neighbors import HashedNeighbors

# Settings, and the types of the values of a request
FOLDER = Path(os.environ.get("SEARCH_FOLDER", "data")).resolve()
MAX_BODY_BYTES = 2_000_000
# The bounds refuse NaN and infinite numbers.
Number = Annotated[float, Field(ge=-1e15, le=1e15)]
Vectors = Annotated[list[list[Number]], Field(min_length=1, max_length=100)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern="^[^\0]*$")]
Value = str | bool | int | Number


class Queries(BaseModel, extra="forbid"):
    """Body of a search request. A pair of values in `filter` is a range."""

    vectors: Vectors
    n_neighbors: Annotated[int, Field(ge=1, le=100)] = 10
    filter: Annotated[dict[str, Value | tuple[Value, Value]], Field(max_length=20)] = {}


class Items(BaseModel, extra="forbid"):
    """Body of a request to add items: a vector, an id, and metadata for each item."""

    vectors: Vectors
    ids: list[Name]
    metadata: list[dict]


# The catalog holds metadata in SQLite. Its user_version is the number of the newest index.
def open_catalog():
    uri = (FOLDER / "catalog.db").as_uri() + "?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None)


def newest(catalog):
    version = catalog.execute("PRAGMA user_version").fetchone()[0]
    return version, FOLDER / f"index-{version}"


# Readers: each worker maps the newest index, and checks every second for a newer index.
served = {"newest": (None, None)}


def refresh():
    with closing(open_catalog()) as catalog:
        version, path = newest(catalog)
    if version != served["newest"][0]:
        served["newest"] = version, HashedNeighbors.load(path, mmap=True)


@asynccontextmanager
async def lifespan(app):
    async def refresh_every_second():
        while True:
            await asyncio.sleep(1)
            try:
                await asyncio.to_thread(refresh)
            except Exception:
                logging.exception(
                    "The newest index could not be read. The older index stays in use."
                )

    warm_up()
    refresh()
    task = asyncio.create_task(refresh_every_second())
    yield
    task.cancel()


app = FastAPI(lifespan=lifespan)


def answer(content, status=200):
    return Response(json.dumps(content), status, media_type="application/json")


def as_rows(vectors):
    n_features = served["newest"][1].n_features_in_
    if any(len(vector) != n_features for vector in vectors):
        raise HTTPException(422, f"each vector must have {n_features} numbers")
    return np.array(vectors, dtype=np.float32)


@app.get("/health")
def health():
    version, index = served["newest"]
    return answer({"version": version, "n_items": index.n_items_})


# This statement selects the ids of the items whose metadata match every key of a filter.
# `since` leaves out items that the worker's index does not contain yet.
MATCHING_IDS = """
    WITH wanted AS MATERIALIZED (
        SELECT key, json_extract(value, '$[0]') AS low, json_extract(value, '$[1]') AS high
        FROM json_each(?)
    )
    SELECT id FROM items WHERE since <= ? AND (SELECT count(*) FROM wanted) = (
        SELECT count(*) FROM json_each(metadata) AS own JOIN wanted
        ON own.key = wanted.key AND own.atom BETWEEN low AND high
    )
"""

METADATA = """
    SELECT id, metadata FROM items
    WHERE since <= ? AND id IN (SELECT value FROM json_each(?))
"""


@app.post("/search")
def search(queries: Queries):
    rows = as_rows(queries.vectors)
    version, index = served["newest"]
    include = None
    n_allowed = index.n_items_
    with closing(open_catalog()) as catalog:
        if queries.filter:
            ranges = {
                key: value if isinstance(value, tuple) else (value, value)
                for key, value in queries.filter.items()
            }
            allowed = catalog.execute(MATCHING_IDS, [json.dumps(ranges), version])
            include = [name for (name,) in allowed]
            n_allowed = len(include)
        if n_allowed == 0:
            return answer([[] for _ in rows])
        n_neighbors = min(queries.n_neighbors, n_allowed)
        distances, ids = index.kneighbors(rows, n_neighbors, include=include)
        names = json.dumps(ids.ravel().tolist())
        metadata = dict(catalog.execute(METADATA, [version, names]))
    return answer(
        [
            found_items(query_ids, query_distances, metadata)
            for query_ids, query_distances in zip(ids.tolist(), distances.tolist())
        ]
    )


def found_items(ids, distances, metadata):
    """List the neighbors of one query, without items removed since the index was read."""
    return [
        {"id": name, "metadata": json.loads(metadata[name]), "distance": distance}
        for name, distance in zip(ids, distances)
        if name in metadata
    ]


# Writers: BEGIN IMMEDIATE locks the catalog, so only one worker writes at a time.
@contextmanager
def next_version():
    with closing(open_catalog()) as catalog:
        catalog.execute("BEGIN IMMEDIATE")
        version, path = newest(catalog)
        index = HashedNeighbors.load(path)
        try:
            yield catalog, index, version + 1
        except ValueError as error:
            # An id to add exists already, or an id to remove does not exist.
            raise HTTPException(409, str(error)) from error
        new = FOLDER / f"index-{version + 1}"
        index.save(new)
        # Files of writers that were killed are also removed here.
        for old in set(FOLDER.glob("*index-*")) - {path, new}:
            shutil.rmtree(old)
        catalog.execute(f"PRAGMA user_version = {version + 1}")
        # The commit publishes the metadata and the new index together.
        catalog.execute("COMMIT")


@app.post("/items")
def add(items: Items):
    if not len(items.vectors) == len(items.ids) == len(items.metadata):
        raise HTTPException(422, "vectors, ids and metadata must have equal lengths")
    rows = as_rows(items.vectors)
    try:
        texts = [json.dumps(entry, allow_nan=False) for entry in items.metadata]
    except ValueError as error:
        raise HTTPException(422, f"metadata: {error}") from error
    with next_version() as (catalog, index, version):
        index.add(rows, ids=items.ids)
        new = zip(items.ids, [version] * len(rows), texts)
        catalog.executemany("INSERT INTO items VALUES (?, ?, json(?))", new)
    return answer({"n_items": index.n_items_}, 201)


@app.post("/remove")
def remove(ids: Annotated[list[Name], Body(embed=True, min_length=1)]):
    with next_version() as (catalog, index, _):
        index.remove(ids)
        catalog.executemany("DELETE FROM items WHERE id = ?", [[name] for name in ids])
    return answer({"n_items": index.n_items_})


# Errors
@app.exception_handler(RequestValidationError)
async def refuse(request, error):
    """Name places and reasons, without the input, which can be long or not finite."""
    first = error.errors()[:10]
    return answer({"detail": [{"loc": e["loc"], "msg": e["msg"]} for e in first]}, 422)


@app.exception_handler(sqlite3.OperationalError)
async def say_busy(request, error):
    return answer({"detail": f"the catalog: {error}"}, 503)


@app.middleware("http")
async def limit(request, call_next):
    length = request.headers.get("content-length", "" if request.method == "POST" else "0")
    if "transfer-encoding" in request.headers or not re.fullmatch("[0-9]{1,18}", length):
        return answer({"detail": "the header Content-Length must be a number"}, 400)
    if int(length) > MAX_BODY_BYTES:
        return answer({"detail": f"the body must have at most {MAX_BODY_BYTES} bytes"}, 413)
    return await call_next(request)
