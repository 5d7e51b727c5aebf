"""Sums of maxima over sets of codes, against a loop over decoded tokens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import n_weights_of

from sklearn_talr.codes import PackedCodes, maxsim_scores, pack_codes, weighted_scores
from sklearn_talr.codes._scores import TokenSets, token_blocks


def first_ones(labels):
    """Labels in the order in which they first come."""
    return list(dict.fromkeys(np.asarray(labels).tolist()))


def slow_maxsim(scores, query_groups, groups):
    """The definition, from the scores of all pairs of tokens."""
    query_groups, groups = np.asarray(query_groups), np.asarray(groups)
    expected = np.zeros((len(first_ones(query_groups)), len(first_ones(groups))))
    for row, query in enumerate(first_ones(query_groups)):
        for column, document in enumerate(first_ones(groups)):
            for token in np.flatnonzero(query_groups == query):
                best = max(scores[token, i] for i in np.flatnonzero(groups == document))
                expected[row, column] += best
    return expected


def draw(n_tokens, n_query_tokens, n_bits, size=1, n_terms=0, seed=0):
    """Codes, weights, and labels of both, which are not sorted."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (n_tokens, n_bits), dtype=np.uint8)
    terms = rng.normal(size=(n_tokens, n_terms)) if n_terms else None
    codes = PackedCodes(pack_codes(bits).data, n_bits, terms=terms)
    shape = n_query_tokens, n_weights_of(n_bits, size)
    weights = rng.normal(size=shape).astype(np.float32)
    groups = rng.integers(0, max(1, n_tokens // 3), n_tokens)
    query_groups = rng.integers(0, max(1, n_query_tokens // 3), n_query_tokens)
    return codes, weights, query_groups, groups


@given(
    st.integers(1, 40),
    st.integers(1, 12),
    st.integers(1, 70),
    st.sampled_from([1, 8]),
    st.integers(0, 2),
    st.integers(0, 2**32),
)
def test_scores_are_sums_of_maxima(n_tokens, n_queries, n_bits, size, n_terms, seed):
    codes, weights, query_groups, groups = draw(
        n_tokens, n_queries, n_bits, size, n_terms, seed
    )
    found = maxsim_scores(weights, codes, query_groups=query_groups, groups=groups)
    assert found.dtype == np.float32
    scores = weighted_scores(weights, codes).astype(float)
    expected = slow_maxsim(scores, query_groups, groups)
    assert_allclose(found, expected, rtol=1e-5, atol=1e-3)


@given(st.integers(0, 2**32))
def test_neither_the_order_of_tokens_nor_of_documents_matters(seed):
    codes, weights, query_groups, groups = draw(40, 6, 20, seed=seed, n_terms=1)
    found = maxsim_scores(weights, codes, query_groups=query_groups, groups=groups)
    order = np.random.default_rng(seed).permutation(40)
    moved = maxsim_scores(
        weights, codes[order], query_groups=query_groups, groups=groups[order]
    )
    before, after = first_ones(groups), first_ones(groups[order])
    assert_array_equal(moved, found[:, [before.index(label) for label in after]])


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("terms", [(1e-30, 0), (1e30, 0), (1, 1e36), (1e36, 1)])
def test_margins_cover_what_is_lost_in_float32(scale, terms):
    """Numbers near the ends of float32 included."""
    codes, weights, *_ = draw(60, 9, 24, n_terms=2)
    codes = PackedCodes(codes.data, 24, terms=codes.terms.values * np.float32(terms))
    tokens = TokenSets.from_numbers(codes, np.repeat(np.arange(20), 3))
    numbers = np.repeat([0, 1, 2], 3)
    (tables,) = token_blocks(weights * np.float32(scale), numbers, tokens)
    found = tables.scores(tokens)
    assert np.isfinite(found).all()
    for query in range(len(tables.starts) - 1):
        exact = np.ldexp(tables.exact_scores(query, tokens), -tables.exponent)
        assert np.abs(found[query] - exact).max() <= tables.margin / 2


def test_exact_scores_do_not_depend_on_the_order_of_anything():
    codes, weights, *_ = draw(60, 9, 24, n_terms=2)
    groups, order = np.repeat(np.arange(20), 3), np.arange(60).reshape(20, 3)
    rng = np.random.default_rng(0)

    def exact(codes, weights):
        tokens = TokenSets.from_numbers(codes, groups)
        (tables,) = token_blocks(weights, np.zeros(9, dtype=int), tokens)
        return tables.exact_scores(0, tokens)

    expected = exact(codes, weights)
    order = rng.permuted(order, axis=1).ravel()
    assert_array_equal(exact(codes[order], weights), expected)
    assert_array_equal(exact(codes, weights[rng.permutation(9)]), expected)


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"groups": [3, 3]}, r"groups must name .* 6 rows.*np\.repeat"),
        ({"groups": np.zeros((6, 1))}, r"groups .* shape \(6, 1\)"),
        ({"groups": [0, 0, 0, 1, 1, np.nan]}, "groups contains NaN"),
        (
            {"groups": np.array([0, "a", "b", 1, 1, 1], dtype=object)},
            "groups must hold labels of one type",
        ),
        ({"query_groups": [0]}, "query_groups must name .* 2 rows"),
        ({"query_groups": 0}, "query_groups"),
    ],
)
def test_wrong_groups_are_refused(params, problem):
    codes, weights, *_ = draw(6, 2, 9)
    with pytest.raises(ValueError, match=problem):
        maxsim_scores(weights, codes, **params)


def test_wrong_codes_and_weights_are_refused():
    codes, weights, *_ = draw(6, 2, 9)
    with pytest.raises(ValueError, match="query_weights are codes"):
        maxsim_scores(codes, codes)
    with pytest.raises(ValueError, match="query_weights has 4 columns"):
        maxsim_scores(weights[:, :4], codes)
    with pytest.raises(ValueError, match="database_codes"):
        maxsim_scores(weights, codes[:0])
    with pytest.raises(ValueError, match="0 sample"):
        maxsim_scores(weights[:0], codes)
