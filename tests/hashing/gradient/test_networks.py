"""Networks of a user's own: as good as by hand, and of all kinds."""

import pickle
import warnings
from functools import partial

import numpy as np
import pytest
import torch
from hashers import mean_ap, small
from sklearn.base import clone
from torch import nn

from sklearn_talr import TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.losses import TieAwareLoss

N_BITS, N_EPOCHS = 32, 12
# Of networks of three kinds one tells each time whether the defaults train
SLOWLY = partial(pytest.param, marks=pytest.mark.slow)


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def convolutional(normalize):
    def block(n_inputs, n_outputs):
        convolution = nn.Conv2d(n_inputs, n_outputs, 3, stride=2, padding=1)
        norm = [nn.BatchNorm2d(n_outputs)] if normalize else []
        return [convolution, *norm, nn.ReLU()]

    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        *block(1, 16),
        *block(16, 32),
        nn.Flatten(),
        nn.Linear(128, N_BITS),
    )


PLAIN, NORMALIZED = (partial(convolutional, normalize) for normalize in (False, True))


class Attention(nn.Module):
    """A layer of a transformer over the lines of an image."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(8, 32)
        self.place = nn.Parameter(0.02 * torch.randn(8, 32))
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True)
        self.head = nn.Linear(32, N_BITS)

    def forward(self, X):
        tokens = self.embed(X.unflatten(1, (8, 8))) + self.place
        return self.head(self.layer(tokens).mean(1))


def train_by_hand(network, X, y):
    """A loop of one's own, with a scale of tanh that rises."""
    X, y = torch.from_numpy(X), torch.from_numpy(y)
    loss = TieAwareLoss(bit_dropout=0.5)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, N_EPOCHS)
    for epoch in range(N_EPOCHS):
        loss.tanh_scale = 8 ** (epoch / (N_EPOCHS - 1))
        for batch in torch.randperm(len(X)).tensor_split(len(X) // 45):
            value = loss(network(X[batch]), y[batch])
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
        schedule.step()
    return network


def score(network, X, y):
    """Tie-aware AP of the codes of a network as it is."""
    with torch.no_grad():
        codes = (network.eval()(torch.from_numpy(X)) > 0).numpy().astype(np.uint8)
    return mean_ap(hamming_histogram(codes, codes, "auto", y, y, exclude_self=True))


@pytest.mark.parametrize(
    "make",
    [SLOWLY(PLAIN), NORMALIZED, SLOWLY(Attention)],
    ids=["convolutions", "normalized", "attention"],
)
def test_defaults_are_no_worse_than_a_loop_by_hand(digits, make, learned):
    X, y = digits[0].astype(np.float32) / 16, digits[1].copy()
    torch.manual_seed(learned.seed)
    network = make()
    params = {"max_iter": N_EPOCHS, "random_state": learned.seed}
    hasher = TALRHasher(N_BITS, module=network, **params)
    found = hasher.fit(X[:900], y[:900]).score(X[900:], y[900:])
    start = score(network, X[900:], y[900:])
    by_hand = score(train_by_hand(network, X[:900], y[:900]), X[900:], y[900:])
    learned.gain(found - start)
    learned.gain((found - start) / (by_hand - start), "in relation to the loop")


class Embedded(nn.Module):
    """Grays as words, whose buffers are not all kept and not all finite."""

    def __init__(self):
        super().__init__()
        self.words, self.layer = nn.Embedding(17, 4), nn.Linear(256, 8)
        self.register_buffer("least", torch.full((8,), -torch.inf))
        self.register_buffer("one", torch.ones(1), persistent=False)

    def forward(self, X):
        return self.layer(self.one * self.words(X.long()).flatten(1)).maximum(self.least)


class Tied(nn.Module):
    """Two layers of the same weight, and activations of float64."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(64, 64, bias=False)
        self.last = nn.Linear(64, 8)
        self.second.weight = self.first.weight

    def forward(self, X):
        return self.last(self.second(self.first(X / 16).relu()).relu()).double()


class Lazy(nn.Sequential):
    """Layers that learn their sizes from the first features."""

    def __init__(self):
        super().__init__(nn.LazyLinear(16), nn.Tanh(), nn.LazyLinear(8))


@pytest.mark.parametrize("make", [Embedded, Tied, Lazy])
def test_networks_of_many_kinds_learn(few_digits, make, learned):
    X, y = few_digits
    params = {"max_iter": 10, "learning_rate_init": 0.01, "random_state": learned.seed}
    hasher = small(module=make(), **params).fit(X, y)
    early = clone(hasher).set_params(max_iter=1, learning_rate_init=1e-12).fit(X, y)
    learned.gain(hasher.score(X, y) - early.score(X, y))
    loaded = pickle.loads(pickle.dumps(hasher))
    np.testing.assert_array_equal(loaded.transform(X), hasher.transform(X))
    again = clone(hasher).fit(X, y)
    np.testing.assert_array_equal(again.transform(X), hasher.transform(X))
    hasher.set_params(warm_start=True, learning_rate_init=1e-12).fit(X, y)
    np.testing.assert_array_equal(again.transform(X), hasher.transform(X))


def test_weights_that_are_shared_stay_shared(few_digits):
    state = small(module=Tied()).fit(*few_digits).module_state_
    np.testing.assert_array_equal(state["first.weight"], state["second.weight"])


def test_frozen_layers_neither_learn_nor_decay_nor_take_statistics(few_digits):
    normalized = nn.Sequential(nn.Linear(64, 16), nn.BatchNorm1d(16)).requires_grad_(False)
    module = nn.Sequential(normalized, nn.Dropout(0.2), nn.Linear(16, 8))
    params = {"early_stopping": True, "validation_fraction": 0.2}  # to and fro
    state = small(module=module, weight_decay=1.0, **params).fit(*few_digits).module_state_
    for name, value in module.state_dict().items():
        same = np.array_equal(state[name], value.numpy())
        assert same == name.startswith("0."), name


def test_vectors_do_not_decay(few_digits):
    module = nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 8))
    params = {"learning_rate_init": 1e-9, "weight_decay": 1e8, "max_iter": 1}
    state = small(module=module, **params).fit(*few_digits).module_state_
    np.testing.assert_allclose(state["0.weight"], 1.0, atol=1e-6)
    largest = module[1].weight.abs().max().item()
    assert np.abs(state["1.weight"]).max() < 0.9 * largest
    np.testing.assert_allclose(state["1.bias"], module[1].bias.detach(), atol=1e-6)


@pytest.mark.parametrize("n_rows", [3, 65, 129])
def test_no_batch_is_of_one_sample(few_digits, n_rows):
    """Batch normalization fails on those, and they rank nothing."""
    sizes = []
    module = nn.Sequential(nn.BatchNorm1d(64), nn.Linear(64, 8))
    module.register_forward_pre_hook(
        lambda network, given: sizes.append(len(given[0])) if network.training else None
    )
    X = few_digits[0][:n_rows]
    params = {"batch_size": 2, "max_iter": 2, "learning_rate_init": 1e-6}
    with warnings.catch_warnings(action="ignore"):  # three rows tell little
        small(module=module, **params).fit(X, np.arange(n_rows) % 2)
    assert sum(sizes) == 2 * n_rows
    assert set(sizes) <= {2, 3}
