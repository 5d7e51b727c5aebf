"""Factors that follow from codes, and the bytes that they are kept in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.codes import PackedCodes, concatenate_codes, weighted_scores
from sklearn_talr.codes._factors import CodeFactors, ScoreRule, WordFactors, decode_words
from sklearn_talr.codes._packed import wrap_bytes


def rule_of(seed, n_words, n_features=5):
    rng = np.random.default_rng(seed)
    codebooks = rng.standard_normal((n_words, 256, n_features)).astype(np.float32)
    mean = rng.standard_normal(n_features)
    mean *= rng.random() / np.linalg.norm(mean)  # as means of rows of unit length are
    return WordFactors.from_codebooks(codebooks, mean), mean


def draw(seed, n_words, n_codes=20):
    return np.random.default_rng(seed).integers(0, 256, (n_codes, n_words), dtype=np.uint8)


@given(st.integers(0, 2**32), st.integers(2, 5))
@settings(max_examples=30, deadline=None)
def test_decodings_end_on_the_unit_sphere(seed, n_words):
    rule, mean = rule_of(seed, n_words)
    data = draw(seed, n_words)
    for words, factor in zip(data, rule.of(data)):
        decoded = sum(book[word] for book, word in zip(rule.codebooks, words.tolist()))
        assert_allclose(decode_words(words[None], rule.codebooks)[0], decoded, atol=1e-5)
        assert factor > 0
        assert np.linalg.norm(mean + factor * decoded) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("of_words", [False, True])
def test_a_factor_is_kept_in_a_byte(of_words):
    factors = rule_of(0, 2)[0] if of_words else CodeFactors(np.eye(16), np.ones(16), 1.0)
    data = draw(1, 2, 500)
    rule = ScoreRule.from_codes(factors, data)
    codes = wrap_bytes(data, 16, terms=rule.terms(data))
    exact = factors.of(data)
    step = np.log(rule.table[-1] / rule.table[1]) / 254
    assert_allclose(np.log(codes.terms.values[:, 0]), np.log(exact), atol=0.51 * step)
    assert codes.nbytes == 500 * 3
    assert rule.terms(data[:0]).factors.shape == (0,)
    weights = np.random.default_rng(2).normal(size=(3, 16)).astype(np.float32)
    plain = PackedCodes(data, 16, terms=codes.terms.values)
    assert_array_equal(weighted_scores(weights, codes), weighted_scores(weights, plain))
    joined = concatenate_codes([codes, codes[:7]])
    assert joined.nbytes == 507 * 3
    assert_array_equal(joined.terms.values[500:], codes.terms.values[:7])
    assert concatenate_codes([codes, plain]).nbytes == 1_000 * 6


def test_what_is_beyond_the_bounds_becomes_one_of_them():
    data = draw(1, 2, 500)
    rule = ScoreRule.from_codes(CodeFactors(np.eye(16), np.zeros(16), 1.0), data)
    assert_array_equal(rule.steps_of(np.array([0, 1e-30, 1e30])), [1, 1, 255])


def test_a_byte_that_comes_with_a_code_multiplies_and_is_added():
    data, weights = draw(0, 1, 50), np.ones((1, 8), dtype=np.float32) / 2
    table = np.random.default_rng(0).random((256, 2)).astype(np.float32)
    factors = CodeFactors(np.eye(8), np.zeros(8), 1.0)
    rule = ScoreRule.from_codes(factors, data)._replace(length_table=table)
    lengths = np.arange(50, dtype=np.uint8)
    codes = wrap_bytes(data, 8, terms=rule.terms(data, lengths))
    sums = weighted_scores(weights, PackedCodes(data, 8))
    expected = sums * rule.table[rule.terms(data).factors] * table[:50, 0] + table[:50, 1]
    assert_allclose(weighted_scores(weights, codes), expected, rtol=1e-5)
    assert codes.nbytes == 150
