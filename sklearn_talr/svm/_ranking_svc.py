"""Structured SVM that ranks by average precision or NDCG."""

from copy import copy
from functools import partial
from numbers import Integral, Real
from typing import NamedTuple

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import check_consistent_length, column_or_1d, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from .._core.compat import CallbackSupportMixin, Interval, StrOptions, fit_method
from .._core.parameters import KW_ONLY, parameters
from .._core.progress import Progress, warn_caller
from .._core.state import (
    replace_fitted,
    take_snapshot,
    validate_aside,
    validate_seen,
)
from .._core.threads import one_thread
from .._core.types import Any, Array, ArrayLike, Column, Floats, Literal, Rows, Self
from .._core.validation import as_numpy, check_groups, refuse_missing, refuse_unlike_labels
from ..measures import Measure, parse_measure
from ..measures._base import measure_name
from ._risks import GradedRisk, HingeRisk, RankingRisk
from ._solver import Bundle, minimize


class FeatureMatrix:
    """A matrix of features, perhaps with one more column of ones.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features), float32 or float64
        The features.

    constant : bool
        Whether to add the column of ones for an intercept.

    ranks : bool
        Whether scores matter only up to a constant, so that dense features are centered.
    """

    def __init__(self, X, constant, ranks):
        if ranks and not sp.issparse(X):
            X = X - X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        self._X = X
        self._constant = constant
        self.n_weights = X.shape[1] + constant

    def scores(self, w):
        """Return the features times `w`, one score per sample, as float64."""
        n_features = self._X.shape[1]
        coef = w[:n_features].astype(self._X.dtype)
        scores = (self._X @ coef).astype(np.float64)
        if self._constant:
            return scores + w[-1]
        return scores

    def gradient(self, weights):
        """Return the gradient, with respect to w, of ``weights @ scores(w)``."""
        gradient = self._X.T @ weights.astype(self._X.dtype)
        gradient = gradient.astype(np.float64)
        if self._constant:
            return np.append(gradient, weights.sum())
        return gradient


@one_thread()
def scores_of(X, coef, intercept):
    """Return the scores of samples by fitted coefficients, of shape (1, n_features).

    Scores are float64, because features far from the origin would lose digits in float32.
    """
    return X @ coef[0].astype(np.float64) + intercept[0]


