"""Ways to rank items of one view for queries of another: CrossViewHasher and its rivals.

A contender is a function of a set, a number of bits and a seed. It returns what items are
ranked by: codes of items, and of queries their codes, or weights, or both; or floats of
both, whose inner products are the scores.

* *CCA* finds directions of paired rows that correlate. *Relevance-CCA* takes the mean of
  the items that are relevant to a query, by their grades, for its pair. Directions are
  scaled by their correlations; covariances are shrunk to a multiple of the identity, by the
  fraction that ranks a fifth of the training rows best, by inner products or cosines. Codes
  are a rotation of the first directions of both (ITQ), or additive bits of items in all.
* *Ridge* fits TALRHasher to the items, and a ridge regression from queries to the bits of
  their own item, or to the mean bits of what is relevant to them. Where no classes are
  known, two items are as similar as they are relevant to the same queries: the cosine of
  their judgments, of which as large a share is similar as of the judgments. TALRHasher then
  has the parameters that were best on these sets.
* *Teachers* learn from the probabilities of classes of both views, those of left-out rows.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from _view_sets import unit_rows
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline

from sklearn_talr import TALRHasher
from sklearn_talr.affinity import PrecomputedAffinity
from sklearn_talr.hashing import (
    AdditiveHasher,
    ClassProbabilities,
    CrossViewHasher,
    ITQHasher,
)
from sklearn_talr.measures import AP

N_DIRECTIONS = 1000  # all
SHRINKAGES = (0.001, 0.01, 0.1, 0.5)
RIDGES = np.logspace(-3, 3, 13)
OF_JUDGMENTS = {"weight_decay": 0.1, "bit_dropout": 0.0}


class Ranked(NamedTuple):
    """Codes or floats of the items of evaluation, and what queries are compared as."""

    items: object
    bits: object = None
    weights: object = None
    floats: object = None


def cross_view_codes(views, n_bits, seed, **params):
    """CrossViewHasher with all that is known."""
    hasher = CrossViewHasher(n_bits, random_state=seed, **params)
    X, Q = views.items.X, views.queries.X
    if views.has_classes:
        hasher.fit(X, views.items.y, X_query=Q, y_query=views.queries.y)
    else:
        hasher.fit(X, views.judgments, X_query=Q)
    items, asked = hasher.encode(views.test_items.X), views.test_queries.X
    bits = hasher.encode_query(asked) if hasher.query == "bits" else None
    return Ranked(items, bits, hasher.query_weights(asked))


# Canonical correlations


class Canonical(NamedTuple):
    """Means and directions of both views, the latter scaled by correlations."""

    item_mean: np.ndarray
    item_directions: np.ndarray
    query_mean: np.ndarray
    query_directions: np.ndarray

    @classmethod
    def fit(cls, X, Q, weights, shrinkage, n_directions):
        """Directions of the covariance that weighted pairs of rows have."""
        means = X.mean(axis=0), Q.mean(axis=0)
        X, Q = X - means[0], Q - means[1]
        roots = inverse_root(X, shrinkage), inverse_root(Q, shrinkage)
        covariance = (weights.T @ X).T @ Q / len(Q)
        left, correlations, right = np.linalg.svd(roots[0] @ covariance @ roots[1])
        n = min(n_directions, len(correlations))
        scale = correlations[:n]
        item_directions = roots[0] @ left[:, :n] * scale
        return cls(means[0], item_directions, means[1], roots[1] @ right[:n].T * scale)

    def project(self, X, Q):
        """Both views in the common space."""
        return (
            (X - self.item_mean) @ self.item_directions,
            (Q - self.query_mean) @ self.query_directions,
        )


def inverse_root(X, shrinkage):
    """Inverse square root of the covariance of centered rows."""
    values, axes = np.linalg.eigh(X.T @ X / len(X))
    values = (1 - shrinkage) * np.maximum(values, 0) + shrinkage * values.mean()
    return axes / np.sqrt(values) @ axes.T


def pair_weights(views, by_relevance):
    """Which items count how much for each query: its own, or the relevant ones."""
    shape = len(views.items.X), len(views.queries.X)
    if not by_relevance:
        ones = np.ones(shape[1], np.float32)
        return sp.csr_matrix((ones, (views.pairs, np.arange(shape[1]))), shape)
    judgments = views.judgments.astype(np.float32)
    sums = np.asarray(judgments.sum(axis=0)).ravel()
    return judgments @ sp.diags_array(1 / np.maximum(sums, 1), dtype=np.float32)


def canonical(views, by_relevance, n_directions, seed):
    """Directions, and how lengths are treated, as ranks left-out rows best."""
    X, Q, judgments = views.items.X, views.queries.X, views.judgments
    weights = pair_weights(views, by_relevance).tocsr()
    left_out = np.random.default_rng(seed).random(len(X)) < 0.2
    asks = np.random.default_rng(seed + 1).random(len(Q)) < 0.2
    if views.pairs is not None:
        asks = left_out[views.pairs]
    grades = judgments[left_out][:, asks].toarray().T
    scores = {}
    for shrinkage in SHRINKAGES:
        parts = X[~left_out], Q[~asks], weights[~left_out][:, ~asks]
        model = Canonical.fit(*parts, shrinkage, n_directions)
        items, queries = model.project(X[left_out], Q[asks])
        for scale in (unit_rows, np.asarray):
            scores[shrinkage, scale] = AP.score(grades, queries @ scale(items).T)
    shrinkage, scale = max(scores, key=scores.get)
    return Canonical.fit(X, Q, weights, shrinkage, n_directions), scale


def canonical_floats(views, n_bits, seed, by_relevance=False):
    """Inner products, or cosines, of all directions."""
    model, scale = canonical(views, by_relevance, N_DIRECTIONS, seed)
    items, queries = model.project(views.test_items.X, views.test_queries.X)
    return Ranked(scale(items), floats=queries)


def canonical_codes(views, n_bits, seed, by_relevance=False):
    """Signs of as many directions as bits, after a rotation."""
    model, _ = canonical(views, by_relevance, n_bits, seed)
    items, queries = model.project(views.test_items.X, views.test_queries.X)
    itq = ITQHasher(n_bits, random_state=seed)
    itq.fit(np.concatenate(model.project(views.items.X, views.queries.X)))
    return Ranked(itq.encode(items), itq.encode(queries), itq.query_weights(queries))


def canonical_additive(views, n_bits, seed, by_relevance=False):
    """Additive bits of the items in all directions."""
    model, scale = canonical(views, by_relevance, N_DIRECTIONS, seed)
    items, queries = model.project(views.test_items.X, views.test_queries.X)
    metric = "cosine" if scale is unit_rows else "inner_product"
    hasher = AdditiveHasher(n_bits, metric=metric, random_state=seed)
    hasher.fit(model.project(views.items.X, views.queries.X)[0])
    return Ranked(hasher.encode(items), weights=hasher.query_weights(queries))


# Ridge regression to the bits of items


def ridge_codes(views, n_bits, seed, own=False, bits_by="TALR"):
    """Bits of items, and the bits that a regression expects of the query's items."""
    hasher = item_hasher(views, n_bits, seed, bits_by)
    signs = 2.0 * hasher.transform(views.items.X) - 1
    means = pair_weights(views, by_relevance=not own)
    judged = np.asarray(means.sum(axis=0)).ravel() > 0
    targets = means.T.tocsr()[judged] @ signs
    ridge = RidgeCV(RIDGES).fit(views.queries.X[judged], targets)
    expected = ridge.predict(views.test_queries.X)
    codes = hasher.transform(views.test_items.X)
    return Ranked(codes, (expected > 0).astype(np.uint8), expected)


