"""Items that are known by ids, against the same items known by their indices."""

import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import random_codes
from numpy.testing import assert_array_equal

from sklearn_talr.affinity import JudgmentAffinity
from sklearn_talr.codes import PackedCodes
from sklearn_talr.neighbors import HammingNeighbors
from sklearn_talr.neighbors._ids import TextIds, make_ids

CODES = random_codes(np.random.default_rng(0), 40, 6)
ANY_TEXT = st.text(st.characters(), min_size=1, max_size=9)
TEXTS = ANY_TEXT.filter(lambda text: not text.endswith("\0"))
INTEGERS = st.integers(-(2**63), 2**63 - 1)


def check_same(named, plain, names):
    """What is found by `named` has the names of what is found by `plain`."""
    names = np.array(names, dtype=object)
    assert named.ids_.tolist() == names[plain.indices_].tolist()
    items = plain.indices_[::2]
    for ask in (
        lambda index, items: index.kneighbors(
            CODES[:9], 2, return_tied=True, include=items
        ),
        lambda index, items: index.kneighbors(CODES[:2], 1, include=[items, items[:1]]),
        lambda index, items: index.radius_neighbors(CODES[:9], 2, include=items),
        lambda index, items: index.rank(CODES[:9])[:2],
    ):
        distances, found, *tied = ask(named, names[items].tolist())
        other_distances, indices, *other_tied = ask(plain, items)
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
        named.add(CODES[start:end], ids=names[start:end])
        plain.add(CODES[start:end])
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
        ([3, 4], "ids holds integers, such as 3, .* strings, such as 'a'.*str"),
        (["c", 4], "ids must be all strings.*type int, str"),
        (["c", "d\0"], "none of which ends in a null character"),
        ([0.5, 1], "all integers of int64, got entries of type float, int"),
        ([2**63, 1], r"got .* type int\. Write integers above 2\*\*63 - 1"),
        ({"c": True, "d": False}, "got a dict, which declares no order. Pass a list"),
        ({"c", "d"}, "got a set, which declares no order"),
        (np.array([["c"], ["d"]]), "must have one dimension"),
        ([["c"], ["d"]], "got entries of type list"),
        (None, "added with ids, and new items must"),
    ],
)
def test_ids_that_cannot_be_added_are_refused(ids, message):
    index = HammingNeighbors().fit(CODES[:2], ids=["a", "b"])
    with pytest.raises(ValueError, match=message):
        index.add(CODES[2:4], ids=ids)
    assert index.ids_.tolist() == ["a", "b"]
    other = ["a"] if ids is None else ids
    with pytest.raises(ValueError, match="without ids"):
        HammingNeighbors().fit(CODES).add(CODES[:1], ids=other)


def test_ids_that_are_not_there_are_refused():
    index = HammingNeighbors().fit(CODES[:3], ids=["a", "b", "abc"])
    for refused in (index.remove, lambda ids: index.kneighbors(CODES, 1, include=ids)):
        with pytest.raises(ValueError, match=r"contains \['abcd', 'ab'\], .* of `ids_`"):
            refused(["a", "abcd", "ab"])
    assert index.remove("b").add(CODES[3:4], ids=["b"]).indices_.tolist() == [
        0,
        2,
        3,
    ]


# What ids cost, and which are looked at

LONG = "x" * 118


def numbered(n_items):
    """Codes of 64 bits that are the numbers of the items."""
    return PackedCodes(
        np.arange(n_items, dtype=np.uint64).view(np.uint8).reshape(-1, 8), 64
    )


def test_ids_take_their_own_bytes():
    """One long id makes no other longer, in memory, in a pickle and in a file."""
    names = [f"item {i:04d}" for i in range(2_000)]
    sizes = []
    for ids in (names, [*names[:-1], LONG]):
        index = HammingNeighbors().fit(numbered(2_000), ids=ids)
        sizes.append(index.nbytes)
        n_octets = sum(map(len, ids))
        # A string takes its bytes, 4 for where it ends, and 1.5 places of 4 in a table.
        assert index.nbytes == 2_000 * 8 + n_octets + 4 * 2_001 + 4 * 3_001
        assert len(pickle.dumps(index)) < index.nbytes + 5_000
        again = pickle.loads(pickle.dumps(index))
        assert again.ids_.tolist() == ids
    assert sizes[1] - sizes[0] == 118 - len(names[-1])


