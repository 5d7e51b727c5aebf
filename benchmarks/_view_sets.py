"""Sets of two views: queries of one kind, items of another, and what is relevant.

Both views are centered by the mean of their training rows and scaled to unit length, but
for lists of tags, which are 0 and 1. Images, and texts, of evaluation are not trained on.

===============  ======================================================================
digits           items are right halves of images, queries left halves; relevant is
                 what has the class of the query
fashion_mnist    the same
cifar10          items are the even principal components of CNN features of an image,
                 queries the odd ones; relevant is what has the class of the query
coco17           items are CNN features, queries lists of the tags of an image, of which
                 a third is dropped at random; the grade of an item is the number of tags
                 that its image shares with the image of the query
coco17 rare      the same, but only tags of less than 8 % of the images count; known are
                 judgments of pairs, and no tags
scenes           items are the two finer scales of GIST, queries the two coarser ones;
                 judgments are grades of ThresholdAffinity of all scales
text             items and queries are random projections of embeddings to 96 dimensions,
                 with noise; relevant is the hundredth of items nearest to a text before
===============  ======================================================================

*cifar10, 100 judged* has the items of *cifar10, paired* and judgments by 100 queries: which
items have their class. Of these only ten each are known, drawn at random, if they are
*judged sparsely*.

Training rows of *unpaired* sets are halves of images: one gives items, the other queries.
In all others query i and item ``pairs[i]`` are of one image, but for those of *text*: there
queries are other texts than items.
"""

from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from benchmark_sets import folder_of_sets
from comparison._data import _arrays
from sklearn.metrics import euclidean_distances
from sklearn.utils import gen_batches

from sklearn_talr.affinity import BaseAffinity, ThresholdAffinity
from sklearn_talr.hashing import ClassProbabilities

CLASSES = ("digits", "fashion_mnist", "cifar10")
LABELS = ("coco17",)
JUDGED = ("coco17 rare", "scenes", "text")
GRADED = ("coco17", "coco17 rare", "scenes")
SETS = (
    *(f"{name}, {form}" for name in CLASSES for form in ("paired", "unpaired")),
    *LABELS,
    *JUDGED,
)
NUMBERS_OF_JUDGED = (100, 300, 1000, 3000, 10_000)
CURVES = {
    form: tuple(f"cifar10, {n} {form}" for n in NUMBERS_OF_JUDGED)
    for form in ("judged", "judged sparsely")
}
N_KNOWN = 10
N_TRAIN, N_QUERIES, N_ITEMS = 5000, 1000, 10_000
DROPPED, RARE = 1 / 3, 0.08
N_DIMENSIONS, NOISE, NEAR = 96, 0.25, 0.01


class Side(NamedTuple):
    """Features of rows of one view, and their classes or labels, None if not known."""

    X: np.ndarray
    y: np.ndarray | None

    def take(self, rows):
        """Some of the rows."""
        return Side(self.X[rows], None if self.y is None else self.y[rows])


class Grades(BaseAffinity):
    """Grades of a table of queries and items; targets are rows and columns of it."""

    _levels_are_sure = True

    def __init__(self, table):
        self.table, self.levels_ = table, np.union1d([0], table).astype(int)

    def __call__(self, rows, columns):
        return self.table[np.ix_(rows, columns)].astype(int)


class Views:
    """Training rows of both views with judgments, and rows to be evaluated with grades.

    `judgments` are a CSR matrix of training items and queries, whether they are what is
    known or follow from classes. `pairs` are the items of the queries, or None.
    """

    def __init__(self, items, queries, judgments, pairs, test_items, test_queries, grades):
        self.items, self.queries, self.pairs = items, queries, pairs
        self.judgments = judgments
        self.test_items, self.test_queries = test_items, test_queries
        self.grades = Grades(grades)

    @property
    def has_classes(self):
        """Whether more is known than judgments."""
        return self.items.y is not None

    @cached_property
    def probabilities(self):
        """Of training items and queries, left out, and of the rows to be evaluated."""
        sides = (self.items, self.test_items), (self.queries, self.test_queries)
        tables = []
        for train, test in sides:
            teacher = ClassProbabilities()
            tables.append((teacher.fit_transform(*train), teacher.transform(test.X)))
        return tables


@lru_cache(maxsize=1)
def load(name, seed):
    """Views of a set; the seed draws the rows, the tags that are dropped and the noise."""
    rng = np.random.default_rng(seed)
    name, _, form = name.partition(", ")
    if "judged" in form:
        return few_judged(name, int(form.split()[0]), form.endswith("sparsely"), rng)
    if name in CLASSES:
        return of_classes(name, form == "paired", rng)
    return {"scenes": scenes, "text": text}.get(name, coco)(rng, name)


def of_classes(name, paired, rng):
    """Two parts of each image, and its class."""
    X, y = _arrays(name)
    train, query, item = parts(rng.permutation(len(X)))
    half = len(train) // 2
    of_items, of_queries = (train, train) if paired else (train[:half], train[half:])
    pairs = np.arange(len(train)) if paired else None
    return same_class(name, X, y, (of_items, of_queries, item, query), pairs)


def few_judged(name, n_judged, sparsely, rng):
    """The same rows; queries are the first images, and then images that give no item."""
    X, y = _arrays(name)
    order = rng.permutation(len(X))
    train, query, item = parts(order)
    of_queries = np.concatenate([train, order[-N_TRAIN:]])[:n_judged]
    views = same_class(name, X, y, (train, of_queries, item, query), None)
    for side in ("items", "queries"):
        setattr(views, side, getattr(views, side)._replace(y=None))
    if sparsely:
        columns = views.judgments.tocsc()
        rows = [
            rng.choice(columns.indices[start:stop], N_KNOWN, replace=False)
            for start, stop in pairwise(columns.indptr)
        ]
        known = np.concatenate(rows), np.repeat(np.arange(n_judged), N_KNOWN)
        ones = np.ones(len(known[0]), np.int8)
        views.judgments = sp.csr_matrix((ones, known), columns.shape)
    return views


