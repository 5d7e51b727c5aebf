"""Structured hinge of a ranking, on real scores."""

import numpy as np
import torch

from .._core.compat import validated
from .._core.types import Tensor
from ..measures import Measure
from ..measures._base import measure_name
from ._risks import RankingRisk


class RankingHingeLoss(torch.nn.Module):
    """Structured hinge bound of one minus AP or NDCG, for networks that score items.

    :class:`~sklearn_talr.svm.RankingSVC` minimizes the same loss (eq. 4 of Mohapatra et
    al., CVPR 2018) of a linear function. Its semi-gradient (eq. 5) is the gradient of the
    score of the most violating ranking minus that of a perfect ranking. Scores may be any
    real numbers; networks that give codes are trained by
    :class:`~sklearn_talr.losses.TieAwareLoss`.

    The most violating ranking is found on the CPU in O(n log n). A step therefore waits for
    the scores of an accelerator to arrive there.

    Parameters
    ----------
    loss : {"AP", "nDCG"}, default="AP"
        What to bound: one minus average precision, or one minus NDCG.

    See Also
    --------
    loss_augmented_ranks : Finds the most violating ranking.

    Examples
    --------
    Two positives and a negative are tied. One minus AP is 0, 1/6 or 5/12, depending on
    where the negative comes, and the bound is the worst of them.

    >>> import torch
    >>> from sklearn_talr.svm import RankingHingeLoss
    >>> scores = torch.ones(3, requires_grad=True)
    >>> loss = RankingHingeLoss("AP")(scores, torch.tensor([1, 1, 0]))
    >>> loss.backward()
    >>> loss, scores.grad
    (tensor(0.4167, grad_fn=<AddBackward0>), tensor([-1., -1.,  2.]))
    """

    @validated(loss=[str, Measure])
    def __init__(self, loss: str | Measure = "AP") -> None:
        super().__init__()
        self.loss = measure_name(loss, "loss")

    def forward(self, scores: Tensor, targets: Tensor) -> Tensor:
        """Compute the mean loss of the queries.

        Parameters
        ----------
        scores : Tensor of shape (n_items,) or (n_queries, n_items), float
            Scores of the items; higher is ranked first. Finite.

        targets : Tensor of the shape of `scores`
            Affinities. Items are relevant where they are greater than 0.

        Returns
        -------
        loss : Tensor, scalar
            Mean over the queries that have relevant items and items that are not relevant,
            at least 0. If there is no such query it is 0, without a gradient.

        Raises
        ------
        ValueError
            If shapes differ, or scores are not finite.
        """
        if scores.shape != targets.shape or scores.ndim not in (1, 2):
            raise ValueError(
                "scores and targets must have one shape, (n_items,) or (n_queries, "
                f"n_items), got {tuple(scores.shape)} and {tuple(targets.shape)}."
            )
        if not torch.isfinite(scores).all():
            raise ValueError("scores must be finite, but hold NaN or infinity.")
        dtype = torch.promote_types(scores.dtype, torch.float32)
        relevant = torch.atleast_2d(targets > 0).cpu().numpy()
        is_ranked = relevant.any(axis=1) & ~relevant.all(axis=1)
        if not is_ranked.any():
            return torch.zeros((), dtype=dtype, device=scores.device)
        flat = torch.atleast_2d(scores).reshape(-1)
        host_scores = flat.detach().to("cpu", torch.float64).numpy()
        n_queries, n_items = relevant.shape
        query = np.repeat(np.arange(n_queries), n_items)
        risk = RankingRisk(relevant.ravel(), query, self.loss)
        # Near these scores the loss is constant + weights @ scores.
        constant, weights = risk.linear(host_scores)
        weights = torch.from_numpy(weights).to(scores.device, dtype)
        return constant + (weights * flat.to(dtype)).sum()

    def extra_repr(self) -> str:
        """Show the settings when the module is printed."""
        return repr(self.loss)
