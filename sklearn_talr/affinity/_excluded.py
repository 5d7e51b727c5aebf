"""Ignored pairs: within a group, such as a camera, or of a sample with itself."""

from dataclasses import dataclass

import numpy as np

from .._core.validation import as_numpy, check_groups
from ._base import NOT_COUNTED, BaseAffinity, kinds_of, places_of
from ._labels import name_of

_SIDES = "groups_query", "groups_database"


@dataclass(frozen=True, eq=False)
class ExcludedPairs:
    """Pairs of a query and an item that are ignored, regardless of their affinity.

    The pairs within a group are ignored. If queries and items are the same samples, the
    pair of a sample with itself may be ignored as well.

    Parameters
    ----------
    groups_query : ndarray of shape (n_queries,) of int
        Number of the group of each query.

    groups_database : ndarray of shape (n_database,) of int
        Number of the group of each item.

    samples_query, samples_database : ndarray of shape (n,) of int, default=None
        Number of the sample of each query and each item, if pairs with equal numbers are
        ignored. None: the groups alone decide.
    """

    groups_query: np.ndarray
    groups_database: np.ndarray
    samples_query: np.ndarray | None = None
    samples_database: np.ndarray | None = None

    @classmethod
    def from_groups(
        cls,
        groups_query,
        groups_database,
        *,
        n_queries,
        n_database,
        exclude_self=False,
        names=_SIDES,
    ):
        """Exclude the pairs within a group, and optionally each sample's pair with itself.

        Parameters
        ----------
        groups_query, groups_database : array-like of shape (n,) or None
            Label of the group of each query and of each item. None and None exclude no
            pair by groups.

        n_queries, n_database : int
            Number of queries and of items.

        exclude_self : bool, default=False
            Whether query i is item i, and is not ranked against itself.

        names : tuple of (str, str), default=("groups_query", "groups_database")
            Names of the groups of the queries and of the database, for errors.

        Returns
        -------
        excluded : ExcludedPairs or None
            None if no pair is ignored.

        Raises
        ------
        ValueError
            If only one side has groups, or there is not one label for each sample, or
            labels of the two sides can never be equal.
        """
        if groups_query is None and groups_database is None:
            if not exclude_self:
                return None
            # Each sample is its own group, so that the groups alone decide.
            samples = np.arange(n_queries, dtype=np.int32)
            return cls(samples, samples)
        query_labels = _check_labels(groups_query, n_queries, names[0])
        item_labels = _check_labels(groups_database, n_database, names[1])
        _refuse_unlike_kinds(query_labels, item_labels, names)
        labels = np.concatenate((query_labels, item_labels))
        _, numbers = np.unique(labels, return_inverse=True)
        query_numbers, item_numbers = np.split(numbers.astype(np.int32), [n_queries])
        if not exclude_self or np.array_equal(query_numbers, item_numbers):
            return cls(query_numbers, item_numbers)
        samples = np.arange(n_queries)
        return cls(query_numbers, item_numbers, samples, samples)

    @classmethod
    def between(cls, y_query, y_database):
        """Exclude the pairs that the groups of two sets of `GroupedTargets` exclude."""
        return cls(
            groups_query=y_query.groups,
            groups_database=y_database.groups,
            samples_query=y_query.samples,
            samples_database=y_database.samples,
        )

    def mask(self):
        """Whether each pair is excluded, shape (n_queries, n_database) of bool."""
        is_excluded = self.groups_query[:, None] == self.groups_database
        if self.samples_query is not None:
            is_excluded |= self.samples_query[:, None] == self.samples_database
        return is_excluded


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
        Numbers of the samples, if queries and database are the same samples and the groups
        of a sample on the two sides may differ. None: the groups alone decide.
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
    """An affinity that ignores pairs within a group; its targets are `GroupedTargets`.

    Parameters
    ----------
    ungrouped : BaseAffinity
        The affinity of all pairs.
    """

    def __init__(self, ungrouped):
        self.ungrouped = ungrouped

    @property
    def given(self):
        return self.ungrouped.given

    @property
    def by_distance(self):
        return self.ungrouped.by_distance

    def check_targets(self, y):
        return y

    def gain_levels(self, levels):
        return self.ungrouped.gain_levels(levels)

    def neighborhoods(self, y, levels):
        return self.ungrouped.neighborhoods(y.values, levels)

    def levels_between(self, y_query, y_database):
        return self.ungrouped.levels_between(y_query.values, y_database.values)

    def level_index(self, y_query, y_database, levels):
        index = places_of(self.ungrouped, y_query.values, y_database.values, levels)
        index = index.astype(np.promote_types(index.dtype, np.int8))
        index[ExcludedPairs.between(y_query, y_database).mask()] = NOT_COUNTED
        return index


