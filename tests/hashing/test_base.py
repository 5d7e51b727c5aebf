"""What holds for every hasher: scikit-learn's contract, and our own."""

import inspect
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hashers import CROSS_VIEW, HASHERS, KINDS, LINEAR, OF_TRIPLETS, name_of
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import check_param_validation, parametrize_with_checks

from sklearn_talr import TALRHasher
from sklearn_talr.codes import pack_codes
from sklearn_talr.hashing import AdditiveHasher

every_hasher = pytest.mark.parametrize("hasher", HASHERS, ids=name_of)


@every_hasher
def test_features_beyond_float32_are_refused(hasher):
    """Their squares, and the weights of queries, would be 0 or infinite."""
    X = np.random.default_rng(0).normal(size=(90, 5))
    for unit in (1e-300, 1e-200, 1e-50, 1e50, 1e200, 1e300):
        with pytest.raises(ValueError, match=r"X has magnitudes .* Scale the features"):
            clone(hasher).fit(X * unit, np.arange(90) % 3)


# Two losses check TALRHasher; a third one would check the same fit. CrossViewHasher is
# checked in test_cross_view.py.
@parametrize_with_checks([h for h in KINDS if h not in (*CROSS_VIEW, OF_TRIPLETS)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator, check):
    missed = missed_in_numpy(estimator, check)
    if missed is None:
        check(estimator)
        return
    with pytest.raises(AssertionError, match=missed):
        check(estimator)


def missed_in_numpy(estimator, check):
    """What a check misses since fitted arrays stay in NumPy, or None.

    scikit-learn wants them where the features were, and others refused ever after. It
    looks only where SCIPY_ARRAY_API=1 is set, and does not look into lists.
    """
    name = getattr(check, "func", check).__name__
    if name == "check_array_api_same_namespace":
        return "did not raise when called with a different array namespace"
    by_classes = getattr(getattr(estimator, "loss", None), "needs_classes", False)
    if not by_classes or not name.startswith("check_array_api"):
        return None
    if check.keywords.get("array_namespace") == "numpy":
        return None
    return "'class(es|_codes)_' attribute is in wrong namespace"


@every_hasher
def test_every_parameter_is_written_out_and_constrained(hasher):
    """So that completion and type checkers see it."""
    check_param_validation(type(hasher).__name__, clone(hasher))
    cls = type(hasher)
    assert "__signature__" not in vars(cls)
    names = list(inspect.signature(cls).parameters)
    assert names[0] == "n_bits"
    assert names == [field.name for field in fields(cls._init_fields)]
    assert not is_dataclass(cls)  # dask and Ray would forget what is fitted


@pytest.mark.parametrize(
    "hasher", [h for h in HASHERS if not isinstance(h, AdditiveHasher)], ids=name_of
)
def test_bits_are_signs_of_float32_activations(hasher, few_digits):
    """Also of more bits than features."""
    X, y = few_digits[0][:, 18:22], few_digits[1]
    hasher = clone(hasher).set_params(n_bits=11, random_state=0).fit(X, y)
    activations = hasher.decision_function(X)
    assert activations.dtype == np.float32
    codes = hasher.transform(X)
    assert codes.dtype == np.uint8
    np.testing.assert_array_equal(codes, activations > 0)
    assert codes.shape == (300, 11)
    assert 0.1 < codes.mean() < 0.9
    with pytest.raises(ValueError, match="X is constant"):
        hasher.fit(np.ones((300, 3)), y)
    # Whatever n_bits is set to since, there are as many bits as were fitted.
    hasher.set_params(n_bits=12).set_output(transform="pandas")
    expected = [f"{type(hasher).__name__.lower()}{i}" for i in range(11)]
    assert list(hasher.get_feature_names_out()) == expected
    pd.testing.assert_frame_equal(
        hasher.transform(X), pd.DataFrame(codes, columns=expected)
    )


@every_hasher
def test_codes_come_in_blocks_packed_or_not(hasher, few_digits):
    X, y = few_digits
    hasher = clone(hasher).set_params(random_state=0).fit(X, y)
    codes = hasher.transform(X)
    with config_context(working_memory=4000 / 2**20):
        np.testing.assert_array_equal(hasher.transform(X), codes)
        packed = hasher.encode(X)
    assert packed.n_bits == hasher.n_bits
    np.testing.assert_array_equal(packed.data, pack_codes(codes).data)


@pytest.mark.parametrize("hasher", KINDS, ids=name_of)
def test_equal_seeds_and_values_give_equal_codes(hasher, few_digits, learned):
    """Global generators have no part in it, and are left alone."""
    X, y = few_digits

    def codes_of(X, seed=learned.seed):
        return clone(hasher).set_params(random_state=seed).fit(X, y).transform(X)

    numpy_state = check_random_state(None).get_state  # of the global generator
    before = numpy_state()[1].copy(), torch.get_rng_state()
    codes, _ = codes_of(X), codes_of(X, None)
    np.testing.assert_array_equal(numpy_state()[1], before[0])
    assert torch.equal(torch.get_rng_state(), before[1])
    np.testing.assert_array_equal(codes_of(np.array(X)), codes)
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    for other in (strided, sp.csr_array(X)):
        learned.error(np.mean(codes_of(other) != codes), "in another layout")
    # Single precision may turn a bit that is near 0.
    for other in (X.astype(np.float32), X.astype(np.float16)):
        learned.error(np.mean(codes_of(other) != codes), "in lower precision")


class TestQueryWeights:
    def test_labels_saturate_activations(self, few_digits):
        X, y = few_digits
        hasher = TALRHasher(8, max_iter=2, random_state=0).fit(X, y)
        activations = hasher.decision_function(X)
        expected = [np.tanh(2 * row / np.mean(np.abs(row))) for row in activations]
        np.testing.assert_allclose(hasher.query_weights(X), expected, rtol=1e-5)

    def test_distances_do_not(self, few_digits):
        X, _ = few_digits
        for hasher in (LINEAR[0], TALRHasher(8, max_iter=2, random_state=0)):
            hasher = clone(hasher).fit(X)
            weights = hasher.query_weights(X)
            np.testing.assert_array_equal(weights, hasher.decision_function(X))

    @pytest.mark.parametrize("labels_first", [True, False])
    def test_a_refit_meanwhile_changes_nothing(self, few_digits, labels_first):
        """A call that has begun ends with the state that it began with."""
        X, y = few_digits
        fits = [(X, y), (X,)] if labels_first else [(X,), (X, y)]
        hasher = TALRHasher(8, max_iter=2, random_state=0).fit(*fits[0])
        expected = hasher.query_weights(X), hasher.transform(X)

        class Rows:
            """An array whose numbers are there when another thread has refitted."""

            def __array__(self, dtype=None, copy=None):
                hasher.fit(*fits[1])
                return X

        weights = hasher.query_weights(Rows())
        hasher.fit(*fits[0])
        codes = hasher.transform(Rows())
        np.testing.assert_array_equal(weights, expected[0])
        np.testing.assert_array_equal(codes, expected[1])
