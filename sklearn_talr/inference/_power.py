"""How many queries a comparison needs."""

from math import ceil
from numbers import Real

import numpy as np
from scipy import stats

from .._compat import Interval, validate_params
from ._replicates import ROUNDING, as_floats

__all__ = ["n_queries_to_separate"]

_MANY = 10_000  # queries, where t differs from a normal value in the next term alone
_BETWEEN = Interval(Real, 0, 1, closed="neither")


@validate_params(
    {
        "differences": ["array-like"],
        "difference": [Interval(Real, 0, None, closed="neither")],
        "alpha": [_BETWEEN],
        "power": [_BETWEEN],
    },
    prefer_skip_nested_validation=True,
)
def n_queries_to_separate(differences, difference, *, alpha=0.05, power=0.8):
    """Number of queries with which a paired test would see a difference of means.

    The number is that of the paired t-test, by the noncentral t distribution, if the new
    queries differ from one another as much as the given ones.

    Parameters
    ----------
    differences : array-like of shape (n_queries,)
        Values of one system less those of another, query by query.

    difference : float
        Difference of means that shall be seen. Above 0.

    alpha : float, default=0.05
        Level of the two-sided test. Above 0 and below 1.

    power : float, default=0.8
        Probability that the test sees it. Above 0 and below 1.

    Returns
    -------
    n_queries : int
        The least number of queries, at least 2. It may be off by two above 10 000.

    Raises
    ------
    ValueError
        If there are fewer than two queries, or a difference is not finite.

    Examples
    --------
    Two systems differ by .25 in one query of four, where one of them ties two items. To see
    a difference of .05:

    >>> from sklearn_talr.inference import n_queries_to_separate
    >>> n_queries_to_separate([0.0, 0.25, 0.0, 0.0], 0.05)
    52
    """
    differences = as_floats(differences, "differences", ensure_min_samples=2)
    if differences.ndim != 1:
        raise ValueError(
            f"differences must have shape (n_queries,), got {differences.shape}."
        )
    spread = np.std(differences, ddof=1)
    if power <= alpha or spread <= ROUNDING * difference:
        return 2
    effect = difference / spread
    level, surplus = stats.norm.isf([alpha / 2, 1 - power])
    n_queries = max(2, ceil((max(level + surplus, 0) / effect) ** 2))
    if n_queries > _MANY:
        return n_queries + ceil(level**2 / 2)
    while _power(n_queries, effect, alpha) < power:
        n_queries += 1
    while n_queries > 2 and _power(n_queries - 1, effect, alpha) >= power:
        n_queries -= 1
    return n_queries


def _power(n_queries, effect, alpha):
    """Probability that the t-test of so many queries rejects."""
    n_free, shift = n_queries - 1, effect * np.sqrt(n_queries)
    limit = stats.t.isf(alpha / 2, n_free)
    with np.errstate(all="ignore"):  # older scipy divides by zero
        tails = stats.nct.sf(limit, n_free, shift), stats.nct.cdf(-limit, n_free, shift)
    return np.nansum(tails)  # scipy has NaN for what is next to nothing
