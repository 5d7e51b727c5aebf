"""Resampled means: queries drawn with replacement, and differences with random signs."""

import numpy as np
from sklearn.utils import check_array

ROUNDING = 1e-12  # sums in two orders may differ by so much
_CELLS = 2**22  # of queries times replicates at once


def as_floats(values, name, **options):
    """Check values of queries; arrays of other libraries come back as NumPy's, too."""
    checked = check_array(
        values, ensure_2d=False, dtype="numeric", input_name=name, **options
    )
    return np.asarray(checked, dtype=float)


def bootstrap_deviations(values, strata, n_resamples, random_state, tie_variance=None):
    """Deviations of bootstrap samples' means from the mean.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_columns)

    strata : Strata
        Each stratum is sampled for itself.

    n_resamples : int

    random_state : RandomState

    tie_variance : ndarray of shape (n_queries, n_columns), default=None
        Variance of each value over orders of tied documents. With it a sample draws an
        order for each of its queries, too. The sum of so many independent deviations is
        drawn as a normal one.

    Returns
    -------
    deviations : ndarray of shape (n_resamples, n_columns)
    """
    centered = strata.centered(values)
    scale = np.abs(centered).max(axis=0, initial=0)
    deviations = np.concatenate(
        [
            _deviations(centered, strata, n, random_state, tie_variance)
            for n in _chunks(n_resamples, strata.n)
        ]
    )
    deviations[np.abs(deviations) <= ROUNDING * scale] = 0.0
    return deviations


def _chunks(n_resamples, n_queries):
    step = max(_CELLS // max(n_queries, 1), 1)
    return [min(step, n_resamples - first) for first in range(0, n_resamples, step)]


def _deviations(centered, strata, n_samples, random_state, tie_variance):
    total = np.zeros((n_samples, centered.shape[1]))
    variance = np.zeros_like(total)
    for rows in strata.rows:
        counts = _sample_counts(len(rows), n_samples, random_state)
        total += counts @ centered[rows]
        if tie_variance is not None:
            variance += counts @ tie_variance[rows]
    if tie_variance is not None:
        total += np.sqrt(variance) * random_state.standard_normal(total.shape)
    return total / strata.n


def _sample_counts(n, n_samples, random_state):
    """How often each of n queries is in each sample of n, (n_samples, n) of float."""
    drawn = random_state.randint(n, size=(n_samples, n), dtype=np.int32)
    cells = drawn + np.arange(0, n_samples * n, n)[:, None]
    counts = np.bincount(cells.ravel(), minlength=n_samples * n)
    return counts.reshape(n_samples, n).astype(float)


def sign_sums(differences, n_resamples, random_state):
    """Sums of differences with random signs, (n_resamples, n_columns).

    Columns share the signs: a query changes its sign in all of them or in none.
    """
    n = len(differences)
    return np.concatenate(
        [
            random_state.randint(2, size=(n_samples, n), dtype=np.int8) @ (2 * differences)
            - differences.sum(axis=0)
            for n_samples in _chunks(n_resamples, n)
        ]
    )


def all_sign_sums(differences):
    """Sums of one column with all patterns of signs, of which one of two opposites."""
    sums = differences[:1]
    for difference in differences[1:]:
        sums = np.concatenate([sums + difference, sums - difference])
    return sums
