"""Class probabilities of a classifier as features, of few dimensions."""

import copy
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax, softmax
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    MetaEstimatorMixin,
    TransformerMixin,
    clone,
)
from sklearn.model_selection import check_cv
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._core.compat import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    check_method_params,
    independent_random_state,
    num_samples,
    routing_enabled,
    safe_indexing,
    safe_split,
    with_callbacks,
)
from .._core.fitted_hasher import read_for
from .._core.parameters import KW_ONLY, parameters
from .._core.progress import Progress, warn_caller
from .._core.state import replace_fitted
from .._core.threads import slices
from .._core.types import Any, Array, ArrayLike, Count, Literal, Rows, Seed, Self
from .._core.validation import as_numpy, row_norms
from ..affinity._labels import has_unlabeled
from ..kernel_ridge import KernelRidgeClassifierCV
from ..kernel_ridge._classifier import kind_of_classes
from ..kernel_ridge._model import affordable_components
from ._base import errors_of
from ._class_sample import draw_rows, rows_of_classes

# The default classifier is fitted to all samples if its tables fit into this many bytes.
_MOST_BYTES = 2**30
# Bytes per sample and feature: three or four copies of the features, mostly in float32.
_BYTES_OF_FEATURE = 16
# Bytes per sample and class: five tables in float64.
_BYTES_OF_CLASS = 40
# If not all samples fit, the default classifier is fitted to at most this many. 50 000 rows
# raise AP by 0.0003 only, for a million rows of 100 classes.
_MOST_SAMPLES = 20_000
# If not all samples are fitted, most of the time goes into the others. Then the default
# classifier compares at most this many pairs of a sample and a component, which takes half
# a minute on one core.
_MOST_PAIRS = 1.5e9
_LEAST_COMPONENTS = 1_000
# Samples per class in the mean: without its only sample nothing is known of a class.
_LEAST_SAMPLES_PER_CLASS = 2
# Probabilities that `transform` computes at a time
_CELLS_PER_BLOCK = 2**22
# "auto" for classes: on CIFAR-10 and Fashion-MNIST codes rank better than with 1.
_TEMPERATURE_OF_CLASSES = 1.6
# Probabilities count as this much at least, so that logarithms stay finite.
_LEAST_PROBABILITY = 1e-12


