"""Teachers: they bring both views into one space, in which inner products give relevance.

If classes or labels are known on both sides, the coordinates are their probabilities. With
judgments, the coordinates are factors: the truncated singular value decomposition U V' of
the judgments gives coordinates to items (U) and to queries (V), and a kernel ridge
regression predicts them from features.

Training rows get the coordinates that they would have if they had been left out, see
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
from ._base import BaseHasher, errors_in_message
from ._class_probabilities import ClassProbabilities
from ._function import HashFunction
from ._views import Views

# With more factors weighted queries follow fine grades better.
_N_FACTORS = 256


def teach_classes(views, teacher, progress):
    """Give both views the probabilities of classes or labels, by a classifier each.

    Parameters
    ----------
    views : Views
        With classes of both sides.

    teacher : transformer or None
        Cloned for each view; None means `ClassProbabilities()`.

    progress : Progress
        Is told of each fit.

    Returns
    -------
    taught : Views
        A column for each class of either side, or for each label. Training rows have the
        coordinates that they would have if they had been left out.

    Raises
    ------
    ValueError
        If a view cannot be learned, or columns of the views do not belong together.
    """
    if teacher is None:
        teacher = ClassProbabilities()
    item_classes, query_classes = views.pairs.classes
    items = _learn(clone(teacher), views.items, item_classes, "y", progress)
    queries = items
    if not views.pairs.same_rows:
        queries = _learn(clone(teacher), views.queries, query_classes, "y_query", progress)
    known_items = getattr(items.teacher, "classes_", None)
    known_queries = getattr(queries.teacher, "classes_", None)
    n_columns = items.X.shape[1]
    n_query_columns = queries.X.shape[1]
    if n_columns == n_query_columns and np.array_equal(known_items, known_queries):
        return Views(items, queries, views.pairs)
    if n_columns != np.size(known_items) or n_query_columns != np.size(known_queries):
        raise ValueError(
            f"teacher={teacher!r} gives {n_columns} columns for X and {n_query_columns} "
            "for X_query, which are not one for each class, so it is not known which "
            "columns belong together. Pass ClassProbabilities without passthrough, or "
            "another transformer with a column for each of its classes_."
        )
    classes = np.union1d(known_items, known_queries)
    return Views(_widened(items, classes), _widened(queries, classes), views.pairs)


def _learn(teacher, view, targets, name, progress):
    """Fit a teacher to rows that have a class; the view with coordinates of all rows."""
    message = f"teacher cannot learn from {name}: {{}} Pass another one, or teacher=None."
    # Teachers work in double precision, since starts of hash functions enlarge rounding.
    X = view.X.astype(np.float64, copy=False)
    has_class = targets.has_class
    with errors_in_message(message), progress.nested("fit-teacher")(teacher):
        if has_class.all():
            return view.taught(teacher.fit_transform(X, targets.y), teacher)
        with_class = teacher.fit_transform(X[has_class], targets.y[has_class])
        shape = len(has_class), with_class.shape[1]
        coordinates = np.empty(shape, dtype=with_class.dtype)
        coordinates[has_class] = with_class
        coordinates[~has_class] = teacher.transform(X[~has_class])
        return view.taught(coordinates, teacher)


def _widened(view, classes):
    """A view with a column for each class, also for those that its teacher lacks."""
    teacher = TeacherOfSomeClasses(view.teacher, np.isin(classes, view.teacher.classes_))
    return view.taught(teacher.widen(view.X), teacher)


class TeacherOfSomeClasses:
    """A teacher that knows some of the classes; the others have probability 0.

    Parameters
    ----------
    teacher : transformer
        Gives a column for each class that it knows.

    is_known : ndarray of bool
        Which of all classes it knows.
    """

    def __init__(self, teacher, is_known):
        self.teacher = teacher
        self.is_known = is_known

    def transform(self, X):
        """Probabilities of all classes, for features."""
        return self.widen(self.teacher.transform(X))

    def widen(self, X):
        """Put columns of the known classes in their places among all classes."""
        probabilities = np.zeros((len(X), len(self.is_known)), dtype=X.dtype)
        probabilities[:, self.is_known] = X
        return probabilities


def teach_judgments(views, rng, progress):
    """Give both views the factors of their judgments, by a kernel regression each.

    Parameters
    ----------
    views : Views
        With any pairs.

    rng : RandomState
        Generator.

    progress : Progress
        Is told of each fit.

    Returns
    -------
    taught : Views
        A column for each factor: 256, or the number of items or queries if that is less.
    """
    pairs = views.pairs
    grades = pairs.grades(np.arange(pairs.n_queries))
    n_factors = min(_N_FACTORS, *grades.shape)
    left, values, right = randomized_svd(grades, n_factors, random_state=rng)
    weights = np.sqrt(values / values[0])
    queries = None
    # With the same rows on both sides the factors of items serve both.
    if not pairs.same_rows:
        similar_queries = pairs.similar_queries()
        query_factors = left * weights
        queries = _regress(views.queries, query_factors, similar_queries, rng, progress)
    similar_items = pairs.similar_items()
    items = _regress(views.items, right.T * weights, similar_items, rng, progress)
    return Views(items, queries or items, pairs)


def _regress(view, factors, similar, rng, progress):
    """Predict factors from features: the view with predictions of rows left out."""
    factors = factors * np.sqrt(len(factors))
    teacher = LeftOutRegression()
    X = view.X.astype(np.float64, copy=False)
    units = units_of_features(view.X, np.arange(view.X.shape[0]), similar)
    with progress.nested("fit-teacher")(teacher):
        predictions = teacher.fit_left_out(X, factors, rng, units)
    return view.taught(predictions, teacher)


class TeacherBesideFeatures:
    """A teacher whose coordinates stand beside the features that it saw.

    Both are centered and of unit mean square length, so that a hash function can learn from
    the features what the teacher lacks.

    Parameters
    ----------
    teacher : object
        Gives coordinates.

    X, coordinates : ndarray
        Features of training rows, and the coordinates of these rows.
    """

    def __init__(self, teacher, X, coordinates):
        self.teacher = teacher
        self.mean, self.unit = mean_and_unit(X)
        self.coordinates_mean, self.coordinates_unit = mean_and_unit(coordinates)

    def transform(self, X):
        """Features and coordinates of rows, side by side."""
        return self.join(X, self.teacher.transform(X))

    def join(self, X, coordinates):
        """Features and given coordinates, side by side."""
        features = np.asarray(X - self.mean) / self.unit
        coordinates = (coordinates - self.coordinates_mean) / self.coordinates_unit
        return np.concatenate((features, coordinates), axis=1)


def beside_features(views, taught, *, is_shared):
    """Put coordinates beside the features of each view, for functions that are trained.

    Sparse features would become dense, so a view of sparse features keeps its coordinates
    only. If one function serves both views, one sparse view is enough for both to do so.

    Parameters
    ----------
    views, taught : Views
        Features of both views, and coordinates of both.

    is_shared : bool
        Whether one function serves both views, which must then have one width.

    Returns
    -------
    joined : Views
        Views that are wider than those taught, unless their features are sparse.
    """
    are_sparse = sp.issparse(views.items.X), sp.issparse(views.queries.X)
    if is_shared and any(are_sparse):
        return taught
    items_are_sparse, queries_are_sparse = are_sparse
    items = taught.items
    queries = taught.queries
    if not items_are_sparse:
        items = _joined(views.items, items)
    if not queries_are_sparse:
        queries = _joined(views.queries, queries)
    return Views(items, queries, views.pairs)


def _joined(view, taught):
    """A view of features and coordinates, from a view of either."""
    teacher = TeacherBesideFeatures(taught.teacher, view.X, taught.X)
    return view.taught(teacher.join(view.X, taught.X), teacher)


class ViewLayers(BaseHasher):
    """The fitted hash function of one view, a hasher like any other.

    It saturates weights of queries, and takes features in NumPy.

    Attributes
    ----------
    coefs_, intercepts_ : list of ndarray
        Weights of each layer, as :class:`~sklearn_talr.hashing.TALRHasher` has them.

    means_ : list of one ndarray
        Subtracted from the features first.
    """

    @classmethod
    def from_fitted(cls, attributes):
        """Make a fitted function from a dict of its attributes."""
        function = cls()
        vars(function).update(attributes)
        return function

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
    """A hasher of the coordinates that a teacher gives features.

    Attributes
    ----------
    teacher_ : object
        Its ``transform`` computes coordinates from features.

    hasher_ : hasher
        Fitted to coordinates.
    """

    def __talr_hash_function__(self, space: Space) -> HashFunction:
        """Make the function of `hasher_` behind the teacher."""
        function = self.hasher_.__talr_hash_function__(space)
        return replace(function, prepare=self.teacher_.transform)
