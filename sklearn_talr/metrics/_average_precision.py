"""Tie-aware average precision of a histogram.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
n, p        items of one tie: all, and relevant ones
t, tp       items ranked before the tie: all, and relevant ones
take        how many ranks of the tie are within the cutoff k
r           (p - 1) / (n - 1), or 0 when n = 1
==========  ==================================================================
"""

import numpy as np

from ._harmonic import harmonic_sum
from ._queries import check_cutoff, fill_zero_relevant, ranks_within

__all__ = ["tie_aware_average_precision"]


def tie_aware_average_precision(histogram, k=None, *, zero_relevant="skip"):
    """Expected average precision over all orders of tied items.

    At any rank of a tie an item is relevant with probability p/n. Given that it is, its
    precision there counts itself, the tp relevant items before the tie, and of the j
    items of the tie that precede it the fraction (p - 1)/(n - 1) that is relevant. Hence
    (eq. 17 of He et al., CVPR 2018, after McSherry and Najork)::

        AP@k = 1/N+ sum over ties, sum over j < take of
               (p/n) (tp + 1 + j (p - 1)/(n - 1)) / (t + 1 + j)

    The inner sum is a difference of harmonic numbers, so the cost does not depend on the
    size of the ties.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items. Every affinity above 0 is relevant.

    k : int or None, default=None
        Only the first k ranks count; N+ stays the number of all relevant items. None
        means all ranks.

    zero_relevant : "skip" or float, default="skip"
        Value of a query with nothing relevant, whose AP is undefined: NaN ("skip", so
        that averages leave it out) or the given number.

    Returns
    -------
    average_precision : ndarray of shape (n_queries,)
        Values in [0, 1], float64.

    See Also
    --------
    tie_aware_average_precision_score : The same from affinities and scores.
    tie_breaking_range : Worst and best over the orders of tied items.

    Examples
    --------
    A relevant and an irrelevant item, tied: AP is 1 or 1/2, as chance has it.

    >>> import numpy as np
    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_average_precision
    >>> histogram = RankingHistogram(np.array([[[1], [1]]]), np.array([0, 1]))
    >>> tie_aware_average_precision(histogram)
    array([0.75])
    """
    k = check_cutoff(k)
    n = histogram.counts.sum(axis=1)
    p = histogram.counts[:, 1:].sum(axis=1)
    t = n.cumsum(axis=1) - n
    tp = p.cumsum(axis=1) - p
    take = ranks_within(n, t, k)
    r = (p - 1) / np.maximum(n - 1, 1)
    harmonic = harmonic_sum(t, take)
    inner = r * (take - (t + 1) * harmonic) + (tp + 1) * harmonic
    total = (p / np.maximum(n, 1) * inner).sum(axis=1)
    n_relevant = histogram.n_relevant
    return fill_zero_relevant(
        total / np.maximum(n_relevant, 1), n_relevant == 0, zero_relevant
    )
