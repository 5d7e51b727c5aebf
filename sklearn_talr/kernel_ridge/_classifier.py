"""Kernel ridge regression as a classifier, with probabilities of samples left out."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_array, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from .._core.compat import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_method,
    independent_random_state,
)
from .._core.parameters import KW_ONLY, parameters
from .._core.progress import Progress, warn_caller
from .._core.state import replace_fitted, validate_aside, validate_seen
from .._core.threads import one_thread, slices
from .._core.types import (
    Any,
    Array,
    ArrayLike,
    Column,
    Count,
    Floats,
    Literal,
    Rows,
    Seed,
    Self,
)
from .._core.validation import as_numpy, refuse_missing, refuse_unlike_labels
from ..affinity import SharedLabelAffinity
from ..affinity._base import (
    kinds_of,
    lists_as_array,
    refuse_row,
    refuse_tags,
    targets_as_csr,
)
from ..affinity._labels import refuse_other_numbers
from ..features._similar_rows import SimilarRows, units_of_features
from ._model import (
    KERNELS,
    fit_model,
    line_of_labels,
    sums_of_kernels,
    temperature_of_classes,
)
from ._samples import distinct_samples

_DTYPES = (np.float64, np.float32)
# A warning names at most this many classes.
_MOST_NAMED = 10
# Probabilities are computed in blocks of this many numbers.
_CELLS_PER_BLOCK = 2**22
# Logit of a label that all samples have; a label that no sample has gets minus this logit
_CERTAIN = 1e4


@parameters
class KernelRidgeClassifierCV(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    r"""Kernel ridge regression on classes, with leave-one-out probabilities.

    Ridge regression predicts indicators of the classes, or of several labels, from kernels
    between samples. What it would predict for a training sample without that sample
    follows in closed form, so no fold is ever fitted. The kernel coefficient, the penalty
    and the temperature of the probabilities are chosen by the likelihood of these
    leave-one-out predictions. :meth:`fit_predict_proba` returns the predictions, on which a
    second model, such as a hasher, should be trained.

    With targets :math:`Y`, kernel :math:`K`, penalty :math:`\alpha` and
    :math:`C = (K + \alpha I)^{-1} Y`, the prediction for sample i without sample i is
    :math:`y_i - c_i / [(K + \alpha I)^{-1}]_{ii}`. An intercept without penalty and
    sample weights are added, and the predictions stay exact. Copies of a sample are left
    out together, unless they are in different groups. The search walks on the grid of
    coefficients and penalties until no neighbor makes the targets more likely.

    Parameters
    ----------
    kernel : {"rbf", "cosine", "linear"}, default="rbf"
        Kernel, as :func:`~sklearn.metrics.pairwise.pairwise_kernels` names it. "cosine" and
        "linear" are for text.

    gammas : array-like of shape (n_gammas,), default=None
        Coefficients of the kernel to choose from, above 0; ignored by "cosine" and
        "linear". None means five coefficients that follow from the median distance of
        samples, so that features need no scaling.

    alphas : array-like of shape (n_alphas,), default=None
        Penalties to choose from, above 0. None means multiples of the variance of the
        kernel.

    n_components : int, default=None
        Number of training samples, drawn at random, that others are compared with. None
        means all of up to 5 000 samples. Of more samples it means as many as make the fit
        take about a minute of one core: 5 000 of 12 000 samples, 1 732 of 100 000, and at
        least 1 000. The cosine and linear kernels need no components if samples have at
        most 5 000 features.

    class_weight : dict or "balanced", default=None
        Weights of classes, as in scikit-learn: "balanced" weights are inverse to the number
        of samples of the class. Each of several labels is weighted as one class against the
        rest, and the weight of a sample is the mean over all labels.

    verbose : bool, default=False
        Print the loss of each pair of parameters that is tried: minus the mean
        log-likelihood of the samples left out.

    random_state : int, RandomState instance or None, default=None
        Draws samples for the search of the coefficients, if there are more than 2 000, and
        components, if they are fewer than the samples. With up to 2 000 samples, all of
        them components, nothing is drawn.

    Attributes
    ----------
    classes_ : ndarray of shape (n_outputs,)
        The classes, or numbers of the labels.

    multilabel_ : bool
        Whether `y` had several labels for a sample.

    gamma_ : float
        Chosen coefficient of the kernel; without a meaning for "cosine" and "linear".

    alpha_ : float
        Chosen penalty.

    temperature_ : float
        Scores are divided by the temperature. An offset is then added to scores of labels.

    mean_ : ndarray of shape (n_features,) or None
        Mean of the training samples, which is subtracted from all samples first. None for
        sparse samples, and for the cosine kernel.

    units_ : ndarray of shape (n_features,) or (n_features, n_features), or None
        Units of the columns, or a matrix that samples are multiplied by, after `mean_` is
        subtracted. With these units, distances find similar samples best. None for features
        as they are, and for other kernels than the Gaussian one.

    components_ : {ndarray, sparse matrix} of shape (n_components, n_features)
        Training samples that others are compared with, less the mean. Unit vectors if a
        linear function of the features is as good.

    dual_coef_ : ndarray of shape (n_components, n_outputs)
        Weights of the kernel with each component, divided by the temperature.

    intercept_ : ndarray of shape (n_outputs,)
        Added to the weighted sums of kernels.

    n_features_in_ : int
        Number of features seen by `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if they have any.

    See Also
    --------
    sklearn_talr.hashing.ClassProbabilities : Passes the probabilities on to a hasher.
    sklearn.linear_model.RidgeClassifierCV : Linear, without probabilities.
    sklearn.kernel_ridge.KernelRidge : Regression with given coefficients.

    Notes
    -----
    With up to 5 000 samples a fit takes some seconds, and memory for three matrices of
    n_samples x n_samples numbers of 8 bytes. A prediction compares a sample with all
    components.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = KernelRidgeClassifierCV().fit(X[500:], y[500:])
    >>> round(classifier.score(X[:500], y[:500]), 2)
    0.97

    Leave-one-out probabilities of training samples are nearly as uncertain as
    probabilities of other samples. The fitted classifier is certain of its training
    samples:

    >>> left_out = KernelRidgeClassifierCV().fit_predict_proba(X[500:], y[500:])
    >>> sure = classifier.predict_proba(X[500:]).max(axis=1).mean()
    >>> unseen = classifier.predict_proba(X[:500]).max(axis=1).mean()
    >>> print(f"{sure:.2f} {left_out.max(axis=1).mean():.2f} {unseen:.2f}")
    1.00 0.99 0.98
    """

    _parameter_constraints = {
        "kernel": [StrOptions(set(KERNELS))],
        "gammas": ["array-like", None],
        "alphas": ["array-like", None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [dict, list, StrOptions({"balanced"}), None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    # If metadata is routed, groups come without a request, since no other step takes them.
    __metadata_request__fit = {"groups": True}

    kernel: Literal["rbf", "cosine", "linear"] = "rbf"
    _: KW_ONLY
    gammas: Column = None
    alphas: Column = None
    n_components: Count = None
    class_weight: dict[Any, float] | Literal["balanced"] | None = None
    verbose: bool = False
    random_state: Seed = None

    @fit_method
    def fit(
        self, X: Rows, y: ArrayLike, sample_weight: Column = None, groups: Column = None
    ) -> Self:
        """Choose the parameters, and fit all samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        y : array-like of shape (n_samples,), or indicators of shape (n_samples, n_labels)
            Classes, or label indicators, dense or sparse.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of samples, at least 0.

        groups : array-like of shape (n_samples,), default=None
            Samples of one group are left out together, as changed copies of one image
            should be. If metadata is routed, groups come without a request.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with one_thread():
            fit = self._fit(X, y, sample_weight, groups)
        return replace_fitted(self, fit.fitted)

    @fit_method
    def fit_predict_proba(
        self, X: Rows, y: ArrayLike, sample_weight: Column = None, groups: Column = None
    ) -> Floats:
        """Fit, and predict probabilities of each training sample as if it was left out.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        y : array-like of shape (n_samples,), or indicators of shape (n_samples, n_labels)
            Classes, or label indicators, dense or sparse.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of samples, at least 0.

        groups : array-like of shape (n_samples,), default=None
            Samples of one group are left out together.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_outputs)
            Probability of each class, or of each label. `predict_proba` returns other
            numbers for the same samples.
        """
        with one_thread():
            fit = self._fit(X, y, sample_weight, groups)
            logits = fit.leave_out()
        replace_fitted(self, fit.fitted)
        return self._probabilities(logits)

    def decision_function(self, X: Rows) -> Array:
        """Compute the logits of the probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        logits : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Logits of the second of two classes, or of each class or label.
        """
        logits = self._logits(X)
        if self.multilabel_ or len(self.classes_) > 2:
            return logits
        return logits[:, 1] - logits[:, 0]

    def predict_proba(self, X: Rows) -> Floats:
        """Predict the probability of each class, or of each label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_outputs)
            Probabilities from 0 to 1. Probabilities of classes sum to 1.
        """
        return self._probabilities(self._logits(X))

    def predict(self, X: Rows) -> Array:
        """Predict the most probable class, or all labels of probabilities above 1/2.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        y : ndarray of shape (n_samples,), or indicators of shape (n_samples, n_labels)
            The predictions.
        """
        logits = self._logits(X)
        if self.multilabel_:
            return (logits > 0).astype(np.int64)
        return self.classes_[logits.argmax(axis=1)]

    def _fit(self, X, y, sample_weight, groups):
        """Fit; nothing of the classifier is changed.

        Returns
        -------
        fit : KernelFit
            Fitted attributes, and the model that predicts samples as if left out.
        """
        data, seen = self._check(X, y, sample_weight, groups)
        samples = _find_distinct(data)
        rng = independent_random_state(self.random_state)
        progress = Progress(self, data.X, data.y, None, "candidate")
        try:
            model = fit_model(
                samples,
                line_of_labels if data.is_multilabel else temperature_of_classes,
                rng,
                progress,
                kernel=self.kernel,
                units=_choose_units(samples) if self.kernel == "rbf" else None,
                gammas=_grid(self.gammas, "gammas"),
                alphas=_grid(self.alphas, "alphas"),
                n_components=self.n_components,
            )
        except MemoryError as error:
            raise MemoryError(
                "The kernel does not fit into memory. Pass a smaller n_components."
            ) from error
        certain_logits = _find_certain(samples, data)
        is_certain = certain_logits != 0
        fitted = seen | model.fitted
        fitted["classes_"] = data.classes
        fitted["multilabel_"] = data.is_multilabel
        fitted["alpha_"] = float(model.alpha)
        fitted["temperature_"] = 1 / model.slope
        fitted["dual_coef_"][:, is_certain] = 0
        fitted["intercept_"][is_certain] = certain_logits[is_certain]
        return KernelFit(
            progress.finish(fitted),
            data,
            samples,
            model=model,
            certain_logits=certain_logits,
            kernel=self.kernel,
        )

    def _check(self, X, y, sample_weight, groups):
        """Checked data, and attributes with the number and the names of the features."""
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(X, sample_weight, ("X", "sample_weight"))
        refuse_unlike_labels(X, groups, ("X", "groups"))
        X = as_numpy(X, "X")
        y = as_numpy(y, "y")
        sample_weight = as_numpy(sample_weight, "sample_weight")
        groups = as_numpy(groups, "groups")
        y = y.tocsr() if sp.issparse(y) else y
        X, seen = validate_aside(self, X, dtype=_DTYPES, accept_sparse="csr")
        is_multilabel = kind_of_classes(self, y) == "multilabel-indicator"
        if is_multilabel:
            dense = y.toarray() if sp.issparse(y) else y
            Y = y = check_array(dense, dtype=np.float64)
            classes = np.arange(Y.shape[1])
        else:
            y = column_or_1d(y, warn=True)
            classes, Y = _indicators(y)
        groups = None if groups is None else column_or_1d(groups)
        check_consistent_length(X, Y, groups)
        weights = check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if self.class_weight is not None:
            weights = weights * _weights_of_classes(self.class_weight, y)
        if np.any(weights < 0):
            raise ValueError(
                f"class_weight must have weights of 0 or more, got {self.class_weight}."
            )
        data = CheckedData(
            X,
            y,
            Y,
            classes=classes,
            is_multilabel=is_multilabel,
            weights=weights,
            groups=groups,
        )
        return data, seen

    def _logits(self, X):
        check_is_fitted(self)
        X = as_numpy(X, "X")
        X = validate_seen(self, X, dtype=_DTYPES, accept_sparse="csr")
        return sums_of_kernels(X, vars(self), self.kernel, out_dtype=X.dtype)

    def _probabilities(self, logits):
        """Probabilities of logits, in the same memory."""
        if self.multilabel_:
            return expit(logits, out=logits)
        for rows in slices(len(logits), max(1, _CELLS_PER_BLOCK // logits.shape[1])):
            logits[rows] = softmax(logits[rows], axis=1)
        return logits

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True)
class CheckedData:
    """Checked arguments of a fit."""

    X: object  # (n_samples, n_features), array or CSR
    y: np.ndarray  # (n_samples,), classes, or indicators
    Y: np.ndarray  # (n_samples, n_outputs), indicators of classes or labels
    classes: np.ndarray  # (n_outputs,)
    is_multilabel: bool
    weights: np.ndarray  # (n_samples,)
    groups: np.ndarray | None  # (n_samples,), samples of a group are left out together


@dataclass(frozen=True)
class KernelFit:
    """A fit, which also predicts its own samples as if each had been left out."""

    fitted: dict  # attributes of the classifier
    data: CheckedData
    samples: object  # DistinctSamples of weight above 0
    model: object  # KernelModel
    certain_logits: np.ndarray  # (n_outputs,), 0 if a label is not certain
    kernel: str

    def leave_out(self):
        """Logits of all samples, (n_samples, n_outputs).

        Samples without weight were left out from the start.
        """
        data = self.data
        samples = self.samples
        self._warn_of_classes_alone()
        logits = self.model.leave_out()
        is_certain = self.certain_logits != 0
        logits[:, is_certain] = self.certain_logits[is_certain]
        logits = logits[samples.index]
        unweighted = np.flatnonzero(samples.index < 0)
        if len(unweighted):
            logits[unweighted] = sums_of_kernels(
                data.X[unweighted], self.fitted, self.kernel
            )
        return logits.astype(data.X.dtype, copy=False)

    def _warn_of_classes_alone(self):
        """Warn of classes or labels that only one sample or group has."""
        data = self.data
        labels = zip(data.classes.tolist(), self.samples.Y.T > 0, strict=True)
        alone = [
            label
            for label, positive in labels
            if len(np.unique(self.samples.groups[positive])) == 1
        ]
        if alone:
            warn_caller(_warning_of_classes_alone(alone, data))


def _indicators(y):
    """Classes, and indicators of them, shape (n_samples, n_classes)."""
    classes, index = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            "y must have at least 2 classes, but the data contains only one class: "
            f"{classes.tolist()[0]!r}."
        )
    return classes, np.eye(len(classes))[index]


def _find_distinct(data):
    """Samples that differ, with weights above 0."""
    if np.count_nonzero(data.weights) < 2:
        raise ValueError(
            "sample_weight leaves fewer than 2 samples. Give more samples weights above 0."
        )
    samples = distinct_samples(data.X, data.Y, data.weights, data.groups)
    if len(samples.weights) < 2:
        raise ValueError(
            "X has the same values in all samples (constant features), so nothing can "
            "be learned. Pass features that differ."
        )
    if samples.groups[0] == samples.groups[-1]:
        raise ValueError(
            "groups has one group only, and without it no sample is left. Pass at least 2 "
            "groups."
        )
    return samples


def _choose_units(samples):
    """Units of the features with which distances find samples that share a label best."""
    affinity = SharedLabelAffinity(binary=True)
    similar = SimilarRows(affinity, samples.Y > 0, np.array([0, 1]))
    return units_of_features(samples.X, np.arange(len(samples.Y)), similar)


def _find_certain(samples, data):
    """Logits of labels that all samples have or none has, and 0 for other labels."""
    certain_logits = np.zeros(len(data.classes))
    if data.is_multilabel:
        certain_logits += _CERTAIN * (samples.Y == 1).all(axis=0)
        certain_logits -= _CERTAIN * (samples.Y == 0).all(axis=0)
    return certain_logits


def kind_of_classes(estimator, y):
    """Type of target of classes or of label indicators.

    Parameters
    ----------
    estimator : estimator
        The estimator that errors name.

    y : object
        Targets, as a user passes them.

    Returns
    -------
    kind : {"binary", "multiclass", "multilabel-indicator"}
        As scikit-learn's `type_of_target` names it.

    Raises
    ------
    ValueError
        If there is not one class for each sample, and `y` is no 0/1 label indicator.
    """
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    type_name = type(y).__name__
    y = lists_as_array(y)
    refuse_missing(y)
    y = targets_as_csr(y) if sp.issparse(y) else np.asarray(y)
    if y.ndim not in (1, 2):
        raise ValueError(
            "y must be one class for each sample, or 0/1 label indicators, got "
            f"{type_name} of shape {y.shape}."
        )
    if 0 in y.shape:
        raise ValueError(f"y is empty, of shape {y.shape}. Pass a class for each sample.")
    values = y.data if sp.issparse(y) else y
    refuse_tags(values)
    if kinds_of(values) & {bytes, np.bytes_}:
        raise ValueError("y holds bytes. Pass strings: np.char.decode(y).")
    refuse_row(y)
    assert_all_finite(y, input_name="y")
    is_table = y.ndim == 2 and y.shape[1] > 1 and values.dtype.kind in "if"
    if is_table and np.any((values < 0) | (values % 1 > 0)):
        refuse_other_numbers(values)
    check_classification_targets(y)
    kind = type_of_target(y)
    if kind == "multiclass-multioutput":
        raise ValueError(
            "y must be one class for each sample, or 0/1 label indicators, got several "
            "columns of classes. Pass one column, or indicators of all classes: "
            "OneHotEncoder().fit_transform(y)."
        )
    if kind == "multilabel-indicator":
        refuse_other_numbers(y)
    return kind


def _warning_of_classes_alone(alone, data):
    """The warning that leave-one-out predictions do not know some classes or labels."""
    names = ", ".join(map(repr, alone[:_MOST_NAMED]))
    names += ", ..." if len(alone) > _MOST_NAMED else ""
    is_alone = np.isin(data.classes, alone)
    n_rows = int((data.Y[:, is_alone] > 0).sum(axis=0).max())
    cause = "in one sample or group only"
    if data.groups is None and n_rows > 1:
        cause = (
            f"in equal rows of X only, up to {n_rows} of them, which count as one sample "
            "and are left out together"
        )
    n_classes = len(data.classes)
    return (
        f"{len(alone)} of {n_classes} classes or labels of y ({names}) are {cause}. "
        "Leave-one-out probabilities cannot predict them for these samples. Pass more "
        "samples of these classes with other features, or drop the classes."
    )


def _weights_of_classes(class_weight, y):
    """Weights of samples by their classes, or means of weights over their labels.

    One regression serves all labels, so a sample has one weight. Products over labels,
    which `compute_sample_weight` returns, differ by orders of magnitude between samples.
    """
    if y.ndim == 1:
        return compute_sample_weight(class_weight, y)
    n_labels = y.shape[1]
    label_weights = class_weight
    if isinstance(class_weight, str):
        label_weights = [class_weight] * n_labels
    if not isinstance(label_weights, list) or len(label_weights) != n_labels:
        raise ValueError(
            f"class_weight must be 'balanced' or a list of {n_labels} dicts, one for each "
            f"label, such as [{{0: 1, 1: 5}}, ...], got {class_weight!r}."
        )
    total = np.zeros(len(y))
    for label_weight, has_label in zip(label_weights, y.T):
        total += compute_sample_weight(label_weight, has_label)
    return total / n_labels


def _grid(values, name):
    """Values to choose from, ascending; None stays None."""
    if values is None:
        return None
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"{name} must be a list of numbers, got shape {values.shape}.")
    if not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"{name} must have finite values above 0, got {values}.")
    return np.unique(values)
