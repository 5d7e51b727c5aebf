"""What a fit goes on from: it must have the shape and the kind of what is asked."""

import numpy as np
import pytest
import torch
from hashers import small


def test_another_function_is_refused(few_digits):
    for before, after, message in [
        ({}, {"n_bits": 9}, r"layer sizes from \[64, 8\] to \[64, 9\]"),
        ({}, {"hidden_layer_sizes": 5}, r"layer sizes from \[64, 8\] to \[64, 5, 8\]"),
        ({}, {"module": torch.nn.Linear(64, 8)}, "cannot change module"),
        ({"module": torch.nn.Linear(64, 8)}, {"module": None}, "cannot change module"),
        (
            {"module": torch.nn.Linear(64, 8)},
            {"module": torch.nn.Linear(64, 8, bias=False)},
            "module has changed",
        ),
    ]:
        for method in ["fit", "partial_fit"]:
            hasher = small(warm_start=True, **before).fit(*few_digits)
            codes = hasher.transform(few_digits[0])
            with pytest.raises(ValueError, match=message):
                getattr(hasher.set_params(**after), method)(*few_digits)
            codes_after = hasher.set_params(**({"module": None} | before)).transform(
                few_digits[0]
            )
            np.testing.assert_array_equal(codes_after, codes)


def test_other_features_are_refused(few_digits):
    X, y = few_digits
    hasher = small(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=r"layer sizes from \[64, 8\] to \[63, 8\]"):
        hasher.fit(X[:, :63], y)
    with pytest.raises(ValueError, match="63 features"):
        hasher.partial_fit(X[:, :63], y)
    assert hasher.n_features_in_ == 64
