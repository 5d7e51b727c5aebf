"""What an item takes."""

import numpy as np


def bytes_per_item(codes):
    """Bytes of an item: its bits, and in four bytes each what else differs by item."""
    terms = getattr(codes, "terms", None)
    n_terms = 0 if terms is None else np.count_nonzero(np.ptp(terms, axis=0))
    return -(-codes.shape[1] // 8) + 4 * n_terms
