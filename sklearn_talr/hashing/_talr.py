"""TALRHasher: hash codes by maximizing a tie-aware ranking measure."""

from ..losses._door import tie_aware_loss
from ._docs import describe_inherited
from ._supervised import SupervisedHasher

__all__ = ["TALRHasher"]


@describe_inherited
class TALRHasher(SupervisedHasher):
    r"""Hash codes learned by maximizing tie-aware average precision or NDCG.

    Each sample of a minibatch ranks the others by the Hamming distance of their relaxed
    codes, :math:`\tanh(\alpha f)` of activations f. The measure of that ranking, averaged
    over all orders of tied items, is a smooth function of soft counts of items per
    distance, and its gradient trains the hash function: tie-aware learning to rank, He et
    al. (CVPR 2018). :class:`SupervisedHasher` is the same hasher with any loss.

    The parameters, by purpose:

    ==============  ==================================================================
    code            `n_bits`, `nested`, `hidden_layer_sizes`, `module`
    measure         `measure`, `simplified`, `affinity`, `tanh_scale`
    optimizer       `init`, `solver`, `learning_rate`, `learning_rate_init`, `batch_size`
    regularization  `dropout`, `bit_dropout`, `weight_decay`
    stopping        `max_iter`, `early_descent`, `validation_fraction`,
                    `n_iter_no_change`, `tol`
    runtime         `warm_start`, `device`, `verbose`, `random_state`
    ==============  ==================================================================

    Parameters
    ----------
    measure : {"AP", "nDCG"}, default="AP"
        Measure to maximize, by its name or as a value: average precision (any affinity
        above 0 is relevant), or NDCG for graded affinities, where numbers of shared labels
        are the gains to train with. Training knows no cutoff.

    simplified : bool, default=False
        Whether to take each tie at its middle rank: eq. 62 and 66 of the paper, see
        :func:`~sklearn_talr.losses.simplified_average_precision`.

    tanh_scale : float, (float, float) or "auto", default="auto"
        Scale of tanh, above 0: how nearly binary relaxed codes are. Two numbers are the
        scales of the first and the last epoch, between which it grows geometrically.
        ``"auto"``: 8, but 2 for a `module`, whose activations start from any size.

    bit_dropout : float or "auto", default="auto"
        Each step leaves out this fraction of the bits, drawn at random, in [0, 1). Then
        every part of a code must rank well by itself, which regularizes. ``"auto"`` keeps
        the square root of 8 times their number: 8 of 8, 16 of 32, 23 of 64 bits; half as
        many again with hidden layers or a `module`; and all for a
        :class:`~sklearn_talr.affinity.ThresholdAffinity`, where the fine order of near
        neighbors takes all bits and there is little to overfit.

    weight_decay : float or "auto", default="auto"
        Decoupled weight decay, at least 0; intercepts are left alone. ``"auto"``: 0.6, but
        0 for fewer than 64 features where similarity does not go by distance; with hidden
        layers 2.4 divided by the number of all layers; 0.01 for a `module`.

    Attributes
    ----------
    loss_curve_ : list of float
        Mean loss of the minibatches of each epoch, 1 - measure. Not a score: codes are
        relaxed, batches small, and bits left out.

    See Also
    --------
    SupervisedHasher : The same hasher with any loss.
    ClassProbabilities : The first of two stages, with labels.
    ITQHasher : Needs no targets, and is where training starts from.
    sklearn_talr.neighbors.HammingNeighbors : Searches the codes.
    sklearn_talr.losses.TieAwareLoss : The same loss for networks of your own.
    sklearn_talr.metrics.make_retrieval_scorer : Scores hashers in cross-validation.

    Notes
    -----
    With labels codes mostly rank better by :class:`ClassProbabilities` before the hasher,
    ``make_pipeline(ClassProbabilities(), TALRHasher())``, see the user guide.

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
        **SupervisedHasher._parameter_constraints,
        "measure": "no_validation",  # checked by tie_aware_loss
        "simplified": ["boolean"],
    }
    del _parameter_constraints["loss"]

    def __init__(
        self,
        n_bits=32,
        *,
        measure="AP",
        simplified=False,
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
        early_descent=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-4,
        warm_start=False,
        device="auto",
        verbose=False,
        random_state=None,
    ):
        self.n_bits = n_bits
        self.measure = measure
        self.simplified = simplified
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
        self.early_descent = early_descent
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def _chosen_loss(self):
        return tie_aware_loss(self.measure, self.simplified)
