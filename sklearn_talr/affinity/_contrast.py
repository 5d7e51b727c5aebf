"""Whether an affinity leaves something to learn."""

import numpy as np

from ._resolve import iter_level_blocks, len_targets

_PAIRS_PER_BLOCK = 2**20  # whose affinities are looked at at once


def check_contrast(affinity, levels, targets):
    """Raise unless some pairs are similar and not all are equally so."""
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
            "samples without shared labels, y=None takes near neighbours as similar."
        )
    raise ValueError(
        "All pairs of samples are equally similar (only one class in y?), so every "
        "ranking is as good as any other. Fit on samples of at least two classes."
    )
