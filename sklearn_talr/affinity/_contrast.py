"""The check that an affinity leaves something to learn."""

import numpy as np

from ._resolve import iter_level_blocks, len_targets

_PAIRS_PER_BLOCK = 2**20  # pairs whose affinities are computed at once


def check_contrast(affinity, levels, targets):
    """Raise ValueError unless pairs of samples differ in their affinity.

    The affinity of a sample to itself does not count. Blocks of pairs are looked at until
    two affinities differ, which is soon if there is something to learn.

    Parameters
    ----------
    affinity : affinity oracle
        Gives the affinities.

    levels : ndarray of shape (n_levels,)
        Sorted values that the affinity can take, the first of which is 0.

    targets : sequence of length n_samples
        Checked targets of the oracle.

    Raises
    ------
    ValueError
        If no two samples are similar, or all pairs are equally similar.
    """
    smallest, largest = len(levels), 0
    block_size = min(256, max(1, _PAIRS_PER_BLOCK // len_targets(targets)))
    for rows, index in iter_level_blocks(affinity, levels, targets, targets, block_size):
        queries = np.arange(len(index))
        others = np.ones(index.shape, dtype=bool)
        others[queries, queries + rows.start] = False
        smallest = min(smallest, index.min(where=others, initial=len(levels)))
        largest = max(largest, index.max(where=others, initial=0))
        if largest > smallest:
            return
    if largest == 0:
        raise ValueError(
            "No two samples are similar, so there is nothing to rank first. Check y; for "
            "samples without shared labels, y=None takes near neighbors as similar."
        )
    raise ValueError(
        "All pairs of samples are equally similar (only one class in y?), so every "
        "ranking is as good as any other. Fit on samples of at least two classes."
    )
