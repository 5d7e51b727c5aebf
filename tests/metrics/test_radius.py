"""Hash-lookup metrics: against balls counted item by item, and the paper's tables."""

from math import comb, inf, nan

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.histogram import HammingHistogram
from sklearn_talr.metrics import (
    empty_lookup_fraction,
    lookup_cost,
    radius_aware_map,
    radius_precision,
    radius_recall,
)

OVER_RADII = [radius_precision, radius_recall, radius_aware_map, empty_lookup_fraction]


@st.composite
def lookups(draw):
    """Codes, graded affinities and a radius; some queries have nothing relevant."""
    n_bits = draw(st.integers(1, 6))
    n_queries, n_items = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    queries = rng.integers(0, 2, (n_queries, n_bits))
    database = rng.integers(0, 2, (n_items, n_bits))
    affinities = rng.integers(0, 3, (n_queries, n_items))
    affinities *= rng.integers(0, 2, (n_queries, 1))
    return queries, database, affinities, draw(st.none() | st.integers(0, n_bits))


def make_histogram(queries, database, affinities):
    distances = reference.hamming_distances(queries, database)
    levels = np.arange(3)
    counts = reference.histogram(distances, affinities, levels, queries.shape[1] + 1)
    return HammingHistogram(counts, levels, queries.shape[1])


def balls(queries, database, affinities, radius):
    """For each radius and query the affinities within it, item by item."""
    distances = reference.hamming_distances(queries, database)
    n_bits = queries.shape[1]
    return [
        [
            [a for a, d in zip(row, near) if d <= r]
            for row, near in zip(affinities, distances)
        ]
        for r in range(n_bits + 1 if radius is None else radius + 1)
    ]


def precision(ball):
    return sum(a > 0 for a in ball) / len(ball) if ball else 0.0


@settings(deadline=None, max_examples=100)
@given(lookup=lookups())
def test_metrics_equal_their_definitions(lookup):
    queries, database, affinities, radius = lookup
    histogram = make_histogram(queries, database, affinities)
    by_radius = balls(*lookup)
    n_bits, n_relevant = queries.shape[1], (affinities > 0).sum(axis=1)
    cost = [sum(comb(n_bits, s) for s in range(r + 1)) for r in range(len(by_radius))]
    assert_array_equal(lookup_cost(n_bits, radius), cost)

    precisions = np.array([[precision(ball) for ball in balls] for balls in by_radius]).T
    measured = radius_precision(histogram, radius, zero_division=0.0)
    assert_allclose(measured, precisions, rtol=1e-14)

    found = np.array([[sum(a > 0 for a in b) for b in balls] for balls in by_radius]).T
    recalls = [row / n if n else row * nan for row, n in zip(found, n_relevant)]
    assert_allclose(radius_recall(histogram, radius), recalls, rtol=1e-14)

    empty = [np.mean([not ball for ball in balls]) for balls in by_radius]
    assert_allclose(empty_lookup_fraction(histogram, radius), empty, rtol=1e-14)

    with_relevant = n_relevant > 0
    for zero_division, rows in [(nan, with_relevant), (0.0, slice(None))]:
        if len(precisions[rows]):
            ends = range(1, len(cost) + 1)
            raap = [np.mean(precisions[rows, :r] / cost[:r], axis=1) for r in ends]
            ramap = radius_aware_map(histogram, radius, zero_division=zero_division)
            assert_allclose(ramap, np.mean(raap, axis=1), rtol=1e-13)


@pytest.mark.parametrize(
    ("n_extra", "same", "published"),
    [
        (0, True, [0.1896, 0.1040, 0.0706, 0.0533]),
        (1, True, [0.1896, 0.1030, 0.0697, 0.0525]),
        (8, True, [0.1896, 0.0996, 0.0668, 0.0501]),
        (1, False, [0.0000, 0.0095, 0.0075, 0.0059]),
    ],
)
def test_published_precisions_give_the_published_ramap(n_extra, same, published):
    """Tables 2 and 3 of the paper: 8 bits, extended by 1 or 8, to four digits."""
    items = 10_000  # at each distance
    within = np.array([1896, 2 * 1651, 3 * 1433, 4 * 1261])  # relevant, up to there
    p = np.diff(within, prepend=0)
    start = 0 if same else n_extra
    counts = np.zeros((1, 2, 9 + n_extra), dtype=int)
    counts[0, :, start : start + 4] = items - p, p
    ramap = radius_aware_map(HammingHistogram(counts, [0, 1], 8 + n_extra), radius=3)
    assert_allclose(ramap, published, atol=1.1e-4)


@pytest.mark.parametrize("stand_in", [nan, 0, 0.25])
def test_zero_division_fills_only_undefined_queries(stand_in):
    histogram = HammingHistogram([[[2, 0], [0, 0]], [[0, 0], [1, 1]]], [0, 1], n_bits=1)
    recall = radius_recall(histogram, zero_division=stand_in)
    assert_array_equal(recall, [[stand_in, stand_in], [0.5, 1.0]])
    ramap = radius_aware_map(histogram, zero_division=stand_in)
    raap = np.array([[stand_in, stand_in], [1.0, 0.75]])
    assert_allclose(ramap, np.nanmean(raap, axis=0))
    precision = radius_precision(histogram, zero_division=stand_in)
    assert_array_equal(precision, [[stand_in, stand_in], [1, 1]])


@pytest.mark.parametrize("radius", [-1, 3, 1.0, "2", True])
def test_radius_must_be_an_integer_up_to_the_code_length(radius):
    histogram = HammingHistogram([[[1, 0, 0], [0, 1, 0]]], [0, 1], n_bits=2)
    message = r"from 0 to the code length, 2 bits|'radius' parameter of"
    for function in OVER_RADII:
        with pytest.raises(ValueError, match=message):
            function(histogram, radius)
    with pytest.raises(ValueError, match=message):
        lookup_cost(2, radius)


def test_codes_of_4096_bits_overflow_to_infinity_and_cost_everything():
    cost = lookup_cost(4096)
    assert_array_equal(cost[:3], [1, 4097, 4097 + 4096 * 4095 // 2])
    assert cost[-1] == inf
    assert np.all(cost[:-1] <= cost[1:])
    counts = np.zeros((1, 2, 4097), dtype=int)
    counts[0, 1, 0] = counts[0, 0, 2048] = 1
    ramap = radius_aware_map(HammingHistogram(counts, [0, 1], n_bits=4096))
    assert_allclose(ramap[[0, 1]], [1, (1 + 1 / 4097) / 2], rtol=1e-15)
    assert_allclose(ramap[-1], (1 + 1 / 4097) / 4097, rtol=1e-6)
