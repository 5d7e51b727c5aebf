"""TALRHasher: hash codes by maximising a tie-aware ranking metric."""

from numbers import Integral, Real

import numpy as np
import torch
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions

from ..affinity._resolve import len_targets, level_values, resolve_affinity
from ._base import BaseHasher, centred, independent_random_state
from ._projections import PROJECTIONS
from ._ranking_loss import OBJECTIVES, RankingLoss, check_contrast
from ._training import Trainer, choose_device, make_module, module_weights
from ._weights import first_weights, to_feature_units, to_standard_units

__all__ = ["TALRHasher"]


class TALRHasher(BaseHasher):
    """Hash codes learned by maximising tie-aware average precision or NDCG.

    Each sample of a minibatch ranks the others by the Hamming distance of their relaxed
    codes, ``tanh(scale * activations)``. The metric of that ranking, averaged over all
    orders of tied items, is a smooth function of soft counts of items per distance, and
    its gradient trains the hash function: tie-aware learning to rank, He et al. (CVPR
    2018). The scale of tanh rises during training until codes are almost binary.

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1.

    objective : {"ap", "ndcg", "ap_simplified", "ndcg_simplified"}, default="ap"
        Metric to maximise: average precision (any affinity above 0 is relevant), or NDCG
        for graded affinities. The simplified forms are the paper's eq. 62 and 66; see
        :mod:`sklearn_talr.objectives`.

    hidden_layer_sizes : tuple of int, default=()
        Sizes of hidden rectifier layers. Empty: a linear hash function.

    affinity : "auto" or affinity oracle, default="auto"
        Who is similar to whom. ``"auto"`` goes by the form of `y`: labels of shape
        (n_samples,): :class:`~sklearn_talr.affinity.LabelAffinity`; label indicators:
        :class:`~sklearn_talr.affinity.SharedLabelAffinity`; a
        :class:`~sklearn_talr.affinity.PrecomputedAffinity` or a square matrix: itself;
        None: :class:`~sklearn_talr.affinity.ThresholdAffinity` on the features.

    init : {"itq", "pca", "random"}, default="itq"
        First weights of the last layer: iterative quantisation, principal directions, or
        random directions. Hidden layers start at random.

    tanh_scale : float or (float, float), default=(1.0, 8.0)
        Scale of tanh in the first and the last epoch, growing geometrically; one number
        keeps it fixed.

    bit_dropout : float or "auto", default="auto"
        Each step leaves out this fraction of the bits, drawn at random, in [0, 1). Then
        every part of a code must rank well by itself, which regularises. ``"auto"``: 0.5,
        but 0 for a :class:`~sklearn_talr.affinity.ThresholdAffinity`, where the fine order
        of near neighbours takes all bits and there is little to overfit.

    solver : {"adam", "sgd"}, default="adam"
        Adam, or stochastic gradient descent with Nesterov momentum.

    learning_rate : {"cosine", "constant"}, default="cosine"
        Whether the learning rate falls to 0 along half a cosine, or stays.

    learning_rate_init : float, default=0.005
        First learning rate. Features are centred and scaled as a whole before training,
        so that it does not depend on their unit.

    momentum : float, default=0.9
        Momentum in [0, 1) of ``solver="sgd"``.

    weight_decay : float, default=1.0
        Decoupled weight decay, at least 0; intercepts are left alone.

    batch_size : int or "auto", default="auto"
        Samples that rank each other in one step, at least 2. ``"auto"``: a twentieth of
        the samples, but between 32 and 256. Smaller data are one batch.

    max_iter : int, default=100
        Number of epochs.

    warm_start : bool, default=False
        If True, `fit` starts from the weights of the last `fit` and keeps tanh at its
        last scale.

    device : str, default="auto"
        Where to train: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``; ``"auto"`` takes CUDA when
        there is any. The fitted hasher lives in NumPy and does not remember the device.

    verbose : bool, default=False
        Print the loss of each epoch.

    random_state : int, RandomState instance or None, default=None
        Draws first weights, minibatches and dropped bits. Global generators are never
        touched; None draws a fresh seed.

    Attributes
    ----------
    coefs_ : list of ndarray
        Weights of each layer, shape (n_inputs, n_outputs).

    intercepts_ : list of ndarray
        Offsets of each layer, shape (n_outputs,).

    affinity_ : affinity oracle
        The fitted oracle.

    loss_curve_ : list of float
        Mean of 1 - objective over the minibatches of each epoch. Not a score: codes are
        relaxed, batches small, bits left out, and the scale of tanh rises.

    n_iter_ : int
        Number of epochs run, over all warm starts.

    n_features_in_ : int
        Number of features seen by `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    See Also
    --------
    ITQHasher : Needs no targets, and is where training starts from.
    sklearn_talr.metrics.make_retrieval_scorer : Scores hashers in cross-validation.

    Notes
    -----
    Scale features as for any linear model; rows of unit length often help.

    References
    ----------
    K. He, F. Cakir, S. A. Bargal, S. Sclaroff, "Hashing as Tie-Aware Learning to Rank",
    CVPR 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn_talr import TALRHasher
    >>> X, y = load_digits(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> hasher = TALRHasher(n_bits=16, max_iter=30, random_state=0).fit(X_train, y_train)
    >>> hasher.transform(X_test).shape
    (450, 16)
    >>> hasher.score(X_test, y_test) > 0.8
    True
    """

    _parameter_constraints: dict = {
        "n_bits": [Interval(Integral, 1, None, closed="left")],
        "objective": [StrOptions(set(OBJECTIVES))],
        "hidden_layer_sizes": ["array-like"],
        "affinity": [StrOptions({"auto"}), callable],
        "init": [StrOptions(set(PROJECTIONS))],
        "tanh_scale": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "bit_dropout": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
        "solver": [StrOptions({"adam", "sgd"})],
        "learning_rate": [StrOptions({"constant", "cosine"})],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
        "momentum": [Interval(Real, 0, 1, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "device": [str],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_bits=32,
        *,
        objective="ap",
        hidden_layer_sizes=(),
        affinity="auto",
        init="itq",
        tanh_scale=(1.0, 8.0),
        bit_dropout="auto",
        solver="adam",
        learning_rate="cosine",
        learning_rate_init=0.005,
        momentum=0.9,
        weight_decay=1.0,
        batch_size="auto",
        max_iter=100,
        warm_start=False,
        device="auto",
        verbose=False,
        random_state=None,
    ):
        self.n_bits = n_bits
        self.objective = objective
        self.hidden_layer_sizes = hidden_layer_sizes
        self.affinity = affinity
        self.init = init
        self.tanh_scale = tanh_scale
        self.bit_dropout = bit_dropout
        self.solver = solver
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the hash function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of at least two samples.

        y : targets of length n_samples, default=None
            What similarity means, see `affinity`: class labels, 0/1 label indicators
            (dense or CSR), affinities of all pairs (wrapped in `PrecomputedAffinity` when
            cross-validation slices them), or feature rows for a `ThresholdAffinity`; None
            stands for X itself.

        Returns
        -------
        self : TALRHasher
            The fitted hasher.

        Raises
        ------
        ValueError
            If X and y do not fit, X is constant, no pair of samples is similar, or all
            pairs are equally similar.

        Notes
        -----
        An interrupt (Ctrl-C) ends training early and keeps what was learned.
        """
        X = self._validate_features(X)
        scales = self._tanh_scales()
        layer_sizes = self._hidden_layer_sizes()
        device = choose_device(self.device)
        targets, levels = self._fit_affinity(X, y)
        rng = independent_random_state(self.random_state)
        X, mean = centred(X)
        unit = np.sqrt(np.mean(np.einsum("ij,ij->i", X, X)))
        X /= unit
        if self._continues():
            weights = to_standard_units(self.coefs_, self.intercepts_, mean, unit)
            scales = scales[1], scales[1]
        else:
            weights = first_weights(X, layer_sizes, self.n_bits, self.init, rng)
            self.loss_curve_ = []
        loss = RankingLoss(self, levels, targets, scales, rng)
        module = make_module(*weights).to(device)
        trainer = Trainer(module, loss, rng, **self._training_params(len(X)))
        losses = trainer.run(torch.from_numpy(X.astype(np.float32)).to(device))
        self.loss_curve_ = self.loss_curve_ + losses
        self.n_iter_ = len(self.loss_curve_)
        self.coefs_, self.intercepts_ = to_feature_units(
            *module_weights(module), mean, unit
        )
        return self

    @property
    def _metric(self):
        return "ndcg" if self.objective.startswith("ndcg") else "average_precision"

    def _fit_affinity(self, X, y):
        affinity, targets = resolve_affinity(self.affinity, X, y)
        if len_targets(targets) != len(X):
            raise ValueError(
                "X and y must have the same number of samples, got "
                f"{len(X)} and {len_targets(targets)}."
            )
        if isinstance(affinity, BaseEstimator):
            affinity = clone(affinity).fit(targets)
        levels = level_values(affinity, targets, targets)
        check_contrast(affinity, levels, targets)
        self.affinity_ = affinity
        return targets, levels

    def _tanh_scales(self):
        scales = np.atleast_1d(np.asarray(self.tanh_scale, dtype=float))
        if scales.shape not in ((1,), (2,)) or not np.all(scales > 0):
            raise ValueError(
                "tanh_scale must be a positive number or two of them (first, last), got "
                f"{self.tanh_scale!r}."
            )
        return float(scales[0]), float(scales[-1])

    def _hidden_layer_sizes(self):
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=float))
        if np.any(sizes < 1) or np.any(sizes % 1):
            raise ValueError(
                "hidden_layer_sizes must be positive integers, got "
                f"{self.hidden_layer_sizes!r}."
            )
        return sizes.astype(int).tolist()

    def _continues(self):
        """Whether this fit is a warm start; the network must have kept its shape."""
        if not (self.warm_start and hasattr(self, "coefs_")):
            return False
        shape = [len(coef) for coef in self.coefs_] + [self.coefs_[-1].shape[1]]
        asked = [self.n_features_in_, *self._hidden_layer_sizes(), self.n_bits]
        if shape != asked:
            raise ValueError(
                f"warm_start=True cannot change the layer sizes from {shape} to {asked}. "
                "Set warm_start=False to fit anew."
            )
        return True

    def _training_params(self, n_samples):
        names = (
            "solver",
            "learning_rate",
            "learning_rate_init",
            "momentum",
            "weight_decay",
            "max_iter",
            "verbose",
        )
        batch_size = self.batch_size
        if batch_size == "auto":
            batch_size = min(max(n_samples // 20, 32), 256)
        return {name: getattr(self, name) for name in names} | {"batch_size": batch_size}
