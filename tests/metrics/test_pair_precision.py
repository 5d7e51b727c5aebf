"""Precision and recall of the pairs found: against pairs that are enumerated."""

from fractions import Fraction
from itertools import combinations, product
from math import comb, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.codes import pack_codes
from sklearn_talr.histogram import HammingHistogram, RankingHistogram, hamming_histogram
from sklearn_talr.metrics import pair_precision, pair_recall, radius_at_precision

BY_RADIUS = [pair_precision, pair_recall]


def distance(code, other):
    return sum(a != b for a, b in zip(code, other))


def over_pairs(pairs, n_bits):
    """Precision and recall within each radius, of pairs (distance, whether right)."""
    precision, recall = [], []
    for radius in range(n_bits + 1):
        found = [right for d, right in pairs if d <= radius]
        n_right = sum(right for _, right in pairs)
        precision.append(sum(found) / len(found) if found else nan)
        recall.append(sum(found) / n_right if n_right else nan)
    return precision, recall


@st.composite
def labeled_codes(draw):
    """Codes of few bits with labels, some of which are alone."""
    n_bits, n_rows = draw(st.integers(1, 5)), draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    return rng.integers(0, 2, (n_rows, n_bits)), rng.integers(0, n_rows, n_rows)


def table_of_one_set(codes, y):
    return hamming_histogram(codes, codes, "auto", y, y, exclude_self=True)


@settings(deadline=None, max_examples=60)
@given(labeled=labeled_codes())
def test_pairs_of_one_set_equal_those_enumerated_once(labeled):
    codes, y = labeled
    pairs = [
        (distance(codes[i], codes[j]), bool(y[i] == y[j]))
        for i, j in combinations(range(len(y)), 2)
    ]
    precision, recall = over_pairs(pairs, codes.shape[1])
    histogram = table_of_one_set(codes, y)
    assert_allclose(pair_precision(histogram), precision, rtol=1e-15)
    assert_allclose(pair_recall(histogram), recall, rtol=1e-15)
    first, second = np.transpose(list(combinations(range(len(y)), 2)))
    pooled = HammingHistogram.from_pairs(codes[first], codes[second], y[first] == y[second])
    for metric in BY_RADIUS:
        assert_array_equal(metric(pooled), metric(histogram))


@settings(deadline=None, max_examples=60)
@given(labeled=labeled_codes(), n_queries=st.integers(1, 4))
def test_pairs_of_queries_and_items_equal_those_enumerated(labeled, n_queries):
    codes, y = labeled
    n_queries = min(n_queries, len(y) - 1)
    queries, items = range(n_queries), range(n_queries, len(y))
    pairs = [
        (distance(codes[i], codes[j]), bool(y[i] == y[j]))
        for i, j in product(queries, items)
    ]
    precision, recall = over_pairs(pairs, codes.shape[1])
    histogram = hamming_histogram(
        codes[:n_queries], codes[n_queries:], "auto", y[:n_queries], y[n_queries:]
    )
    for metric, values in zip(BY_RADIUS, (precision, recall)):
        assert_allclose(metric(histogram), values, rtol=1e-15)
        assert_array_equal(metric(histogram, 1), metric(histogram)[:2])
    order = np.random.default_rng(0).permutation(n_queries)
    shuffled = HammingHistogram(histogram.counts[order], histogram.levels, codes.shape[1])
    assert_array_equal(pair_precision(shuffled), pair_precision(histogram))


@pytest.mark.parametrize("stand_in", [nan, 0, 1])
def test_zero_division_fills_what_has_no_pair(stand_in):
    histogram = HammingHistogram([[[0, 0, 1], [0, 0, 0]]], [0, 1], n_bits=2)
    precision = pair_precision(histogram, zero_division=stand_in)
    assert_array_equal(precision, [stand_in, stand_in, 0])
    assert_array_equal(pair_recall(histogram, zero_division=stand_in), [stand_in] * 3)
    nobody = HammingHistogram(np.zeros((0, 2, 3), dtype=int), [0, 1], n_bits=2)
    for metric in BY_RADIUS:
        assert_array_equal(metric(nobody, zero_division=stand_in), [stand_in] * 3)


