"""Average precision of soft counts.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
c, c+       soft counts of one distance: all items, and relevant ones
C, C+       how many items lie before that distance: all, and relevant ones
N+          relevant items in all
x = C + 1   the first rank of the distance
M           mean of psi' from x + 1 to x + c, psi being the digamma function
==========  ==================================================================

The harmonic sum of the ranks x, x + 1, ..., x + c - 1 of a tie continues to real c as
psi(x + c) - psi(x), where psi is the digamma function. The first rank aside, it is

    psi(x + c) - psi(x + 1) = (c - 1) M(x, c),   M the mean of psi' from x + 1 to x + c.

M is positive and smooth for all x >= 1 and c >= 0. So are its derivatives by the ends of
the interval,

    by the end x + c     [psi'(x + c) - M] / (c - 1)
    by the start x + 1   [M - psi'(x + 1)] / (c - 1),

both of which tend to psi''(x + 1) / 2 as c tends to 1. The recurrences psi(x + 1) = psi(x)
+ 1/x and psi'(x + 1) = psi'(x) - 1/x**2 reduce everything to psi and psi' at the points
that separate the ties, each shared by two of them.
"""

from typing import NamedTuple

import torch

from .._compat import validate_params

__all__ = ["simplified_average_precision", "soft_average_precision"]

_ROWS_PER_BLOCK = 512  # queries whose tables stay in cache between operations
_NEAR = 1e-6  # emptier distances are to have the limit of the quotient at 0
_SHORT = 1e-3  # shorter intervals lose more digits to rounding than to an expansion
# With u = x + 7/2 and t = u**-2, psi(x + 4) = log u + t (s0 + s1 t + s2 t**2 + s3 t**3):
# the asymptotic series 1/24, -7/960, ..., economized to 2e-11 for x >= 1.
_SERIES = (
    0.041666666392109219,
    -0.0072914880566011625,
    0.0038257782879866375,
    -0.0035031332693827145,
)


@validate_params(
    {"counts": [torch.Tensor], "levels": [torch.Tensor, "array-like"]},
    prefer_skip_nested_validation=True,
)
def soft_average_precision(counts, levels):
    """Tie-aware average precision, continued exactly to real counts.

    The expected AP of a ranking whose items are tied within each distance is, for
    integer counts (eq. 6 of He et al., CVPR 2018),

        sum_d c+/(c N+) [ r c + (C+ + 1 - r x) (H(C + c) - H(C)) ],   r = (c+ - 1)/(c - 1).

    The paper replaces the harmonic numbers H by logarithms (eq. 11), which diverges at
    the first non-empty distance (C = 0) and has a pole at c = 1. H(n) continues to real
    n as ``digamma(n + 1) + 0.577...``, and with it the pole is removable: the same sum is

        sum_d c+/(c N+) [ (c+ - 1) (1 - x M) + (C+ + 1) (1/x + (c - 1) M) ]

    with x = C + 1 and M the mean of the derivative of digamma from x + 1 to x + c, which
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
        Values in [0, 1], to be maximized; computed in float64, returned in the dtype of
        `counts`. 0 where a query has nothing relevant.

    Examples
    --------
    One relevant item tied with another item: half the time it comes first.

    >>> import torch
    >>> from sklearn_talr.losses import soft_average_precision
    >>> soft_average_precision(torch.tensor([[[1.0], [1.0]]]), torch.tensor([0, 1]))
    tensor([0.7500])
    """
    _check_number_of_levels(counts, levels)
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
    """1 / N+ sum_d c+ gain, by c and by c+, where c gain = B (1 - x M) + A (1/x + (c-1) M).

    A = C+ + 1 and B = c+ - 1. At c = 0 the quotient is the derivative of its numerator.
    """
    points = torch.nn.functional.pad(c, (1, 0), value=1).cumsum(-1)
    x = points[:, :-1].contiguous()
    inverse, length = x.reciprocal(), c - 1
    mean, by_start, by_end = mean_trigamma(points, inverse, length)
    a = (c_pos.cumsum(-1) - c_pos).add_(1)
    b = c_pos - 1
    slant = (b * x).neg_().addcmul_(a, length)  # M enters the numerator times this
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
    """Sum of the values behind each distance: what is gained where ranks move up."""
    before = values.cumsum(-1)
    return before[:, -1:] - before


