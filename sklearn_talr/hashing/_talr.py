"""TALRHasher: hash codes by maximising a tie-aware ranking metric."""

from numbers import Integral, Real

import torch
from sklearn.utils._param_validation import Interval, StrOptions

from ..objectives._loss import OBJECTIVES
from ._projections import PROJECTIONS
from .gradient._trained import TrainedHasher
from .losses._ranking import RankingLoss

__all__ = ["TALRHasher"]


class TALRHasher(TrainedHasher):
    """Hash codes learned by maximising tie-aware average precision or NDCG.

    Each sample of a minibatch ranks the others by the Hamming distance of their relaxed
    codes, ``tanh(scale * activations)``. The metric of that ranking, averaged over all
    orders of tied items, is a smooth function of soft counts of items per distance, and
    its gradient trains the hash function: tie-aware learning to rank, He et al. (CVPR
    2018).

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

    dropout : float, (float, float) or "auto", default="auto"
        Each step leaves out this fraction of the hidden units, drawn at random, in
        [0, 1); or fractions of the features and of the hidden units. ``"auto"``: 0.2 and
        0.5 with hidden layers, but nothing for a
        :class:`~sklearn_talr.affinity.ThresholdAffinity`.

    module : torch.nn.Module or None, default=None
        A network of your own in place of linear layers: from batches of float32 features
        to `n_bits` activations. `fit` trains a copy of it, from the weights it has and on
        features as they are; `hidden_layer_sizes`, `dropout` and `init` have no meaning
        for it.

    affinity : "auto" or affinity oracle, default="auto"
        Who is similar to whom. ``"auto"`` goes by the form of `y`: labels of shape
        (n_samples,): :class:`~sklearn_talr.affinity.LabelAffinity`; label indicators:
        :class:`~sklearn_talr.affinity.SharedLabelAffinity`; a
        :class:`~sklearn_talr.affinity.PrecomputedAffinity` or a square matrix: itself;
        None: :class:`~sklearn_talr.affinity.ThresholdAffinity` on the features.

    init : {"itq", "pca", "random"}, default="itq"
        First weights of the last layer: iterative quantisation, principal directions, or
        random directions. Hidden layers start at random.

    tanh_scale : float or (float, float), default=8.0
        Scale of tanh: how nearly binary relaxed codes are. Two numbers are the scales of
        the first and the last epoch, between which it grows geometrically.

    bit_dropout : float or "auto", default="auto"
        Each step leaves out this fraction of the bits, drawn at random, in [0, 1). Then
        every part of a code must rank well by itself, which regularises. ``"auto"`` keeps
        the square root of 8 times their number: 8 of 8, 16 of 32, 23 of 64 bits; half as
        many again with hidden layers; and all for a
        :class:`~sklearn_talr.affinity.ThresholdAffinity`, where the fine order of near
        neighbours takes all bits and there is little to overfit.

    nested : bool, default=False
        If True, each step ranks by a random number of leading bits, so that
        ``codes[:, :k]`` is a good code for every k: one fit serves all lengths.

    solver : {"adam_mini", "adam", "sgd"}, default="adam_mini"
        Adam with one second moment per unit, whose steps do not depend on the axes that
        features are given in; Adam; or stochastic gradient descent with Nesterov momentum.

    learning_rate : {"cosine", "constant"}, default="cosine"
        Whether the learning rate falls to 0 along half a cosine, or stays.

    learning_rate_init : float or "auto", default="auto"
        First learning rate. Features are centred and scaled as a whole before training,
        so that it does not depend on their unit. ``"auto"``: 0.025, or 0.014
        with hidden layers, but 0.005 for a `module` and for other solvers than
        ``"adam_mini"``.

    momentum : float, default=0.9
        Momentum in [0, 1) of ``solver="sgd"``.

    weight_decay : float or "auto", default="auto"
        Decoupled weight decay, at least 0; intercepts are left alone. ``"auto"``: 0.6,
        or 1.2 with hidden layers, but 0.01 for a `module`.

    batch_size : int or "auto", default="auto"
        Samples that rank each other in one step, at least 2. ``"auto"``: a twentieth of
        the samples, but between 32 and 256. Smaller data are one batch.

    database_batch_size : int or None, default=None
        In each step the samples of the batch also rank others, drawn at random, so many
        in all. None, or no more than `batch_size`: they rank each other only.

    max_iter : int, default=100
        Number of epochs.

    early_stopping : bool, default=False
        Whether to hold out a part of the samples, score it after each epoch, stop when
        its score no longer improves, and keep the weights of the best score. Without it
        training runs for `max_iter` epochs.

    validation_fraction : float, default=0.1
        Fraction of the samples to hold out, in (0, 1), drawn at random. Each of them
        ranks the others by their codes. Only used if `early_stopping` is True.

    n_iter_no_change : int, default=10
        Training stops after more than so many epochs in a row without an improvement by
        at least `tol`. Only used if `early_stopping` is True.

    tol : float, default=1e-4
        The least improvement of the validation score that counts.

    warm_start : bool, default=False
        If True, `fit` starts from the weights of the last `fit` and keeps tanh at its
        last scale.

    device : str, default="auto"
        Where to train: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``; ``"auto"`` takes CUDA when
        there is any. The fitted hasher lives in NumPy and does not remember the device.

    verbose : bool, default=False
        Print the loss of each epoch.

    random_state : int, RandomState instance or None, default=None
        Draws first weights, minibatches, held-out samples and what is dropped. Global
        generators are never touched; None draws a fresh seed.

    Attributes
    ----------
    coefs_ : list of ndarray
        Weights of each layer, shape (n_inputs, n_outputs).

    intercepts_ : list of ndarray
        Offsets of each layer, shape (n_outputs,).

    module_state_ : dict of ndarray
        The fitted ``state_dict`` of `module`, which then replaces the two above.

    affinity_ : affinity oracle
        The fitted oracle.

    loss_curve_ : list of float
        Mean loss of the minibatches of each epoch, 1 - objective for `TALRHasher`. Not a
        score: codes are relaxed, batches small, and bits left out.

    validation_scores_ : list of float or None
        Score of the held-out samples after each epoch, over all warm starts: tie-aware
        average precision or NDCG, as `score`. Codes do not depend on the scale of tanh,
        so epochs can be compared. None without `early_stopping`.

    best_validation_score_ : float or None
        Highest score of the last `fit`, that of the fitted weights. None without
        `early_stopping`.

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
    >>> hasher = TALRHasher(n_bits=16, max_iter=10, random_state=0).fit(X_train, y_train)
    >>> hasher.transform(X_test).shape
    (450, 16)
    >>> hasher.score(X_test, y_test) > 0.8
    True
    """

    _parameter_constraints: dict = {
        "n_bits": [Interval(Integral, 1, None, closed="left")],
        "objective": [StrOptions(set(OBJECTIVES))],
        "hidden_layer_sizes": ["array-like"],
        "dropout": [
            Interval(Real, 0, 1, closed="left"),
            "array-like",
            StrOptions({"auto"}),
        ],
        "module": [torch.nn.Module, None],
        "affinity": [StrOptions({"auto"}), callable],
        "init": [StrOptions(set(PROJECTIONS))],
        "tanh_scale": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "bit_dropout": [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"})],
        "nested": ["boolean"],
        "solver": [StrOptions({"adam_mini", "adam", "sgd"})],
        "learning_rate": [StrOptions({"constant", "cosine"})],
        "learning_rate_init": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"auto"}),
        ],
        "momentum": [Interval(Real, 0, 1, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "batch_size": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "database_batch_size": [Interval(Integral, 2, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
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
        dropout="auto",
        module=None,
        affinity="auto",
        init="itq",
        tanh_scale=8.0,
        bit_dropout="auto",
        nested=False,
        solver="adam_mini",
        learning_rate="cosine",
        learning_rate_init="auto",
        momentum=0.9,
        weight_decay="auto",
        batch_size="auto",
        database_batch_size=None,
        max_iter=100,
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-4,
        warm_start=False,
        device="auto",
        verbose=False,
        random_state=None,
    ):
        self.n_bits = n_bits
        self.objective = objective
        self.hidden_layer_sizes = hidden_layer_sizes
        self.dropout = dropout
        self.module = module
        self.affinity = affinity
        self.init = init
        self.tanh_scale = tanh_scale
        self.bit_dropout = bit_dropout
        self.nested = nested
        self.solver = solver
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.momentum = momentum
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.database_batch_size = database_batch_size
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def _make_loss(self, levels, targets, scales, rng):
        return RankingLoss(self, levels, targets, scales, rng)

    def _training_params(self, n_samples):
        params = super()._training_params(n_samples)
        return params | {"database_batch_size": self.database_batch_size}

    @property
    def _metric(self):
        return "ndcg" if self.objective.startswith("ndcg") else "average_precision"
