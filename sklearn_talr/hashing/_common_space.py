"""Teachers: both views in one space, in which an inner product tells relevance.

Where classes or labels are known on both sides, the space is that of their probabilities.
Where there are judgments, it is that of their factors: the truncated singular value
decomposition U V' of the judgments gives coordinates to items (U) and to queries (V), and a
kernel ridge regression predicts these from features.

What training rows get is said as if they had not been there, see
:mod:`sklearn_talr.kernel_ridge`.
"""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.extmath import randomized_svd

from .._core.validation import Space
from ..features._scaling import mean_and_unit
from ..features._similar_rows import units_of_features
from ..kernel_ridge._model import LeftOutRegression
from ._base import BaseHasher, errors_told
from ._class_probabilities import ClassProbabilities
from ._function import HashFunction

_N_FACTORS = 256  # the more, the better weighted queries follow fine grades


def teach_classes(views, teacher, progress):
    """Probabilities of classes or labels, by a classifier for each view.

    Parameters
    ----------
    views : Views
        With classes of both sides.

    teacher : transformer or None
        Cloned for each view; None means `ClassProbabilities()`.

    progress : Progress
        Told of each fit.

    Returns
    -------
    taught : Views
        A column for each class of either side, or for each label. What is said of training
        rows is said as if they had been left out.

    Raises
    ------
    ValueError
        If a view cannot be learned, or columns of the views do not belong together.
    """
    teacher = ClassProbabilities() if teacher is None else teacher
    of_items, of_queries = views.pairs.classes
    teachers = [clone(teacher)]
    X = X_query = _learn(teachers[0], views.X, of_items, "y", progress)
    if not views.pairs.same_rows:
        teachers.append(clone(teacher))
        X_query = _learn(teachers[1], views.X_query, of_queries, "y_query", progress)
    known = [getattr(of_side, "classes_", None) for of_side in teachers]
    if X.shape[1] == X_query.shape[1] and np.array_equal(known[0], known[-1]):
        return views.taught(X, X_query, teachers[0], teachers[-1])
    if [X.shape[1], X_query.shape[1]] != [np.size(classes) for classes in known]:
        raise ValueError(
            f"teacher={teacher!r} gives {X.shape[1]} columns for X and {X_query.shape[1]} "
            "for X_query, which are not one for each class, so nothing tells which belong "
            "together. Pass ClassProbabilities without passthrough, or another transformer "
            "with a column for each of its classes_."
        )
    columns = np.union1d(*known)
    both = [OfSomeClasses(each, np.isin(columns, each.classes_)) for each in teachers]
    return views.taught(both[0].widen(X), both[1].widen(X_query), *both)


def _learn(teacher, X, targets, name, progress):
    """Fit a teacher to rows that have a class, and return coordinates of all rows."""
    message = f"teacher cannot learn from {name}: {{}} Pass another one, or teacher=None."
    # In double precision: starts of hash functions make much of rounding.
    X, has_class = X.astype(np.float64, copy=False), targets.has_class
    with errors_told(message), progress.nested("fit-teacher")(teacher):
        if has_class.all():
            return teacher.fit_transform(X, targets.y)
        taught = teacher.fit_transform(X[has_class], targets.y[has_class])
        coordinates = np.empty((len(has_class), taught.shape[1]), dtype=taught.dtype)
        coordinates[has_class] = taught
        coordinates[~has_class] = teacher.transform(X[~has_class])
        return coordinates


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