def best_threshold(scores, positive, sample_weight):
    """Find the threshold above which predicting "positive" makes the least weighted error.

    It lies in the middle between two neighboring scores. If it is best to predict no
    positives it is the highest score, and if it is best to predict only positives it lies 1
    below the lowest. Of equally good thresholds it is the highest.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        Scores of the samples.

    positive : ndarray of shape (n_samples,) of bool
        Which samples are positive.

    sample_weight : ndarray of shape (n_samples,)
        What an error on each sample costs.

    Returns
    -------
    threshold : float
        Scores above it are to be predicted as positive.
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    # Errors are relative to the error of predicting no positives.
    added_errors = np.where(positive, -sample_weight, sample_weight)
    error = np.append(0.0, np.cumsum(added_errors[order]))
    # No threshold lies between equal scores.
    is_tied = ranked[1:] == ranked[:-1]
    error[1:-1][is_tied] = np.inf
    n_above = int(np.argmin(error))
    if n_above == 0:
        return ranked[0]
    if n_above == len(ranked):
        return ranked[-1] - 1.0
    return (ranked[n_above - 1] + ranked[n_above]) / 2


# Gains of 2**grade are summed in float64.
LARGEST_GRADE = 1000
_DROPPED_GROUPS = (
    "fit got {} queries, but score got no groups and ranks all samples as one query. Pass "
    "groups (all equal if this is one query). A Pipeline or a search passes groups on only "
    "after sklearn.set_config(enable_metadata_routing=True) and, on the RankingSVC, "
    ".set_fit_request(groups=True).set_score_request(groups=True)."
)


class Targets(NamedTuple):
    """Two classes, and what samples have of them."""

    classes: np.ndarray  # (2,), the negative and the positive class
    class_index: np.ndarray  # (n_samples,), int, 0 or 1
    grades: np.ndarray | None  # (n_samples,), int, None without grades


def read_targets(y, loss, groups):
    """Read classes or grades of relevance.

    Whole numbers are grades if there are queries (`groups`); without queries they are more
    likely classes without an order. If there are more than two grades, the upper class is
    that of the relevant samples. Relevant are grades above 0, and for NDCG, which may lack
    grade 0, grades above the lowest one.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels or grades.

    loss : {"AP", "nDCG", "zero_one"}

    groups : ndarray of shape (n_samples,) or None
        Query of each sample.

    Returns
    -------
    targets : Targets
    """
    kind = type_of_target(y, input_name="y")
    are_numbers = y.dtype.kind in "iuf"
    is_graded = groups is not None and are_numbers and kind == "multiclass"
    grades = None
    labels = y
    if is_graded:
        grades = _check_grades(y)
        labels = _are_relevant(grades, y, loss)
    elif groups is not None and are_numbers and kind == "binary":
        grades = _grades_of_two_numbers(y, loss)
    check_classification_targets(labels)
    if not is_graded and kind != "binary":
        are_perhaps_grades = kind == "multiclass" and are_numbers and loss != "zero_one"
        _refuse_kind(y, kind, are_perhaps_grades)
    classes, class_index = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y must have samples of 2 classes to rank, got only one class, {classes[0]!r}."
        )
    return Targets(classes, class_index, grades)


def _are_relevant(grades, y, loss):
    """Whether samples are relevant, by more than two grades; `y` has them as given."""
    lowest = grades.min() if loss == "nDCG" else 0
    if grades.min() > lowest:
        raise ValueError(
            f"y must have samples of grade 0 for loss={loss!r}, for which all above 0 "
            f"is relevant. Binarize y, as by fit(X, y >= {np.unique(y)[1]})."
        )
    return grades > lowest


def _grades_of_two_numbers(y, loss):
    """Grades of two numbers of samples in queries, or None if they are classes.

    They can be grades if the lower one is 0: the NDCG is that of two classes then. A set
    for training may lack the rarer grades that a test set has.
    """
    low, high = y.min(), y.max()
    may_be_grades = low % 1 == 0 and high <= LARGEST_GRADE
    if low == 0 and may_be_grades:
        return _check_grades(y)
    if 0 < low < high and may_be_grades and loss != "zero_one":
        warn_caller(
            f"y has only the numbers {low} and {high}. They are read as two classes, and "
            f"{high} is the relevant class. Pass y == {high} to avoid this warning. "
            "Relevance grades need samples of grade 0, which are not relevant."
        )
    return None


def _refuse_kind(y, kind, are_perhaps_grades):
    """Raise ValueError for targets that are not of two classes."""
    remedy = "Wrap the classifier in sklearn.multiclass.OneVsRestClassifier."
    if are_perhaps_grades:
        remedy = (
            "If y are grades of relevance, pass groups, all equal if this is one "
            f"query, or binarize them, as by fit(X, y >= {np.unique(y)[1]}). For "
            "classes without an order wrap the classifier in "
            "sklearn.multiclass.OneVsRestClassifier."
        )
    raise ValueError(
        f"Only binary classification is supported. The type of the target is {kind}. "
        + remedy
    )


def _check_grades(y):
    """Return grades of relevance as integers, or raise ValueError."""
    y = column_or_1d(y)
    expected = f"grades of relevance, whole numbers from 0 to {LARGEST_GRADE}"
    if y.dtype.kind not in "biuf":
        name = y.dtype.type.__name__
        raise ValueError(f"y must be {expected}, as fit saw them, got {name}.")
    wrong = y[(y < 0) | (y != np.floor(y)) | (y > LARGEST_GRADE)]
    if len(wrong):
        raise ValueError(f"y must be {expected}, got {wrong[0]!r}.")
    return y.astype(np.int64)


_FLOATS = (np.float64, np.float32)


class TrainingSet(NamedTuple):
    """Checked data of a fit, and what is made of them."""

    X: np.ndarray | sp.csr_matrix  # (n_samples, n_features)
    y: np.ndarray  # (n_samples,), as `fit` got it
    loss: str  # "AP", "nDCG" or "zero_one"
    targets: Targets
    query: np.ndarray  # (n_samples,), int, number of the query of each sample
    sample_weight: np.ndarray  # (n_samples,), weight of the class of each sample

    @property
    def positive(self):
        """Whether each sample is of the positive class."""
        return self.targets.class_index == 1

    @property
    def ranks(self):
        """Whether the loss is one of rankings."""
        return self.loss != "zero_one"

    def make_risk(self):
        """Return the risk that is minimized, a function of the scores."""
        if not self.ranks:
            return HingeRisk(self.positive, self.sample_weight)
        if self.targets.grades is not None and self.loss == "nDCG":
            return GradedRisk(self.targets.grades, self.query)
        return RankingRisk(self.positive, self.query, self.loss)


@parameters
class RankingSVC(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    r"""Linear SVM trained on average precision or NDCG.

    It minimizes :math:`\tfrac12 |w|^2 + C\, n\, R(w)` for n samples, where R is the
    structured hinge loss of the ranking of all samples by ``X @ w`` (eq. 4 of Mohapatra et
    al., "Efficient Optimization for Rank-based Loss Functions", CVPR 2018): a convex upper
    bound of one minus AP, or of one minus NDCG. With ``loss="zero_one"`` R is the mean
    hinge of the samples, and the classifier an ordinary linear SVM.

    Parameters
    ----------
    loss : {"AP", "nDCG", "zero_one"}, default="AP"
        What R bounds: one minus average precision, one minus NDCG, or the rate of errors.

    C : float, default=1.0
        Weight of the loss against the norm of the coefficients, greater than 0. As in
        scikit-learn's SVMs the loss counts once for each sample: the mean loss R is
        multiplied by the number of samples.

    solver : {"bundle", "cutting_plane"}, default="bundle"
        Both solvers bound R from below by tangents, one per iteration, and stop by the
        duality gap. "bundle" searches the line to the minimum of the bound and adds a
        tangent near the best point (Franc and Sonnenburg, JMLR 2009). "cutting_plane" adds
        one at the minimum of the bound (Joachims, Finley and Yu, 2009), and needs more
        iterations.

    tol : float, default=1e-3
        Training stops when the objective is known to be within this fraction of its
        minimum.

    max_iter : int, default=1000
        Greatest number of iterations, each of which reads `X` twice.

    fit_intercept : bool, default=True
        Whether `predict` has a threshold other than 0. A ranking says nothing about a
        threshold. So for "AP" and "nDCG" the threshold with the least
        training error is taken after training. For "zero_one" the intercept is the
        coefficient of a constant feature 1.

    class_weight : dict or "balanced", default=None
        Weights of errors, by class. With "zero_one" they weigh the loss. With
        "AP" and "nDCG", whose loss weighs ranks and not samples, they only
        weigh the errors by which the threshold is chosen, and do nothing if `fit_intercept`
        is False.

    warm_start : bool, default=False
        Whether to start from the tangents that the last fit found, which saves iterations
        when only `C`, `tol`, `max_iter` or `solver` has changed. If the loss, the weights
        of the classes or the data have changed, `fit` starts afresh.

    verbose : bool, default=False
        Print the duality gap after each iteration.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The negative and the positive class. If `fit` saw more than two grades they are
        False, the lowest grade, and True, the grades above.

    grades_ : ndarray of shape (n_grades,) of int or None
        The grades that `fit` saw, ascending. None if it saw two classes.

    coef_ : ndarray of shape (1, n_features)
        Weights of the features.

    intercept_ : ndarray of shape (1,)
        Added to the scores, so that `predict` may compare them with 0.

    n_iter_ : int
        Number of iterations made.

    objective_ : float
        Value of :math:`\tfrac12 |w|^2 + C\, n\, R(w)` at the solution.

    dual_gap_ : float
        Upper bound of the fraction of `objective_` by which it exceeds its minimum.

    n_queries_ : int
        Number of queries seen by `fit`, 1 without `groups`.

    n_features_in_ : int
        Number of features seen by `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    See Also
    --------
    loss_augmented_ranks : The search for the most violating ranking, of which R is made.
    sklearn.svm.LinearSVC : Counts errors one by one instead of ranking.
    RankingHingeLoss : The same loss for neural networks.

    Notes
    -----
    For several classes or labels wrap it in scikit-learn's ``OneVsRestClassifier``. Take
    this class where there are queries or grades. For one ranking of two classes try
    ``LinearSVC`` too: its squared hinge is often better (AP 0.697 against 0.692,
    means over the labels of COCO and three draws of 5 000 training samples).

    Grades of relevance: the discounted gain of a ranking is a sum over grades, and so one
    minus NDCG is a weighted mean over the grades of one minus the NDCG of the samples of
    this grade and above. R is the same mean of the structured hinges, which is again a
    convex upper bound. AP knows no grades: all above 0 are relevant. For another limit
    binarize them, as by ``y >= 2``. In a search over `loss` set one `scoring` for all.

    A `Pipeline` or a search hands `groups` on to `fit` and `score` only under
    ``sklearn.set_config(enable_metadata_routing=True)``, and if asked to by
    ``set_fit_request(groups=True)`` and ``set_score_request(groups=True)``. Without this a
    search splits by groups, but fits and scores as if all samples were one ranking. Before
    scikit-learn 1.8 a search around a Pipeline hands them to `fit` only: put the search
    into the last step.

    BLAS is held to one thread: their number would change the last digits of coefficients.
    With scikit-learn's `array_api_dispatch` arrays go to NumPy, and answers stay there.

    Examples
    --------
    Two of the samples have the same features, hence the same score, and one of them is
    positive. The AP is the mean over both orders of the tie, of 1 and 5/6.

    >>> from sklearn_talr.svm import RankingSVC
    >>> X = [[3.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 3.0]]
    >>> y = [1, 1, 0, 0]
    >>> svc = RankingSVC("AP").fit(X, y)
    >>> round(svc.score(X, y), 3)
    0.917
    """

    _parameter_constraints = {
        "loss": [str, Measure],
        "C": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"bundle", "cutting_plane"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    loss: str | Measure = "AP"
    C: float = 1.0
    _: KW_ONLY
    solver: Literal["bundle", "cutting_plane"] = "bundle"
    tol: float = 1e-3
    max_iter: int = 1000
    fit_intercept: bool = True
    class_weight: dict[Any, float] | Literal["balanced"] | None = None
    warm_start: bool = False
    verbose: bool = False

    @fit_method
    def fit(self, X: Rows, y: ArrayLike, groups: Column = None) -> Self:
        """Learn to rank the positive samples first.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features.

        y : array-like of shape (n_samples,)
            Labels of two classes; the greater one is positive. With `groups` (zeros for one
            query) also grades of relevance, whole numbers from 0 to 1000: under "nDCG" a
            sample of grade g gains 2^g - 1, under other losses all above 0 is relevant.

        groups : array-like of shape (n_samples,), default=None
            Query of each sample. If given, samples are ranked within their query, and the
            loss is the mean over queries that have positives and negatives. None means that
            all samples are one ranking. "zero_one" does not use groups.

        Returns
        -------
        self : object
            The fitted classifier.

        Raises
        ------
        ValueError
            If `y` has not two classes and no grades, or no group has two of them. After any
            error the classifier is what it was before.

        Warns
        -----
        ConvergenceWarning
            If the duality gap is above `tol` after `max_iter` iterations, or Ctrl-C has
            ended the fit early, which keeps the best weights found by then.

        UserWarning
            If two numbers like 1 and 2, within `groups`, might be meant as grades.
        """
        data, seen = self._read(X, y, groups)
        has_constant = self.fit_intercept and not data.ranks
        features = FeatureMatrix(data.X, has_constant, data.ranks)
        risk = data.make_risk()
        key, tangents = self._tangents_to_start_from(data, features.n_weights)
        fitted = partial(self._fitted_attributes, data, seen)
        progress = Progress(self, data.X, data.y, self.max_iter, "iteration", fitted=fitted)
        solution = minimize(
            features,
            risk,
            self.C * len(data.y),
            tangents,
            tol=self.tol,
            max_iter=self.max_iter,
            line_search=self.solver == "bundle",
            progress=progress,
        )
        # A filter may turn the warning into an error, after which nothing is replaced.
        if solution.gap > self.tol and not progress.is_over:
            warn_caller(
                f"The duality gap is still {solution.gap:.2g} of the objective after "
                f"{self.max_iter} iterations. Increase max_iter or tol, or scale the "
                "features.",
                ConvergenceWarning,
            )
        # Tangents that an interrupt has found half added are not kept.
        kept_tangents = {}
        if self.warm_start and not progress.is_over:
            kept_tangents = {key: tangents}
        return replace_fitted(
            self, progress.finish(solution) | {"_tangents": kept_tangents}
        )

    def _read(self, X, y, groups):
        """Check the data of a fit; return them and what was seen of the features."""
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(X, groups, ("X", "groups"))
        X = as_numpy(X, "X")
        y = as_numpy(y, "y")
        groups = as_numpy(groups, "groups")
        refuse_missing(y)
        shape = getattr(y, "shape", ())
        if len(shape) == 2 and shape[0] == 1 < shape[1]:
            raise ValueError(
                f"y should be a 1d array, got one row, of shape {shape}. If it holds a "
                "label for each sample, as MATLAB keeps a vector, pass np.ravel(y)."
            )
        loss = measure_name(self.loss, "loss", ("zero_one",))
        (X, y), seen = validate_aside(self, X, y=y, accept_sparse="csr", dtype=_FLOATS)
        targets = read_targets(y, loss, groups)
        query = np.zeros(X.shape[0], dtype=np.intp)
        if groups is not None:
            groups = check_groups(groups, len(query))
            check_consistent_length(X, groups)
            query = np.unique(groups, return_inverse=True)[1]
        labels = targets.classes[targets.class_index]
        data = TrainingSet(
            X=X,
            y=y,
            loss=loss,
            targets=targets,
            query=query,
            sample_weight=compute_sample_weight(self.class_weight, labels),
        )
        return data, seen

    def _tangents_to_start_from(self, data, n_weights):
        """Return a key of the risk, and a copy of the last fit's tangents if it has it."""
        tangents = Bundle(n_weights)
        if not self.warm_start:
            return None, tangents
        contents = (
            data.loss,
            self.fit_intercept,
            data.X,
            data.positive,
            data.targets.grades,
            data.query,
            data.sample_weight,
        )
        # SHA-1 takes less than half the time of joblib's default, MD5.
        key = joblib.hash(contents, hash_name="sha1")
        return key, copy(getattr(self, "_tangents", {}).get(key, tangents))

    def _fitted_attributes(self, data, seen, solution):
        """Attributes of the classifier for a solution; the intercept may be a threshold."""
        n_features = data.X.shape[1]
        grades = data.targets.grades
        coef = solution.w[None, :n_features].astype(data.X.dtype)
        intercept = np.array([solution.w[n_features:].sum()])
        if data.ranks and self.fit_intercept:
            scores = scores_of(data.X, coef, intercept)
            threshold = best_threshold(scores, data.positive, data.sample_weight)
            intercept = np.array([-threshold])
        return seen | {
            "classes_": data.targets.classes,
            "grades_": None if grades is None else np.unique(grades),
            "coef_": coef,
            "intercept_": intercept,
            "n_iter_": solution.n_iter,
            "objective_": solution.objective,
            "dual_gap_": solution.gap,
            "n_queries_": int(data.query.max()) + 1,
            "_tangents": {},
        }

    def decision_function(self, X: Rows) -> Floats:
        """Score samples.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Higher is ranked first; above 0 is predicted to be of the positive class.
        """
        # Another thread may fit meanwhile, and all attributes are to be of one fit.
        fitted = take_snapshot(self)
        check_is_fitted(fitted)
        X = validate_seen(fitted, as_numpy(X, "X"), accept_sparse="csr", dtype=_FLOATS)
        return scores_of(X, fitted.coef_, fitted.intercept_)

    def predict(self, X: Rows) -> Array:
        """Predict classes.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        fitted = take_snapshot(self)
        is_positive = fitted.decision_function(X) > 0
        return fitted.classes_[is_positive.astype(int)]

    def score(
        self, X: Rows, y: ArrayLike, sample_weight: Column = None, *, groups: Column = None
    ) -> float:
        """Compute the metric that `loss` bounds: tie-aware AP or NDCG, or accuracy.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features.

        y : array-like of shape (n_samples,)
            True labels; grades of relevance, if `fit` was given these.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights in the accuracy of "zero_one". Rankings have no weights.

        groups : array-like of shape (n_samples,), default=None
            Query of each sample. If given, AP and NDCG are means over queries that have a
            positive. None means that all samples are one ranking. "zero_one" does not use
            groups.

        Returns
        -------
        score : float
            In [0, 1], higher is better. If AP or NDCG is wanted and nothing is positive, it
            is NaN with a warning.

        Raises
        ------
        ValueError
            If AP or NDCG is wanted, and `y` has a label that is not in `classes_`, or what
            is no grade if `fit` saw grades, or `sample_weight` is given.

        Warns
        -----
        UserWarning
            If AP or NDCG is wanted and `fit` saw several queries, but there are no
            `groups`: perhaps a Pipeline has dropped them.
        """
        scores = self.decision_function(X)
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(X, groups, ("X", "groups"))
        y = as_numpy(y, "y")
        groups = as_numpy(groups, "groups")
        sample_weight = as_numpy(sample_weight, "sample_weight")
        loss = measure_name(self.loss, "loss", ("zero_one",))
        if loss == "zero_one":
            labels = y
            if self.grades_ is not None:
                labels = self.classes_[(_check_grades(y) > 0).astype(int)]
            return accuracy_score(labels, self.predict(X), sample_weight=sample_weight)
        if sample_weight is not None:
            raise ValueError(
                f"sample_weight must be None for loss={self.loss!r}: AP and NDCG have no "
                "weights of samples."
            )
        relevance = self._relevance(y)
        check_consistent_length(relevance, scores)
        metric = parse_measure(loss).score
        if groups is not None:
            return metric(relevance, scores, groups=groups)
        if self.n_queries_ > 1:
            warn_caller(_DROPPED_GROUPS.format(self.n_queries_))
        return metric([relevance], [scores])

    def _relevance(self, y):
        """Grades of relevance, or 1 for the positive class and 0 for the other one."""
        if self.grades_ is not None:
            return _check_grades(y)
        y = column_or_1d(y)
        relevance = (y == self.classes_[1]).astype(int)
        unseen = y[(relevance == 0) & (y != self.classes_[0])].tolist()
        if unseen:
            raise ValueError(
                f"y has the label {unseen[0]!r}, but fit saw {self.classes_}. "
                "Binarize grades of relevance as for fit."
            )
        return relevance

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
