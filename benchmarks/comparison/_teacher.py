"""Class probabilities that several methods of a split learn from, computed once."""

import os
import time
from typing import NamedTuple

from joblib import Memory
from sklearn.utils import Bunch

from sklearn_talr.hashing import ClassProbabilities

_MEMORY = Memory(os.environ.get("SKLEARN_TALR_CACHE"), verbose=0)  # None keeps nothing


class Taught(NamedTuple):
    """A split with probabilities in place of its features, and what they cost.

    Parameters
    ----------
    data : Bunch
        The split. Probabilities of training rows are those without the row.

    fit_seconds : float
        Of the processor, to fit the teacher.

    encode_seconds : float
        To compute the probabilities of the database.
    """

    data: Bunch
    fit_seconds: float
    encode_seconds: float


def taught(data):
    """What the default teacher makes of a split, which keeps it.

    Other processes find it too in the folder that the environment variable
    ``SKLEARN_TALR_CACHE`` names, if it names one.
    """
    if "taught" not in data:
        arrays = data.X_train, data.y_train, data.X_query, data.X_database
        features, *seconds = _MEMORY.cache(_teach)(*arrays)
        data.taught = Taught(Bunch(**(data | features)), *seconds)
    return data.taught


def _teach(X_train, y_train, X_query, X_database):
    """Probabilities by the names of what they replace, and the two counts of seconds."""
    teacher = ClassProbabilities()
    start = time.process_time()
    left_out = teacher.fit_transform(X_train, y_train)
    fitted = time.process_time()
    features = {"X_train": left_out, "X_database": teacher.transform(X_database)}
    encoded = time.process_time()
    features["X_query"] = teacher.transform(X_query)
    return features, fitted - start, encoded - fitted
