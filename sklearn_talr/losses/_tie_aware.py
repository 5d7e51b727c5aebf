"""Losses that maximize tie-aware average precision and NDCG."""

from difflib import get_close_matches

from .._core.parameters import parameters
from .._core.types import Count, Tensor
from ..measures import Measure
from ..measures._base import measure_name, named_measure, refuse_scorer
from ._base import BaseLoss, _FunctionLoss

# Classes of losses, and the names that other libraries have for them.
LOSSES = {
    "AveragePrecisionLoss": ("tie-aware", "talr", "listwise", "fastap", "smooth_ap"),
    "NDCGLoss": ("lambdarank", "lambdamart", "approx_ndcg", "listnet"),
    "CSQLoss": ("central_similarity", "hash_centers", "bce", "binary_crossentropy"),
    "OrthoHashLoss": ("cross_entropy", "crossentropy", "softmax", "log_loss", "arcface"),
    "ContrastiveLoss": ("info_nce", "infonce", "nt_xent", "ntxent", "simclr", "clip"),
    "DCMHLoss": ("cross_modal", "multimodal"),
    "DPSHLoss": ("pairwise", "likelihood", "logistic", "dhn"),
    "DSHLoss": ("siamese", "margin", "hinge"),
    "DTSHLoss": ("triplet", "triplet_margin", "triplets"),
    "HashNetLoss": ("weighted_likelihood", "continuation"),
    "MutualInformationLoss": ("mihash", "mi", "mutual_info"),
}


@parameters
class AveragePrecisionLoss(BaseLoss):
    """One minus tie-aware average precision, of a minibatch whose samples rank each other.

    He et al., "Hashing as Tie-Aware Learning to Rank", CVPR 2018. Each sample ranks the
    others by the Hamming distance of their relaxed bits. The AP of that ranking, averaged
    over all orders of tied items, is a smooth function of soft counts of items per
    distance: eq. 6 of the paper, continued to real counts, see
    :func:`~sklearn_talr.losses.soft_average_precision`. Items of affinities above 0 are
    relevant.

    The loss is 1 minus the mean AP of the samples that have a similar sample, and 1 if none
    has. It is in [0, 1].

    Parameters
    ----------
    simplified : bool, default=False
        Whether all items of a tie have its middle rank: eq. 62 of the paper,
        :func:`~sklearn_talr.losses.simplified_average_precision`.

    See Also
    --------
    sklearn_talr.hashing.TALRHasher : Hasher with this loss by default.
    TieAwareLoss : The same loss as a module, for networks trained end to end.
    NDCGLoss : Loss for graded affinities.

    Examples
    --------
    Two classes of two items. Item 0 is as far from its partner as from both other items, so
    its AP is the mean of 1, 1/2 and 1/3. The mean AP of the four items is 0.4653.

    >>> import torch
    >>> from sklearn_talr.losses import AveragePrecisionLoss
    >>> bits = torch.tensor([[1.0, 1], [1, -1], [-1, 1], [1, -1]])
    >>> affinity = torch.tensor([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
    >>> AveragePrecisionLoss()(bits, affinity)
    tensor(0.5347)
    """

    _parameter_constraints = {"simplified": ["boolean"]}

    needs_tanh = by_order = True

    simplified: bool = False

    def between(
        self, query_bits: Tensor, item_bits: Tensor, affinity: Tensor, n_bits: Count = None
    ) -> Tensor:
        """Compute the loss of queries that rank items, which may be of another kind.

        Parameters
        ----------
        query_bits, item_bits : Tensors of shapes (n, k) and (m, k), float
            Relaxed bits in [-1, 1].

        affinity : Tensor of shape (n, m)
            Affinities of pairs: above 0 if relevant, below 0 if unknown, which are left
            out.

        n_bits : int, default=None
            Ignored, since distances are those of the bits that take part.

        Returns
        -------
        loss : Tensor, scalar
            The loss, in [0, 1].
        """
        import torch

        from ._soft_measures import ranking_loss

        index = affinity.sign().to(torch.int16)
        return ranking_loss(
            query_bits,
            item_bits,
            index,
            levels=torch.arange(2, device=affinity.device),
            measure="AP",
            simplified=self.simplified,
        )


