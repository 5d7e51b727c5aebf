"""Average precision of soft counts.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
c, c+       soft counts of one distance: all items, and relevant ones
C, C+       how many items lie before that distance: all, and relevant ones
N+          relevant items in all
x = C + 1   the first rank of the distance
==========  ==================================================================
"""

import torch

from ._digamma import curve, slope

__all__ = ["average_precision", "average_precision_simplified"]


def average_precision(counts, levels):
    """Tie-aware average precision, continued exactly to real counts.

    The expected AP of a ranking whose items are tied within each distance is, for
    integer counts (eq. 6 of He et al., CVPR 2018),

        sum_d c+/(c N+) [ r c + (C+ + 1 - r x) (H(C + c) - H(C)) ],   r = (c+ - 1)/(c - 1).

    The paper replaces the harmonic numbers H by logarithms (eq. 11), which diverges at
    the first non-empty distance (C = 0) and has a pole at c = 1. H(n) continues to real
    n as digamma(n + 1) + 0.577..., and with it the pole is removable: the same sum is

        sum_d c+/N+ [ (c+ - 1) x curve(x, c) + (C+ + 1) slope(x, c) ]

    with two positive functions that are smooth for all c >= 0 (divided differences of
    digamma). So the value equals tie-aware AP at integer counts, and gradients are finite
    at empty distances, at c = 1 and when all items are tied.

    Parameters
    ----------
    counts : Tensor of shape (n_query, n_levels, n_bins + 1), float
        Counts by affinity level and distance, for instance from :func:`soft_counts`.

    levels : Tensor of shape (n_levels,)
        Affinity values in ascending order, first 0. All positive levels are relevant.

    Returns
    -------
    ap : Tensor of shape (n_query,)
        Values in [0, 1], to be maximised; computed in float64, returned in the dtype of
        `counts`. 0 where a query has nothing relevant.

    Examples
    --------
    One relevant item tied with another item: half the time it comes first.

    >>> import torch
    >>> from sklearn_talr.objectives import average_precision
    >>> average_precision(torch.tensor([[[1.0], [1.0]]]), torch.tensor([0, 1]))
    tensor([0.7500])
    """
    c, c_pos, before, before_pos, n_pos = _tables(counts, levels)
    x = before + 1
    gain = (c_pos - 1) * x * curve(x, c) + (before_pos + 1) * slope(x, c)
    return _divide((c_pos * gain).sum(-1), n_pos).to(counts.dtype)


def average_precision_simplified(counts, levels):
    """Simplified relaxation of tie-aware average precision, eq. 62 of He et al.

    Replaces the average over the ranks of a tie by its value at the middle rank:

        sum_d c+/N+ (2 C+ + c+ + 1) / (2 C + c + 1).

    Cheaper than :func:`average_precision`. It equals AP when there are no ties; on short
    tied lists it is off by up to 0.12.

    Parameters
    ----------
    counts : Tensor of shape (n_query, n_levels, n_bins + 1), float
        Counts by affinity level and distance.

    levels : Tensor of shape (n_levels,)
        Affinity values in ascending order, first 0. All positive levels are relevant.

    Returns
    -------
    ap : Tensor of shape (n_query,)
        To be maximised; 0 where a query has nothing relevant.

    Examples
    --------
    The tie of the example of :func:`average_precision`, whose expected AP is 0.75:

    >>> import torch
    >>> from sklearn_talr.objectives import average_precision_simplified
    >>> average_precision_simplified(torch.tensor([[[1.0], [1.0]]]), torch.tensor([0, 1]))
    tensor([0.6667])
    """
    c, c_pos, before, before_pos, n_pos = _tables(counts, levels)
    precision = (2 * before_pos + c_pos + 1) / (2 * before + c + 1)
    return _divide((c_pos * precision).sum(-1), n_pos).to(counts.dtype)


def _tables(counts, levels):
    """Return c, c+, C, C+ of shape (n_query, n_bins + 1) and N+ of shape (n_query,)."""
    counts = counts.double()
    relevant = (torch.as_tensor(levels, device=counts.device) > 0).to(counts.dtype)
    c = counts.sum(1)
    c_pos = torch.einsum("qvd,v->qd", counts, relevant)
    return c, c_pos, c.cumsum(-1) - c, c_pos.cumsum(-1) - c_pos, c_pos.sum(-1)


def _divide(total, n_pos):
    """Divide, giving 0 with zero gradient where nothing is relevant."""
    return total / torch.where(n_pos > 0, n_pos, torch.inf)
