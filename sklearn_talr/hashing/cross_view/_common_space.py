"""Teachers: both views in one space, in which an inner product tells relevance.

Where classes or labels are known on both sides, the space is that of their probabilities.
Where there are judgments, it is that of their factors: the truncated singular value
decomposition U V' of the judgments gives coordinates to items (U) and to queries (V), and a
kernel ridge regression predicts these from features.

What training rows get is said as if they had not been there, see
:mod:`sklearn_talr.kernel_ridge`.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.extmath import randomized_svd

from ...kernel_ridge._door import LeftOutRegression
from .._class_probabilities import ClassProbabilities

_FEWEST_FACTORS = 64


class CommonSpace(NamedTuple):
    """What teachers say of training rows, and the teachers, of items and of queries.

    Parameters
    ----------
    X, X_query : ndarray
        Coordinates of rows that were left out.

    teacher, query_teacher : object
        ``teacher.transform(X)`` gives the coordinates of other rows.
    """

    X: np.ndarray
    X_query: np.ndarray
    teacher: object
    query_teacher: object


def teach_classes(views, teacher):
    """Probabilities of classes or labels, by a classifier for each view.

    Parameters
    ----------
    views : Views
        With classes of both sides.

    teacher : transformer or None
        Cloned for each view; None means `ClassProbabilities()`.

    Returns
    -------
    space : CommonSpace
        A column for each class of either side, or for each label.
    """
    teacher = ClassProbabilities() if teacher is None else teacher
    y, y_query = views.classes
    teachers = [clone(teacher)]
    X = X_query = teachers[0].fit_transform(_double(views.X), y)
    if not views.are_same_rows:
        teachers.append(clone(teacher))
        X_query = teachers[1].fit_transform(_double(views.X_query), y_query)
    known = [getattr(of_side, "classes_", None) for of_side in teachers]
    if X.shape[1] == X_query.shape[1] and np.array_equal(known[0], known[-1]):
        return CommonSpace(X, X_query, teachers[0], teachers[-1])
    columns = np.union1d(*known)
    taught = [OfSomeClasses(each, np.isin(columns, each.classes_)) for each in teachers]
    return CommonSpace(taught[0].widen(X), taught[1].widen(X_query), *taught)


class OfSomeClasses:
    """A teacher that knows some of the classes; the others have probability 0.

    Parameters
    ----------
    teacher : transformer
        Gives a column for each class that it knows.

    is_known : ndarray of bool
        Which of all classes it knows.
    """

    def __init__(self, teacher, is_known):
        self.teacher, self.is_known = teacher, is_known

    def transform(self, X):
        """Coordinates of rows."""
        return self.widen(self.teacher.transform(X))

    def widen(self, X):
        """Put columns in their places among all classes."""
        whole = np.zeros((len(X), len(self.is_known)), dtype=X.dtype)
        whole[:, self.is_known] = X
        return whole


def teach_judgments(views, n_bits, rng):
    """Factors of the judgments, by a kernel regression for each view.

    Parameters
    ----------
    views : Views
        With any pairs.

    n_bits : int
        Bits of a code.

    rng : RandomState
        Draws what is random.

    Returns
    -------
    space : CommonSpace
        A column for each factor: twice as many as bits, but 64 at least, if there are
        rows enough.
    """
    grades = _grades(views.pairs)
    n_factors = min(max(2 * n_bits, _FEWEST_FACTORS), *grades.shape)
    left, values, right = randomized_svd(grades, n_factors, random_state=rng)
    share = np.sqrt(values) / np.sqrt(values[0])
    teachers = LeftOutRegression(), LeftOutRegression()
    left, right = left * share * np.sqrt(len(left)), right.T * share * np.sqrt(len(right.T))
    X_query = teachers[1].fit_left_out(_double(views.X_query), left, rng)
    X = teachers[0].fit_left_out(_double(views.X), right, rng)
    return CommonSpace(X, X_query, *teachers)


def _double(X):
    """Features in double precision: starts of hash functions make much of rounding."""
    return X.astype(np.float64, copy=False)


def _grades(pairs):
    """Grades of queries and items, a sparse array of shape (n_queries, n_items)."""
    if hasattr(pairs, "by_query"):
        return sp.csr_array(pairs.by_query, dtype=np.float64)
    return pairs.relevant(np.arange(pairs.n_queries))
