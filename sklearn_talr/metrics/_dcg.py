"""Tie-aware (normalised) discounted cumulative gain of a histogram.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
n           items of one tie
t           items ranked before the tie
take        how many ranks of the tie are within the cutoff k
gain        2**affinity - 1
discount    1 / log2(rank + 1)
==========  ==================================================================
"""

import numpy as np

from ._harmonic import cumulative_discount
from ._queries import check_cutoff, fill_zero_relevant, ranks_within

__all__ = ["tie_aware_dcg", "tie_aware_ndcg"]


def tie_aware_dcg(histogram, k=None):
    """Expected discounted cumulative gain over all orders of tied items.

    Every item of a tie takes each of its ranks equally often, so a tie contributes its
    mean gain at each rank (eq. 20 of He et al., CVPR 2018, after McSherry and Najork)::

        DCG@k = sum over ties of (mean gain) * (sum of the discounts of its ranks <= k)

    with gain 2**affinity - 1 and discount 1/log2(rank + 1).

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items.

    k : int or None, default=None
        Only the first k ranks count. None means all ranks.

    Returns
    -------
    dcg : ndarray of shape (n_queries,)
        Non-negative values, float64; 0 for a query with nothing relevant.

    Examples
    --------
    An item of affinity 1 tied with an irrelevant one takes rank 1 or rank 2:

    >>> import numpy as np
    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_dcg
    >>> histogram = RankingHistogram(np.array([[[1], [1]]]), np.array([0, 1]))
    >>> tie_aware_dcg(histogram)
    array([0.81546488])
    """
    gains = _gains(histogram.levels)
    gain_of_tie = np.einsum("qvd,v->qd", histogram.counts, gains)
    return _discounted(gain_of_tie, histogram.counts.sum(axis=1), check_cutoff(k))


def tie_aware_ndcg(histogram, k=None, *, zero_relevant="skip"):
    """Expected normalised DCG over all orders of tied items.

    :func:`tie_aware_dcg` divided by the DCG@k of the best ranking of the same items.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items.

    k : int or None, default=None
        Only the first k ranks count, in numerator and denominator. None means all.

    zero_relevant : "skip" or float, default="skip"
        Value of a query with nothing relevant, whose NDCG is undefined: NaN ("skip", so
        that averages leave it out) or the given number.

    Returns
    -------
    ndcg : ndarray of shape (n_queries,)
        Values in [0, 1], float64.

    See Also
    --------
    tie_aware_ndcg_score : The same from affinities and scores.
    sklearn.metrics.ndcg_score : Equal on gains ``2**affinity - 1``, by sorting.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_ndcg
    >>> histogram = RankingHistogram(np.array([[[1], [1]]]), np.array([0, 1]))
    >>> tie_aware_ndcg(histogram)
    array([0.81546488])
    """
    k = check_cutoff(k)
    best_first = histogram.counts.sum(axis=2)[:, ::-1]
    gains = _gains(histogram.levels)[::-1]
    ideal = _discounted(best_first * gains, best_first, k)
    undefined = ideal == 0
    ndcg = tie_aware_dcg(histogram, k) / np.where(undefined, 1, ideal)
    return fill_zero_relevant(ndcg, undefined, zero_relevant)


def _gains(levels):
    return np.exp2(levels.astype(float)) - 1


def _discounted(gain_of_tie, n, k):
    t = n.cumsum(axis=1) - n
    sums = cumulative_discount(n.sum(axis=1).max(initial=0))
    discount = sums[t + ranks_within(n, t, k)] - sums[t]
    return (gain_of_tie / np.maximum(n, 1) * discount).sum(axis=1)
