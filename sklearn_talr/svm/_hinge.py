"""Structured hinge and direct loss of a ranking, on real scores."""

from numbers import Real

import numpy as np
import torch

from .._compat import Interval, StrOptions, validate_params
from ._inference import NAMED_LOSSES
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
    loss : {"average_precision", "ndcg"}, default="average_precision"
        What to bound: one minus average precision, or one minus NDCG.

    epsilon : float, default=None
        Greater than 0. None means the structured hinge. A number means the direct loss
        (Song et al., ICML 2016), which compares with the ranking by scores instead of a
        perfect ranking:

            (max_R [epsilon Delta(R) + F(R)] - max_R F(R)) / epsilon,

        where Delta(R) is the loss of a ranking and F(R) its score. The direct loss bounds
        the loss of the ranking by scores, and tends to it as `epsilon` tends to 0. The
        smaller `epsilon` is, the more the gradient varies from batch to batch.

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
    >>> loss = RankingHingeLoss("average_precision")(scores, torch.tensor([1, 1, 0]))
    >>> loss.backward()
    >>> loss, scores.grad
    (tensor(0.4167, grad_fn=<AddBackward0>), tensor([-1., -1.,  2.]))
    """

    @validate_params(
        {
            "loss": [StrOptions(set(NAMED_LOSSES))],
            "epsilon": [Interval(Real, 0, None, closed="neither"), None],
        },
        prefer_skip_nested_validation=True,
    )
    def __init__(self, loss="average_precision", *, epsilon=None):
        super().__init__()
        self.loss = loss
        self.epsilon = epsilon

    def forward(self, scores, targets):
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
        """Return the loss near these scores, which is constant + weights @ scores."""
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
    """Whether any query has relevant items and items that are not relevant."""
    return bool((relevant.any(axis=1) & ~relevant.all(axis=1)).any())
