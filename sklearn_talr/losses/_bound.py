"""Base classes of the losses of this package: losses of pairs, and losses of classes."""

from functools import partial

from sklearn.base import BaseEstimator


class PairLoss(BaseEstimator):
    """A function of the bits of a minibatch and of the affinities of its pairs.

    Subclasses define ``__call__(bits, affinity, n_bits=None)``. They look only at which
    affinities are above 0 and which are larger than others, so that the index of a level
    serves in place of its value.
    """

    _parameter_constraints: dict = {}

    training_defaults = {}
    measure = "AP"
    needs_classes = False

    def bind(self, training):
        """Bind the loss to training data; the fitted hasher keeps no attribute of it.

        Parameters
        ----------
        training : Training
            Targets and affinity of all samples.

        Returns
        -------
        step : callable
            ``step(batch) -> scalar tensor``.

        fitted : dict
            Empty.
        """
        self._validate_params()
        levels_of, options = training.pair_levels(), self._options(training)

        def step(batch):
            return self(batch.bits, levels_of(batch.samples), **options)

        return step, {}

    def _options(self, training):
        """Keyword arguments with which a step calls the loss."""
        return {"n_bits": training.n_bits}

    def bind_between(self, training):
        """Bind the loss to two views.

        Parameters
        ----------
        training : ViewsTraining
            Levels of affinity, and the number of bits.

        Returns
        -------
        step : callable
            ``step(query_bits, item_bits, level_index) -> scalar tensor``.

        Raises
        ------
        ValueError
            If the loss has no method ``between``.
        """
        if not hasattr(self, "between"):
            raise ValueError(one_view_only(self))
        self._validate_params()
        return partial(self.between, **self._options_between(training))

    def _options_between(self, training):
        """Keyword arguments with which a step of two views calls the loss."""
        return {"n_bits": training.n_bits}


class CountingLoss(PairLoss):
    """A loss of pairs that counts them by distance, and so needs bits in [-1, 1].

    Subclasses define ``__call__(bits, affinity)``.
    """

    def bind(self, training):
        """Bind the loss to training data, as a `PairLoss` is bound.

        Raises
        ------
        ValueError
            If bits are not relaxed by tanh.
        """
        self._check_relaxed(training.is_relaxed)
        return super().bind(training)

    def _check_relaxed(self, is_relaxed):
        if not is_relaxed:
            raise ValueError(
                f"{type(self).__name__} counts distances of relaxed bits in [-1, 1], which "
                "tanh_scale=None leaves unbounded. Set tanh_scale to 'auto' or a number."
            )

    def _options(self, training):
        return {}

    def _options_between(self, training):
        import torch

        self._check_relaxed(training.is_relaxed)
        return {"levels": torch.as_tensor(training.gain_levels).to(training.device)}


class ClassLoss(BaseEstimator):
    """A loss that draws each sample to the code of its class, or classes.

    Subclasses define ``_bind(training, classes)``, which returns a step, as a function
    of the :class:`~sklearn_talr.losses._class_codes.ClassCodes`.
    """

    _parameter_constraints: dict = {}

    training_defaults = {}
    measure = "AP"
    needs_classes = True

    def bind_between(self, training):
        """Raise ValueError, since codes of classes belong to one view."""
        raise ValueError(one_view_only(self))

    def bind(self, training):
        """Draw a code for each class, unless a warm start has codes.

        Parameters
        ----------
        training : Training
            Targets and affinity of all samples.

        Returns
        -------
        step : callable
            ``step(batch) -> scalar tensor``.

        fitted : dict
            ``classes_`` and ``class_codes_``.
        """
        from ._class_codes import ClassCodes

        self._validate_params()
        classes = ClassCodes(training)
        fitted = {"classes_": classes.classes, "class_codes_": classes.codes}
        return self._bind(training, classes), fitted


def one_view_only(loss):
    """What is wrong with a loss for two views, and which to take."""
    return (
        f"loss {loss!r} knows samples of one kind only, which rank each other. Take "
        "AveragePrecisionLoss, NDCGLoss, DCMHLoss, ContrastiveLoss, or a function "
        "loss(query_bits, item_bits, affinity)."
    )
