"""What all losses share: the base class, the data they are bound to, and minibatches."""

from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from .._core.types import Any, Array, Callable, Count, Tensor
from ..affinity._base import check_places, place_blocks

# One call of an oracle compares at most this many pairs, each of which may need many bytes.
_PAIRS_PER_BLOCK = 2**20
# Larger grades have gains 2**grade - 1 that overflow float64 when they are summed.
_LARGEST_GRADE = 1000


class BaseLoss(BaseEstimator):
    """Base of all losses: a function of relaxed bits and of the affinities of pairs.

    A loss of your own defines :meth:`between`, and then serves both hashers of one view
    and hashers of two views; or it defines ``__call__`` for one view only. Parameters are
    those of ``__init__``, as of any estimator. Only a loss that needs more than the bits
    and the affinities of a minibatch defines :meth:`bind`.

    Attributes
    ----------
    measure : {"AP", "nDCG"}
        Measure that scores a hasher which is trained with the loss.

    training_defaults : dict
        Values for ``"auto"`` in the hasher's `tanh_scale`, `bit_dropout` and
        `weight_decay`.

    needs_classes : bool
        Whether targets must be class labels or label indicators.

    needs_tanh : bool
        Whether it counts distances of bits, which tanh has to keep in [-1, 1].

    by_order : bool
        Whether only the order of affinities matters, and which of them are 0. Then the loss
        gets the places of affinities among all levels, small integers, instead of the
        affinities.

    takes_levels : bool
        Whether the loss gets such places, and the affinities of all levels as ``levels``.

    Examples
    --------
    Similar pairs should have inner products above 0, and others below:

    >>> import torch
    >>> from sklearn_talr.losses import BaseLoss
    >>> class HingeLoss(BaseLoss):
    ...     def between(self, query_bits, item_bits, affinity, n_bits=None):
    ...         wanted = 2 * (affinity > 0) - 1
    ...         products = query_bits @ item_bits.T / query_bits.shape[1]
    ...         return (1 - wanted * products).clamp(min=0)[affinity >= 0].mean()
    >>> HingeLoss()(torch.tensor([[1.0, 1], [1, -1]]), torch.tensor([[1, 1], [1, 1]]))
    tensor(1.)
    """

    _parameter_constraints: dict = {}

    measure = "AP"
    training_defaults = {}
    needs_classes = False
    needs_tanh = False
    by_order = False
    takes_levels = False

    def __call__(
        self, bits: Tensor, affinity: Tensor, n_bits: Count = None, **levels: Any
    ) -> Tensor:
        """Compute the loss of a minibatch of one view.

        Parameters
        ----------
        bits : Tensor of shape (n, k), float
            Relaxed bits, or activations if training has no tanh.

        affinity : Tensor of shape (n, n)
            Affinities of all pairs. Similar pairs are those above 0.

        n_bits : int, default=None
            Bits of a code, of which k take part. None: all do.

        **levels : dict
            ``levels``, for a loss that takes them.

        Returns
        -------
        loss : Tensor, scalar
            The value of :meth:`between` for all pairs of two different samples.
        """
        signed = affinity if affinity.is_floating_point() else affinity.short()
        signed = signed.clone() if signed is affinity else signed
        return self.between(bits, bits, signed.fill_diagonal_(-1), n_bits, **levels)

    def between(
        self, query_bits: Tensor, item_bits: Tensor, affinity: Tensor, n_bits: Count = None
    ) -> Tensor:
        """Compute the loss of queries and items, which may be of another kind.

        Parameters
        ----------
        query_bits, item_bits : Tensors of shapes (n, k) and (m, k), float
            Relaxed bits, or activations if training has no tanh.

        affinity : Tensor of shape (n, m)
            Affinities of pairs: above 0 if relevant, below 0 if unknown, which are left
            out.

        n_bits : int, default=None
            Bits of a code, of which k take part. None: all do.

        Returns
        -------
        loss : Tensor, scalar
            To be minimized.

        Raises
        ------
        ValueError
            If the loss knows samples of one kind only.
        """
        raise ValueError(
            f"loss {self!r} knows samples of one kind only, which rank each other. Set "
            "another loss, such as AveragePrecisionLoss() or ContrastiveLoss(), "
            "or a function loss(query_bits, item_bits, affinity)."
        )

    def check_context(self, context: "LossContext") -> None:
        """Raise ValueError unless the loss can be trained as `bind` says."""
        self._validate_params()
        if self.needs_tanh and not context.is_relaxed:
            raise ValueError(
                f"{type(self).__name__} counts distances of relaxed bits in [-1, 1], which "
                "tanh_scale=None leaves unbounded. Set tanh_scale to 'auto' or a number."
            )
        if self.takes_levels:
            summable_grades(context.gain_levels)

    def bind(
        self, context: "LossContext"
    ) -> tuple[Callable[["Batch"], Tensor], dict[str, Any]]:
        """Bind the loss to the training data of one fit.

        Parameters
        ----------
        context : LossContext
            Targets, affinity and levels; the number of bits, the device, the generator.

        Returns
        -------
        step : callable
            ``step(batch) -> scalar tensor``, the loss of a `Batch`.

        fitted : dict
            Attributes that the fitted hasher keeps.

        Raises
        ------
        ValueError
            If a parameter is out of range, or the loss counts bits that tanh does not
            relax.
        """
        self.check_context(context)
        options = {"n_bits": context.n_bits}
        if self.takes_levels:
            grades = np.asarray(context.gain_levels)
            options["levels"] = to_device(grades, context.device)
        # The affinity of unknown pairs is in the last place, -1.
        values = to_device(np.append(context.levels, -1), context.device)
        return partial(self._loss_of_batch, values, options), {}

    def _loss_of_batch(self, values, options, batch):
        """The loss of a minibatch; `values` has the affinity of each level."""
        affinity = batch.level_index()
        bits = batch.bits
        has_two_views = isinstance(bits, tuple)
        if not (self.by_order or self.takes_levels):
            dtype = bits[0].dtype if has_two_views else bits.dtype
            affinity = values[affinity.long()].to(dtype)
        if has_two_views:
            query_bits, item_bits = bits
            return self.between(query_bits, item_bits, affinity, **options)
        return self(bits, affinity, **options)