@lru_cache(maxsize=1)
def item_hasher(views, n_bits, seed, bits_by):
    """A hasher of the items, by their classes or by the queries that they share."""
    if bits_by == "ITQ":
        return ITQHasher(n_bits, random_state=seed).fit(views.items.X)
    if not views.has_classes:
        hasher = TALRHasher(n_bits, random_state=seed, **OF_JUDGMENTS)
        return hasher.fit(views.items.X, co_relevance(views.judgments))
    hasher = TALRHasher(n_bits, random_state=seed)
    if bits_by == "teacher and TALR":
        hasher = make_pipeline(ClassProbabilities(), hasher)
    return hasher.fit(views.items.X, views.items.y)


def co_relevance(judgments):
    """How alike the judgments of two items are, in as many levels as there are grades."""
    rows = judgments.astype(np.float32)
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows = sp.diags_array(1 / np.maximum(norms, 1e-9), dtype=np.float32) @ rows
    cosines = (rows @ rows.T).toarray()
    levels = np.zeros(cosines.shape, np.int64)
    for grade in np.unique(judgments.data):
        share = (judgments.data >= grade).sum() / np.prod(judgments.shape)
        levels[cosines > max(np.quantile(cosines, 1 - share), 0)] = grade
    return PrecomputedAffinity(levels)


# Probabilities of classes


def probabilities(views, n_bits, seed):
    """Inner products of probabilities."""
    (_, items), (_, queries) = views.probabilities
    return Ranked(items, floats=queries)


def taught_codes(views, n_bits, seed):
    """TALRHasher on the probabilities of both views."""
    (P, items), (R, queries) = views.probabilities
    hasher = TALRHasher(n_bits, random_state=seed)
    hasher.fit(np.concatenate([P, R]), np.concatenate([views.items.y, views.queries.y]))
    return Ranked(
        hasher.encode(items), hasher.encode(queries), hasher.query_weights(queries)
    )


def additive_codes(views, n_bits, seed, both=False):
    """Additive bits of the probabilities of items, or of both views."""
    (P, items), (R, queries) = views.probabilities
    hasher = AdditiveHasher(n_bits, metric="inner_product", random_state=seed)
    hasher.fit(np.concatenate([P, R]) if both else P)
    return Ranked(hasher.encode(items), weights=hasher.query_weights(queries))
