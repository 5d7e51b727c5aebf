"""A small linear hasher of two views, fitted in a moment, and small data for it."""

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_array, validate_data

from sklearn_talr import LSHHasher
from sklearn_talr.affinity import JudgmentAffinity, fit_affinity
from sklearn_talr.hashing import BaseHasher


class TwoViews(BaseHasher):
    """Signs of the singular vectors of sums of products of judged features."""

    def __init__(self, n_bits=8, default_query="bits"):
        self.n_bits = n_bits
        self.default_query = default_query

    def fit(self, X, y, X_query=None, y_query=None):
        X = _dense(validate_data(self, X, accept_sparse="csr"))
        self.has_query_view_ = X_query is not None
        queries = X
        if self.has_query_view_:
            queries = _dense(check_array(X_query, accept_sparse="csr"))
        if self.has_query_view_ and y_query is None:
            self.affinity_ = JudgmentAffinity().fit(y)
            grades = self.affinity_.check_targets(y)
        else:
            self.affinity_, targets, _ = fit_affinity("auto", X, y)
            y_query = targets if y_query is None else y_query
            grades = sp.csr_array(self.affinity_(targets, y_query))
        means = X.mean(axis=0), queries.mean(axis=0)
        products = (X - means[0]).T @ (grades @ (queries - means[1]))
        left, scale, right = np.linalg.svd(products, full_matrices=False)
        # The other vectors are what the processor makes them
        kept = scale > 1e-6 * scale[0]
        left, right = svd_flip(left[:, kept], right[kept])
        turn = np.random.default_rng(0).normal(size=(left.shape[1], self.n_bits))
        self.query_hasher_ = LSHHasher(self.n_bits).fit(queries)
        self.n_features_in_ = X.shape[1]
        for hasher, vectors, mean in (
            (self, left, means[0]),
            (self.query_hasher_, right.T, means[1]),
        ):
            coef = (vectors @ turn).astype(np.float32)
            hasher.coefs_ = [coef]
            hasher.intercepts_ = [np.zeros(self.n_bits)]
            hasher.means_ = [mean]
        return self

    def transform_query(self, X):
        return self.query_hasher_.transform(X)

    def encode_query(self, X):
        return self.query_hasher_.encode(X)

    def query_weights(self, X):
        return self.query_hasher_.query_weights(X)


def _dense(X):
    return X.toarray() if sp.issparse(X) else X


def halves_of_digits(n_items=300, n_queries=60):
    """Right halves of digits as items, left halves of others as queries, and labels."""
    X, y = load_digits(return_X_y=True)
    columns = np.arange(64) % 8
    items, queries = slice(n_items), slice(n_items, n_items + n_queries)
    return X[items][:, columns > 3], y[items], X[queries][:, columns < 4], y[queries]


def judged(y_query, y, seed=0):
    """Grades of shape (n_queries, n_items) for some of a class, and stored zeros."""
    rng = np.random.default_rng(seed)
    grades = np.equal.outer(y_query, y) * rng.integers(0, 3, (len(y_query), len(y)))
    grades[0] = 0
    place = rng.integers(0, len(y), len(y_query))
    stored = sp.coo_array(grades)
    places = np.arange(len(place)), place
    zeros = sp.coo_array((np.ones(len(place)), places), grades.shape)
    zeros = sp.coo_array(zeros.multiply(grades == 0))
    data = np.concatenate((stored.data, np.zeros(zeros.nnz, dtype=int)))
    row, column = (np.concatenate(both) for both in zip(stored.coords, zeros.coords))
    return sp.csr_array((data, (row, column)), shape=grades.shape)
