"""Structured hinge and direct loss of a ranking, on real scores."""

import numpy as np
import torch

from ..svm._risks import RankingRisk

__all__ = ["RankingHingeLoss"]


class RankingHingeLoss(torch.nn.Module):
    """Structured hinge bound of one minus AP or NDCG, for networks that score items.

    The loss that :class:`~sklearn_talr.svm.RankingSVC` minimises (eq. 4 of Mohapatra et
    al., CVPR 2018), with the same semi-gradient (eq. 5): that of the score of the most
    violating ranking less that of a perfect one. Scores have no bounds and no bits; for
    codes see :class:`TieAwareLoss`.

    The most violating ranking is found on the CPU in O(n log n), so that scores on an
    accelerator are waited for.

    Parameters
    ----------
    loss : {"ap", "ndcg"}, default="ap"
        What to bound: one minus average precision, or one minus NDCG.

    epsilon : float, default=None
        Given, the direct loss (Song et al., ICML 2016) takes the place of the hinge: the
        score of a perfect ranking is replaced by that of the ranking by scores,

            (max_R [epsilon Delta(R) + F(R)] - max_R F(R)) / epsilon.

        It bounds the loss of the ranking by scores, and tends to it as `epsilon` tends to
        0, where its gradient has much variance. Greater than 0.

    See Also
    --------
    sklearn_talr.svm.loss_augmented_ranks : Finds the most violating ranking.

    Examples
    --------
    Two positives and a negative, all tied. One minus AP is 0, 1/6 or 5/12, depending on
    the order; the worst is the bound.

    >>> import torch
    >>> from sklearn_talr.objectives import RankingHingeLoss
    >>> scores = torch.ones(3, requires_grad=True)
    >>> loss = RankingHingeLoss("ap")(scores, torch.tensor([1, 1, 0]))
    >>> loss.backward()
    >>> loss, scores.grad
    (tensor(0.4167, grad_fn=<AddBackward0>), tensor([-1., -1.,  2.]))
    """

    def __init__(self, loss="ap", *, epsilon=None):
        super().__init__()
        if loss not in ("ap", "ndcg"):
            raise ValueError(f"loss must be 'ap' or 'ndcg', got {loss!r}.")
        if epsilon is not None and not epsilon > 0:
            raise ValueError(f"epsilon must be None or greater than 0, got {epsilon!r}.")
        self.loss = loss
        self.epsilon = epsilon

    def forward(self, scores, targets):
        """Compute the mean loss of the queries.

        Parameters
        ----------
        scores : Tensor of shape (n_items,) or (n_queries, n_items), float
            Higher is ranked first.

        targets : Tensor of the same shape
            Relevant where greater than 0.

        Returns
        -------
        loss : Tensor, scalar
            At least 0: mean over the queries with relevant and other items. 0 without
            gradient if there is none.

        Raises
        ------
        ValueError
            If shapes differ, or scores are not finite.
        """
        _check(scores, targets)
        dtype = torch.promote_types(scores.dtype, torch.float32)
        flat = torch.atleast_2d(scores).reshape(-1)
        values = flat.detach().to("cpu", torch.float64).numpy()
        relevant = torch.atleast_2d(targets > 0).cpu().numpy()
        if not _can_rank(relevant):
            return torch.zeros((), dtype=dtype, device=scores.device)
        query = np.repeat(np.arange(len(relevant)), relevant.shape[1])
        constant, weights = self._linear(values, relevant.ravel(), query)
        weights = torch.from_numpy(weights).to(scores.device, dtype)
        return constant + (weights * flat.to(dtype)).sum()

    def extra_repr(self):
        """Show the settings when the module is printed."""
        return f"{self.loss!r}, epsilon={self.epsilon}"

    def _linear(self, scores, relevant, query):
        """The loss near these scores: constant plus weights @ scores."""
        augmented = RankingRisk(relevant, query, self.loss)
        if self.epsilon is None:
            return augmented.linear(scores)
        constant, weights = augmented.linear(scores / self.epsilon)
        _, by_score = RankingRisk(relevant, query, "none").linear(scores)
        return constant, (weights - by_score) / self.epsilon


def _check(scores, targets):
    if scores.shape != targets.shape or scores.ndim not in (1, 2):
        raise ValueError(
            "scores and targets must have one shape, (n_items,) or (n_queries, n_items), "
            f"got {tuple(scores.shape)} and {tuple(targets.shape)}."
        )
    if not torch.isfinite(scores).all():
        raise ValueError("scores must be finite, but hold NaN or infinity.")


def _can_rank(relevant):
    """Whether a query has relevant and other items."""
    return bool((relevant.any(axis=1) & ~relevant.all(axis=1)).any())
