"""Items that are known by ids, against the same items known by their indices."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import random_codes
from numpy.testing import assert_array_equal

from sklearn_talr.neighbors import HammingNeighbors

CODES = random_codes(np.random.default_rng(0), 40, 6)
ANY_TEXT = st.text(st.characters(), min_size=1, max_size=9)
TEXTS = ANY_TEXT.filter(lambda text: not text.endswith("\0"))
INTEGERS = st.integers(-(2**63), 2**63 - 1)


def check_same(named, plain, names):
    """What is found by `named` has the names of what is found by `plain`."""
    names = np.array(names, dtype=object)
    assert named.ids_.tolist() == names[plain.indices_].tolist()
    among = plain.indices_[::2]
    for ask in (
        lambda index, among: index.kneighbors(CODES[:9], 2, return_tied=True, among=among),
        lambda index, among: index.kneighbors(CODES[:2], 1, among=[among, among[:1]]),
        lambda index, among: index.radius_neighbors(CODES[:9], 2, among=among),
        lambda index, among: index.rank(CODES[:9])[:2],
    ):
        distances, found, *tied = ask(named, names[among].tolist())
        other_distances, indices, *other_tied = ask(plain, among)
        assert_array_equal(np.hstack(distances), np.hstack(other_distances))
        both = [*found, *np.ravel(tied)], [*indices, *np.ravel(other_tied)]
        assert all(some.tolist() == names[rows].tolist() for some, rows in zip(*both))
    graphs = named.kneighbors_graph(CODES[:9], 2), plain.kneighbors_graph(CODES[:9], 2)
    assert_array_equal(*[graph.toarray() for graph in graphs])


@settings(deadline=None, max_examples=40)
@given(data=st.data(), kind=st.sampled_from([TEXTS, INTEGERS]), mmap=st.booleans())
def test_ids_stand_for_indices(data, kind, mmap, tmp_path_factory):
    names = data.draw(st.lists(kind, min_size=9, max_size=40, unique=True))
    path = tmp_path_factory.mktemp("ids") / "index"
    named = HammingNeighbors().fit(CODES[:4], ids=names[:4])
    plain = HammingNeighbors().fit(CODES[:4])
    cuts = data.draw(st.sets(st.integers(5, len(names) - 1)))
    for start, end in pairwise([4, *sorted(cuts), len(names)]):
        named.partial_fit(CODES[start:end], ids=names[start:end])
        plain.partial_fit(CODES[start:end])
        here = plain.indices_.tolist()
        gone = data.draw(st.lists(st.sampled_from(here), max_size=len(here) - 4))
        named.remove([names[place] for place in gone])
        plain.remove(gone)
        check_same(named, plain, names)
    named.save(path)
    check_same(HammingNeighbors.load(path, mmap=mmap), plain, names)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["c", "c"], "'c' does not. Remove an item before you add"),
        (["c", "b"], "'b' does not"),
        (["c"], "ids must be one for each of 2 items, got 1"),
        ([3, 4], "type of those in the database, strings"),
        (["c", 4], "ids must be all strings.*type int, str"),
        (["c", "d\0"], "none of which ends in a null character"),
        ([0.5, 1], "all integers of int64, got entries of type float, int"),
        ([2**63, 1], r"got .* type int\. Integers above 2\*\*63 - 1 may be"),
        ({"c": True, "d": False}, "got a dict: pass list"),
        ([["c"], ["d"]], "got entries of type list"),
        (None, "added with ids, so must the others"),
    ],
)
def test_ids_that_cannot_be_added_are_refused(ids, message):
    index = HammingNeighbors().fit(CODES[:2], ids=["a", "b"])
    with pytest.raises(ValueError, match=message):
        index.partial_fit(CODES[2:4], ids=ids)
    assert index.ids_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="without ids"):
        HammingNeighbors().fit(CODES).partial_fit(CODES[:1], ids=ids or ["a"])


def test_ids_that_are_not_there_are_refused():
    index = HammingNeighbors().fit(CODES[:3], ids=["a", "b", "abc"])
    for refused in (index.remove, lambda ids: index.kneighbors(CODES, 1, among=ids)):
        with pytest.raises(ValueError, match=r"contains \['ab', 'abcd'\], .* in `ids_`"):
            refused(["a", "abcd", "ab"])
    assert index.remove("b").partial_fit(CODES[3:4], ids=["b"]).indices_.tolist() == [
        0,
        2,
        3,
    ]