class _FunctionLoss(BaseLoss):
    """A function of the user, or an object with some attributes of a loss."""

    def __init__(self, function):
        self.function = function
        for name in ("measure", "training_defaults", "needs_classes"):
            setattr(self, name, getattr(function, name, getattr(BaseLoss, name)))

    def __repr__(self):
        return repr(getattr(self.function, "__name__", self.function))

    def __call__(self, bits, affinity, n_bits=None):
        return self.function(bits, affinity)

    def between(self, query_bits, item_bits, affinity, n_bits=None):
        between = getattr(self.function, "between", self.function)
        return between(query_bits, item_bits, affinity)

    def bind(self, context):
        bind = getattr(self.function, "bind", super().bind)
        return bind(context)


class LossContext(NamedTuple):
    """Training data of one fit, to which a loss is bound.

    Parameters
    ----------
    affinity : BaseAffinity
        The fitted affinity between samples.

    targets : sequence of length n_samples, or None
        Checked targets of the affinity; None if queries and items are of two kinds.

    levels : ndarray of shape (n_levels,)
        Values that the affinity takes, in ascending order, first 0.

    gain_levels : ndarray of shape (n_levels,)
        Levels whose gains NDCG is trained on.

    n_bits : int
        Bits of a code.

    is_relaxed : bool
        Whether bits are relaxed by tanh.

    device : torch.device
        Device of the minibatches.

    rng : RandomState
        Generator of the fit, from which a loss may draw.

    fitted_before : dict
        Fitted attributes that a warm start goes on from; empty without a warm start.
    """

    affinity: object
    targets: object
    levels: np.ndarray
    gain_levels: np.ndarray
    n_bits: int
    is_relaxed: bool
    device: object
    rng: np.random.RandomState
    fitted_before: dict

    def tensor(self, array: Array) -> Tensor:
        """Bring an array to the device, floats as float32."""
        if array.dtype.kind == "f":
            array = array.astype(np.float32, copy=False)
        return to_device(array, self.device)


