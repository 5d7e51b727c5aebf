"""Hash functions in training: dropout, and modules of one's own."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hashers import small
from sklearn import config_context

from sklearn_talr.hashing.training._modules import SeededDropout


class TestDropout:
    def test_fraction_and_scale(self):
        layer = SeededDropout(0.3, torch.Generator().manual_seed(0))
        dropped = layer(torch.ones(1000, 50))
        assert torch.mean((dropped == 0).float()) == pytest.approx(0.3, abs=0.01)
        assert dropped.max() == pytest.approx(1 / 0.7)
        assert torch.equal(layer.eval()(torch.ones(3, 2)), torch.ones(3, 2))

    @pytest.mark.usefixtures("engine")
    def test_is_seeded_and_changes_training(self, few_digits):
        def activations(dropout):
            hasher = small(hidden_layer_sizes=(16,), dropout=dropout).fit(*few_digits)
            return hasher.decision_function(few_digits[0])

        torch.rand(3)
        before = torch.get_rng_state()
        first = activations((0.2, 0.5))
        assert torch.equal(torch.get_rng_state(), before)
        np.testing.assert_array_equal(first, activations((0.2, 0.5)))
        assert np.abs(first - activations(0.0)).max() > 1e-3


class Network(torch.nn.Module):
    """A module with buffers and layers that behave differently in training."""

    def __init__(self, n_features=64, n_bits=8):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.layers = torch.nn.Sequential(
                torch.nn.BatchNorm1d(n_features),
                torch.nn.Linear(n_features, 32),
                torch.nn.Tanh(),
                torch.nn.Dropout(0.2),
                torch.nn.Linear(32, n_bits),
            )

    def forward(self, X):
        return self.layers(X)


class Ending(torch.nn.Module):
    """A layer of 8 bits, and what a function makes of its activations."""

    def __init__(self, function):
        super().__init__()
        self.layer, self.function = torch.nn.Linear(64, 8), function

    def forward(self, X):
        return self.function(self.layer(X))


class InHalfPrecision(torch.nn.Module):
    """A layer whose weights are in bfloat16, and its activations in float32."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 8, dtype=torch.bfloat16)

    def forward(self, X):
        return self.layer(X.bfloat16()).float()


class OfTokens(torch.nn.Module):
    """The mean of vectors of 17 tokens, which a function makes of the features."""

    def __init__(self, function):
        super().__init__()
        self.vectors, self.function = torch.nn.EmbeddingBag(17, 8), function

    def forward(self, X):
        return self.vectors(self.function(X))


