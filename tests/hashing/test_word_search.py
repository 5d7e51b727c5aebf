"""Tests of how words are searched: by slow arithmetic, and alone as in company."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_talr.hashing._words import Table, cosines_of, improve_signs


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 12)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    codebooks = rng.standard_normal((3, 256, 12)).astype(np.float32)
    return rows, codebooks / np.float32(6)


def test_no_single_word_is_better_in_the_end(problem):
    rows, codebooks = problem
    words = Table(codebooks).words_of(rows)
    reached = cosines_of(rows, words, codebooks)
    for place in range(3):
        for value in range(256):
            other = words.copy()
            other[:, place] = value
            assert np.all(cosines_of(rows, other, codebooks) <= reached + 1e-5)


def test_rounds_never_lead_away(problem):
    rows, codebooks = problem
    table = Table(codebooks)
    words = np.zeros((40, 3), dtype=np.uint8)
    table.improve(rows, words, 0, 4, anew=True)
    before = cosines_of(rows, words, codebooks)
    table.improve(rows, words, 8, 4)
    after = cosines_of(rows, words, codebooks)
    assert np.all(after >= before - 1e-6)
    assert after.mean() > before.mean()


def test_rows_do_not_depend_on_each_other(problem):
    rows, codebooks = problem
    table = Table(codebooks)
    alone = [table.words_of(row[None])[0] for row in rows]
    assert_array_equal(table.words_of(rows), alone)


def test_no_single_sign_is_better_in_the_end(problem):
    rows, codebooks = problem
    vectors = codebooks[0, :20]
    signs = np.where(rows @ vectors.T > 0, 1, -1).astype(np.float32)
    improve_signs(rows, vectors, vectors @ vectors.T, signs, 8, 100)

    def cosines(signs):
        sums = signs @ vectors
        return np.einsum("ij,ij->i", rows, sums) / np.linalg.norm(sums, axis=1)

    reached = cosines(signs)
    for bit in range(20):
        other = signs.copy()
        other[:, bit] *= -1
        assert np.all(cosines(other) <= reached + 1e-5)
