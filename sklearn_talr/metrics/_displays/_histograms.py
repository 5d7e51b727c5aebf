"""What a user may hand to a display: one thing, several lengths, several methods."""

from collections.abc import Mapping

import numpy as np

from ...histogram import RankingHistogram


def check_relevant(histogram):
    """Return the histogram, or raise ValueError if its means are undefined."""
    if not np.any(histogram.n_relevant):
        raise ValueError("No query has a relevant item, so there is nothing to draw.")
    return histogram


def by_method(value, is_one):
    """Bring one thing, a list of them, or a dict of either into {name: list}.

    `is_one` tells a thing from a list of things; the name of a single method is None.
    """
    methods = value if isinstance(value, Mapping) else {None: value}
    lists = {name: [v] if is_one(v) else list(v) for name, v in methods.items()}
    if not any(lists.values()):
        raise ValueError("There is nothing to draw: no method is given.")
    return lists


def is_codes(value):
    """Tell one set of codes, also as nested lists, from a list of such sets."""
    return not isinstance(value, list | tuple) or not value or _ndim(value[0]) < 2


def is_estimator(value):
    return hasattr(value, "transform")


def is_histogram(value):
    return isinstance(value, RankingHistogram)


def _ndim(value):
    return len(value.shape) if hasattr(value, "shape") else np.ndim(value)
