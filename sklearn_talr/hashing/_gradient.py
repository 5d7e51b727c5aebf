"""TALRHasher: hash codes by gradients of a tie-aware ranking measure, or of any loss."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

from .._core.compat import HasMethods, Interval, StrOptions, available_if, fit_method
from .._core.parameters import KW_ONLY, parameters
from .._core.state import replace_fitted
from .._core.types import Affinity, Callable, Column, Rows, Seed, Sequence
from .._core.validation import Space
from ..losses._tie_aware import loss_of
from ..measures import Measure
from ..metrics import make_retrieval_scorer
from ._base import BaseHasher
from ._function import HashFunction
from ._linear import PROJECTIONS
from .training._data import check_chunk, check_data
from .training._fit import fit_by_gradient
from .training._start import of_torch

_AUTO = StrOptions({"auto"})
_ABOVE_0 = Interval(Real, 0, None, closed="neither")


class _InstanceWith(HasMethods):
    """Constraint that a parameter has some methods and is no class; it loads no torch."""

    def __init__(self, description, *methods):
        super().__init__(list(methods))
        self._description = description

    def is_satisfied_by(self, val):
        return not isinstance(val, type) and super().is_satisfied_by(val)

    def __str__(self):
        return self._description


@parameters
class GradientHasher(BaseHasher):
    """Base of hashers that are trained by gradients: parameters that they share."""

    _parameter_constraints = {
        "n_bits": [Interval(Integral, 1, None, closed="left")],
        "loss": [
            str,
            Measure,
            _InstanceWith("a loss, such as DSHLoss() or a function", "__call__"),
        ],
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
        "dropout": [Interval(Real, 0, 1, closed="left"), "array-like", _AUTO],
        "affinity": [_AUTO, callable],
        "tanh_scale": [_ABOVE_0, "array-like", _AUTO, None],
        "bit_dropout": [Interval(Real, 0, 1, closed="left"), _AUTO],
        "learning_rate_init": [_ABOVE_0, _AUTO],
        "weight_decay": [Interval(Real, 0, None, closed="left"), _AUTO],
        "batch_size": [Interval(Integral, 2, None, closed="left"), _AUTO],
        "device": [str],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    n_bits: int = 32
    _: KW_ONLY
    loss: str | Callable[..., Any] = "AP"
    hidden_layer_sizes: int | Sequence[int] = ()
    dropout: float | tuple[float, float] | Literal["auto"] = "auto"
    affinity: Affinity = "auto"
    tanh_scale: float | tuple[float, float] | Literal["auto"] | None = "auto"
    bit_dropout: float | Literal["auto"] = "auto"
    learning_rate_init: float | Literal["auto"] = "auto"
    weight_decay: float | Literal["auto"] = "auto"
    batch_size: int | Literal["auto"] = "auto"
    device: str = "auto"
    verbose: bool = False
    random_state: Seed = None

    # Groups of `fit` must be requested: most users pass groups for folds only.
    __metadata_request__fit = {"groups": False}


def _trains_on_chunks(hasher):
    """Whether there is a partial_fit, or AttributeError with the reason."""
    loss = loss_of(hasher.loss)
    if hasher.early_stopping:
        raise AttributeError(
            "partial_fit does not support early_stopping=True, since a chunk holds no "
            "validation samples. Set early_stopping=False."
        )
    if loss.needs_classes:
        raise AttributeError(
            f"partial_fit does not support {loss!r}, since a chunk may lack some of the "
            "classes. Call fit, or take a loss of pairs."
        )
    return True


@parameters
class TALRHasher(GradientHasher):
    r"""Hash codes learned by maximizing tie-aware average precision or NDCG.

    Each sample of a minibatch ranks the others by the Hamming distance of their relaxed
    codes, :math:`\tanh(\alpha f)` of activations f. The measure of that ranking, averaged
    over all orders of tied items, is a smooth function of soft counts of items per
    distance. Its gradient trains the hash function: tie-aware learning to rank, He et al.
    (CVPR 2018). Instead of a measure, training can minimize any loss of
    :mod:`sklearn_talr.losses`, including losses of other papers, or your own function.

    The parameters, by purpose:

    ==============  ==================================================================
    code            `n_bits`, `nested`, `hidden_layer_sizes`, `module`
    measure         `loss`, `affinity`, `tanh_scale`
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

    loss : {"AP", "nDCG"}, Measure or callable, default="AP"
        Training objective, one of these:

        * A measure, by its name or as a value, is maximized. ``"AP"``: average precision;
          any affinity above 0 is relevant. ``"nDCG"``: NDCG of graded affinities; for
          shared labels, gains are the numbers of shared labels. Training ignores cutoffs.
        * An object of :mod:`sklearn_talr.losses`, such as
          ``AveragePrecisionLoss(simplified=True)``, is minimized. Losses of classes, such
          as :class:`~sklearn_talr.losses.CSQLoss`, need labels or label indicators.
        * Your own function ``loss(bits, affinity)`` is minimized; it returns a scalar
          tensor. `bits` are the relaxed bits of a minibatch, a tensor of shape
          (n, `n_bits`), or with fewer columns if the step leaves bits out. `affinity` is a
          tensor of shape (n, n) with the affinities of all pairs, -1 for pairs that do not
          count. Its diagonal pairs each sample with itself.

    hidden_layer_sizes : int or sequence of int, default=()
        Sizes of hidden rectifier layers. Empty: a linear hash function.

    dropout : float, (float, float) or "auto", default="auto"
        Fraction of the hidden units that each step leaves out at random, in [0, 1); or a
        pair: the fraction of the features, and of the hidden units. ``"auto"``: 0.2 and
        0.5 with hidden layers, but 0 for a
        :class:`~sklearn_talr.affinity.ThresholdAffinity`.

    module : torch.nn.Module or None, default=None
        Your own network instead of layers: from batches of float32 features to `n_bits`
        activations. `fit` trains a copy, starting from the module's weights, on features
        as they are. It ignores `hidden_layer_sizes`, `dropout` and `init`. For good codes:

        * scale features to about unit scale;
        * end with ``BatchNorm1d(n_bits, affine=False)``;
        * train a recurrent module with cross entropy first.

        Token ids, up to ``2**24``, arrive as float32, too: begin `forward` with
        ``x.long()``.

    affinity : "auto" or affinity oracle, default="auto"
        Who is similar to whom. ``"auto"`` depends on the form of `y`:

        * labels of shape (n_samples,): :class:`~sklearn_talr.affinity.LabelAffinity`;
        * label indicators: :class:`~sklearn_talr.affinity.SharedLabelAffinity`;
        * a :class:`~sklearn_talr.affinity.PrecomputedAffinity` or a square matrix: itself;
        * None: :class:`~sklearn_talr.affinity.ThresholdAffinity` on the features.

    init : {"itq", "pca", "random"}, default="itq"
        First weights of the last layer: iterative quantization, principal directions, or
        random directions. Hidden layers start at random.

    tanh_scale : float, (float, float), None or "auto", default="auto"
        Scale of tanh, above 0. With a larger scale relaxed codes are more nearly binary. A
        pair has the scales of the first and of the last epoch; the scale grows
        geometrically between them. None leaves activations as they are. ``"auto"`` is the
        value that the loss declares, else 8, but 2 for a `module`, whose activations can
        have any size at the start.

    bit_dropout : float or "auto", default="auto"
        Fraction of the bits that each step leaves out at random, in [0, 1). Each part of a
        code must then rank well alone, which regularizes. ``"auto"`` is the value that the
        loss declares, else:

        * a step keeps the square root of 8 times `n_bits`: 8 of 8, 16 of 32, 23 of 64 bits;
        * it keeps half as many again with hidden layers or a `module`;
        * it keeps all bits for a :class:`~sklearn_talr.affinity.ThresholdAffinity`: the
          fine order of near neighbors needs all bits, and overfitting is small.

    nested : bool, default=False
        If True, each step keeps a random number of leading bits. Then ``codes[:, :k]`` is
        a good code for every k, and one fit gives codes of all lengths.

    solver : {"auto", "adam_mini", "adam"}, default="auto"
        ``"adam_mini"``: Adam with one second moment per unit. Its steps do not depend on
        the axes in which features are given. ``"adam"``: Adam. ``"auto"``:
        ``"adam_mini"``, but ``"adam"`` for a `module`.

    learning_rate : {"cosine", "constant"}, default="cosine"
        Schedule of the learning rate: it falls to 0 along half a cosine, or is constant.

    learning_rate_init : float or "auto", default="auto"
        First learning rate. It does not depend on the units of the features, since these
        are centered and scaled before training, see Notes. ``"auto"`` is ``0.025``, or
        ``0.014`` with hidden layers, but ``0.005`` with ``solver="adam"``; ``0.003`` for a
        `module`. Layers between hidden ones take steps in proportion to their first
        weights.

    weight_decay : float or "auto", default="auto"
        Decoupled weight decay, at least 0. Intercepts do not decay. ``"auto"`` is the
        value that the loss declares, else:

        * 0.6 for a linear function;
        * 0 for a linear function of fewer than 64 features, unless similarity is by
          distance;
        * 2.4 divided by the number of all layers, with hidden layers;
        * 0.01 for a `module`.

    batch_size : int or "auto", default="auto"
        Samples that are paired with each other in one step, at least 2. Fewer samples are
        one batch. ``"auto"``:

        * a twentieth of the samples, between 32 and 256;
        * a fifth of the samples, at most 512, for a
          :class:`~sklearn_talr.affinity.ThresholdAffinity`, since few pairs have its top
          levels;
        * 256 for many classes, if a sample is similar to less than a sixteenth of the
          others. With hidden layers a batch is then as large as it must be to hold ten
          samples that are similar to a sample, up to 1 024, if this leaves 600 steps.

        If a random batch would hold fewer than two samples that are similar to a sample
        (ten with hidden layers), similar samples are drawn together, up to four (eight) at
        a time.

    max_iter : int or "auto", default="auto"
        Number of epochs. ``"auto"``: 100. If 100 epochs have more than 8 000 steps of 256
        samples, it is the number of epochs with 8 000 such steps. With hidden layers and
        many classes of few samples it is up to 150, for 600 steps. `n_iter_` has the
        number of epochs that were run.

    early_stopping : bool, default=False
        Whether to score a validation set after each epoch: the one given to `fit`, or a
        fraction of the samples, which is held out. When the score no longer improves,
        training goes back to the weights of the best score, and the learning rate falls to
        0 within a quarter of `max_iter` epochs. In these epochs training also uses the
        samples that were held out. If False, training runs for `max_iter` epochs. The
        `early_stopping` of scikit-learn's networks differs: training ends at once, with the
        last weights, and never uses the samples that were held out.

    validation_fraction : float, default=0.1
        Fraction of the samples to hold out at random, in (0, 1). Each of them ranks the
        others by their codes. Used only if `early_stopping` is True and `fit` is given no
        validation set.

    n_iter_no_change : int, default=10
        Number of epochs in a row without an improvement of at least `tol` after which the
        score no longer improves. Used only if `early_stopping` is True.

    tol : float, default=1e-4
        The least improvement of the validation score that counts.

    warm_start : bool, default=False
        If True, `fit` starts from the weights of the last `fit`, and keeps tanh at its
        last scale.

    device : str, default="auto"
        Device to train on: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``. ``"auto"`` uses a GPU, if
        CUDA has one, for hidden layers, a `module` or batches of 1 024 and more. Under
        scikit-learn's `array_api_dispatch` it is the device of a tensor `X` on CUDA. Fitted
        arrays are in NumPy and have no device.

    verbose : bool, default=False
        Print the loss of each epoch.

    random_state : int, RandomState instance or None, default=None
        Draws first weights, minibatches, held-out samples, codes of classes, and the bits
        and units that are left out. Global generators are never changed. None draws a
        fresh seed.

    Attributes
    ----------
    coefs_ : list of ndarray
        Weights of each layer, shape (n_inputs, n_outputs).

    intercepts_ : list of ndarray
        Offsets of each layer, shape (n_outputs,).

    means_ : list of one ndarray of shape (n_features,)
        Mean of the training rows, subtracted from features first. A few rows far from all
        others do not count.

    module_state_ : dict of ndarray
        The fitted ``state_dict`` of `module`. It replaces the three attributes above.

    affinity_ : affinity oracle
        The fitted oracle.

    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, or the columns of label indicators. Only after a fit with a
        loss of classes.

    class_codes_ : ndarray of shape (n_classes, n_bits)
        Codes of the classes, -1 and 1. Only after a fit with a loss of classes.

    loss_curve_ : list of float
        Mean loss of the minibatches of each epoch. It is no score of the codes: codes are
        relaxed, batches are small, and bits may be left out.

    validation_scores_ : list of float or None
        Score of the validation samples after each epoch, as `score` computes it, over all
        warm starts. Epochs that train on these samples have none. Codes do not depend on
        the scale of tanh, so scores of epochs can be compared. None without
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
    sklearn_talr.losses : Losses of this and of other papers, and how to write one.
    ClassProbabilities : The first of two stages, with labels.
    ITQHasher : Needs no targets. Training starts from its codes.
    sklearn_talr.neighbors.HammingNeighbors : Searches the codes.
    sklearn_talr.losses.TieAwareLoss : The same loss for networks of your own.
    sklearn_talr.metrics.make_retrieval_scorer : Scores hashers in cross-validation.

    Notes
    -----
    With labels, codes mostly rank better if :class:`ClassProbabilities` stands before the
    hasher: ``make_pipeline(ClassProbabilities(), TALRHasher())``, see the user guide.

    Training scales features in one of three ways:

    * all columns have the same unit;
    * the unit of each column is its standard deviation among similar samples;
    * the covariance among similar samples becomes the identity. The first weights are then
      directions of a linear discriminant analysis.

    Some samples rank each other by their distance. If a scaling raises their average
    precision by more than 0.02, it is used. Otherwise columns have their own units only if
    one of them deviates ten times as much as a typical column. The units are folded into
    the weights: codes are computed from features as they are. If `y` is None, distances
    between features are the targets, and all columns have the same unit.

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

    A loss of another paper, and your own loss, which wants inner products above 0 for
    similar pairs and below 0 for others:

    >>> from sklearn_talr.losses import DSHLoss
    >>> def hinge_loss(bits, affinity):
    ...     products = (2 * (affinity > 0) - 1) * (bits @ bits.T) / bits.shape[1]
    ...     return (1 - products).clamp(min=0).mean()
    >>> for loss in (DSHLoss(margin=2), hinge_loss):
    ...     hasher = TALRHasher(16, loss=loss, max_iter=10, random_state=0)
    ...     hasher = hasher.fit(X[:900], y[:900])
    ...     print(hasher.score(X[900:], y[900:]) > 0.6)
    True
    True
    """

    _parameter_constraints = GradientHasher._parameter_constraints | {
        "module": [
            _InstanceWith("an instance of 'torch.nn.Module'", "forward", "state_dict"),
            None,
        ],
        "init": [StrOptions(set(PROJECTIONS))],
        "nested": ["boolean"],
        "solver": [StrOptions({"adam_mini", "adam", "auto"})],
        "learning_rate": [StrOptions({"constant", "cosine"})],
        "max_iter": [Interval(Integral, 1, None, closed="left"), _AUTO],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
    }

    _: KW_ONLY
    module: Any = None
    init: Literal["itq", "pca", "random"] = "itq"
    nested: bool = False
    solver: Literal["auto", "adam_mini", "adam"] = "auto"
    learning_rate: Literal["cosine", "constant"] = "cosine"
    max_iter: int | Literal["auto"] = "auto"
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    tol: float = 1e-4
    warm_start: bool = False

    @fit_method
    def fit(
        self,
        X: Rows,
        y: Any = None,
        *,
        groups: Column = None,
        X_val: Rows | None = None,
        y_val: Any = None,
        groups_val: Column = None,
    ) -> Self:
        """Learn the hash function.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples. A memory-mapped array or a sparse matrix of
            float32 or float64 is not copied or made dense as a whole. A tensor under
            `array_api_dispatch` is not copied, unless `device` is another device.

        y : targets of length n_samples, default=None
            Targets, from which `affinity` knows who is similar: class labels, 0/1 label
            indicators (dense or CSR), affinities of all pairs (wrapped in
            `PrecomputedAffinity` if cross-validation slices them), or feature rows for a
            `ThresholdAffinity`. None stands for X itself. A loss of classes needs labels or
            label indicators.

        groups : array-like of shape (n_samples,), default=None
            Labels of groups, such as cameras or sessions. Pairs of one group are left out
            of the loss and of scores, so that codes do not learn the groups. None: no pair
            is left out.

        X_val : {array-like, CSR} of shape (n_val, n_features), default=None
            Features of your own validation set, at least two samples. With
            `early_stopping` it is scored, and no sample of `X` is held out.

        y_val : targets of length n_val, default=None
            Targets of the validation set, in the form of `y`. For precomputed affinities:
            a `PrecomputedAffinity` of these samples, or a selection from that of all
            samples. None if `y` is None.

        groups_val : array-like of shape (n_val,), default=None
            Groups of the validation set.

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
        best validation score or of the last completed epoch. Before the first epoch is
        complete, it leaves the hasher as it was.
        """
        loss = loss_of(self.loss)
        data = check_data(
            self,
            loss,
            X,
            y,
            groups=groups,
            X_val=X_val,
            y_val=y_val,
            groups_val=groups_val,
        )
        return replace_fitted(self, fit_by_gradient(self, loss, data))

    @available_if(_trains_on_chunks)
    @fit_method
    def partial_fit(
        self, X: Rows, y: Any = None, levels: Column = None, *, groups: Column = None
    ) -> Self:
        """Learn from a chunk of data: one epoch over its samples.

        The first call finds the first weights, and the mean and unit of the features, as
        `fit` does. A later call, or one after `fit`, goes on from the weights so far. The
        learning rate is `learning_rate_init`, which may be set anew before each call. The
        scale of tanh is that of the last epoch. Only samples of one chunk are paired with
        each other. For callbacks each call is a fit of one epoch. An interrupt (Ctrl-C)
        leaves the hasher as it was.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : targets of length n_samples, default=None
            As for `fit`, for the samples of this chunk. A `ThresholdAffinity` keeps the
            thresholds of the first chunk.

        levels : array-like of int, default=None
            All values that the affinity can take in any chunk, ascending from 0. The first
            call needs them if the affinity is a function without ``levels_``.

        groups : array-like of shape (n_samples,), default=None
            As for `fit`, for the samples of this chunk.

        Returns
        -------
        self : object
            The hasher.

        Raises
        ------
        ValueError
            If X and y do not fit, X has other features than before, or a level is unknown.

        AttributeError
            If `early_stopping` is True, since a chunk holds no validation samples, or if
            the loss needs classes.
        """
        loss = loss_of(self.loss)
        data = check_chunk(self, X, y, levels, groups=groups)
        return replace_fitted(self, fit_by_gradient(self, loss, data, is_chunk=True))

    def score(self, X: Rows, y: Any = None) -> float:
        """Tie-aware retrieval score of these samples; each ranks all the others.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : targets of length n_samples, default=None
            Targets in the form of `fit`.

        Returns
        -------
        score : float
            Mean over the samples with a similar sample among the others, in [0, 1]:
            average precision, or NDCG if the loss maximizes that. All pairs of different
            samples count. To leave out pairs of one group, use a scorer of
            make_retrieval_scorer, which takes `groups`.
        """
        return make_retrieval_scorer(loss_of(self.loss).measure)(self, X, y)

    def __talr_hash_function__(self, space: Space) -> HashFunction:
        """Make the hash function of this fit: layers, or the user's module.

        Parameters
        ----------
        space : Space
            Library and device of the features.

        Returns
        -------
        function : HashFunction
            Its weights saturate if similarity goes by labels rather than by distances.
        """
        affinity = vars(self).get("affinity_")
        by_labels = not getattr(affinity, "by_distance", False)
        if "module_state_" not in vars(self):
            layers = super().__talr_hash_function__(space)
            return replace(layers, saturates_weights=by_labels)
        module = of_torch("ModuleFunction")(self.module, self.module_state_)
        return HashFunction(
            activations=module.moved_to(space),
            n_bits=self._n_features_out,
            saturates_weights=by_labels,
            has_own_threads=True,
        )

    def _trains_in(self, space):
        """Whether training leaves features where they are: tensors on a CUDA device.

        Tensors on the CPU are trained on as NumPy arrays of the same memory. Under
        ``device="cpu"`` tensors on a CUDA device are copied to the host.
        """
        on_cuda = space.is_torch and str(space.device).startswith("cuda")
        return on_cuda and self.device != "cpu"

    @property
    def _n_features_out(self):
        return self._training_state_["n_bits"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Each call that checks features asks for tags, and to parse a measure takes longer
        # than to encode a row.
        tags.target_tags.required = getattr(self.loss, "needs_classes", False)
        return tags
