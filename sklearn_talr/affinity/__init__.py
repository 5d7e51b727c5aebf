"""Definitions of similarity: affinities of pairs of targets.

An *affinity* (or affinity oracle) is a function of two sets of targets,

    affinity(y_query, y_database) -> (n_query, n_database) integers,

in which 0 means "not similar" and a larger number means "more similar". A pair with an
affinity below 0, or NaN, is ignored, as if its item were not in the database of the query.
A target may be a class label, a row of label indicators, a row of features, or a row of a
matrix of known affinities. There is one target per sample, so that cross-validation can
slice them.

:class:`BaseAffinity` lists the optional methods of an affinity, and their defaults.
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
