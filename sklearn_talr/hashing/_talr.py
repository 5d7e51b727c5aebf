"""TALRHasher: hash codes by maximizing a tie-aware ranking metric."""

from numbers import Real

from sklearn.utils.metaestimators import available_if

from .._compat import Interval, StrOptions, fit_context, with_callbacks
from .._state import replace_fitted
from ..metrics import make_retrieval_scorer
from . import gradient
from .gradient._hasher import GradientHasher, trains_on_chunks

__all__ = ["TALRHasher"]

_OBJECTIVES = "average_precision", "average_precision_simplified", "ndcg", "ndcg_simplified"


class TALRHasher(GradientHasher):
    """Hash codes learned by maximizing tie-aware average precision or NDCG.

    Each sample of a minibatch ranks the others by the Hamming distance of their relaxed
    codes, ``tanh(scale * activations)``. The metric of that ranking, averaged over all
    orders of tied items, is a smooth function of soft counts of items per distance, and
    its gradient trains the hash function: tie-aware learning to rank, He et al. (CVPR
    2018). The parameters, by purpose:

    ==============  ==================================================================
    code            `n_bits`, `nested`, `hidden_layer_sizes`, `module`
    objective       `objective`, `affinity`, `tanh_scale`
    optimizer       `init`, `solver`, `learning_rate`, `learning_rate_init`, `batch_size`
    regularization  `dropout`, `bit_dropout`, `weight_decay`
    stopping        `max_iter`, `early_stopping`, `validation_fraction`,
                    `n_iter_no_change`, `tol`
    runtime         `warm_start`, `device`, `verbose`, `random_state`
    ==============  ==================================================================

    Parameters
    ----------
    n_bits : int, default=32
        Number of bits of a code, at least 1.

    objective : {"average_precision", "ndcg", "average_precision_simplified", \
            "ndcg_simplified"}, default="average_precision"
        Metric to maximize: average precision (any affinity above 0 is relevant), or NDCG
        for graded affinities, where numbers of shared labels are the gains to train with.
        Simplified: the paper's eq. 62 and 66, :mod:`sklearn_talr.objectives`.

    hidden_layer_sizes : int or sequence of int, default=()
        Sizes of hidden rectifier layers. Empty: a linear hash function.

    dropout : float, (float, float) or "auto", default="auto"
        Fraction of the hidden units that each step leaves out, drawn at random, in [0, 1);
        or a pair: that of the features, and that of the hidden units. ``"auto"``: 0.2 and
        0.5 with hidden layers, but nothing for a
        :class:`~sklearn_talr.affinity.ThresholdAffinity`.

    module : torch.nn.Module or None, default=None
        A network of your own in place of linear layers: from batches of float32 features
        to `n_bits` activations. `fit` trains a copy of it, from the weights it has and on
        features as they are; `hidden_layer_sizes`, `dropout` and `init` have no meaning
        for it. It does best with features of about unit scale.

    affinity : "auto" or affinity oracle, default="auto"
        Who is similar to whom. ``"auto"`` goes by the form of `y`: labels of shape
        (n_samples,): :class:`~sklearn_talr.affinity.LabelAffinity`; label indicators:
        :class:`~sklearn_talr.affinity.SharedLabelAffinity`; a
        :class:`~sklearn_talr.affinity.PrecomputedAffinity` or a square matrix: itself;
        None: :class:`~sklearn_talr.affinity.ThresholdAffinity` on the features.

    init : {"itq", "pca", "random"}, default="itq"
        First weights of the last layer: iterative quantization, principal directions, or
        random directions. Hidden layers start at random.

    tanh_scale : float or "auto", default="auto"
        Scale of tanh, above 0: how nearly binary relaxed codes are. ``"auto"``: 8, but 2
        for a `module`, whose activations start from any size.

    bit_dropout : float or "auto", default="auto"
        Each step leaves out this fraction of the bits, drawn at random, in [0, 1). Then
        every part of a code must rank well by itself, which regularizes. ``"auto"`` keeps
        the square root of 8 times their number: 8 of 8, 16 of 32, 23 of 64 bits; half as
        many again with hidden layers or a `module`; and all for a
        :class:`~sklearn_talr.affinity.ThresholdAffinity`, where the fine order of near
        neighbors takes all bits and there is little to overfit.

    nested : bool, default=False
        If True, each step ranks by a random number of leading bits, so that
        ``codes[:, :k]`` is a good code for every k: one fit serves all lengths.

    solver : {"auto", "adam_mini", "adam"}, default="auto"
        Adam with one second moment per unit, whose steps do not depend on the axes that
        features are given in; or Adam. ``"auto"``: the former, but Adam for a `module`.

    learning_rate : {"cosine", "constant"}, default="cosine"
        Whether the learning rate falls to 0 along half a cosine, or stays.

    learning_rate_init : float or "auto", default="auto"
        First learning rate. Features are centered and scaled as a whole before training,
        so that it does not depend on their unit. ``"auto"``: 0.025, or 0.014
        with hidden layers, but 0.005 with ``solver="adam"``; 0.003 for a `module`.
        Layers between hidden ones take steps in proportion to their first weights.

    weight_decay : float or "auto", default="auto"
        Decoupled weight decay, at least 0; intercepts are left alone. ``"auto"``: 0.6;
        with hidden layers 2.4 divided by the number of all layers; 0.01 for a `module`.

    batch_size : int or "auto", default="auto"
        Samples that rank each other in one step, at least 2. ``"auto"``: a twentieth of
        the samples, but between 32 and 256. Smaller data are one batch.

    max_iter : int, default=100
        Number of epochs.

    early_stopping : bool, default=False
        Whether to score a validation set after each epoch: that given to `fit`, or a part
        of the samples, which is held out. Once the score no longer improves, training
        goes back to the weights of the best score, and the learning rate falls to 0 within
        a quarter of `max_iter` epochs; samples that were held out are then trained on too.
        Without it training runs for `max_iter` epochs.

    validation_fraction : float, default=0.1
        Fraction of the samples to hold out, in (0, 1), drawn at random. Each of them
        ranks the others by their codes. Only used if `early_stopping` is True and `fit` is
        given no validation set.

    n_iter_no_change : int, default=10
        The score no longer improves after more than so many epochs in a row without an
        improvement by at least `tol`. Only used if `early_stopping` is True.

    tol : float, default=1e-4
        The least improvement of the validation score that counts.

    warm_start : bool, default=False
        If True, `fit` starts from the weights of the last `fit`.

    device : str, default="auto"
        Where to train: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``; ``"auto"`` takes a GPU when
        CUDA has one, and under scikit-learn's `array_api_dispatch` the device of a tensor
        `X` on CUDA. The fitted hasher lives in NumPy and does not remember the device.

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
        Mean loss of the minibatches of each epoch, 1 - objective. Not a score: codes are
        relaxed, batches small, and bits left out.

    validation_scores_ : list of float or None
        Score of the validation samples after each epoch, over all warm starts, as long as
        they were not trained on: tie-aware average precision or NDCG, as `score`. Codes do
        not depend on the scale of tanh, so epochs can be compared. None without
        `early_stopping`.

    best_validation_score_ : float or None
        Highest score of the last `fit`. None without `early_stopping`.

    n_iter_ : int
        Number of epochs run, over all warm starts.

    n_features_in_ : int
        Number of features seen by `fit`.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `fit` saw any.

    See Also
    --------
    ITQHasher : Needs no targets, and is where training starts from.
    sklearn_talr.neighbors.HammingNeighbors : Searches the codes.
    sklearn_talr.objectives.TieAwareLoss : The same loss for networks of your own.
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
    >>> from sklearn_talr import TALRHasher
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = TALRHasher(n_bits=16, max_iter=10, random_state=0).fit(X[:900], y[:900])
    >>> print(f"{hasher.score(X[900:], y[900:]):.1f}")
    0.8
    """

    _parameter_constraints: dict = {
        **GradientHasher._parameter_constraints,
        "objective": [StrOptions(set(_OBJECTIVES))],
        "affinity": [StrOptions({"auto"}), callable],
        "tanh_scale": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "nested": ["boolean"],
    }

    def __init__(
        self,
        n_bits=32,
        *,
        objective="average_precision",
        hidden_layer_sizes=(),
        dropout="auto",
        module=None,
        affinity="auto",
        init="itq",
        tanh_scale="auto",
        bit_dropout="auto",
        nested=False,
        solver="auto",
        learning_rate="cosine",
        learning_rate_init="auto",
        weight_decay="auto",
        batch_size="auto",
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
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X, y=None, *, X_val=None, y_val=None):
        """Learn the hash function.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples. Neither a memory-mapped array nor a sparse
            matrix is copied or made dense as a whole, if it is of float32 or float64; nor
            is a tensor under `array_api_dispatch`, unless `device` is another than its own.

        y : targets of length n_samples, default=None
            What similarity means, see `affinity`: class labels, 0/1 label indicators
            (dense or CSR), affinities of all pairs (wrapped in `PrecomputedAffinity` when
            cross-validation slices them), or feature rows for a `ThresholdAffinity`; None
            stands for X itself.

        X_val : {array-like, CSR} of shape (n_val, n_features), default=None
            Features of a validation set of your own, at least two samples. With
            `early_stopping` it is scored, and no sample of `X` is held out.

        y_val : targets of length n_val, default=None
            Targets of the validation set, in the form of `y`. Of ready affinities a
            `PrecomputedAffinity`: their own, or a selection from those of all samples.
            None if `y` is None.

        Returns
        -------
        self : object
            The fitted hasher.

        Raises
        ------
        ValueError
            If X and y do not fit, X is constant, no pair of samples is similar, all pairs
            are equally similar, too few samples are left to hold some out, or the
            validation set does not fit them.

        Notes
        -----
        An interrupt (Ctrl-C) ends training with a warning, and keeps the weights of the
        best validation score or the last completed epoch; short of one, all is as it was.
        """
        data = gradient.check_data(self, X, y, self.affinity, X_val, y_val)
        settings = gradient.Settings.of(self, data, self._metric)
        loss = self._loss(data, settings)
        return replace_fitted(self, gradient.fit_by_gradient(self, data, settings, loss))

    @available_if(trains_on_chunks)
    @fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def partial_fit(self, X, y=None, levels=None):
        """Learn from a chunk of data: one epoch over its samples.

        The first call finds where to start, as `fit` does, and the mean and unit of the
        features; later ones go on, as they do after `fit`. The learning rate stays at
        `learning_rate_init`, which may be set anew before each call, and samples of one
        chunk rank each other only. To callbacks each call is a fit of one epoch. An
        interrupt (Ctrl-C) leaves the hasher as it was.

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
            If X and y do not fit, X has other features than before, or a level is unknown.

        AttributeError
            If `early_stopping` is True: a chunk holds no validation samples.
        """
        data = gradient.check_chunk(self, X, y, levels)
        settings = gradient.Settings.of(self, data, self._metric).for_chunk()
        loss = self._loss(data, settings)
        fitted = gradient.fit_chunk_by_gradient(self, data, settings, loss)
        return replace_fitted(self, fitted)

    def score(self, X, y=None):
        """Tie-aware retrieval score of these samples, each ranking all the others.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : targets of length n_samples, default=None
            As given to `fit`.

        Returns
        -------
        score : float
            Mean over the samples that have something similar among the others, in
            [0, 1]: average precision, or NDCG if that is the objective.
        """
        return make_retrieval_scorer(self._metric)(self, X, y)

    @property
    def _metric(self):
        return "nDCG" if self.objective.startswith("ndcg") else "AP"

    def _loss(self, data, settings):
        from ..objectives import TieAwareLoss
        from .losses._minibatch import PairwiseLoss, levels_of_gains

        binary = self._metric == "AP"  # knows similar and not, no grades
        levels = [0, 1] if binary else levels_of_gains(data)
        ranking = TieAwareLoss(
            self.objective, levels=levels, tanh_scale=settings.tanh_scale[0]
        )
        return PairwiseLoss(
            ranking.to(settings.device), data, settings, nested=self.nested, binary=binary
        )
