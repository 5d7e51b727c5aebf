"""What the pictures of the guide share: handwritten digits, split, and codes of them."""

from functools import cache
from types import SimpleNamespace

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr.hashing import ClassProbabilities, ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.histogram import hamming_histogram


@cache
def split():
    """300 queries, 500 training rows, and a database of the other 997, all apart."""
    X, y = load_digits(return_X_y=True)
    X_rest, X_query, y_rest, y_query = train_test_split(
        X, y, test_size=300, stratify=y, random_state=0
    )
    X_database, X_train, y_database, y_train = train_test_split(
        X_rest, y_rest, test_size=500, stratify=y_rest, random_state=0
    )
    return SimpleNamespace(**locals())


@cache
def hashers(n_bits=16):
    """Three fitted hashers, by their names."""
    rows = split()
    methods = {
        "LSH": LSHHasher(n_bits, random_state=0),
        "ITQ": ITQHasher(n_bits, random_state=0),
        "TALR": TALRHasher(n_bits, max_iter=20, random_state=0),
    }
    return {
        name: make_pipeline(StandardScaler(), hasher).fit(rows.X_train, rows.y_train)
        for name, hasher in methods.items()
    }


@cache
def two_stages(n_bits=16):
    """What is recommended where there are labels, fitted."""
    rows = split()
    hasher = TALRHasher(n_bits, max_iter=20, random_state=0)
    return make_pipeline(ClassProbabilities(), hasher).fit(rows.X_train, rows.y_train)


def codes(hasher):
    """Codes of the queries and of the database."""
    rows = split()
    return hasher.transform(rows.X_query), hasher.transform(rows.X_database)


@cache
def histograms(n_bits=16):
    """The tables of counts of all queries, by the names of the hashers."""
    rows = split()
    return {
        name: hamming_histogram(*codes(hasher), "auto", rows.y_query, rows.y_database)
        for name, hasher in hashers(n_bits).items()
    }