def within_groups(affinity, y, groups, name="groups"):
    """Return an affinity among the samples of one set that ignores pairs within a group.

    Parameters
    ----------
    affinity : BaseAffinity
        Definition of similarity. An affinity with groups keeps them.

    y : targets of length n_samples
        Checked targets.

    groups : array-like of shape (n_samples,) or None
        Label of the group of each sample. None ignores nothing.

    name : str, default="groups"
        Name of the groups, for errors.

    Returns
    -------
    affinity : BaseAffinity
        With `NOT_COUNTED` for pairs within a group.

    y : targets of length n_samples
        Its targets.
    """
    affinity, y, _ = leave_out_groups(
        affinity, y, y, groups_query=groups, groups_database=groups, names=(name, name)
    )
    return affinity, y


def leave_out_groups(
    affinity,
    y_query,
    y_database,
    *,
    groups_query,
    groups_database,
    exclude_self=False,
    names=_SIDES,
):
    """Return an affinity that ignores pairs within a group, and of a sample with itself.

    Parameters
    ----------
    affinity : BaseAffinity
        Definition of similarity. An affinity with groups keeps them.

    y_query, y_database : targets
        Checked targets of queries and of the database.

    groups_query, groups_database, exclude_self, names
        As for `ExcludedPairs.from_groups`.

    Returns
    -------
    affinity : BaseAffinity
        With `NOT_COUNTED` for ignored pairs.

    y_query, y_database : targets
        Its targets.

    Raises
    ------
    ValueError
        If one of two sides has no groups, or there is not one label for each sample, or
        labels of both sides can never be equal.
    """
    if isinstance(affinity, GroupedAffinity):
        return affinity, y_query, y_database
    excluded = ExcludedPairs.from_groups(
        groups_query,
        groups_database,
        n_queries=y_query.shape[0],
        n_database=y_database.shape[0],
        exclude_self=exclude_self,
        names=names,
    )
    if excluded is None:
        return affinity, y_query, y_database
    queries = GroupedTargets(y_query, excluded.groups_query, excluded.samples_query)
    items = GroupedTargets(y_database, excluded.groups_database, excluded.samples_database)
    return GroupedAffinity(affinity), queries, items


def _check_labels(groups, n_samples, name):
    """Return the labels of groups as an array, one for each sample, or raise ValueError."""
    if groups is None:
        raise ValueError(
            f"{name} is None, but the other side has groups. Pass both. A scorer takes "
            "the groups of queries as `groups`, which a search passes on with metadata "
            "routing. Other tools do not: pass them functools.partial(scorer, "
            "groups=groups)."
        )
    groups = as_numpy(groups, name)
    if np.shape(groups) != (n_samples,):
        raise ValueError(
            f"{name} must be a label for each of {n_samples} samples, got shape "
            f"{np.shape(groups)}. Rows of columns such as identity and camera are "
            "numbered by np.unique(columns, axis=0, return_inverse=True)[1]."
        )
    return check_groups(groups, n_samples, name)


def _refuse_unlike_kinds(query_labels, item_labels, names):
    """Raise ValueError if labels are of several types, whose labels are never equal."""
    types = kinds_of(query_labels) | kinds_of(item_labels)
    kinds = {name_of(label_type) for label_type in types}
    if len(kinds) > 1:
        both_names = " and ".join(dict.fromkeys(names))
        all_kinds = " and ".join(sorted(kinds))
        raise ValueError(
            f"{both_names}: {all_kinds} are never equal, so groups would ignore nothing. "
            "Convert labels to one type: np.asarray(labels).astype(str)."
        )
