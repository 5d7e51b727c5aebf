"""Ways to rank items of one view for queries of another: what CrossViewHasher is held against.

A contender is a function of a set, a number of bits and a seed. It returns what items are
ranked by: codes of items, and of queries their codes, or weights, or both; or floats of
both, whose inner products are the scores.

* *CCA* finds directions of paired rows that correlate. *Relevance-CCA* takes the mean of the
  items that are relevant to a query, by their grades, for its pair. Directions are scaled by
  their correlations; covariances are shrunk to a multiple of the identity, by the fraction
  that ranks a fifth of the training rows best. The codes are a rotation of both (ITQ).
* *Ridge* fits TALRHasher to the items, and a ridge regression from queries to the bits of
  their own item, or to the mean bits of what is relevant to them. Where no classes are known
  two items are as similar as they are relevant to the same queries: the cosine of their
  judgments, of which as large a share is similar as of the judgments.
* *Teachers* learn from the probabilities of classes of both views, those of left-out rows.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from _view_sets import unit_rows
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline

from sklearn_talr import TALRHasher
from sklearn_talr.affinity import PrecomputedAffinity
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities, ITQHasher
from sklearn_talr.measures import AP

SHRINKAGES = (0.001, 0.01, 0.1, 0.5)
RIDGES = np.logspace(-3, 3, 13)


class Ranked(NamedTuple):
    """Codes or floats of the items of evaluation, and what queries are compared as."""

    items: object
    bits: object = None
    weights: object = None
    floats: object = None


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
    """The directions by the shrinkage that ranks left-out rows best."""
    X, Q, judgments = views.items.X, views.queries.X, views.judgments
    weights = pair_weights(views, by_relevance).tocsr()
    left_out = np.random.default_rng(seed).random(len(X)) < 0.2
    asks = np.random.default_rng(seed + 1).random(len(Q)) < 0.2
    if views.pairs is not None:
        asks = left_out[views.pairs]
    grades = judgments[left_out][:, asks].toarray().T
    scores = []
    for shrinkage in SHRINKAGES:
        parts = X[~left_out], Q[~asks], weights[~left_out][:, ~asks]
        model = Canonical.fit(*parts, shrinkage, n_directions)
        items, queries = map(unit_rows, model.project(X[left_out], Q[asks]))
        scores.append(AP.score(grades, queries @ items.T))
    return Canonical.fit(X, Q, weights, SHRINKAGES[np.argmax(scores)], n_directions)


def canonical_codes(views, n_bits, seed, by_relevance=False):
    """Signs of the directions after a rotation; floats of all directions with 0 bits."""
    model = canonical(views, by_relevance, n_bits or 1000, seed)
    items, queries = model.project(views.test_items.X, views.test_queries.X)
    if not n_bits:
        return Ranked(unit_rows(items), floats=unit_rows(queries))
    itq = ITQHasher(n_bits, random_state=seed)
    itq.fit(np.concatenate(model.project(views.items.X, views.queries.X)))
    return Ranked(itq.encode(items), itq.encode(queries), itq.query_weights(queries))


# Ridge regression to the bits of items


def ridge_codes(views, n_bits, seed, own=False, teacher=False):
    """Bits of TALRHasher, and the bits that a regression expects of the query's items."""
    hasher, y = TALRHasher(n_bits, random_state=seed), views.items.y
    if y is None:
        y = co_relevance(views.judgments)
    if teacher:
        hasher = make_pipeline(ClassProbabilities(), hasher)
    X = views.items.X
    hasher.fit(X, y)
    signs = 2.0 * hasher.transform(X) - 1
    means = pair_weights(views, by_relevance=not own)
    judged = np.asarray(means.sum(axis=0)).ravel() > 0
    targets = means.T.tocsr()[judged] @ signs
    ridge = RidgeCV(RIDGES).fit(views.queries.X[judged], targets)
    expected = ridge.predict(views.test_queries.X)
    codes = hasher.transform(views.test_items.X)
    return Ranked(codes, (expected > 0).astype(np.uint8), expected)


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