@validate_params(
    {"counts": [torch.Tensor], "levels": [torch.Tensor, "array-like"]},
    prefer_skip_nested_validation=True,
)
def simplified_average_precision(counts, levels):
    """Simplified relaxation of tie-aware average precision, eq. 62 of He et al.

    Replaces the average over the ranks of a tie by its value at the middle rank:

        sum_d c+/N+ (2 C+ + c+ + 1) / (2 C + c + 1).

    Cheaper than :func:`soft_average_precision`. It equals AP when there are no ties; on
    short tied lists it is off by up to 0.12.

    Parameters
    ----------
    counts : Tensor of shape (n_query, n_levels, n_bins + 1), float
        Counts by affinity level and distance.

    levels : Tensor of shape (n_levels,)
        Affinity values in ascending order, first 0. All positive levels are relevant.

    Returns
    -------
    ap : Tensor of shape (n_query,)
        To be maximized; 0 where a query has nothing relevant.

    Examples
    --------
    The tie of the example of :func:`soft_average_precision`, whose expected AP is 0.75:

    >>> import torch
    >>> from sklearn_talr.losses import simplified_average_precision
    >>> simplified_average_precision(torch.tensor([[[1.0], [1.0]]]), torch.tensor([0, 1]))
    tensor([0.6667])
    """
    _check_number_of_levels(counts, levels)
    c, c_pos = _tables(counts)
    precision = (2 * c_pos.cumsum(-1) - c_pos + 1) / (2 * c.cumsum(-1) - c + 1)
    return _divide((c_pos * precision).sum(-1), c_pos.sum(-1)).to(counts.dtype)


def _check_number_of_levels(counts, levels):
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


class MeanTrigamma(NamedTuple):
    """The mean with its derivatives by the ends of the interval, tensors of one shape."""

    mean: torch.Tensor
    by_start: torch.Tensor
    by_end: torch.Tensor


def mean_trigamma(points, inverse, length):
    """Average psi' from x + 1 to x + c for consecutive ties.

    Parameters
    ----------
    points : Tensor of shape (n, n_ties + 1), float64
        Ends of the ties, at least 1. Each x is a point, and x + c is the next one.

    inverse : Tensor of shape (n, n_ties), float64
        1 / x.

    length : Tensor of shape (n, n_ties), float64
        c - 1: given too, because differences of points would be rounded.
    """
    psi, trigamma = digamma_and_trigamma(points)
    start = torch.addcmul(trigamma[:, :-1], inverse, inverse, value=-1)
    end = trigamma[:, 1:]
    rise = psi.diff(dim=1).sub_(inverse)
    share = length / (length * length).clamp_(min=_SHORT**2)
    # On a tiny interval the quotients fade into half the second derivative of psi.
    square = start * start
    half = (square * (1 / 24)).sub_(0.5).mul_(square)
    half.addcmul_(half * length, share, value=-1)
    mean = torch.addcmul(start, rise.addcmul_(length, start, value=-1), share)
    mean.addcmul_(half, length)
    by_start = torch.addcmul(half, start.sub_(mean), share, value=-1)
    return MeanTrigamma(mean, by_start, half.addcmul_(end - mean, share))


def digamma_and_trigamma(x):
    """Evaluate psi and psi' at x >= 1, float64, to 2e-11 and 1e-8.

    In one go, several times faster than torch.digamma and torch.polygamma. The arguments
    are moved up by 4: with m = x + 3/2 the sum 1/x + ... + 1/(x + 3) is 2 m both, where
    both = 1 / (m**2 - 9/4) + 1 / (m**2 - 1/4), and that of the squares is its derivative.
    """
    middle = x + 1.5
    square = middle * middle
    first, second = (square - 2.25).reciprocal_(), (square - 0.25).reciprocal_()
    both = first + second
    squares = first.mul_(first).addcmul_(second, second)
    moved = x + 3.5
    inverse = moved.reciprocal()
    t = inverse * inverse
    series = _polynomial(t, _SERIES).mul_(t)
    psi = moved.log_().add_(series).addcmul_(middle, both, value=-2)
    slopes = [-2 * (k + 1) * value for k, value in enumerate(_SERIES)]
    factor = _polynomial(t, slopes, out=series).mul_(t).add_(1)
    both.addcmul_(squares, square, value=-2)
    return psi, factor.mul_(inverse).sub_(both, alpha=2)


def _polynomial(t, coefficients, out=None):
    """Sum coefficients[k] t**k by Horner's rule."""
    *rest, last = coefficients
    value = torch.mul(t, last, out=out)
    for coefficient in reversed(rest[1:]):
        value.add_(coefficient).mul_(t)
    return value.add_(rest[0])
