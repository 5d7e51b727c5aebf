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

from ._digamma import differences

__all__ = ["average_precision", "average_precision_simplified"]

_ROWS_PER_BLOCK = 128  # queries whose tables stay in cache between operations


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
    return _AveragePrecision.apply(counts, _relevant(counts, levels))


class _AveragePrecision(torch.autograd.Function):
    """The value with its gradient, in blocks of queries that stay in cache.

    The gradient is written out because it shares psi and psi' with the value: several
    times faster than differentiating the pieces.
    """

    @staticmethod
    def forward(ctx, counts, relevant):
        value = counts.new_empty(len(counts))
        by_c, by_c_pos = counts.new_empty(2, len(counts), counts.shape[2])
        for start in range(0, len(counts), _ROWS_PER_BLOCK):
            rows = slice(start, start + _ROWS_PER_BLOCK)
            c, c_pos = _tables(counts[rows], relevant)
            value[rows], by_c[rows], by_c_pos[rows] = _precision_with_gradient(c, c_pos)
        ctx.save_for_backward(by_c, by_c_pos, relevant.to(counts.dtype))
        return value

    @staticmethod
    def backward(ctx, grad):
        by_c, by_c_pos, relevant = ctx.saved_tensors
        by_c, by_c_pos = grad[:, None] * by_c, grad[:, None] * by_c_pos
        return torch.addcmul(by_c[:, None], relevant[:, None], by_c_pos[:, None]), None


def _precision_with_gradient(c, c_pos):
    """1 / N+ sum_d c+ [ (c+ - 1) x curve(x, c) + (C+ + 1) slope(x, c) ], by c and by c+."""
    points = torch.nn.functional.pad(c.cumsum(-1), (1, 0)).add_(1)
    x = points[:, :-1].contiguous()
    rank_pos = (c_pos.cumsum(-1) - c_pos).add_(1)
    found = differences(points, c)
    others = c_pos - 1
    pairs = others * x
    gain = (pairs * found.curve).addcmul_(rank_pos, found.slope)
    by_c = (pairs * found.curve_by_c).addcmul_(rank_pos, found.slope_by_c).mul_(c_pos)
    by_x = (pairs * found.curve_by_x).addcmul_(rank_pos, found.slope_by_x)
    by_x.addcmul_(others, found.curve).mul_(c_pos)
    by_c += _sum_behind(by_x)
    by_c_pos = (c_pos * x).mul_(found.curve).add_(gain)
    by_c_pos += _sum_behind(c_pos * found.slope)
    n_pos = c_pos.sum(-1, keepdim=True)
    share = 1 / torch.where(n_pos > 0, n_pos, torch.inf)
    value = (c_pos * gain).sum(-1, keepdim=True) * share
    return value[:, 0], by_c * share, (by_c_pos - value) * share


def _sum_behind(values):
    """What farther distances gain from items put before them."""
    return values.sum(-1, keepdim=True) - values.cumsum(-1)


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
    c, c_pos = _tables(counts, _relevant(counts, levels))
    precision = (2 * c_pos.cumsum(-1) - c_pos + 1) / (2 * c.cumsum(-1) - c + 1)
    return _divide((c_pos * precision).sum(-1), c_pos.sum(-1)).to(counts.dtype)


def _relevant(counts, levels):
    """1 for relevant levels and 0 for others, in float64."""
    return (torch.as_tensor(levels, device=counts.device) > 0).double()


def _tables(counts, relevant):
    """Return c and c+ in float64, each of shape (n_query, n_bins + 1)."""
    counts = counts.double()
    return counts.sum(1), torch.einsum("qvd,v->qd", counts, relevant)


def _divide(total, n_pos):
    """Divide, giving 0 with zero gradient where nothing is relevant."""
    return total / torch.where(n_pos > 0, n_pos, torch.inf)
