"""Hashers and arrays of other libraries: results live where the features do."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from array_cases import cuda_only, every_library
from hashers import GRADIENT, HASHERS, name_of, small
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_array_api_input

from sklearn_talr import ITQHasher, TALRHasher
from sklearn_talr.baselines import FastHasher
from sklearn_talr.codes import PackedCodes, pack_codes
from sklearn_talr.hashing import AdditiveHasher, CrossViewHasher
from sklearn_talr.hashing._base import check_features
from sklearn_talr.losses import MutualInformationLoss, OrthoHashLoss

IN_NUMPY = AdditiveHasher | CrossViewHasher | FastHasher
FOLLOWING = [h for h in HASHERS if not isinstance(h, IN_NUMPY)]
REFUSING = [h for h in HASHERS if isinstance(h, IN_NUMPY)]
LAYERS = TALRHasher(8, max_iter=2, hidden_layer_sizes=5, random_state=0)

pytestmark = pytest.mark.usefixtures("dispatching")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 3
    return rng.normal(size=(80, 12)) + y[:, None], y


def with_module(**params):
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(12, 5), torch.nn.ReLU(inplace=True), torch.nn.Linear(5, 8)
    )
    return TALRHasher(8, module=module, max_iter=2, random_state=0, **params)


@pytest.mark.parametrize("hasher", HASHERS, ids=name_of)
def test_the_tag_tells_who_follows(hasher):
    assert get_tags(hasher).array_api_support == (hasher in FOLLOWING)


@every_library
@pytest.mark.parametrize("hasher", [ITQHasher(8, random_state=0), LAYERS], ids=name_of)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_scikit_learns_check(hasher, library, dtype):
    library.array([0])  # skips where there is none
    device = "cuda" if "cuda" in str(vars(library)) else None
    with config_context(array_api_dispatch=False):
        check_array_api_input("", hasher, library.name, device, dtype, check_values=True)


@every_library
@pytest.mark.parametrize("hasher", [*FOLLOWING, LAYERS, with_module()], ids=name_of)
def test_results_live_where_features_do(hasher, library, data):
    """Whatever the hasher was fitted to."""
    X, y = data
    hasher = clone(hasher).set_params(random_state=0).fit(X, y)
    for dtype in (np.float64, np.float32):
        rows, given = X.astype(dtype), library.array(X, dtype)
        expected = hasher.decision_function(rows)
        found = library.numpy(hasher.decision_function(given), given)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        codes = library.numpy(hasher.transform(given), given)
        assert codes.dtype == np.uint8
        sure = np.abs(expected) > 1e-5  # no other device or library rounds so far
        np.testing.assert_array_equal(codes[sure], hasher.transform(rows)[sure])
        weights = library.numpy(hasher.query_weights(given), given)
        np.testing.assert_allclose(weights, hasher.query_weights(rows), 1e-4, 1e-5)
        packed = hasher.encode(given)
        assert type(packed) is PackedCodes
        np.testing.assert_array_equal(packed.data, pack_codes(codes).data)
    score = hasher.score(library.array(X), library.array(y))
    assert type(score) is float
    assert score == pytest.approx(hasher.score(X, y), abs=1e-3)


@every_library
@pytest.mark.parametrize(
    "hasher",
    [
        ITQHasher(8),
        LAYERS,
        TALRHasher(8, loss=MutualInformationLoss(), max_iter=2),
        TALRHasher(8, loss=OrthoHashLoss(), max_iter=2),
    ],
)
def test_fitting_arrays_is_fitting_numpy(hasher, library, data):
    X, y = data
    hasher = clone(hasher).set_params(random_state=0)
    expected = clone(hasher).fit(X, y).transform(X)
    fitted = clone(hasher).fit(library.array(X), library.array(y))
    np.testing.assert_array_equal(fitted.transform(X), expected)
    again = pickle.loads(pickle.dumps(fitted))
    for array in (*again.coefs_, *again.intercepts_):
        assert type(array) is np.ndarray
    with config_context(array_api_dispatch=False):
        undispatched = clone(hasher).fit(X, y)
    np.testing.assert_array_equal(undispatched.transform(X), expected)


def test_tensors_on_the_cpu_are_not_copied(data):
    tensor = torch.tensor(data[0], requires_grad=True)
    for rows in (tensor, tensor.float()):
        checked, _ = check_features(small(), rows)
        assert np.shares_memory(checked, rows.detach().numpy())


@every_library
@pytest.mark.parametrize("hasher", REFUSING, ids=name_of)
def test_others_refuse(hasher, library, data):
    X, y = data
    fitted = clone(hasher).fit(X, y)
    for call in (fitted.transform, fitted.decision_function, lambda X: fitted.fit(X, y)):
        with pytest.raises(ValueError, match=r"computes in NumPy.* of .*X\.numpy\(force=T"):
            call(library.array(X))
    np.testing.assert_array_equal(fitted.transform(sp.csr_array(X)), fitted.transform(X))


def test_without_dispatch_everything_is_in_numpy(data):
    X, y = data
    with config_context(array_api_dispatch=False):
        hasher = small().fit(torch.tensor(X), torch.tensor(y))
        codes = hasher.transform(torch.tensor(X))
        assert isinstance(codes, np.ndarray)
        np.testing.assert_array_equal(codes, small().fit(X, y).transform(X))


@pytest.mark.filterwarnings("ignore:Training has")  # few epochs
@pytest.mark.parametrize("hasher", [small(), LAYERS, with_module()])
@pytest.mark.parametrize("by_distance", [False, True])
def test_training_where_tensors_are(hasher, by_distance, data, monkeypatch):
    """What is done on a CUDA device, done on the CPU."""
    X, y = data[0], None if by_distance else data[1]
    hasher = clone(hasher).set_params(device="cpu")
    expected = clone(hasher).fit(X, y).decision_function(X)
    in_place = lambda hasher, space: space.is_torch  # noqa: E731
    monkeypatch.setattr(TALRHasher, "_trains_in", in_place)
    checked, _ = check_features(hasher, torch.tensor(X))
    assert isinstance(checked, torch.Tensor)
    found = clone(hasher).fit(torch.tensor(X), y).decision_function(X)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
    if not by_distance:
        params = {"early_stopping": True, "random_state": 0}
        stopped = clone(hasher).set_params(**params).fit(torch.tensor(X), y)
        held_out = clone(hasher).set_params(**params).fit(X, y)
        assert stopped.validation_scores_ == held_out.validation_scores_
        stopped.fit(torch.tensor(X), y, X_val=torch.tensor(X), y_val=y)
        stopped.fit(torch.tensor(X), y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="X is constant"):
        clone(hasher).fit(torch.ones(80, 12), y)


@pytest.mark.parametrize("device", ["auto", "cuda", "cpu"])
@pytest.mark.parametrize("hasher", [small(), LAYERS, with_module()])
@cuda_only
def test_fitting_tensors_of_a_cuda_device(hasher, device, data):
    X, y = data
    hasher = clone(hasher).set_params(device=device)
    rows = torch.tensor(X, device="cuda")
    checked, _ = check_features(hasher, rows)
    assert isinstance(checked, np.ndarray if device == "cpu" else torch.Tensor)
    found = hasher.fit(rows, torch.tensor(y, device="cuda")).decision_function(X)
    expected = clone(hasher).fit(X, y).decision_function(X)
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("hasher", GRADIENT, ids=name_of)
@cuda_only
def test_every_loss_trains_on_a_cuda_device(hasher, data):
    X, y = data
    params = {"max_iter": 20, "random_state": 0}
    scores = [
        clone(hasher).set_params(**params, device=device).fit(X, y).score(X, y)
        for device in ("cpu", "cuda")
    ]
    assert scores[0] == pytest.approx(scores[1], abs=0.05)
