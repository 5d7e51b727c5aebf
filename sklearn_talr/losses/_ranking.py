"""One minus a measure of soft counts, for the loss values and the torch module."""

import torch

from ._soft_average_precision import simplified_average_precision, soft_average_precision
from ._soft_counts import soft_counts
from ._soft_ndcg import simplified_ndcg, soft_ndcg

# By the name of the measure, and whether it is simplified.
MEASURES = {
    ("AP", False): soft_average_precision,
    ("AP", True): simplified_average_precision,
    ("nDCG", False): soft_ndcg,
    ("nDCG", True): simplified_ndcg,
}


def ranking_loss(relaxed, level_index, levels, measure, simplified):
    """One minus the mean measure of relaxed bits that rank each other.

    Parameters
    ----------
    relaxed : Tensor of shape (n, n_bits), float
        Relaxed bits in [-1, 1].

    level_index : Tensor of shape (n, n), integer
        Places in `levels` of the affinities of all pairs.

    levels : Tensor of shape (n_levels,)
        Affinity values in ascending order, first 0.

    measure, simplified : str, bool
        Key of `MEASURES`.

    Returns
    -------
    loss : Tensor, scalar
        In [0, 1]; 1 without gradient if no sample has something similar.
    """
    with torch.autocast(relaxed.device.type, enabled=False):
        # A view as the queries: autograd then adds gradients in one order.
        counts = soft_counts(
            relaxed.view_as(relaxed), relaxed, level_index, len(levels), exclude_self=True
        )
        return mean_loss(counts, levels, len(relaxed), measure, simplified)


def ranking_loss_between(query, items, level_index, levels, measure, simplified):
    """One minus the mean measure of relaxed queries that rank relaxed items.

    Parameters
    ----------
    query, items : Tensors of shapes (n_query, n_bits) and (n_items, n_bits), float
        Relaxed bits in [-1, 1].

    level_index : Tensor of shape (n_query, n_items), integer
        Places in `levels` of the affinities of all pairs; -1 leaves a pair out.

    levels : Tensor of shape (n_levels,)
        Affinity values in ascending order, first 0.

    measure, simplified : str, bool
        Key of `MEASURES`.

    Returns
    -------
    loss : Tensor, scalar
        In [0, 1]; 1 without gradient if no query has something relevant.
    """
    n_levels = len(levels)
    # Pairs that are left out are counted at a level of their own, which is cut off.
    index = torch.where(level_index < 0, n_levels, level_index)
    with torch.autocast(query.device.type, enabled=False):
        counts = soft_counts(query, items, index, n_levels + 1)[:, :n_levels]
        return mean_loss(counts, levels, len(items), measure, simplified)


def mean_loss(counts, levels, n_items, measure, simplified, group=None):
    """One minus the mean measure of the queries that have something similar.

    Parameters
    ----------
    counts : Tensor of shape (n_query, n_levels, n_bins + 1), float
        Soft counts.

    levels : Tensor of shape (n_levels,)
        Affinity values in ascending order, first 0.

    n_items : int
        Bounds the items of a query, so that nothing has to be read from the device.

    measure, simplified : str, bool
        Key of `MEASURES`.

    group : ProcessGroup, default=None
        Ranks whose queries are averaged over, too.
    """
    options = {} if measure == "AP" else {"n_items": n_items}
    value = MEASURES[measure, simplified](counts, levels, **options)
    # Every pair has mass 1. A query with less than a half has no similar item, and no say.
    has_value = counts.detach()[:, 1:].sum((1, 2)) > 0.5
    total, n_queries = (value * has_value).sum(), has_value.sum()
    if group is not None:
        total, n_queries = group.total(total, n_queries)
    return 1 - total / n_queries.clamp(min=1)
