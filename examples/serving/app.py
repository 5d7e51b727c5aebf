"""A search service: vectors in, ids and metadata of the nearest items out.

:doc:`/user_guide/deploy` explains it. ``build.py`` makes the folder that it serves.
"""

import asyncio
import json
import logging
import os
import sqlite3
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Annotated

import numpy as np
from fastapi import FastAPI, HTTPException, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field

from sklearn_talr.neighbors import HashedNeighbors

# Settings, and what a request may hold
FOLDER = Path(os.environ.get("SEARCH_FOLDER", "data")).resolve()
MOST_BYTES = 2_000_000
Number = Annotated[float, Field(ge=-1e15, le=1e15)]  # neither NaN nor infinite
Vectors = Annotated[list[list[Number]], Field(min_length=1, max_length=100)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class Queries(BaseModel):
    """What `search` takes."""

    vectors: Vectors
    n_neighbors: Annotated[int, Field(ge=1, le=100)] = 10


class Items(BaseModel):
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
    return version, FOLDER / f"index-{version}.npz"


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


@app.post("/search")
def search(queries: Queries):
    rows, index = as_rows(queries.vectors), served["index"]
    n_neighbors = min(queries.n_neighbors, index.n_items_)
    distances, places = index.kneighbors(rows, n_neighbors)
    distances, places = distances.tolist(), places.tolist()
    with closing(open_catalog()) as catalog:
        found = catalog.execute(
            "SELECT place, id, metadata FROM items "
            "WHERE place IN (SELECT value FROM json_each(?))",
            [json.dumps([place for row in places for place in row])],
        )
        items = {place: (name, json.loads(text)) for place, name, text in found}
    return answer(
        [
            [
                {"id": items[place][0], "distance": distance, "metadata": items[place][1]}
                for distance, place in zip(*row)
                if place in items  # others were removed since the index was read
            ]
            for row in zip(distances, places)
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
        new = FOLDER / f"index-{version + 1}.npz"
        index.save(new)
        for old in set(FOLDER.glob("index-*.npz")) - {path, new}:
            old.unlink()
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
                "INSERT INTO items VALUES (?, ?, ?)", zip(places, items.ids, texts)
            )
            index.partial_fit(rows)
    except sqlite3.IntegrityError as error:
        raise HTTPException(409, "an id is there already, or comes twice") from error
    return answer({"n_items": index.n_items_}, 201)


@app.delete("/items/{name}")
def remove(name: str):
    with next_version() as (catalog, index):
        row = catalog.execute("DELETE FROM items WHERE id = ? RETURNING place", [name])
        place = row.fetchone()
        if place is None:
            raise HTTPException(404, "no item has this id")
        if index.n_items_ == 1:
            raise HTTPException(409, "the last item stays; build another folder")
        index.remove(place)
    return answer({"n_items": index.n_items_})


# Refusals
@app.exception_handler(RequestValidationError)
async def refuse(request, error):
    """Say where and what, without the input, which may be long or not finite."""
    first = error.errors()[:10]
    return answer({"detail": [{"loc": e["loc"], "msg": e["msg"]} for e in first]}, 422)


@app.middleware("http")
async def limit(request, call_next):
    if "transfer-encoding" in request.headers:
        return answer({"detail": "state the length of the body"}, 411)
    if int(request.headers.get("content-length", 0)) > MOST_BYTES:
        return answer({"detail": f"a body has at most {MOST_BYTES} bytes"}, 413)
    return await call_next(request)
