"""`fit` and `partial_fit` of hashers trained by gradients."""

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils.metaestimators import available_if

from .._base import independent_random_state
from ._callbacks import FitCallbacks, with_callbacks
from ._early_stopping import LastEpoch
from ._learned import LearnedHasher, trains_on_chunks
from ._trainer import Trainer

_EPOCH_OF_CHUNK = {"max_iter": 1, "learning_rate": "constant"}


class TrainedHasher(LearnedHasher):
    """Base of hashers that minimise a loss of minibatches.

    Subclasses define ``_make_loss(levels, targets, scales, rng)``, which returns what a
    `Trainer` takes as `batch_loss`.
    """

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y=None):
        """Learn the hash function.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples. Neither a memory-mapped array nor a sparse
            matrix is copied or made dense as a whole, if it is of float32 or float64.

        y : targets of length n_samples, default=None
            What similarity means, see `affinity`: class labels, 0/1 label indicators
            (dense or CSR), affinities of all pairs (wrapped in `PrecomputedAffinity` when
            cross-validation slices them), or feature rows for a `ThresholdAffinity`; None
            stands for X itself.

        Returns
        -------
        self : object
            The fitted hasher.

        Raises
        ------
        ValueError
            If X and y do not fit, X is constant, no pair of samples is similar, all pairs
            are equally similar, or too few samples are left to hold some out.

        Notes
        -----
        An interrupt (Ctrl-C) ends training early, with a warning, and keeps the best
        weights by validation score, or those of the last completed epoch.
        """
        X = self._validate_features(X)
        self._check_params()
        targets, levels = self._fit_affinity(X, y)
        self._declared_levels = None
        rng = independent_random_state(self.random_state)
        samples, held_out = self._split(targets, levels, rng)
        continues = self.warm_start and self._is_fitted_like_now("warm_start=True")
        features = self._features(X)
        function = self._make_function(features, samples, rng, continues)
        keeper = self._make_keeper(features, targets, held_out)
        loss = self._make_loss(levels, targets, self._scales(continues), rng)
        callbacks = FitCallbacks(self, X, targets, self.max_iter, function.fitted)
        params = self._training_params(len(samples)) | {"callbacks": callbacks}
        self._train(function, features, samples, loss, keeper, rng, **params)
        self._mean_and_unit, self._solver_state = (features.mean, features.unit), None
        callbacks.end_fit()
        return self

    @available_if(trains_on_chunks)
    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def partial_fit(self, X, y=None, levels=None):
        """Learn from a chunk of data: one epoch over its samples.

        The first call finds where to start, as `fit` does, and the mean and unit of the
        features; later ones go on, as they do after `fit`. The scale of tanh is the last
        one of `tanh_scale`, the learning rate stays at `learning_rate_init`, and samples
        of one chunk rank each other only. To callbacks each call is a fit of one epoch.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : targets of length n_samples, default=None
            As for `fit`, for the samples of this chunk. Thresholds of a
            `ThresholdAffinity` are those of the first chunk.

        levels : array-like of int, default=None
            All values that the affinity can take in any chunk, ascending from 0. To be
            given on the first call, if the affinity is a function without ``levels_``.

        Returns
        -------
        self : object
            The hasher.

        Raises
        ------
        ValueError
            If X and y do not fit, X has other features than before, or levels are unknown
            or incomplete.

        AttributeError
            If `early_stopping` is True: a chunk holds no validation samples.
        """
        continues = hasattr(self, "n_iter_")
        X = self._validate_features(X, reset=not continues)
        self._check_params()
        if continues:
            self._is_fitted_like_now("partial_fit")
        rng = self._random_state_of_chunk()
        targets, levels = self._chunk_affinity(X, y, levels, not continues)
        samples = np.arange(X.shape[0])
        features = self._features(X, continues)
        function = self._make_function(features, samples, rng, continues)
        loss = self._make_loss(levels, targets, self._scales(True), rng)
        callbacks = FitCallbacks(self, X, targets, 1, function.fitted)
        params = self._training_params(len(samples)) | _EPOCH_OF_CHUNK
        params |= {
            "callbacks": callbacks,
            "solver_state": getattr(self, "_solver_state", None),
        }
        trainer = self._train(function, features, samples, loss, LastEpoch(), rng, **params)
        self._mean_and_unit = features.mean, features.unit
        self._solver_state = trainer.solver_state()
        callbacks.end_fit()
        return self

    def _train(self, function, features, samples, loss, keeper, rng, **params):
        trainer = Trainer(function.module, loss, rng, keeper=keeper, **params)
        with function.generators():
            losses = trainer.run(features, samples)
        self._record(losses, keeper, function)
        return trainer
