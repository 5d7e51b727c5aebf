"""A search service: vectors in, ids and metadata of the nearest items out.

:doc:`/user_guide/deploy` explains it. ``build.py`` makes the folder that it serves.
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

# Settings, and what a request may hold
FOLDER = Path(os.environ.get("SEARCH_FOLDER", "data")).resolve()
MOST_BYTES = 2_000_000
Number = Annotated[float, Field(ge=-1e15, le=1e15)]  # neither NaN nor infinite
Vectors = Annotated[list[list[Number]], Field(min_length=1, max_length=100)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Value = str | bool | int | Number


class Queries(BaseModel, extra="forbid"):
    """What `search` takes; a pair of values in `filter` is a range."""

    vectors: Vectors
    n_neighbors: Annotated[int, Field(ge=1, le=100)] = 10
    filter: Annotated[dict[str, Value | tuple[Value, Value]], Field(max_length=20)] = {}


class Items(BaseModel, extra="forbid"):
    """What `add` takes: a vector, an id, and metadata for each item."""

    vectors: Vectors
    ids: list[Name]
    metadata: list[dict]


# The catalog: ids and metadata in SQLite, whose user_version names the newest index
def open_catalog():
    uri = (FOLDER / "catalog.db").as_uri() + "?mode=rw"
    return sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None)


def newest(catalog):
    version = catalog.execute("PRAGMA user_version").fetchone()[0]
    return version, FOLDER / f"index-{version}"


# Readers: each worker maps the newest index, and looks for a newer one every second
served = {"version": None, "index": None}


def refresh():
    with closing(open_catalog()) as catalog:
        version, path = newest(catalog)
    if version != served["version"]:
        served.update(index=HashedNeighbors.load(path, mmap=True), version=version)


@asynccontextmanager
async def lifespan(app):
    async def stay_fresh():
        while True:
            await asyncio.sleep(1)
            try:
                await asyncio.to_thread(refresh)
            except Exception:
                logging.exception("The newest index was not read; an older one is served.")

    warm_up()
    refresh()
    task = asyncio.create_task(stay_fresh())
    yield
    task.cancel()


app = FastAPI(lifespan=lifespan)


def answer(content, status=200):
    return Response(json.dumps(content), status, media_type="application/json")


def as_rows(vectors):
    n_features = served["index"].n_features_in_
    if any(len(vector) != n_features for vector in vectors):
        raise HTTPException(422, f"each vector must have {n_features} numbers")
    return np.array(vectors, dtype=np.float32)


@app.get("/health")
def health():
    return answer({"version": served["version"], "n_items": served["index"].n_items_})


# Items whose metadata have each key of a filter, with a value from its low to its high
ALLOWED = """
    WITH wanted AS MATERIALIZED (
        SELECT key, json_extract(value, '$[0]') AS low, json_extract(value, '$[1]') AS high
        FROM json_each(?)
    )
    SELECT place FROM items WHERE (SELECT count(*) FROM wanted) = (
        SELECT count(*) FROM json_each(metadata) AS own JOIN wanted
        ON own.key = wanted.key AND own.atom BETWEEN low AND high
    )
"""


def allowed_items(catalog, wanted, index):
    ranges = {k: v if isinstance(v, tuple) else (v, v) for k, v in wanted.items()}
    places = np.array(catalog.execute(ALLOWED, [json.dumps(ranges)]).fetchall(), dtype=int)
    among = np.zeros(index.n_samples_fit_, dtype=bool)
    among[places[places < len(among)]] = True  # others were added since it was read
    return among


@app.post("/search")
def search(queries: Queries):
    rows, index = as_rows(queries.vectors), served["index"]
    among, n_allowed = None, index.n_items_
    with closing(open_catalog()) as catalog:
        if queries.filter:
            among = allowed_items(catalog, queries.filter, index)
            n_allowed = int(among.sum())
        if n_allowed == 0:
            return answer([[] for _ in rows])
        n_neighbors = min(queries.n_neighbors, n_allowed)
        distances, places = index.kneighbors(rows, n_neighbors, among=among)
        found = catalog.execute(
            "SELECT place, id, metadata FROM items "
            "WHERE place IN (SELECT value FROM json_each(?))",
            [json.dumps(places.ravel().tolist())],
        )
        items = {
            place: {"id": name, "metadata": json.loads(text)} for place, name, text in found
        }
    return answer(
        [
            # others were removed since the index was read
            [items[place] | {"distance": d} for d, place in zip(*row) if place in items]
            for row in zip(distances.tolist(), places.tolist())
        ]
    )


# Writers: one at a time among all workers, since BEGIN IMMEDIATE locks the catalog
@contextmanager
def next_version():
    with closing(open_catalog()) as catalog:
        catalog.execute("BEGIN IMMEDIATE")
        version, path = newest(catalog)
        index = HashedNeighbors.load(path)
        yield catalog, index
        new = FOLDER / f"index-{version + 1}"
        index.save(new)
        for old in set(FOLDER.glob("*index-*")) - {path, new}:
            shutil.rmtree(old)  # also what a writer left that was killed
        catalog.execute(f"PRAGMA user_version = {version + 1}")
        catalog.execute("COMMIT")  # metadata and the new index, both or neither


@app.post("/items")
def add(items: Items):
    if not len(items.vectors) == len(items.ids) == len(items.metadata):
        raise HTTPException(422, "vectors, ids and metadata must be equally many")
    rows = as_rows(items.vectors)
    try:
        texts = [json.dumps(entry, allow_nan=False) for entry in items.metadata]
    except ValueError as error:
        raise HTTPException(422, f"metadata: {error}") from error
    try:
        with next_version() as (catalog, index):
            places = range(index.n_samples_fit_, index.n_samples_fit_ + len(rows))
            catalog.executemany(
                "INSERT INTO items VALUES (?, ?, json(?))", zip(places, items.ids, texts)
            )
            index.partial_fit(rows)
    except sqlite3.IntegrityError as error:
        raise HTTPException(409, "an id is there already, or comes twice") from error
    return answer({"n_items": index.n_items_}, 201)


@app.post("/remove")
def remove(ids: Annotated[set[Name], Body(embed=True, min_length=1)]):
    gone = "DELETE FROM items WHERE id = ? RETURNING place"
    with next_version() as (catalog, index):
        places = [place for name in ids for (place,) in catalog.execute(gone, [name])]
        if len(places) < len(ids):
            raise HTTPException(404, "no item has one of the ids; none was removed")
        if len(places) == index.n_items_:
            raise HTTPException(409, "the last item stays; build another folder")
        index.remove(places)
    return answer({"n_items": index.n_items_})


# Refusals
@app.exception_handler(RequestValidationError)
async def refuse(request, error):
    """Say where and what, without the input, which may be long or not finite."""
    first = error.errors()[:10]
    return answer({"detail": [{"loc": e["loc"], "msg": e["msg"]} for e in first]}, 422)


@app.exception_handler(sqlite3.OperationalError)
async def say_busy(request, error):
    return answer({"detail": f"the catalog: {error}"}, 503)


@app.middleware("http")
async def limit(request, call_next):
    length = request.headers.get("content-length", "" if request.method == "POST" else "0")
    if "transfer-encoding" in request.headers or not re.fullmatch("[0-9]{1,18}", length):
        return answer({"detail": "state the length of the body, a number"}, 400)
    if int(length) > MOST_BYTES:
        return answer({"detail": f"a body has at most {MOST_BYTES} bytes"}, 413)
    return await call_next(request)