def test_ties_by_another_score_have_no_radius():
    histogram = RankingHistogram.from_scores([[1, 0, 0]], [[0.9, 0.9, 0.1]])
    for function in BY_RADIUS:
        with pytest.raises(TypeError, match=f"{function.__name__} needs a HammingHist"):
            function(histogram, 1)
    with pytest.raises(TypeError, match="radius_at_precision needs a HammingHistogram"):
        radius_at_precision(histogram, 0.5)


@settings(deadline=None, max_examples=60)
@given(labeled=labeled_codes(), wanted=st.sampled_from([0.01, 0.2, 0.5, 2 / 3, 1]))
def test_the_radius_is_the_largest_that_reaches_the_precision(labeled, wanted):
    histogram = table_of_one_set(*labeled)
    reached = [
        radius
        for radius, precision in enumerate(pair_precision(histogram))
        if precision >= wanted
    ]
    if reached:
        radius = radius_at_precision(histogram, wanted)
        assert (type(radius), radius) == (int, reached[-1])
    else:
        with pytest.raises(ValueError, match=r"no radius has .*Pass a lower precision"):
            radius_at_precision(histogram, wanted)


def table_of_counts(right, wrong):
    return HammingHistogram([[wrong, right]], [0, 1], n_bits=len(right) - 1)


def binomial_tail(p, n, probability):
    """Probability of p or more of n, in exact fractions."""
    q = Fraction(probability)
    return sum(comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(p, n + 1))


@pytest.mark.parametrize(("p", "n"), [(1, 1), (1, 5), (5, 5), (19, 20), (60, 60)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_confidence_is_the_tail_of_the_binomial_distribution(p, n, confidence):
    """A precision just above the bound gives so many right pairs by chance too often."""
    histogram = table_of_counts(right=[p, 0], wrong=[n - p, 0])
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        if binomial_tail(p, n, middle) <= 1 - Fraction(confidence):
            low = middle
        else:
            high = middle
    assert radius_at_precision(histogram, low * (1 - 1e-9), confidence=confidence) == 1
    with pytest.raises(ValueError, match=r"largest lower bound .*, or label more pairs"):
        radius_at_precision(histogram, min(1, high * (1 + 1e-9)), confidence=confidence)


@pytest.mark.parametrize("n_bits", [1, 8, 13, 64, 100])
def test_labeled_pairs_are_tabulated_from_any_form_of_codes(n_bits):
    rng = np.random.default_rng(n_bits)
    first, second = rng.integers(0, 2, (2, 30, n_bits))
    y_true = rng.integers(0, 3, 30)
    expected = np.zeros((1, 3, n_bits + 1), dtype=int)
    for code, other, affinity in zip(first, second, y_true):
        expected[0, affinity, distance(code, other)] += 1
    for one, two in (
        (first, second),
        (pack_codes(first), pack_codes(second)),
        (pack_codes(first, bitorder="big"), second.tolist()),
    ):
        histogram = HammingHistogram.from_pairs(one, two, y_true)
        assert_array_equal(histogram.counts, expected)
        assert (histogram.n_bits, histogram.levels.tolist()) == (n_bits, [0, 1, 2])


@pytest.mark.parametrize(
    ("first", "second", "y_true", "message"),
    [
        ([[0, 1]], [[0, 1, 1]], [1], "first_codes have 2 bits and second_codes 3"),
        ([[0, 1]], [[0, 1], [0, 0]], [1], "inconsistent numbers of samples"),
        ([[0, 1]], [[0, 1]], [1, 0], "inconsistent numbers of samples"),
        ([[0, 2]], [[0, 1]], [1], "first_codes"),
        ([[0, 1]], [[0, 3]], [1], "second_codes"),
        ([[0, 1]], [[0, 1]], [-1], "y_true must hold affinities"),
        ([[0, 1]], [[0, 1]], [0.5], "y_true must hold affinities"),
        ([[0, 1]], [[0, 1]], [np.inf], "y_true contains infinity"),
        ([[0, 1]], [[0, 1]], np.ma.masked_array([1], [True]), "y_true has masked"),
        ([[0, 1]], [[0, 1]], ["yes"], "y_true must hold affinities"),
        ([[0, 1]], [[0, 1]], [[1]], r"y_true must be 1-D.* got shape \(1, 1\)"),
    ],
)
def test_labeled_pairs_are_checked(first, second, y_true, message):
    with pytest.raises(ValueError, match=message):
        HammingHistogram.from_pairs(first, second, y_true)