@parameters
class ClassProbabilities(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Class probabilities of any classifier, as features for a hasher.

    The inner product of the probabilities of two samples is the probability that they have
    one class, if the classifier is calibrated and their classes are independent. So
    probabilities rank well, and they need few bits, since there are only as many features
    as classes. Put this transformer before a hasher that is trained on labels, or before
    :class:`AdditiveHasher` with ``metric="inner_product"`` for weighted queries.

    A hasher must learn from out-of-sample probabilities: a classifier is too confident
    about samples that it was fitted to. `fit_transform` returns out-of-sample
    probabilities (see `cv`), and Pipelines train on the output of `fit_transform`.

    Parameters
    ----------
    estimator : classifier with predict_proba, default=None
        The classifier. None means ``KernelRidgeClassifierCV(random_state=0)``. For label
        indicators one classifier is fitted per label, unless the classifier takes several
        labels itself.

    cv : int, cross-validation splitter or iterable, default=None
        How `fit_transform` gets the probabilities of the training samples.

        * None: from `fit_predict_proba` of the classifier, which leaves each sample out.
          The default classifier has this method. A classifier without it predicts the
          samples that it was fitted to.
        * Otherwise the probabilities of each sample come from a classifier that was fitted
          to other folds, as in stacking. Each sample must be in one test fold. `transform`
          uses a classifier that was fitted to all samples.

    temperature : float or "auto", default="auto"
        Divisor of the logits of the probabilities. Above 1 classes come nearer to each
        other, so that short codes keep more of their order. 1 leaves the probabilities as
        the classifier gives them. ``"auto"`` means 1.6 for classes that exclude each other,
        and 1 for label indicators.

    passthrough : bool, default=False
        Whether features stand beside the scores, for future classes without training
        samples. Features are centered and scaled to unit length. Scores are centered
        log-probabilities of classes, or log-odds of labels; their root mean square length
        is 1. The temperature does not change them.

    max_samples : int, None or "auto", default="auto"
        Largest number of samples that the classifier is fitted to. If there are more,
        samples are drawn, at first ten of each class or all it has; or whole groups, if
        `fit` is given ``groups``. The other samples are held out, so `fit_transform`
        returns for them the same as `transform`. None means all. ``"auto"`` means:

        * all samples for an `estimator` that is passed;
        * all samples for the default classifier, if its tables of samples, features and
          classes take less than a gigabyte, such as 177 000 samples of 128 features and 100
          classes;
        * otherwise at most 20 000. The more samples there are, the fewer of the 20 000 does
          the classifier compare them with: 1 500 for a million samples, and at least 1 000.

    random_state : int, RandomState instance or None, default=0
        Draws the samples that the classifier is fitted to. The classifier has its own
        `random_state`.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted to all samples.

    classes_ : ndarray of shape (n_outputs,)
        Classes of the columns, or numbers of their labels.

    exclusive_ : bool
        Whether the classes exclude each other; labels do not.

    beside_ : tuple or None
        With `passthrough`: mean of the features, mean of the scores, and root mean square
        length of the scores minus their mean.

    n_features_in_ : int
        Number of features seen by `fit`, if the classifier has this attribute.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the classifier saw any.

    See Also
    --------
    AdditiveHasher : Codes these features for weighted queries.
    TALRHasher : Codes these features, or other ones, for queries of bits.
    sklearn_talr.kernel_ridge.KernelRidgeClassifierCV : The default classifier.
    sklearn.ensemble.StackingClassifier : Probabilities as features of another classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_talr.hashing import ClassProbabilities, TALRHasher
    >>> from sklearn_talr.neighbors import HashedNeighbors
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = make_pipeline(
    ...     ClassProbabilities(), TALRHasher(n_bits=16, random_state=0)
    ... )
    >>> index = HashedNeighbors(hasher)
    >>> round(index.fit(X[300:], y[300:]).score(X[:300], y[:300]), 1)
    1.0
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "cv": ["cv_object"],
        "temperature": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "passthrough": ["boolean"],
        "max_samples": [
            Interval(Integral, 2, None, closed="left"),
            StrOptions({"auto"}),
            None,
        ],
        "random_state": ["random_state"],
    }

    # HashedNeighbors reads this: it encodes the rows of `fit` by their `fit_transform`.
    cross_fits = True

    estimator: Any = None
    _: KW_ONLY
    cv: Any = None
    temperature: float | Literal["auto"] = "auto"
    passthrough: bool = False
    max_samples: Count | Literal["auto"] = "auto"
    random_state: Seed = 0

    @with_callbacks
    def fit(self, X: Rows, y: ArrayLike, **params: Any) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, as the classifier takes them.

        y : array-like of shape (n_samples,), or indicators of shape (n_samples, n_labels)
            Classes, or label indicators, dense or sparse. If no sample has a label, its
            probability is 0.

        **params : dict
            Passed to `fit` of the classifier, with metadata routing if it is enabled.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        # Scores beside features have the scale of samples that were left out.
        caller = "fit_transform" if self.passthrough else "fit"
        return replace_fitted(self, self._fit(caller, X, y, params).attributes)

    @with_callbacks
    def fit_transform(self, X: Rows, y: ArrayLike, **params: Any) -> Array:
        """Fit the classifier, and return the probabilities of the same samples.

        They differ from the probabilities that `transform` returns, unless `cv` is None and
        the classifier has no `fit_predict_proba`. Samples that `max_samples` has not drawn
        get the probabilities of `transform`, since the classifier has not seen them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, as the classifier takes them.

        y : array-like of shape (n_samples,), or indicators of shape (n_samples, n_labels)
            Classes, or label indicators, dense or sparse. If no sample has a label, its
            probability is 0.

        **params : dict
            Passed to `fit` of the classifier, with metadata routing if it is enabled.
            Metadata routing also passes what `cv` requests, such as ``groups``.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_outputs)
            A column for each class or label; with `passthrough`, columns of the features
            come first. With `cv` a class that the other folds lack has probability 0, and
            a warning says so.
        """
        X = self._read(X)
        fit = self._fit("fit_transform", X, y, params)
        # A copy computes the features: an interrupt leaves this transformer as it is.
        fitted = replace_fitted(copy.copy(self), fit.attributes)
        if fit.sample is None:
            features = fitted._features(X, fit.probabilities)
        else:
            features = fitted.transform(X)
            X_sample = safe_indexing(X, fit.sample)
            features[fit.sample] = fitted._features(X_sample, fit.probabilities)
        replace_fitted(self, fit.attributes)
        return features

    def transform(self, X: Rows) -> Array:
        """Compute the probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, as the classifier takes them.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_outputs)
            A column for each class or label; with `passthrough`, columns of the features
            come first. The array is in NumPy, even if the classifier takes arrays of other
            libraries.
        """
        check_is_fitted(self)
        X = self._read(X)
        n_samples = num_samples(X)
        n_per_block = max(1, _CELLS_PER_BLOCK // len(self.classes_))
        if n_samples <= n_per_block:
            return self._transform_block(X)
        features = None
        for rows in slices(n_samples, n_per_block):
            block = self._transform_block(safe_indexing(X, rows))
            if features is None:
                features = np.empty((n_samples, block.shape[1]), dtype=block.dtype)
            features[rows] = block
        return features

    def _transform_block(self, X):
        """Features of one block of samples."""
        with self._errors_of(self.estimator_):
            probabilities = _probabilities(self.estimator_, X, self.classes_)
        return self._features(X, probabilities)

    def _read(self, X):
        """Features as arrays, unless the classifier declares that it takes other forms."""
        return read_for(_default(self.estimator), X)

    def _errors_of(self, classifier):
        """Context in which errors of the default classifier name this class."""
        return errors_of(self if self.estimator is None else classifier, classifier)

    def _features(self, X, probabilities):
        """Features that `transform` returns, from samples and their probabilities."""
        exclusive = self.exclusive_
        if self.beside_ is None:
            temperature = self.temperature
            if temperature == "auto":
                temperature = _TEMPERATURE_OF_CLASSES if exclusive else 1
            return softened(probabilities, temperature, exclusive)
        center, offset, unit = self.beside_
        X = _dense(X)
        X = (X - center).astype(X.dtype, copy=False)
        lengths = row_norms(X)[:, None].astype(X.dtype, copy=False)
        directions = X / np.where(lengths > 0, lengths, 1)
        scores = (_scores(probabilities, exclusive) - offset) / unit
        return np.concatenate((directions, scores.astype(X.dtype, copy=False)), axis=1)

    def _fit(self, caller, X, y, params):
        """Fit the classifier, without a change of this transformer.

        Parameters
        ----------
        caller : {"fit", "fit_transform"}
            ``"fit_transform"`` also gets probabilities of the samples.

        X, y, params
            As for `fit`.

        Returns
        -------
        fit : _Fit
            Fitted attributes and probabilities.
        """
        self._validate_params()
        X = self._read(X)
        if sp.issparse(y):
            y = y.tocsr()
        kind = kind_of_classes(self, y)
        if kind == "multiclass":
            _refuse_unlabeled(y)
        exclusive = kind != "multilabel-indicator"
        is_transformed = caller == "fit_transform"
        fit_params, split_params = self._route(caller, params)
        data = _TrainingSamples(X, y, fit_params, split_params)
        sample = self._draw(X, y, fit_params.get("groups"))
        if sample is not None:
            data = data.take(sample)
        if sp.issparse(data.y):
            data = data._replace(y=data.y.toarray())
        classifier = self._make_classifier(
            num_samples(X), None if sample is None else len(sample), exclusive=exclusive
        )
        folds = []
        if is_transformed and self.cv is not None:
            folds = self._folds(data)
        progress = Progress(self, data.X, data.y, n_fits=1 + len(folds))
        with self._errors_of(classifier):
            probabilities = _fit_classifier(
                classifier, data, progress, leaves_out=is_transformed and not folds
            )
            if folds:
                probabilities = _predict_folds(classifier, data, folds, progress)
            elif is_transformed and probabilities is None:
                probabilities = _probabilities(classifier, data.X, _classes_of(classifier))
        attributes = {
            "estimator_": classifier,
            "classes_": _classes_of(classifier),
            "exclusive_": exclusive,
            "beside_": None,
        }
        if self.passthrough:
            attributes["beside_"] = _scales_beside(data.X, probabilities, exclusive)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(classifier, name):
                attributes[name] = getattr(classifier, name)
        return _Fit(progress.finish(attributes), probabilities, sample)

    def _route(self, caller, params):
        """Parameters of the classifier's `fit`, and of the splitter's `split`."""
        if not routing_enabled():
            return params, {}
        routed = process_routing(self, caller, **params)
        needs_folds = caller == "fit_transform" and self.cv is not None
        split_params = routed.splitter.split if needs_folds else {}
        return routed.estimator.fit, split_params

    def _make_classifier(self, n_samples, n_drawn, *, exclusive):
        """An unfitted classifier that takes the kind and the number of samples."""
        classifier = clone(_default(self.estimator))
        if self.estimator is None and n_drawn is not None:
            n_components = max(int(_MOST_PAIRS / n_samples), _LEAST_COMPONENTS)
            if n_components < affordable_components(n_drawn):
                classifier.set_params(n_components=n_components)
        tags = get_tags(classifier)
        takes_labels = tags.classifier_tags.multi_label or tags.target_tags.multi_output
        if exclusive or takes_labels:
            return classifier
        return OneVsRestClassifier(classifier)

    def _draw(self, X, y, groups):
        """Samples that the classifier is fitted to, ascending, or None if it sees all."""
        n_samples = num_samples(X)
        n_classes = len(rows_of_classes(y))
        n_drawn = self.max_samples
        if n_drawn == "auto":
            n_drawn = None
            if self.estimator is None:
                n_drawn = _n_affordable(X, n_samples, n_classes)
        if n_drawn is None or n_samples <= n_drawn or n_samples != num_samples(y):
            return None
        if n_drawn < n_classes:
            n_needed = _LEAST_SAMPLES_PER_CLASS * n_classes
            raise ValueError(
                f"max_samples={n_drawn} samples cannot hold one of each of the {n_classes} "
                f"classes of y. Set max_samples={n_needed} or more."
            )
        rng = independent_random_state(self.random_state)
        return draw_rows(y, n_drawn, rng, groups)

    def _folds(self, data):
        """Training samples and test samples of each fold."""
        splitter = check_cv(self.cv, data.y, classifier=True)
        splits = splitter.split(data.X, data.y, **data.split_params)
        folds = [(np.asarray(train), np.asarray(test)) for train, test in splits]
        tests = np.concatenate([test for _, test in folds])
        if not np.array_equal(np.sort(tests), np.arange(num_samples(data.X))):
            raise ValueError(
                "cv must have each sample in one test fold, as KFold and StratifiedKFold "
                f"do, got {self.cv!r}."
            )
        return folds

    def set_fit_request(self, **requests: Any) -> Self:
        """Set which metadata `fit` of the classifier requests under metadata routing.

        `estimator` becomes a copy of the classifier whose own `set_fit_request` has been
        called. KernelRidgeClassifierCV requests `groups` without that.

        Parameters
        ----------
        **requests : dict
            Requests of the classifier, such as ``sample_weight=True``.

        Returns
        -------
        self : object
            The transformer.
        """
        self.estimator = clone(_default(self.estimator)).set_fit_request(**requests)
        return self

    set_fit_transform_request = set_fit_request

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn which metadata the classifier and the splitter request.

        Returns
        -------
        routing : MetadataRouter
            The routing.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        mapping.add(caller="fit_transform", callee="fit")
        router = MetadataRouter(owner=type(self).__name__)
        router.add(estimator=_default(self.estimator), method_mapping=mapping)
        if self.cv is not None:
            mapping = MethodMapping().add(caller="fit_transform", callee="split")
            router.add(splitter=check_cv(self.cv), method_mapping=mapping)
        return router

    @property
    def _n_features_out(self):
        n_features = 0 if self.beside_ is None else len(self.beside_[0])
        return n_features + len(self.classes_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        classifier_tags = get_tags(_default(self.estimator))
        tags.input_tags.sparse = classifier_tags.input_tags.sparse
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class _Fit(NamedTuple):
    """A fit of the classifier.

    Parameters
    ----------
    attributes : dict
        Fitted attributes of the transformer.

    probabilities : ndarray of shape (n_drawn, n_outputs), or None
        Probabilities of the samples drawn, for `fit_transform`.

    sample : ndarray of shape (n_drawn,), or None
        Samples that were drawn, ascending; None if the classifier has seen all.
    """

    attributes: dict
    probabilities: np.ndarray | None
    sample: np.ndarray | None


class _TrainingSamples(NamedTuple):
    """Samples that the classifier is fitted to, with metadata of these samples.

    Parameters
    ----------
    X, y : features and targets
        Samples.

    fit_params, split_params : dict
        Passed to `fit` of the classifier, and to `split` of the splitter.
    """

    X: object
    y: object
    fit_params: dict
    split_params: dict

    def take(self, samples):
        """Some of the samples."""
        return _TrainingSamples(
            safe_indexing(self.X, samples),
            safe_indexing(self.y, samples),
            check_method_params(self.X, self.fit_params, indices=samples),
            check_method_params(self.X, self.split_params, indices=samples),
        )


def _default(estimator):
    return KernelRidgeClassifierCV(random_state=0) if estimator is None else estimator


def _refuse_unlabeled(y):
    if has_unlabeled(np.asarray(as_numpy(y, "y"))):
        raise ValueError(
            "y has labels of -1 among others. In scikit-learn -1 marks samples without a "
            "label, and a classifier would learn that they are alike. Leave them out: "
            "X[y != -1] and y[y != -1]. If -1 is a class, number the classes from 0: "
            "np.unique(y, return_inverse=True)[1]."
        )


def _n_affordable(X, n_samples, n_classes):
    """How many samples the default classifier is fitted to, if there are more."""
    n_values = X.nnz / n_samples if sp.issparse(X) else _n_columns(X)
    bytes_per_sample = _BYTES_OF_FEATURE * n_values + _BYTES_OF_CLASS * n_classes
    n_fitting = int(_MOST_BYTES / bytes_per_sample)
    if n_samples <= n_fitting:
        return n_samples
    n_drawn = min(n_fitting, _MOST_SAMPLES)
    if n_drawn < _LEAST_SAMPLES_PER_CLASS * n_classes:
        raise ValueError(
            f"y has {n_classes} classes of {n_samples} samples, and the default classifier "
            "would make tables of both that take gigabytes, even with a few samples of "
            "each class. Give the features to the hasher: TALRHasher().fit(X, y). Or pass "
            "a classifier of your own as estimator. If there is memory enough: "
            "ClassProbabilities(max_samples=None)."
        )
    return n_drawn


def _n_columns(X):
    """Number of features of dense rows, in whatever form they come."""
    shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    return shape[1] if len(shape) > 1 else 1


def _n_present(y):
    """Number of classes that occur in `y`, or of labels."""
    if type_of_target(y) != "multilabel-indicator":
        return len(np.unique(np.asarray(as_numpy(y, "y"))))
    return (np.asarray(as_numpy(y, "y")) > 0).any(axis=0).sum()


def _classes_of(estimator):
    """Class of each column of probabilities, or the numbers of the labels."""
    classes = estimator.classes_
    if isinstance(classes, list):
        return np.arange(len(classes))
    return np.asarray(as_numpy(classes))


def _fit_classifier(classifier, data, progress, *, leaves_out):
    """Fit a classifier to all samples.

    Returns
    -------
    probabilities : ndarray of shape (n_samples, n_outputs), or None
        Probabilities with each sample left out, if they are wanted and the classifier has
        a `fit_predict_proba`.
    """
    with progress.nested("fit-classifier")(classifier):
        if leaves_out and hasattr(classifier, "fit_predict_proba"):
            return classifier.fit_predict_proba(data.X, data.y, **data.fit_params)
        classifier.fit(data.X, data.y, **data.fit_params)
    return None


def _predict_folds(classifier, data, folds, progress):
    """Probabilities of each sample, by a classifier that was fitted to other folds.

    `cross_val_predict` would number the classes, but `class_weight` names them.
    """
    columns = _classes_of(classifier)
    # A function of the module can be sent to other processes.
    predict_fold = delayed(_predict_fold)
    tables = Parallel()(
        predict_fold(
            clone(classifier),
            data,
            train,
            test,
            columns=columns,
            nested=progress.nested("fit-fold"),
        )
        for train, test in folds
    )
    n_present = _n_present(data.y)
    if any(_n_present(safe_indexing(data.y, train)) < n_present for train, _ in folds):
        warn_caller(
            "Some classes or labels occur in only one fold of cv, so the samples of that "
            "fold get probability 0 for them. Pass stratified or shuffled folds as cv."
        )
    tests = np.concatenate([test for _, test in folds])
    return np.concatenate(tables)[np.argsort(tests)]


def _predict_fold(classifier, data, train, test, *, columns, nested):
    """Probabilities of the samples of one fold, which training does not see."""
    X_train, y_train = safe_split(classifier, data.X, data.y, train)
    X_test, _ = safe_split(classifier, data.X, data.y, test, train)
    fit_params = check_method_params(data.X, data.fit_params, indices=train)
    with nested(classifier):
        classifier.fit(X_train, y_train, **fit_params)
    return _probabilities(classifier, X_test, columns)


def _probabilities(estimator, X, columns):
    """Probabilities of all classes or labels; 0 of a class that the classifier lacks."""
    predicted = estimator.predict_proba(X)
    if isinstance(predicted, list):
        # Forests return a table of outcomes for each label. Training may have seen one
        # outcome only.
        present = [
            as_numpy(table)[:, as_numpy(outcomes) > 0].sum(1)
            for table, outcomes in zip(predicted, estimator.classes_)
        ]
        return np.stack(present, axis=1)
    table = np.asarray(as_numpy(predicted))
    known_classes = _classes_of(estimator)
    if len(known_classes) == len(columns):
        return table
    probabilities = np.zeros((len(table), len(columns)), dtype=table.dtype)
    probabilities[:, np.isin(columns, known_classes)] = table
    return probabilities


def _scales_beside(X, probabilities, exclusive):
    """The attribute `beside_`: means of features and of scores, and length of scores."""
    scores = _scores(probabilities, exclusive)
    offset = scores.mean(axis=0)
    unit = float(np.sqrt(np.square(scores - offset).sum(axis=1).mean()))
    return _dense(X).mean(axis=0, dtype=np.float64), offset, unit or 1.0


def softened(probabilities, temperature, exclusive):
    """Probabilities whose logits are divided by a temperature.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_outputs)
        Probabilities of classes or labels. A probability of 0 or 1 stays as it is.

    temperature : float
        Above 1 it moves probabilities nearer to each other.

    exclusive : bool
        Whether classes exclude each other. Otherwise each label is softened for itself.

    Returns
    -------
    softer : ndarray of shape (n_samples, n_outputs)
        In the same precision.
    """
    if temperature == 1:
        return probabilities
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities) / temperature
        if exclusive:
            return softmax(logs, axis=1)
        return np.exp(logs - np.logaddexp(logs, np.log1p(-probabilities) / temperature))


def _dense(X):
    if sp.issparse(X):
        raise ValueError(
            "passthrough=True needs dense features beside the scores, but X is sparse. "
            "Pass X.toarray(), reduce X by TruncatedSVD, or take passthrough=False."
        )
    X = np.asarray(as_numpy(X))
    return X if X.dtype == np.float32 else X.astype(np.float64)


def _scores(probabilities, exclusive):
    """Centered log-probabilities of classes, or log-odds of labels."""
    bounded = np.clip(probabilities, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    if not exclusive:
        return np.log(bounded) - np.log1p(-bounded)
    logs = log_softmax(np.log(bounded), axis=1)
    return logs - logs.mean(axis=1, keepdims=True)