def teach_judgments(views, rng, progress):
    """Factors of the judgments, by a kernel regression for each view.

    Parameters
    ----------
    views : Views
        With any pairs.

    rng : RandomState
        Draws what is random.

    progress : Progress
        Told of each fit.

    Returns
    -------
    taught : Views
        A column for each factor: 256, or as many as there are items or queries.
    """
    grades = views.pairs.grades(np.arange(views.pairs.n_queries))
    n_factors = min(_N_FACTORS, *grades.shape)
    left, values, right = randomized_svd(grades, n_factors, random_state=rng)
    share = np.sqrt(values / values[0])
    items, queries = views.pairs.similar()
    both = [(views.X_query, left, queries), (views.X, right.T, items)]
    if views.pairs.same_rows:
        del both[0]
    teachers = [LeftOutRegression() for _ in both]
    known = []
    for teacher, (features, factors, similar) in zip(teachers, both):
        factors = factors * share * np.sqrt(len(factors))
        double = features.astype(np.float64, copy=False)
        units = units_of_features(features, np.arange(features.shape[0]), similar)
        with progress.nested("fit-teacher")(teacher):
            known.append(teacher.fit_left_out(double, factors, rng, units))
    return views.taught(known[-1], known[0], teachers[-1], teachers[0])


class BesideFeatures:
    """A teacher whose coordinates stand beside the features that it saw.

    Both are centered and of unit mean square length, so that what the teacher lacks can be
    learned from the features.

    Parameters
    ----------
    teacher : object
        Gives coordinates.

    X, coordinates : array
        Training rows, and coordinates of these.
    """

    def __init__(self, teacher, X, coordinates):
        self.teacher = teacher
        self.mean, self.unit = mean_and_unit(X)
        self.of_coordinates = mean_and_unit(coordinates)

    def transform(self, X):
        """Features and coordinates of rows, side by side."""
        return self.join(X, self.teacher.transform(X))

    def join(self, X, coordinates):
        """Features and given coordinates, side by side."""
        (mean, unit), centered = self.of_coordinates, np.asarray(X - self.mean)
        beside = centered / self.unit, (coordinates - mean) / unit
        return np.concatenate(beside, axis=1)


def beside_features(views, taught, is_shared):
    """The space of towers: coordinates beside the features of each view.

    Sparse features would become dense, and are left out; by a shared function of both.

    Parameters
    ----------
    views, taught : Views
        Features of both views, and coordinates of both.

    is_shared : bool
        Whether one function serves both views, which must then have one width.

    Returns
    -------
    taught : Views
        Of other widths in each view.
    """
    known = [taught.X, taught.X_query]
    teachers = [taught.teacher, taught.query_teacher]
    are_sparse = [sp.issparse(views.X), sp.issparse(views.X_query)]
    for side, X in enumerate((views.X, views.X_query)):
        if not (any(are_sparse) if is_shared else are_sparse[side]):
            teachers[side] = BesideFeatures(teachers[side], X, known[side])
            known[side] = teachers[side].join(X, known[side])
    return views.taught(*known, *teachers)


class ViewLayers(BaseHasher):
    """The fitted hash function of one view, a hasher like any other.

    Weights of queries saturate. Features are in NumPy.

    Attributes
    ----------
    coefs_, intercepts_ : list of ndarray
        Weights of each layer, as of :class:`~sklearn_talr.hashing.TALRHasher`.

    means_ : list of one ndarray
        Subtracted from the features first.
    """

    @classmethod
    def of(cls, fitted):
        """A fitted function, of a dict of its attributes."""
        view = cls()
        vars(view).update(fitted)
        return view

    def fit(self, X, y=None):
        """Do nothing, as a frozen estimator does: `CrossViewHasher` has fitted this one.

        Parameters
        ----------
        X, y : Ignored
            Present for API consistency.

        Returns
        -------
        self : object
            The fitted hasher.
        """
        return self

    def __talr_hash_function__(self, space: Space) -> HashFunction:
        """Make the function of the layers, whose weights of queries saturate."""
        layers = super().__talr_hash_function__(space)
        return replace(layers, saturates_weights=True)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags


class BehindTeacher(ViewLayers):
    """A hasher of what a teacher says of features.

    Attributes
    ----------
    teacher_ : object
        Its ``transform`` turns features into what `hasher_` takes.

    hasher_ : hasher
        Fitted on features that teachers of both views gave.
    """

    def __talr_hash_function__(self, space: Space) -> HashFunction:
        """Make the function of `hasher_` behind the teacher."""
        function = self.hasher_.__talr_hash_function__(space)
        return replace(function, prepare=self.teacher_.transform)
