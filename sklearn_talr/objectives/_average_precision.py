"""Average precision of soft counts.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
c, c+       soft counts of one distance: all items, and relevant ones
C, C+       how many items lie before that distance: all, and relevant ones
N+          relevant items in all
x = C + 1   the first rank of the distance
S           mean of psi' from x + 1 to x + c, see _digamma
==========  ==================================================================
"""

import torch

from ._digamma import mean_trigamma

__all__ = ["average_precision", "average_precision_simplified"]

_ROWS_PER_BLOCK = 512  # queries whose tables stay in cache between operations
_NEAR = 1e-6  # emptier distances are to have the limit of the quotient at 0


def average_precision(counts, levels):
    """Tie-aware average precision, continued exactly to real counts.

    The expected AP of a ranking whose items are tied within each distance is, for
    integer counts (eq. 6 of He et al., CVPR 2018),

        sum_d c+/(c N+) [ r c + (C+ + 1 - r x) (H(C + c) - H(C)) ],   r = (c+ - 1)/(c - 1).

    The paper replaces the harmonic numbers H by logarithms (eq. 11), which diverges at
    the first non-empty distance (C = 0) and has a pole at c = 1. H(n) continues to real
    n as digamma(n + 1) + 0.577..., and with it the pole is removable: the same sum is

        sum_d c+/(c N+) [ (c+ - 1) (1 - x S) + (C+ + 1) (1/x + (c - 1) S) ]

    with x = C + 1 and S the mean of the derivative of digamma from x + 1 to x + c, which
    is smooth for all c >= 0. So the value equals tie-aware AP at integer counts, and
    gradients are finite at empty distances, at c = 1 and when all items are tied.

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
    _check_levels(counts, levels)
    return _AveragePrecision.apply(counts)


class _AveragePrecision(torch.autograd.Function):
    """The value with its gradient, in blocks of queries that stay in cache.

    The gradient is written out because it shares psi and psi' with the value: several
    times faster than differentiating the pieces.
    """

    @staticmethod
    def forward(ctx, counts):
        value = counts.new_empty(len(counts))
        grad = torch.empty_like(counts)
        rows_per_block = _ROWS_PER_BLOCK if counts.device.type == "cpu" else len(counts)
        for start in range(0, len(counts), max(1, rows_per_block)):
            rows = slice(start, start + rows_per_block)
            c, c_pos = _tables(counts[rows])
            value[rows], by_c, by_c_pos = _precision_with_gradient(c, c_pos)
            grad[rows, 0] = by_c
            grad[rows, 1:] = by_c.add_(by_c_pos)[:, None]
        ctx.save_for_backward(grad)
        return value

    @staticmethod
    def backward(ctx, grad_value):
        (grad,) = ctx.saved_tensors
        return grad * grad_value[:, None, None]


def _precision_with_gradient(c, c_pos):
    """1 / N+ sum_d c+ gain, by c and by c+, where c gain = B (1 - x S) + A (1/x + (c-1) S).

    A = C+ + 1 and B = c+ - 1. At c = 0 the quotient is the derivative of its numerator.
    """
    points = torch.nn.functional.pad(c, (1, 0), value=1).cumsum(-1)
    x = points[:, :-1].contiguous()
    inverse, length = x.reciprocal(), c - 1
    mean, by_start, by_end = mean_trigamma(points, inverse, length)
    a = (c_pos.cumsum(-1) - c_pos).add_(1)
    b = c_pos - 1
    slant = (b * x).neg_().addcmul_(a, length)  # S enters the numerator times this
    limit = (mean * a).addcmul_(slant, by_end)
    share = c.clamp(min=_NEAR).reciprocal_()
    start = a * inverse
    gain = (b + start).addcmul_(slant, mean).addcmul_(c, limit, value=-1)
    gain = torch.addcmul(limit, gain, share)
    share.mul_(c_pos)

    n_pos = c_pos.sum(-1, keepdim=True)
    weight = n_pos.reciprocal().nan_to_num_(posinf=0)  # 0 where nothing is relevant
    value = (c_pos * gain).sum(-1, keepdim=True).mul_(weight)
    by_x = by_start.add_(by_end).mul_(slant).addcmul_(b, mean, value=-1)
    by_x.addcmul_(start, inverse, value=-1).mul_(share)
    by_c = limit.sub_(gain).mul_(share).add_(_sum_behind(by_x))
    by_c_pos = (gain + share).addcmul_(share * mean, x, value=-1)
    by_c_pos.add_(_sum_behind(inverse.addcmul_(length, mean).mul_(share)))
    return value[:, 0], by_c.mul_(weight), by_c_pos.sub_(value).mul_(weight)


def _sum_behind(values):
    """What farther distances gain from items put before them."""
    before = values.cumsum(-1)
    return before[:, -1:] - before


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
    _check_levels(counts, levels)
    c, c_pos = _tables(counts)
    precision = (2 * c_pos.cumsum(-1) - c_pos + 1) / (2 * c.cumsum(-1) - c + 1)
    return _divide((c_pos * precision).sum(-1), c_pos.sum(-1)).to(counts.dtype)


def _check_levels(counts, levels):
    if len(levels) != counts.shape[1]:
        raise ValueError(
            f"levels must name the affinity of each level: counts have {counts.shape[1]} "
            f"levels, but levels has {len(levels)} values."
        )


def _tables(counts):
    """Return c and c+ in float64, each of shape (n_query, n_bins + 1)."""
    c_pos = counts[:, 1:].sum(1).double()  # all levels but the first, 0
    return counts[:, 0].double() + c_pos, c_pos


def _divide(total, n_pos):
    """Divide, giving 0 with zero gradient where nothing is relevant."""
    return total / torch.where(n_pos > 0, n_pos, torch.inf)
