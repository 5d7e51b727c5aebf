"""Who is similar to whom: affinity oracles over pairs of targets.

An *affinity oracle* is a function of two sets of targets,

    affinity(y_query, y_database) -> (n_query, n_database) integers,

where 0 means "not similar" and a larger number means "more similar". A pair whose affinity
is below 0, or NaN, does not count: the item is not in the database of that query. The
oracle says what a target is: a class label, a row of label indicators, a row of features,
or a row of a matrix of known affinities. There is one target per sample, so that
cross-validation may slice them.

:class:`BaseAffinity` tells what else an oracle may know, and what holds where it does not.
"""

from ._base import BaseAffinity
from ._judgments import JudgmentAffinity, query_groups
from ._labels import LabelAffinity, SharedLabelAffinity
from ._precomputed import PrecomputedAffinity
from ._resolve import fit_affinity, resolve_affinity
from ._threshold import ThresholdAffinity

__all__ = [
    "BaseAffinity",
    "JudgmentAffinity",
    "LabelAffinity",
    "PrecomputedAffinity",
    "SharedLabelAffinity",
    "ThresholdAffinity",
    "fit_affinity",
    "query_groups",
    "resolve_affinity",
]