class Batch(NamedTuple):
    """A minibatch, of which a step may keep some of the bits.

    Parameters
    ----------
    activations : Tensor of shape (n, n_kept), or tuple of two
        Activations of the bits that are kept: of samples that rank each other, or of
        queries and of items.

    level_index : callable
        ``level_index()`` computes the places of the affinities of all pairs among the
        levels, an integer tensor; -1 for unknown affinities.

    rows : ndarray of int, or tuple of two
        Rows of the training data.

    kept : Tensor of int or None
        Which bits are kept; None means all.

    scale : float or None
        Scale of tanh at this stage of training; None if there is no tanh.
    """

    activations: object
    level_index: object
    rows: object
    kept: object
    scale: float | None

    @property
    def scaled(self) -> Any:
        """Activations times the scale of tanh."""
        return self._each(lambda activations: self.scale * activations)

    @property
    def bits(self) -> Any:
        """Relaxed bits, or activations if there is no tanh."""
        return self._each(lambda activations: (self.scale * activations).tanh())

    def _each(self, relax):
        if self.scale is None:
            return self.activations
        if isinstance(self.activations, tuple):
            return tuple(map(relax, self.activations))
        return relax(self.activations)

    def keep(self, bits: Any) -> "Batch":
        """Select the bits, which are columns, that the step keeps."""
        return bits if self.kept is None else bits.index_select(1, self.kept)


def to_device(array, device):
    """Make a tensor of an array on a device, without waiting for the copy."""
    import torch

    tensor = torch.from_numpy(array)
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def levels_of_pairs(affinity, levels, targets, take):
    """Make a function of rows of targets that returns the places of all pairs in `levels`.

    Labels and dense label indicators are checked once, if a loss needs them, and brought by
    `take` to the device of minibatches. Any other oracle compares pairs on the host, for
    each batch, some rows at a time.
    """
    return _LevelsOfPairs(affinity, levels, targets, take).level_index


class _LevelsOfPairs:
    """Targets of a fit, for the places of affinities of pairs, see `levels_of_pairs`."""

    def __init__(self, affinity, levels, targets, take):
        self._affinity = affinity
        self._levels = levels
        self._targets = targets
        self._take = take

    @cached_property
    def _table(self):
        """Targets on the device of minibatches, or None for an oracle of the host."""
        table = self._affinity.batch_table(self._targets)
        return None if table is None else self._take(table)

    def level_index(self, rows):
        """Places of the affinities of all pairs of some rows, (n_rows, n_rows)."""
        if self._table is not None:
            index = self._affinity.compare_batch(self._table[self._take(rows)])
            shape = (len(rows), len(rows))
            return check_places(index, self._affinity, self._levels, shape)
        n_rows_per_block = max(1, _PAIRS_PER_BLOCK // len(rows))
        dtype = np.int16 if len(self._levels) < 2**15 else np.int32
        index = np.empty((len(rows), len(rows)), dtype)
        targets = self._targets[rows]
        for part, block in place_blocks(
            self._affinity, targets, self._levels, n_rows_per_block
        ):
            index[part] = block
        return self._take(index)


def summable_grades(grades):
    """Return grades, or raise ValueError if their gains overflow when they are summed."""
    if grades[-1] > _LARGEST_GRADE:
        raise ValueError(
            f"NDCG has grades, which are affinities, up to {grades[-1]}, whose gains "
            "2**grade - 1 overflow float64 when they are summed. Number the grades from 0, "
            f"or bin them, so that none is above {_LARGEST_GRADE}."
        )
    return grades