@parameters
class NDCGLoss(BaseLoss):
    """One minus tie-aware NDCG, of a minibatch whose samples rank each other.

    He et al., "Hashing as Tie-Aware Learning to Rank", CVPR 2018. The loss is that of
    :class:`AveragePrecisionLoss`, with NDCG in place of AP. The NDCG of a ranking, averaged
    over all orders of tied items, is eq. 7 of the paper, continued to real counts, see
    :func:`~sklearn_talr.losses.soft_ndcg`. The gain of an affinity a, which is at most
    1 000, is 2**a - 1.

    If a hasher is trained on numbers of shared labels, these numbers are the gains. With
    gains that grow exponentially, the few pairs of a minibatch that share the most labels
    outweigh all others. Such training did not raise held-out NDCG with exponential gains,
    and it lowered average precision.

    The loss is 1 minus the mean NDCG of the samples that have a similar sample, and 1 if
    none has. It is in [0, 1].

    Parameters
    ----------
    simplified : bool, default=False
        Whether all items of a tie have the discount of its middle rank: eq. 66 of the
        paper, :func:`~sklearn_talr.losses.simplified_ndcg`.

    See Also
    --------
    sklearn_talr.hashing.TALRHasher : Hasher with this loss if ``loss="nDCG"``.
    AveragePrecisionLoss : Loss for affinities that are not graded.

    Examples
    --------
    One relevant item is tied with another item, so its discount is 1 or 0.63. The other two
    samples have nothing relevant, and are ignored.

    >>> import torch
    >>> from sklearn_talr.losses import NDCGLoss
    >>> bits = torch.tensor([[1.0], [-1], [-1]])
    >>> NDCGLoss()(bits, torch.tensor([[0, 1, 0], [0, 0, 0], [0, 0, 0]]))
    tensor(0.1845)
    """

    _parameter_constraints = {"simplified": ["boolean"]}

    measure = "nDCG"
    needs_tanh = takes_levels = True

    simplified: bool = False

    def between(
        self,
        query_bits: Tensor,
        item_bits: Tensor,
        affinity: Tensor,
        n_bits: Count = None,
        levels: Tensor | None = None,
    ) -> Tensor:
        """Compute the loss of queries that rank items, which may be of another kind.

        Parameters
        ----------
        query_bits, item_bits : Tensors of shapes (n, k) and (m, k), float
            Relaxed bits in [-1, 1].

        affinity : Tensor of shape (n, m)
            Affinities of pairs; or, with `levels`, the place of each affinity among them,
            integers. Pairs below 0 are unknown, and left out.

        n_bits : int, default=None
            Ignored, since distances are those of the bits that take part.

        levels : Tensor of shape (n_levels,), default=None
            Affinity values in ascending order, first 0. None: the values in `affinity`.

        Returns
        -------
        loss : Tensor, scalar
            The loss, in [0, 1].
        """
        import torch

        from ._soft_measures import ranking_loss

        if levels is None:
            zero = affinity.new_zeros(1)
            levels = torch.unique(torch.cat([zero, affinity.flatten().clamp(min=0)]))
            index = torch.searchsorted(levels, affinity.contiguous())
            affinity = index.masked_fill(affinity < 0, -1)
        return ranking_loss(
            query_bits,
            item_bits,
            affinity,
            levels=levels,
            measure="nDCG",
            simplified=self.simplified,
        )


def _hint_of_loss(word):
    """A sentence that names the loss that a word may mean, or an empty string."""
    plain = _plain(word.removesuffix("_loss"))
    named = {_plain(name.removesuffix("Loss")): name for name in LOSSES}
    named |= {_plain(alias): name for name, aliases in LOSSES.items() for alias in aliases}
    near = get_close_matches(plain, named, 1, cutoff=0.75)
    if not near:
        return ""
    name = named[near[0]]
    return f" Is {name} meant? from sklearn_talr.losses import {name}, and loss={name}()."


def _plain(word):
    """A word in lower case, without other characters than letters and digits."""
    return "".join(filter(str.isalnum, word.lower())).removesuffix("loss")


def loss_of(loss):
    """Return the loss that a parameter `loss` of a hasher stands for.

    It may be a measure to maximize, as a value or by any name that a scorer takes; a loss;
    or a function, which gets the attributes of a loss that it lacks.
    """
    if isinstance(loss, BaseLoss):
        return loss
    refuse_scorer(loss, "loss")
    if not isinstance(loss, (str, Measure)):
        return _FunctionLoss(loss)
    losses = ", ".join(f"{name}()" for name in LOSSES)
    if named_measure(loss) is None:
        raise ValueError(
            "loss must be 'AP' or 'nDCG', a loss of sklearn_talr.losses or a function, got "
            f"{loss!r}.{_hint_of_loss(loss)} Losses are {losses}."
        )
    try:
        name = measure_name(loss, "loss")
    except ValueError as error:
        raise ValueError(f"{error} Losses are 'AP', 'nDCG', {losses}.") from None
    return NDCGLoss() if name == "nDCG" else AveragePrecisionLoss()
