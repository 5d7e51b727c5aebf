"""What holds for every hasher: scikit-learn's contract, and our own."""

import inspect
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from hashers import DISCRETE, HASHERS, LINEAR, name_of
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_param_validation, parametrize_with_checks

every_hasher = pytest.mark.parametrize("hasher", HASHERS, ids=name_of)


@parametrize_with_checks(HASHERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@every_hasher
def test_every_parameter_is_constrained(hasher):
    check_param_validation(type(hasher).__name__, clone(hasher))


@every_hasher
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


@every_hasher
def test_names_of_the_bits_are_those_of_the_fit(hasher, few_digits):
    """Whatever n_bits has been set to since, there are as many bits as were fitted."""
    X, y = few_digits
    n_bits = hasher.n_bits
    hasher = clone(hasher).set_output(transform="pandas")
    codes = hasher.fit_transform(pd.DataFrame(X).add_prefix("pixel"), y)
    expected = [f"{type(hasher).__name__.lower()}{i}" for i in range(n_bits)]
    assert list(codes.columns) == expected
    hasher.set_params(n_bits=12)
    assert list(hasher.get_feature_names_out()) == expected
    again = hasher.transform(pd.DataFrame(X).add_prefix("pixel"))
    pd.testing.assert_frame_equal(again, codes)


@every_hasher
def test_equal_seeds_and_values_give_equal_codes(hasher, few_digits):
    X, y = few_digits

    def codes_of(X):
        return clone(hasher).set_params(random_state=0).fit(X, y).transform(X)

    codes = codes_of(X)
    np.testing.assert_array_equal(codes_of(np.array(X)), codes)
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    assert np.mean(codes_of(strided) == codes) > 0.999
    assert np.mean(codes_of(sp.csr_array(X)) == codes) > 0.999
    # Single precision may turn a bit that is near 0.
    assert np.mean(codes_of(X.astype(np.float32)) == codes) > 0.99
    assert np.mean(codes_of(X.astype(np.float16)) == codes) > 0.99


@every_hasher
@pytest.mark.parametrize("seed", [3, None])
def test_fit_leaves_global_generators_alone(hasher, few_digits, seed):
    numpy_state = np.random.mtrand._rand.get_state
    before = numpy_state()[1].copy(), torch.get_rng_state()
    clone(hasher).set_params(random_state=seed).fit(*few_digits)
    np.testing.assert_array_equal(numpy_state()[1], before[0])
    assert torch.equal(torch.get_rng_state(), before[1])


@every_hasher
def test_constant_features_are_refused(hasher):
    with pytest.raises(ValueError, match="X is constant"):
        clone(hasher).fit(np.ones((5, 3)), np.arange(5) % 2)


def test_hashers_without_gradients_need_no_torch():
    """Neither to be imported, nor to be fitted, nor to score."""
    lines = [
        "import sys",
        "import numpy as np",
        "X = np.random.default_rng(0).standard_normal((40, 4))",
        "y = np.arange(40) % 2",
    ]
    for hasher in [*LINEAR, *DISCRETE]:
        module = "hashing" if hasher in LINEAR else "baselines"
        lines += [
            f"from sklearn_talr.{module} import {type(hasher).__name__}",
            f"{hasher!r}.fit(X, y).score(X, y)",
            f"assert 'torch' not in sys.modules, {type(hasher).__name__!r}",
        ]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


@every_hasher
def test_the_signature_is_what_the_source_says(hasher):
    """Written out, so that completion and type checkers see it."""
    cls = type(hasher)
    owner = next(c for c in cls.__mro__ if "__init__" in vars(c))
    assert owner.__init__.__code__.co_filename == inspect.getsourcefile(owner)
    assert "__signature__" not in vars(cls)
    parameters = list(inspect.signature(cls).parameters.values())
    assert parameters[0].name == "n_bits"
    code = owner.__init__.__code__
    n_arguments = code.co_argcount + code.co_kwonlyargcount
    assert [p.name for p in parameters] == list(code.co_varnames[1:n_arguments])
