"""Instructions on vectors, against what NumPy makes of the same numbers."""

import numpy as np
import pytest
from numba import njit

from sklearn_talr._loops import _lanes
from sklearn_talr._loops._lanes import CODES, QUERIES

rng = np.random.default_rng(0)
TILE = 16  # codes


@njit
def queries_near(tables, columns, terms, lines, code, place):
    return _lanes.queries_near(tables, columns, terms, lines, code, place)


@njit
def query_near(tables, columns, terms, lines, code, place):
    return _lanes.query_near(tables, columns, terms, lines, code, place)


@njit
def codes_near(planes, columns, terms, lines, code, place):
    return _lanes.codes_near(planes, columns, terms, lines, code, place)


@njit
def best_entry(along, squares, inner, first, u, s):
    return _lanes.best_entry(along, squares, inner, first, u, s)


def costs_by_tables(tables, columns, code):
    octets = np.ascontiguousarray(columns[:, code]).view(np.uint8)
    return sum(tables[byte, value] for byte, value in enumerate(octets))


def cost_by_planes(planes, columns, code):
    differing = columns[:, code] ^ planes[:, 0]
    ones = [np.bitwise_count(differing & planes[:, 1 + i]).sum() for i in range(4)]
    return sum(int(count) << i for i, count in enumerate(ones))


def mask_of(costs, lines, terms):
    limits = lines[0] + lines[1] * terms[0] + lines[2] * terms[1]
    is_far = np.float32(costs) > limits
    return sum(1 << lane for lane in range(len(is_far)) if not is_far[lane])


def draw_codes(n_words, word_type):
    octets = rng.integers(0, 256, (n_words, 40 * np.dtype(word_type).itemsize), np.uint8)
    return octets.view(word_type)


def draw_terms():
    """One over factors, addends over factors; some codes have no factor above 0."""
    terms = rng.normal(size=(2, TILE)).astype(np.float32)
    terms[0, 3] = np.inf
    terms[0, 5] = np.nan
    return terms


def draw_lines(highest):
    """Lines of queries about so high a cost, some flat, one that all costs are within."""
    lines = np.zeros((3, QUERIES), np.float32)
    lines[0] = rng.normal(highest, highest / 8, QUERIES)
    lines[1, ::2] = rng.normal(0, highest / 8, QUERIES // 2)
    lines[2, ::3] = rng.normal(0, highest / 8, len(lines[2, ::3]))
    lines[:, 7] = np.inf, 0, 0
    return lines


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # 0 times infinity
@pytest.mark.parametrize("word_type", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_masks_by_tables_are_those_of_numpy(word_type):
    n_words = 3
    columns = draw_codes(n_words, word_type)
    n_bytes = n_words * columns.itemsize
    many = rng.integers(0, 65_535 // n_bytes, (n_bytes, 256, QUERIES), np.uint16)
    one = np.ascontiguousarray(many[..., :1])
    terms = draw_terms()
    lines = draw_lines(65_535 / 2)
    masks = []
    for place in range(TILE):
        code = 20 + place
        costs = costs_by_tables(many, columns, code)
        masks.append(queries_near(many, columns, terms, lines, code, place))
        assert masks[-1] == mask_of(costs, lines, terms[:, place])
        mask = query_near(one, columns, terms, lines, code, place)
        assert mask == mask_of(costs[:1], lines[:, :1], terms[:, place])
    assert 0 < np.bitwise_count(masks).sum() < TILE * QUERIES


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_masks_by_planes_are_those_of_numpy():
    columns = draw_codes(3, np.uint64)
    planes = draw_codes(3, np.uint64)[:, :5].copy()
    terms = draw_terms()
    masks = []
    for highest in (500, 700, 900):
        lines = draw_lines(highest)
        for place in (0, TILE - CODES):
            codes = range(20 + place, 20 + place + CODES)
            costs = [cost_by_planes(planes, columns, code) for code in codes]
            masks.append(codes_near(planes, columns, terms, lines, codes[0], place))
            expected = mask_of(costs, lines[:, :1], terms[:, place : place + CODES])
            assert masks[-1] == expected
    assert 0 < np.bitwise_count(masks).sum() < len(masks) * CODES


def test_the_best_entry_is_that_of_numpy():
    n_words = 4
    along, squares, inner = rng.normal(size=(3, 256 * n_words)).astype(np.float32)
    squares = squares**2
    inner /= 8
    # An entry that would take all others back has no direction.
    squares[256 + 9] = -3
    for word in range(n_words):
        for u, s in rng.normal(size=(20, 2)).astype(np.float32):
            s = np.abs(s) + 1
            entries = slice(256 * word, 256 * word + 256)
            product = u + along[entries]
            square = s + squares[entries] + 2 * inner[entries]
            merits = product * abs(product) / np.maximum(square, np.float32(1e-20))
            best = best_entry(along, squares, inner, 256 * word, u, s)
            assert merits[best] == pytest.approx(merits.max(), rel=1e-5)
