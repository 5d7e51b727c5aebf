"""How codebooks are found, against ridge regressions on products; which words are taken."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import products_of_signs

from sklearn_talr.hashing.words import _word_codes, _word_fit
from sklearn_talr.hashing.words._word_choice import choose_words, largest_words
from sklearn_talr.hashing.words._word_codes import improve_words, pack_words
from sklearn_talr.hashing.words._word_fit import (
    alternate_words,
    best_codebooks,
    first_codebooks,
    first_words,
    start_of_words,
)
from sklearn_talr.hashing.words._word_model import vectors_of_products

seeds = st.integers(0, 2**32)
ALPHA = 0.05


def all_at_once(rows):
    def each_row(function):
        yield function(slice(None), rows)

    return each_row


def products_of(words, size):
    """Products of the bits of words, one column for each weight of a query."""
    bits = pack_words(words, size)
    return products_of_signs(bits, words.shape[1] * (2**size - 1)).astype(float)


class TestCodebooks:
    @pytest.mark.parametrize(("size", "n_rows"), [(4, 400), (4, 4_000), (8, 3_000)])
    def test_they_are_a_ridge_regression_on_products(self, size, n_rows):
        rng = np.random.default_rng(0)
        words = rng.integers(0, 2**size, (n_rows, 2), dtype=np.uint8)
        products = products_of(words, size)
        vectors = rng.standard_normal((products.shape[1], 3))
        rows = products @ vectors + rng.standard_normal((n_rows, 3))
        rows = (rows - rows.mean(axis=0)).astype(np.float32)
        codebooks = best_codebooks(all_at_once(rows), words, 2**size, ALPHA)
        assert_allclose(codebooks.mean(axis=1), 0, atol=1e-5)
        strengths = np.full(products.shape[1], self.strength(n_rows, size))
        strengths[: 2 * size] = ALPHA
        # What all values of a word have in common is penalized, and then taken off.
        columns = np.hstack([products, np.ones((n_rows, 2))])
        penalty = n_rows * np.diag([*strengths, 100, 100])
        solved = np.linalg.solve(columns.T @ columns + penalty, columns.T @ rows)
        assert_allclose(vectors_of_products(codebooks), solved[:-2], atol=2e-4)

    @staticmethod
    def strength(n_rows, size):
        """Penalty of a product of several bits: more where words of four have few rows."""
        more = max(1, _word_fit._ENOUGH_ROWS / n_rows) if size == 4 else 1
        return ALPHA * _word_fit._PENALTY_OF_PRODUCTS * more

    def test_values_that_no_row_has_are_found_from_their_bits(self):
        """A product of several bits costs more than the bits it consists of."""
        words = np.random.default_rng(0).integers(0, 15, (500, 1), dtype=np.uint8)
        rows = products_of(words, 4)[:, :4].astype(np.float32)
        codebooks = best_codebooks(all_at_once(rows), words, 16, 1e-3)
        assert_allclose(codebooks[0, 15], 1, atol=0.1)

    def test_fewer_rows_than_entries_give_numbers(self):
        rng = np.random.default_rng(0)
        rows = rng.standard_normal((3, 5)).astype(np.float32)
        words = rng.integers(0, 256, (3, 4), dtype=np.uint8)
        assert np.isfinite(best_codebooks(all_at_once(rows), words, 256, ALPHA)).all()


class TestAlternating:
    @given(seeds)
    @settings(max_examples=5, deadline=None)
    def test_the_error_with_its_penalty_falls(self, seed):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((300, 6)).astype(np.float32)
        rows -= rows.mean(axis=0)
        words = rng.integers(0, 16, (300, 4), dtype=np.uint8)
        errors = []
        for _ in range(5):
            codebooks = best_codebooks(all_at_once(rows), words, 16, ALPHA)
            errors.append(self.objective(rows, words, codebooks))
            improve_words(rows, codebooks, words, 1, free=False, compiled=False)
            errors.append(self.objective(rows, words, codebooks))
        assert (np.diff(errors) <= 1e-3 * errors[0]).all()
        assert errors[-1] < 0.9 * errors[0]

    @staticmethod
    def objective(rows, words, codebooks):
        vectors = vectors_of_products(codebooks).astype(float)
        strengths = np.full(len(vectors), TestCodebooks.strength(300, 4))
        strengths[:16] = ALPHA
        error = np.sum((rows - products_of(words, 4) @ vectors) ** 2)
        return error + 300 * strengths @ np.sum(vectors**2, axis=1)

    def test_codebooks_belong_to_the_last_words(self):
        rows = np.random.default_rng(0).standard_normal((200, 6)).astype(np.float32)
        words = np.random.default_rng(1).integers(0, 16, (200, 3), dtype=np.uint8)
        found = alternate_words(all_at_once(rows), words, 16, ALPHA, 3, True)
        assert_array_equal(found, best_codebooks(all_at_once(rows), words, 16, ALPHA))

    def test_what_is_compiled_follows_from_the_rows_alone(self, monkeypatch):
        """Else equal seeds would give other words after another fit."""
        decided = []
        plain = _word_codes._pays_to_compile
        monkeypatch.setattr(
            _word_codes, "_pays_to_compile", lambda n: decided.append(n) or plain(n)
        )
        rows = np.random.default_rng(0).standard_normal((1_500, 8)).astype(np.float32)
        words = np.zeros((1_500, 3), dtype=np.uint8)
        alternate_words(all_at_once(rows), words, 16, ALPHA, 2, True)
        factor_of(rows, 12)
        assert not decided
        improve_words(rows, np.zeros((3, 16, 8), np.float32), words, 1, free=True)
        assert decided


class TestStart:
    def test_each_codebook_has_means_of_what_is_left(self):
        rng = np.random.RandomState(0)
        rows = rng.standard_normal((3_000, 2)).astype(np.float32)
        codebooks = first_codebooks(rows, 3, 16, rng)
        left, errors = rows.copy(), [np.mean(rows**2)]
        for codebook in codebooks:
            squares = np.sum((left[:, None] - codebook) ** 2, axis=2)
            left -= codebook[squares.argmin(axis=1)]
            errors.append(np.mean(left**2))
        assert (np.array(errors[1:]) < 0.3 * np.array(errors[:-1])).all()

    @pytest.mark.parametrize("size", [4, 8])
    def test_few_rows_and_equal_rows_give_words(self, size):
        rng = np.random.RandomState(0)
        rows = np.repeat(rng.standard_normal((2, 5)), 3, axis=0).astype(np.float32)
        start = start_of_words(rows, 16, size, rng)
        words = first_words(all_at_once(rows), 6, 16 // size, start)
        assert words.shape == (6, 16 // size)
        assert words.dtype == np.uint8
        assert_array_equal(words[:3], words[[0, 0, 0]])
        assert (words[0] != words[3]).any()


def factor_of(rows, n_bits, metric="cosine"):
    start = start_of_words(rows, n_bits, 4, np.random.RandomState(0))
    return choose_words(rows, {4: start}, n_bits, 4, ALPHA, metric)


class TestChoice:
    @pytest.mark.parametrize("n_bits", [1, 4, 6, 8, 12, 16, 64, 128, 256, 260])
    def test_larger_words_take_more_rows(self, n_bits):
        sizes = [largest_words(n_bits, n) for n in (0, 10, 10**3, 10**4, 10**5, 10**7)]
        assert sizes == sorted(sizes)
        assert sizes[0] == 1
        assert all(n_bits % size == 0 for size in sizes)
        assert sizes[-1] == (1 if n_bits % 4 else 8 if n_bits in (8, 16, 64, 128) else 4)

    @staticmethod
    def rows_of(seed, n_exact):
        """Directions; the first ones are nearly within twelve dimensions of many."""
        rows = np.random.default_rng(seed).standard_normal((2_000, 128))
        rows[:n_exact, 12:] *= 0.05
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return np.random.default_rng(seed).permutation(rows).astype(np.float32)

    @pytest.mark.parametrize("seed", range(3))
    def test_a_factor_tells_rows_that_are_coded_well_from_others(self, seed):
        factor = factor_of(self.rows_of(seed, 1_000), 32)
        assert factor.power > 0
        assert factor.levels.shape == (16,)
        assert (np.diff(factor.levels) > 0).all()
        assert 0 <= factor.levels[0] < factor.levels[-1] <= 1

    @pytest.mark.parametrize("metric", ["inner_product", "euclidean"])
    def test_other_metrics_have_none(self, metric):
        factor = factor_of(self.rows_of(0, 1_000), 32, metric)
        assert factor.power == len(factor.levels) == 0

    @pytest.mark.parametrize(("n_rows", "n_bits"), [(300, 32), (2_000, 4)])
    def test_few_rows_and_single_words_have_none(self, n_rows, n_bits):
        factor = factor_of(self.rows_of(0, 1_000)[:n_rows], n_bits)
        assert factor.power == len(factor.levels) == 0

    def test_rows_that_are_coded_alike_have_none(self):
        factor = factor_of(self.rows_of(0, 2_000), 32)
        assert factor.power == 0