class TestModule:
    def fitted(self, X, y, **params):
        defaults = {"module": Network(), "weight_decay": 0.0, "max_iter": 5}
        return small(**(defaults | params)).fit(X, y)

    @pytest.mark.parametrize("module", [Network, "Network", lambda X: X])
    def test_it_must_be_one(self, module, few_digits):
        with pytest.raises(
            ValueError, match=r"'module' .* an instance of 'torch\.nn\.Module'"
        ):
            self.fitted(*few_digits, module=module)

    def test_the_given_module_is_left_alone(self, few_digits):
        module = Network()
        before = {name: value.clone() for name, value in module.state_dict().items()}
        module.eval()
        hasher = self.fitted(*few_digits, module=module)
        assert hasher.module is module
        assert not module.training
        for name, value in module.state_dict().items():
            assert torch.equal(value, before[name])

    def test_fitted_state_is_numpy_and_activations_are_the_modules(self, few_digits):
        X, y = few_digits
        hasher = self.fitted(X, y)
        state = hasher.module_state_
        assert all(type(value) is np.ndarray for value in state.values())
        assert not hasattr(hasher, "coefs_")
        module = Network().eval()
        module.load_state_dict({name: torch.tensor(v) for name, v in state.items()})
        with torch.no_grad():
            expected = module(torch.tensor(X, dtype=torch.float32)).numpy()
        activations = hasher.decision_function(X)
        assert activations.dtype == np.float32
        np.testing.assert_allclose(activations, expected, rtol=1e-5, atol=1e-6)
        with config_context(working_memory=1000 / 2**20):
            blocks = hasher.decision_function(sp.csr_array(X))
        np.testing.assert_allclose(blocks, expected, rtol=1e-5, atol=1e-6)
        # Batch norm counts the batches of training, and of nothing else.
        assert state["layers.0.num_batches_tracked"] == 5 * 5

    def test_same_seed_same_codes_and_global_generators(self, few_digits):
        X, y = few_digits
        before = torch.get_rng_state()
        first = self.fitted(X, y).decision_function(X)
        assert torch.equal(torch.get_rng_state(), before)
        torch.rand(3)
        np.testing.assert_array_equal(first, self.fitted(X, y).decision_function(X))
        other = self.fitted(X, y, random_state=1).decision_function(X)
        assert np.abs(first - other).max() > 1e-3

    def test_early_stopping_warm_start_and_chunks(self, few_digits):
        X, y = few_digits
        # Enough epochs for the means of batch normalization to settle.
        params = {"early_stopping": True, "validation_fraction": 0.2, "max_iter": 15}
        hasher = self.fitted(X, y, **params)
        assert len(hasher.validation_scores_) == 15
        hasher.set_params(early_stopping=False, warm_start=True, learning_rate_init=1e-12)
        before = hasher.score(X, y)
        hasher.fit(X, y).partial_fit(X, y)
        assert hasher.n_iter_ == 31
        assert hasher.score(X, y) == pytest.approx(before, abs=0.02)

    def test_sparse_features(self, few_digits):
        X, y = few_digits
        dense = self.fitted(X, y)
        sparse = self.fitted(sp.csr_array(X), y)
        np.testing.assert_array_equal(sparse.transform(sp.csr_array(X)), dense.transform(X))

    @pytest.mark.parametrize(
        ("module", "message"),
        [
            (Network(n_bits=7), r"module must .* \(2, 8\), got shape \(2, 7\)"),
            (Network(n_features=63), r"module fails on .* \(2, 64\) .* as many features"),
            (Network().double(), r"module fails on features .* module\.float\(\)"),
            (Ending(lambda a: a > 0), r"activations, .* got torch\.bool"),
            (Ending(torch.Tensor.int), r"activations, .* got torch\.int32"),
            (Ending(torch.Tensor.bfloat16), r"activations, .* got torch\.bfloat16"),
            (Ending(lambda a: (a, a)), "activations, .* got tuple"),
            (Ending(torch.detach), "module has nothing to learn"),
            (torch.nn.AvgPool1d(8), "module has nothing to learn"),
        ],
    )
    def test_bad_modules(self, few_digits, module, message):
        with pytest.raises(ValueError, match=message):
            self.fitted(*few_digits, module=module)

    def test_activations_of_other_precisions(self, few_digits):
        for change in (torch.Tensor.double, torch.Tensor.half):
            hasher = self.fitted(*few_digits, module=Ending(change), max_iter=1)
            assert hasher.transform(few_digits[0]).shape == (300, 8)

    def test_weights_that_numpy_has_no_type_for(self, few_digits):
        X, y = few_digits
        hasher = self.fitted(X, y, module=InHalfPrecision(), max_iter=2)
        assert hasher.module_state_["layer.weight"].dtype == np.float32
        loaded = pickle.loads(pickle.dumps(hasher))
        np.testing.assert_array_equal(loaded.transform(X), hasher.transform(X))
        assert hasher.partial_fit(X, y).partial_fit(X, y).n_iter_ == 4

    @pytest.mark.filterwarnings("ignore:Training has")  # the vectors are drawn anew
    def test_token_ids(self, few_digits):
        ids, y = few_digits[0].astype(int), few_digits[1]
        with pytest.raises(ValueError, match=r"x\.long\(\)"):
            self.fitted(ids, y, module=OfTokens(lambda x: x))
        for lacking in (-1, 17):  # in one row, which no first batch may hold
            wrong = ids.copy()
            wrong[57, 2] = lacking
            for form in (np.asarray, sp.csr_array):
                with pytest.raises(ValueError, match=r"module .* more entries"):
                    self.fitted(form(wrong), y, module=OfTokens(torch.Tensor.long))
        hasher = self.fitted(ids, y, module=OfTokens(torch.Tensor.long), max_iter=1)
        np.testing.assert_array_equal(
            hasher.transform(ids), hasher.transform(ids.astype(float))
        )
        with pytest.raises(ValueError, match=r"module fails on X: .* map them"):
            hasher.transform(wrong)

    @pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, sp.csr_array])
    def test_integers_that_float32_would_round_are_refused(self, form, few_digits):
        X, y = few_digits
        hasher = self.fitted(X, y, max_iter=1)
        ids = X.astype(int)
        ids[3, 2] = 2**24
        assert hasher.transform(form(ids)).shape == (300, 8)
        for large in (2**24 + 1, -(2**24) - 1):
            ids[3, 2] = large
            for ask in (hasher.transform, lambda rows: hasher.fit(rows, y)):
                with pytest.raises(ValueError, match=r"X has integers .*np\.unique"):
                    ask(form(ids))

    def test_a_module_that_has_changed_since_the_fit(self, few_digits):
        hasher = self.fitted(*few_digits).set_params(module=torch.nn.Linear(64, 8))
        with pytest.raises(ValueError, match="module has changed since it was fitted"):
            hasher.transform(few_digits[0])

    def test_cold_fit_may_change_to_and_fro(self, few_digits):
        hasher = self.fitted(*few_digits).set_params(module=None).fit(*few_digits)
        assert not hasattr(hasher, "module_state_")
        hasher.set_params(module=Network()).fit(*few_digits)
        assert not hasattr(hasher, "coefs_")