def same_class(name, X, y, rows, pairs):
    """Views whose judgments are that two rows are of one class."""
    views = {"digits": halves, "fashion_mnist": halves, "cifar10": alternate}[name](X)
    items, test_items = scaled(views[0], rows[0], rows[2], y)
    queries, test_queries = scaled(views[1], rows[1], rows[3], y)
    judgments = sp.csr_matrix(items.y[:, None] == queries.y, dtype=np.int8)
    grades = (test_queries.y[:, None] == test_items.y).astype(np.int8)
    return Views(items, queries, judgments, pairs, test_items, test_queries, grades)


def coco(rng, name):
    """Features of images, and lists of tags; judgments by rare tags, or labels."""
    with np.load(folder_of_sets() / "coco17_cnn512.npz") as arrays:
        X, Y = arrays["X"].astype(np.float32), arrays["Y"].astype(np.int8)
    tags = (Y * (rng.random(Y.shape) >= DROPPED)).astype(np.float32)
    judged = name == "coco17 rare"
    shared = Y[:, Y.mean(axis=0) < RARE] if judged else Y
    asks = tags.any(axis=1) & shared.any(axis=1)
    train, query, item = parts(rng.permutation(len(X)), asks=asks)
    pairs = np.flatnonzero(asks[train])
    items, test_items = scaled(X, train, item, None if judged else Y)
    y = None if judged else Y
    queries, test_queries = (Side(tags, y).take(rows) for rows in (train[pairs], query))
    by_item = sp.csr_matrix(shared[train])
    judgments = (by_item @ by_item[pairs].T).tocsr()
    grades = (shared[query].astype(np.float32) @ shared[item].T).astype(np.int8)
    return Views(items, queries, judgments, pairs, test_items, test_queries, grades)


def scenes(rng, name):
    """Fine and coarse scales of GIST; columns are 4 scales of 8 directions in 16 cells."""
    with np.load(folder_of_sets() / f"{name}_gist512.npz") as arrays:
        X = arrays["X"].astype(np.float32)
    train, query, item = parts(rng.permutation(len(X)))
    items, test_items = scaled(X[:, :256], train, item)
    queries, test_queries = scaled(X[:, 256:], train, query)
    whole = unit_rows(X - X[train].mean(axis=0))
    affinity = ThresholdAffinity().fit(whole[train])
    blocks = [
        sp.csr_matrix(affinity(whole[train[rows]], whole[train]).astype(np.int8))
        for rows in gen_batches(N_TRAIN, 500)
    ]
    judgments = sp.vstack(blocks).tocsr()
    grades = affinity(whole[query], whole[item]).astype(np.int8)
    pairs = np.arange(len(train))
    return Views(items, queries, judgments, pairs, test_items, test_queries, grades)


def text(rng, name):
    """Random projections of embeddings, and the nearest texts before."""
    with np.load(folder_of_sets() / f"{name}_minilm384.npz") as arrays:
        X = arrays["X"].astype(np.float32)
    order = rng.permutation(len(X))
    of_queries, (train, query, item) = order[:N_TRAIN], parts(order[N_TRAIN:])
    views = [noisy(X @ rng.standard_normal((X.shape[1], N_DIMENSIONS)), rng) for _ in "qx"]
    items, test_items = scaled(views[0], train, item)
    queries, test_queries = scaled(views[1], of_queries, query)
    judgments = sp.csr_matrix(nearest(X[of_queries], X[train]).T)
    grades = nearest(X[query], X[item])
    return Views(items, queries, judgments, None, test_items, test_queries, grades)


def parts(order, n_train=N_TRAIN, asks=None):
    """Rows to train on, queries, and items, of an order at random."""
    n_train = min(n_train, 5 * len(order) // 9)
    others = order[n_train:]
    can_ask = others if asks is None else others[asks[others]]
    query = can_ask[: min(N_QUERIES, len(others) // 4)]
    item = others[~np.isin(others, query)][:N_ITEMS]
    return order[:n_train], query, item


def scaled(X, train, test, y=None):
    """Rows of training and of evaluation, centered and of unit length."""
    X = unit_rows(X - X[train].mean(axis=0)).astype(np.float32)
    return Side(X, y).take(train), Side(X, y).take(test)


def unit_rows(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def halves(X):
    """Right and left halves of square images."""
    side = int(np.sqrt(X.shape[1]))
    images = X.reshape(len(X), side, side)
    return (
        images[:, :, side // 2 :].reshape(len(X), -1),
        images[:, :, : side // 2].reshape(len(X), -1),
    )


def alternate(X):
    """Even and odd columns."""
    return X[:, ::2], X[:, 1::2]


def noisy(X, rng):
    """Rows with noise of a quarter of their size."""
    X = X - X.mean(axis=0)
    return X + NOISE * X.std() * rng.standard_normal(X.shape)


def nearest(Q, X):
    """Which items are the nearest hundredth of each query: 0 and 1."""
    table, n = np.zeros((len(Q), len(X)), np.int8), round(NEAR * len(X))
    for rows in gen_batches(len(Q), 500):
        distances = euclidean_distances(Q[rows], X)
        found = np.argpartition(distances, n, axis=1)[:, :n]
        np.put_along_axis(table[rows], found, 1, axis=1)
    return table
