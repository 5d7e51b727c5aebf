"""Who is similar to whom: affinity oracles over pairs of targets.

An *affinity oracle* is a function of two sets of targets,

    affinity(y_query, y_database) -> (n_query, n_database) non-negative integers,

0 meaning "not similar" and larger meaning "more similar". What a target is depends on
the oracle: a class label, a row of label indicators, a row of features, or a row of a
matrix of known affinities. Targets are rows, so cross-validation may slice them.
"""

from ._labels import LabelAffinity, SharedLabelAffinity
from ._precomputed import PrecomputedAffinity
from ._threshold import ThresholdAffinity

__all__ = [
    "LabelAffinity",
    "PrecomputedAffinity",
    "SharedLabelAffinity",
    "ThresholdAffinity",
]
