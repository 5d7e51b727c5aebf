"""Class probabilities as features: what a classifier knows, in a few dimensions."""

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    MetaEstimatorMixin,
    TransformerMixin,
    clone,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import Bunch, get_tags
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from .._arrays import as_numpy
from .._state import replace_fitted

__all__ = ["ClassProbabilities"]


class ClassProbabilities(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, MetaEstimatorMixin, BaseEstimator
):
    """Probabilities of classes or labels, by any classifier, as features to be hashed.

    The inner product of the probabilities of two samples is the probability that they have
    one class, if the classifier is right and they are drawn independently. So it ranks well
    as it is, and in few bits, since there are as few features as classes. Put it before
    :class:`AdditiveHasher` with ``metric="inner_product"`` for real-valued queries, or
    before a hasher trained on labels, with `cv`.

    Parameters
    ----------
    estimator : classifier with predict_proba, default=None
        The classifier. None means ``LogisticRegression(C=3, max_iter=1000)``. For label
        indicators it is fitted once per label, unless it takes several labels itself.

    cv : int, cross-validation splitter or iterable, default=None
        How `fit_transform` gets the probabilities of the training samples. None means from
        the classifier that was fitted to them, which is too sure of them. Otherwise every
        sample gets those of a classifier that has not seen it, as in stacking, and
        `transform` those of one that has seen all. Pass it where training samples are the
        database, too, as when a search for parameters scores a pipeline that ends in
        HammingNeighbors: its items are then no surer than others would be.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, fitted to all samples.

    classes_ : ndarray of shape (n_outputs,)
        The classes, or numbers of labels, that the columns belong to.

    n_features_in_ : int
        Number of features seen by `fit`, if the classifier tells.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the classifier saw any.

    See Also
    --------
    AdditiveHasher : Bits whose weighted sums are nearest to these features.
    TALRHasher : Learns bits from features and labels at once.
    sklearn.ensemble.StackingClassifier : Probabilities as features of another classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities
    >>> from sklearn_talr.neighbors import HammingNeighbors
    >>> X, y = load_digits(return_X_y=True)
    >>> index = make_pipeline(
    ...     StandardScaler(),
    ...     ClassProbabilities(),
    ...     AdditiveHasher(n_bits=16, metric="inner_product", random_state=0),
    ...     HammingNeighbors(metric="weighted_hamming"),
    ... )
    >>> round(index.fit(X[300:], y[300:]).score(X[:300], y[:300]), 1)
    0.9
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict_proba"]), None],
        "cv": ["cv_object"],
    }

    def __init__(self, estimator=None, *, cv=None):
        self.estimator = estimator
        self.cv = cv

    def fit(self, X, y, **params):
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, as the classifier takes them.

        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Classes, or label indicators.

        **params : dict
            Passed to `fit` of the classifier, by metadata routing where it is enabled.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        return replace_fitted(self, self._fitted(X, y, params))

    def fit_transform(self, X, y, **params):
        """Fit the classifier, and return the probabilities of the same samples.

        With `cv` these are not what `transform` returns for them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, as the classifier takes them.

        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Classes, or label indicators.

        **params : dict
            Passed to `fit` of the classifier, by metadata routing where it is enabled; then
            `cv` is given its own, such as ``groups``.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_outputs)
            One column for each class, or for each label.
        """
        fitted = self._fitted(X, y, params, caller="fit_transform")
        if self.cv is None:
            return _probabilities(replace_fitted(self, fitted).estimator_, X)
        probabilities = cross_val_predict(
            _classifier(self.estimator, y),
            X,
            y,
            cv=check_cv(self.cv, y, classifier=True),
            method="predict_proba",
            params=params,
        )
        replace_fitted(self, fitted)
        return _as_table(probabilities)

    def transform(self, X):
        """Compute the probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, as the classifier takes them.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_outputs)
            One column for each class, or for each label; in NumPy, also where the
            classifier follows arrays of other libraries.
        """
        check_is_fitted(self)
        return _probabilities(self.estimator_, X)

    def _fitted(self, X, y, params, caller="fit"):
        """Fit the classifier, and return what is to be set."""
        self._validate_params()
        if y is None:
            raise ValueError(
                "ClassProbabilities requires y to be passed, but the target y is None."
            )
        check_classification_targets(y)
        routed = Bunch(estimator=Bunch(fit=params))
        if _routing_enabled():
            routed = process_routing(self, caller, **params)
        estimator = _classifier(self.estimator, y)
        estimator.fit(X, y, **routed.estimator.fit)
        fitted = {"estimator_": estimator, "classes_": _columns(estimator)}
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                fitted[name] = getattr(estimator, name)
        return fitted

    def get_metadata_routing(self):
        """Tell scikit-learn what the classifier and the splitter are to be given.

        Returns
        -------
        routing : MetadataRouter
            The routing.
        """
        router = MetadataRouter(owner=type(self).__name__).add(
            estimator=_default(self.estimator),
            method_mapping=MethodMapping()
            .add(caller="fit", callee="fit")
            .add(caller="fit_transform", callee="fit"),
        )
        if self.cv is None:
            return router
        return router.add(
            splitter=check_cv(self.cv),
            method_mapping=MethodMapping().add(caller="fit_transform", callee="split"),
        )

    @property
    def _n_features_out(self):
        return len(self.classes_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        of_estimator = get_tags(_default(self.estimator))
        tags.input_tags.sparse = of_estimator.input_tags.sparse
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _default(estimator):
    return LogisticRegression(C=3, max_iter=1000) if estimator is None else estimator


def _classifier(estimator, y):
    """An unfitted classifier that takes these targets."""
    estimator = clone(_default(estimator))
    tags = get_tags(estimator)
    takes_labels = tags.classifier_tags.multi_label or tags.target_tags.multi_output
    if type_of_target(y) == "multilabel-indicator" and not takes_labels:
        return OneVsRestClassifier(estimator)
    return estimator


def _columns(estimator):
    """The class of each column, or the numbers of labels."""
    classes = estimator.classes_
    if isinstance(classes, list):
        return np.arange(len(classes))
    return np.asarray(as_numpy(classes))


def _probabilities(estimator, X):
    return _as_table(estimator.predict_proba(X))


def _as_table(probabilities):
    """One column per class or label; forests give a table of both outcomes per label."""
    if isinstance(probabilities, list):
        return np.stack([table[:, -1] for table in probabilities], axis=1)
    return np.asarray(as_numpy(probabilities))
