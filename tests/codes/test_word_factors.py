"""Factors that follow from words, against their definition."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.codes import PackedCodes, pack_codes
from sklearn_talr.codes._door import CodeFactors, OneFactors, WordFactors, decode_words

sizes = st.sampled_from([4, 8])


def rule_of(seed, size, n_words, has_levels, n_features=5):
    rng = np.random.default_rng(seed)
    shape = n_words, 2**size, n_features
    codebooks = rng.standard_normal(shape).astype(np.float32)
    mean = rng.standard_normal(n_features)
    mean *= rng.random() / np.linalg.norm(mean)  # as means of rows of unit length are
    levels = np.empty(0)
    if has_levels:
        codebooks[-1], levels = 0, np.sort(rng.random(2**size))
    return WordFactors.of_codebooks(codebooks, mean, levels), mean


def draw(seed, size, n_words, n_codes=20):
    bits = np.random.default_rng(seed).integers(0, 2, (n_codes, n_words * size))
    values = bits.reshape(n_codes, n_words, size) @ 2 ** np.arange(size)
    return pack_codes(bits).data, values


@given(st.integers(0, 2**32), sizes, st.integers(2, 5), st.booleans())
@settings(max_examples=30, deadline=None)
def test_decodings_end_on_the_unit_sphere(seed, size, n_words, has_levels):
    rule, mean = rule_of(seed, size, n_words, has_levels)
    data, values = draw(seed, size, n_words)
    assert_array_equal(rule.words(data), values)
    factors = rule.of(data)
    assert factors.dtype == np.float32
    for words, factor in zip(values, factors):
        decoded = sum(book[word] for book, word in zip(rule.codebooks, words.tolist()))
        assert_allclose(decode_words(words[None], rule.codebooks)[0], decoded, atol=1e-5)
        if has_levels:
            factor /= rule.levels[words[-1]]
        assert factor > 0
        assert np.linalg.norm(mean + factor * decoded) == pytest.approx(1, abs=1e-4)


@given(st.integers(0, 2**32), sizes)
@settings(max_examples=10, deadline=None)
def test_factors_do_not_depend_on_the_codes_beside_them(seed, size):
    rule, _ = rule_of(seed, size, 4, True, n_features=70)
    data, _ = draw(seed, size, 4)
    alone = np.concatenate([rule.of(data[row : row + 1]) for row in range(len(data))])
    assert_array_equal(rule.of(data), alone)


def test_no_codes_have_no_factors():
    empty = np.empty((0, 2), dtype=np.uint8)
    for rule in (rule_of(0, 4, 4, True)[0], CodeFactors(np.eye(16), np.zeros(16), 1.0)):
        assert rule.of(empty).shape == (0,)
        assert PackedCodes._of(empty, 16, "little", None, rule).terms.shape == (0, 1)


def test_blocks_of_codes_are_all_codes(monkeypatch):
    rule, _ = rule_of(0, 4, 3, True)
    data, _ = draw(0, 4, 3)
    expected = rule.of(data)
    monkeypatch.setattr("sklearn_talr.codes._factors._CODES_PER_BLOCK", 7)
    assert_array_equal(rule.of(data), expected)


def test_words_without_vectors_have_finite_factors():
    rule = WordFactors.of_codebooks(np.zeros((2, 16, 3), np.float32), np.zeros(3))
    assert np.isfinite(rule.of(draw(0, 4, 2)[0])).all()


@pytest.mark.parametrize("size", [4, 8])
def test_rules_are_the_same_where_all_their_numbers_are(size):
    rule, _ = rule_of(0, size, 3, True)
    assert rule.same_as(rule)
    assert rule.same_as(pickle.loads(pickle.dumps(rule)))
    others = [rule_of(1, size, 3, True)[0], rule._replace(levels=rule.levels / 2), None]
    others += [rule._replace(beyond=rule.beyond / 2), rule._replace(levels=np.empty(0))]
    others += [CodeFactors(np.eye(3), np.zeros(3), 1.0), OneFactors()]
    assert not any(map(rule.same_as, others))
    assert not any(other.same_as(rule) for other in others[-2:])


@pytest.mark.parametrize("size", [4, 8])
def test_a_rule_fits_codes_as_long_as_its_words(size):
    rule, _ = rule_of(0, size, 3, True)
    fitting = [n_bits for n_bits in range(40) if rule.fits(n_bits)]
    assert fitting == [3 * size]
    assert rule._replace(levels=np.empty(0)).fits(3 * size)
    for name in ("codebooks", "along", "levels"):
        part = getattr(rule, name)
        for wrong in (part[:-1], part[:, None], part * np.nan, part > 0):
            assert not rule._replace(**{name: wrong}).fits(3 * size)
    assert not rule._replace(beyond=np.inf).fits(3 * size)
    assert rule.nbytes == sum(part.nbytes for part in rule if np.ndim(part))