def test_ids_are_not_made_as_wide_as_the_longest_on_the_way():
    names = [f"{i}" for i in range(20_000)]
    names[7] = "y" * 4_000  # an array of NumPy would take 320 MB
    index = HammingNeighbors()
    tracemalloc.start()
    try:
        index.fit(numbered(20_000), ids=names)
        index.add(numbered(1), ids=[LONG])
        index.remove([names[7]])
        assert index.kneighbors(ids=[LONG], n_neighbors=1)[1].tolist() == [["0"]]
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert index.n_items_ == 20_000


@pytest.fixture
def looked_at(monkeypatch):
    """Rows whose ids are read, as often as they are."""
    rows, read = [], TextIds.of_rows

    def reading(ids, some):
        rows.extend(np.arange(len(ids))[some].ravel().tolist())
        return read(ids, some)

    monkeypatch.setattr(TextIds, "of_rows", reading)
    return rows


def test_a_call_looks_at_the_ids_of_its_answer_alone(looked_at, tmp_path):
    """Of all others the bytes may be anything, as where a file is damaged."""
    names = [f"item {i}" for i in range(40)]
    index = HammingNeighbors(3).fit(CODES, ids=names)
    index.save(tmp_path / "index")
    [file] = (tmp_path / "index").rglob("ids_octets.npy")
    octets = np.load(file)
    lengths = np.array(list(map(len, names)))
    mask = np.arange(40) % 4 == 0
    np.save(file, np.where(np.repeat(mask, lengths), octets, 255).astype(np.uint8))
    for mmap in (True, False):
        index = HammingNeighbors.load(tmp_path / "index", mmap=mmap)
        allowed = [names[i] for i in np.flatnonzero(mask)]
        expected = HammingNeighbors(3).fit(CODES).kneighbors(CODES[:5], include=mask)[1]
        for include in (mask, np.tile(mask, (5, 1)), allowed, pd.Series(mask)):
            looked_at.clear()
            found = index.kneighbors(CODES[:5], include=include)[1]
            assert found.tolist() == [[names[i] for i in row] for row in expected]
            assert sorted(looked_at) == sorted(expected.ravel().tolist())
            looked_at.clear()
            found = index.kneighbors(CODES[:5], exclude=~mask)[1]
            assert found.tolist() == [[names[i] for i in row] for row in expected]
            assert sorted(looked_at) == sorted(expected.ravel().tolist())


def test_a_mask_makes_no_array_of_all_ids():
    """It takes no more memory with ids than without them."""
    data = np.random.default_rng(0).integers(0, 256, (30_000, 8), dtype=np.uint8)
    codes, mask = PackedCodes(data, 64), np.arange(30_000) % 3 == 0
    peaks = []
    for ids in (None, [f"a name of {i}" for i in range(30_000)]):
        index = HammingNeighbors().fit(codes, ids=ids)
        index.kneighbors(codes[:1], include=mask)
        tracemalloc.start()
        index.kneighbors(codes[:1], include=mask)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 20_000


@settings(deadline=None, max_examples=60)
@given(
    steps=st.lists(st.lists(TEXTS, min_size=1, max_size=8), min_size=1, max_size=6),
    seed=st.integers(0, 99),
)
def test_the_table_of_texts_finds_what_a_dict_finds(steps, seed):
    """Texts of equal hashes of few slots, of no length, and that begin like others."""
    rng, table, rows_of = np.random.default_rng(seed), make_ids(["first"], 1), {"first": 0}
    for texts in steps:
        is_new = len(set(texts)) == len(texts) and not rows_of.keys() & set(texts)
        if is_new:
            table = table.add(texts)
            rows_of |= {text: len(rows_of) + place for place, text in enumerate(texts)}
        else:
            with pytest.raises(ValueError, match="ids must differ"):
                table.add(texts)
        stays = rng.random(len(table)) < 0.8
        if stays.any():
            table, kept = table.keep(stays), np.array(list(rows_of))[stays]
            rows_of = {text: row for row, text in enumerate(kept.tolist())}
        assert table.is_sound(len(rows_of))
        assert table.of_rows(slice(None)).tolist() == list(rows_of)
        asked = [*rows_of, *texts, "another", ""]
        expected = [rows_of.get(text, -1) for text in asked]
        assert table.find(asked).tolist() == expected


