"""Pairs within a group, which do not count: of one camera, one session, one patient."""

from dataclasses import dataclass

import numpy as np

from .._arrays import as_numpy, check_groups
from ._base import NOT_COUNTED, BaseAffinity, kinds_of, places_of
from ._labels import name_of


@dataclass(frozen=True, eq=False)
class GroupedTargets:
    """Targets, and the number of the group that each sample is in.

    Parameters
    ----------
    values : targets of length n_samples
        Checked targets of the affinity without groups.

    groups : ndarray of shape (n_samples,) of int
        Numbers of groups.

    samples : ndarray of shape (n_samples,) of int, default=None
        Numbers of the samples, if queries and database are the same and a sample need not
        be in its own group. None: groups say all.
    """

    values: object
    groups: np.ndarray
    samples: np.ndarray | None = None

    @property
    def shape(self):
        """Shape of the targets."""
        return self.values.shape

    def __getitem__(self, rows):
        samples = None if self.samples is None else self.samples[rows]
        return GroupedTargets(self.values[rows], self.groups[rows], samples)


class GroupedAffinity(BaseAffinity):
    """An affinity that leaves out pairs of a group; its targets are `GroupedTargets`."""

    def __init__(self, ungrouped):
        self.ungrouped, self.by_distance = ungrouped, ungrouped.by_distance
        self.gain_levels = ungrouped.gain_levels

    @property
    def given(self):
        return self.ungrouped.given

    def check_targets(self, y):
        return y

    def neighborhoods(self, y, levels):
        return self.ungrouped.neighborhoods(y.values, levels)

    def levels_between(self, y_query, y_database):
        return self.ungrouped.levels_between(y_query.values, y_database.values)

    def level_index(self, y_query, y_database, levels):
        index = places_of(self.ungrouped, y_query.values, y_database.values, levels)
        index = index.astype(np.promote_types(index.dtype, np.int8))
        index[y_query.groups[:, None] == y_database.groups] = NOT_COUNTED
        if y_query.samples is not None:
            index[y_query.samples[:, None] == y_database.samples] = NOT_COUNTED
        return index


def within_groups(affinity, y, groups, name="groups"):
    """`leave_out_groups` of one set of samples: the affinity and the targets."""
    return leave_out_groups(affinity, (y, y), (groups, groups), (name, name))[:2]


def leave_out_groups(
    affinity,
    sides,
    groups,
    names=("groups_query", "groups_database"),
    *,
    exclude_self=False,
):
    """Leave pairs of one group, and of a sample with itself, out of an affinity.

    Parameters
    ----------
    affinity : BaseAffinity
        Who is similar to whom. One that has groups keeps them.

    sides : tuple of (targets, targets)
        Checked targets of queries and of the database.

    groups : tuple of (array-like or None, array-like or None)
        Label of the group of each sample of both. None and None leave nothing out.

    names : tuple of (str, str)
        What errors call the groups.

    exclude_self : bool, default=False
        Whether query i is item i, which it does not rank, whatever the groups are.

    Returns
    -------
    affinity : BaseAffinity
        With `NOT_COUNTED` for pairs of one group.

    y_query, y_database : targets
        Its targets.

    Raises
    ------
    ValueError
        If one of two sides has no groups, or there is not one label for each sample, or
        labels of both sides can never be equal.
    """
    has_groups = groups[0] is not None or groups[1] is not None
    if isinstance(affinity, GroupedAffinity) or not (has_groups or exclude_self):
        return affinity, *sides
    if not has_groups:
        groups = (np.arange(sides[0].shape[0]),) * 2  # each a group of one
    labels = []
    for y, of_side, name in zip(sides, groups, names):
        if of_side is None:
            raise ValueError(
                f"{name} is None, and groups of the other side are given. Pass both; a "
                "scorer takes those of queries as `groups`, which a search hands on under "
                "metadata routing, and other tools do not: pass them "
                "functools.partial(scorer, groups=groups)."
            )
        of_side = as_numpy(of_side, name)
        if np.shape(of_side) != (y.shape[0],):
            raise ValueError(
                f"{name} must be a label for each of {y.shape[0]} samples, got shape "
                f"{np.shape(of_side)}. Rows of columns such as identity and camera are "
                "numbered by np.unique(columns, axis=0, return_inverse=True)[1]."
            )
        labels.append(check_groups(of_side, y.shape[0], name))
    kinds = {name_of(kind) for of_side in labels for kind in kinds_of(of_side)}
    if len(kinds) > 1:
        kinds = " and ".join(sorted(kinds))
        both = " and ".join(dict.fromkeys(names))
        raise ValueError(
            f"{both}: {kinds} are never equal, so groups would leave nothing out. "
            "Make labels of one type, as by np.asarray(labels).astype(str)."
        )
    _, numbers = np.unique(np.concatenate(labels), return_inverse=True)
    of_query, of_item = np.split(numbers.astype(np.int32), [len(labels[0])])
    samples = None
    if exclude_self and not np.array_equal(of_query, of_item):
        samples = np.arange(len(of_query))
    y_query, y_database = sides
    return (
        GroupedAffinity(affinity),
        GroupedTargets(y_query, of_query, samples),
        GroupedTargets(y_database, of_item, samples),
    )
