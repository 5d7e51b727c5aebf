"""Losses of a ranking that decompose over its negatives.

Within a query the positives are numbered from the highest score down, and so are the
negatives.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
P, N        positives and negatives of a query
k           number of a positive, 1..P
j           number ("place") of a negative, 1..N
i           interleaving rank, 1..P + 1: one more than the positives before it
delta_j(i)  share of the loss that negative j has at rank i; 0 at i = P + 1
gain        delta_j(k) - delta_j(k + 1): what j adds by passing positive k
==========  ==================================================================

A loss is quicksort-suitable (Mohapatra et al., CVPR 2018) if the gain at every k does not
grow with j: a worse negative never gains more. Then the optimal ranks ascend with j.
"""

import numpy as np

__all__ = ["NAMED_LOSSES", "RANKING_LOSSES", "make_loss"]


class _OneMinusAP:
    """One minus AP: delta_j(i) = 1/P sum_{k >= i} [k/(k + j - 1) - k/(k + j)]."""

    def __init__(self, n_positive):
        self._share = 1 / n_positive

    def gain(self, query, j, k):
        """What negative j adds to the loss of its query by passing positive k."""
        rank = k + j
        return self._share[query] * k / (rank * (rank - 1))

    def value(self, query, k, n_before):
        """Loss of each query; `n_before` negatives come before each positive."""
        precision = np.bincount(query, k / (k + n_before), minlength=len(self._share))
        return 1 - precision * self._share


class _OneMinusNDCG:
    """One minus NDCG: delta_j(i) = 1/IDCG sum_{k >= i} [D(k + j - 1) - D(k + j)].

    D(r) = 1 / log2(r + 1) is the discount of rank r, and IDCG the sum of the first P
    discounts.
    """

    def __init__(self, n_positive):
        ranks = np.arange(1, n_positive.max(initial=0) + 1)
        self._share = 1 / np.cumsum(_discount(ranks))[n_positive - 1]

    def gain(self, query, j, k):
        """What negative j adds to the loss of its query by passing positive k."""
        low = np.log((k + j).astype(float))  # natural logarithms of rank and rank + 1
        step = np.log1p(1 / (k + j))
        return self._share[query] * np.log(2) * step / (low * (low + step))

    def value(self, query, k, n_before):
        """Loss of each query; `n_before` negatives come before each positive."""
        dcg = np.bincount(query, _discount(k + n_before), minlength=len(self._share))
        return 1 - dcg * self._share


class _NoLoss:
    """A loss of 0 for every ranking, so that the optimal ranking is that by scores."""

    def __init__(self, n_positive):
        self._n_queries = len(n_positive)

    def gain(self, query, j, k):
        """What negative j adds to the loss of its query by passing positive k."""
        return 0.0

    def value(self, query, k, n_before):
        """Loss of each query; `n_before` negatives come before each positive."""
        return np.zeros(self._n_queries)


class _TableLoss:
    """A loss given as delta_j(i) = table[j - 1, i - 1], one table for all queries."""

    def __init__(self, table, n_positive):
        self._n_queries = len(n_positive)
        self._gain = table[:, :-1] - table[:, 1:]
        self._passed = np.vstack([np.zeros(table.shape[1] - 1), self._gain.cumsum(axis=0)])

    def gain(self, query, j, k):
        """What negative j adds to the loss of its query by passing positive k."""
        return self._gain[j - 1, k - 1]

    def value(self, query, k, n_before):
        """Loss of each query; `n_before` negatives come before each positive."""
        return np.bincount(query, self._passed[n_before, k - 1], minlength=self._n_queries)


NAMED_LOSSES = {"average_precision": _OneMinusAP, "ndcg": _OneMinusNDCG}
RANKING_LOSSES = {**NAMED_LOSSES, "none": _NoLoss}  # "none": direct loss


def make_loss(loss, n_positive, n_negative):
    """Make the loss of a set of queries from its name or from a table of delta_j(i).

    Parameters
    ----------
    loss : {"average_precision", "ndcg", "none"} or array-like
        Name or table.

    n_positive, n_negative : ndarray of shape (n_queries,) of int
        How many positives and negatives each query has.

    Returns
    -------
    ranking_loss : object with methods ``gain`` and ``value``
        Loss of rankings of these queries.
    """
    if isinstance(loss, str):
        return RANKING_LOSSES[loss](n_positive)
    return _TableLoss(_check_table(loss, n_positive, n_negative), n_positive)


def _check_table(table, n_positive, n_negative):
    table = np.asarray(table, dtype=float)
    expected = (int(n_negative.max()), int(n_positive.max()) + 1)
    if table.shape != expected:
        raise ValueError(
            "loss, given as a table of delta_j(i), must have shape (n_negatives, "
            f"n_positives + 1) = {expected}, got {table.shape}."
        )
    if not np.isfinite(table).all() or table[:, -1].any():
        raise ValueError(
            "loss, given as a table of delta_j(i), must be finite and 0 in its last "
            "column, where the negative comes after all positives."
        )
    gain = table[:, :-1] - table[:, 1:]
    if (np.diff(gain, axis=0) > 1e-12 * np.abs(gain).max(initial=0)).any():
        raise ValueError(
            "loss is not quicksort-suitable: delta_j(i) - delta_j(i + 1) must not grow "
            "with j, but it does. No fast search finds its optimum."
        )
    return table


def _discount(rank):
    """Return the discount of a rank in DCG."""
    return 1 / np.log2(rank + 1.0)