@pytest.mark.parametrize(
    ("ids", "asked", "message"),
    [
        (
            ["007", "8"],
            [7],
            "include holds integers, such as 7, .*strings, such as '007'.*str",
        ),
        (
            [7, 8],
            ["007"],
            "include holds strings, such as '007', .*integers, such as 7.*int",
        ),
        (
            ["007", "8"],
            ["7", "9"],
            r"include contains \['[79]', '[79]'\].*; of 2 items 2 are not",
        ),
    ],
)
def test_ids_of_another_type_never_match_and_are_refused(ids, asked, message):
    index = HammingNeighbors(1).fit([[0, 0], [0, 1]], ids=ids)
    for form in (asked, set(asked), np.array(asked), pd.Series(asked), [asked]):
        with pytest.raises(ValueError, match=message):
            index.kneighbors([[0, 1]], include=form)
        with pytest.raises(ValueError, match=message.replace("include", "exclude")):
            index.radius_neighbors([[0, 1]], exclude=form)
    with pytest.raises(ValueError, match=message.replace("include", "indices")):
        index.remove(asked)
    with pytest.raises(ValueError, match=message.replace("include", "ids")):
        index.kneighbors(ids=asked)
    assert index.n_items_ == 2


def test_tables_are_joined_by_their_labels():
    frame = pd.DataFrame(CODES, index=[f"row {i}" for i in range(40)])
    frame.columns = frame.columns.astype(str)
    ids = pd.Series(range(100, 140), index=frame.index)
    y = pd.Series(np.arange(40) % 3, index=frame.index)
    index = HammingNeighbors(1).fit(frame, y, ids=ids)
    for options in ({"ids": ids[::-1]}, {"y": y[::-1]}, {"ids": ids, "y": y[::-1]}):
        for fit in (HammingNeighbors().fit, index.add):
            with pytest.raises(ValueError, match="has the same labels in another order"):
                fit(frame, **options)
    with pytest.raises(ValueError, match="y has the same labels in another order than X"):
        index.score(frame, y[::-1])
    for name in ("sample_weight", "groups_query"):
        options = {"groups_database": np.arange(40)} if name == "groups_query" else {}
        index.score(frame, y, **{name: y, **options})
        with pytest.raises(ValueError, match=f"{name} has the same labels in another"):
            index.score(frame, y, **{name: y[::-1], **options})
    assert index.n_items_ == 40


@pytest.mark.parametrize("affinity", ["auto", JudgmentAffinity()])
def test_columns_of_judgments_are_items(affinity):
    """Those of a data frame are in the order of the ids, or refused."""
    names = [f"item {i}" for i in range(40)]
    index = HammingNeighbors(affinity=affinity).fit(CODES, ids=names)
    judgments = pd.DataFrame(
        np.random.default_rng(1).integers(0, 2, (5, 40)), columns=names
    )
    expected = index.score(CODES[:5], judgments.to_numpy())
    assert index.score(CODES[:5], judgments) == expected
    shuffled = judgments[names[::-1]]
    with pytest.raises(
        ValueError, match="y has labels that are the items in another order"
    ):
        index.score(CODES[:5], shuffled)
    assert index.score(CODES[:5], shuffled[names]) == expected
    with pytest.raises(ValueError, match="y has labels that are others than in the index"):
        index.score(CODES[:5], judgments.rename(columns={"item 3": "item 40"}))


def test_of_removed_items_labels_are_not_known():
    names = [f"item {i}" for i in range(40)]
    index = HammingNeighbors(2).fit(CODES, ids=names).remove(["item 3", "item 4"])
    mask = pd.Series(np.arange(40) % 2 == 0, index=names)
    expected = index.kneighbors(CODES[:5], include=mask.to_numpy())[1]
    assert_array_equal(index.kneighbors(CODES[:5], include=mask)[1], expected)
    with pytest.raises(
        ValueError, match="include has labels that are the items in another"
    ):
        index.kneighbors(CODES[:5], include=mask[[*names[:38], "item 39", "item 38"]])
