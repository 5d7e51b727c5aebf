"""Random orders of tied documents."""

import numpy as np


def random_places(items, n_orders, random_state):
    """Yield places of items, so that all orders of tied documents are equally likely.

    Parameters
    ----------
    items : RankedItems

    n_orders : int

    random_state : RandomState

    Yields
    ------
    place : ndarray of shape (n_items,) of int64
        Number of documents before each item in its query. Documents of a tie that are not
        among the items take places, too.
    """
    first = np.flatnonzero(items.begins)
    size, n_items = items.n[first], np.diff(first, append=len(items.n))
    tie = np.repeat(np.arange(len(first)), size)
    start = np.cumsum(size) - size
    # The first documents of each tie stand for its items, the others for what is not judged
    is_item = np.arange(len(tie)) - start[tie] < n_items[tie]
    before = items.t[first] - start
    for _ in range(n_orders):
        # Halves, lest the sum be rounded up to the next tie
        order = np.argsort(tie + random_state.random_sample(len(tie)) / 2)
        place = np.empty_like(order)
        place[order] = np.arange(len(tie))
        yield place[is_item] + np.repeat(before, n_items)
