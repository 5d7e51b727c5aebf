"""What "auto" stands for, and which values are refused."""

import numpy as np
import pytest
import torch

from sklearn_talr import TALRHasher
from sklearn_talr.affinity import LabelAffinity, ThresholdAffinity
from sklearn_talr.hashing.training._data import TrainingData
from sklearn_talr.hashing.training._plan import plan_training
from sklearn_talr.losses import HashNetLoss, MutualInformationLoss, OrthoHashLoss
from sklearn_talr.losses._tie_aware import loss_of

MODULE = torch.nn.utils.skip_init(torch.nn.Linear, 64, 32)


def settings_of(hasher, n_samples=1000, affinity=None, n_features=64, **how):
    """Settings for data of which nothing matters but its size and its affinity."""
    X = np.empty((n_samples, n_features))
    affinity = affinity or LabelAffinity()
    data = TrainingData(X, None, affinity, levels=None)
    return plan_training(hasher, loss_of(hasher.loss), data, **how)


@pytest.mark.parametrize(
    ("params", "rate", "decay", "dropout"),
    [
        ({}, 0.025, 0.6, (0.0, 0.0)),
        ({"solver": "adam"}, 0.005, 0.6, (0.0, 0.0)),
        ({"hidden_layer_sizes": (9,)}, 0.014, 1.2, (0.2, 0.5)),
        ({"hidden_layer_sizes": 9, "solver": "adam"}, 0.005, 1.2, (0.2, 0.5)),
        ({"hidden_layer_sizes": (9, 9)}, 0.014, 0.8, (0.2, 0.5)),
        ({"hidden_layer_sizes": (9, 9, 9)}, 0.014, 0.6, (0.2, 0.5)),
        ({"module": MODULE}, 0.003, 0.01, (0.0, 0.0)),
        ({"module": MODULE, "solver": "adam_mini"}, 0.003, 0.01, (0.0, 0.0)),
    ],
)
def test_automatic_values_go_by_the_kind_of_function(params, rate, decay, dropout):
    settings = settings_of(TALRHasher(**params))
    assert settings.learning_rate_init == rate
    assert settings.weight_decay == pytest.approx(decay)
    assert settings.dropout == dropout
    # Distances leave nothing out, and are otherwise no different.
    by_distance = settings_of(TALRHasher(**params), affinity=ThresholdAffinity())
    assert by_distance.dropout == (0.0, 0.0)
    assert by_distance.n_kept_bits == tuple(range(33))
    assert by_distance.learning_rate_init == rate
    assert by_distance.weight_decay == pytest.approx(decay)


def test_linear_functions_of_few_features_do_not_decay_if_they_learn_from_labels():
    def decay(affinity=None, **params):
        return settings_of(TALRHasher(**params), 1000, affinity, 63).weight_decay

    assert decay() == 0 < decay(hidden_layer_sizes=9)
    assert decay(ThresholdAffinity()) == 0.6


def test_a_device_is_taken_where_it_pays(monkeypatch):
    for there, params, device in [
        (True, {}, "cpu"),
        (True, {"batch_size": 1024}, "cuda"),
        (True, {"hidden_layer_sizes": 9}, "cuda"),
        (True, {"module": MODULE}, "cuda"),
        (True, {"device": "cuda:1"}, "cuda:1"),
        (False, {"batch_size": 1024}, "cpu"),
    ]:
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert settings_of(TALRHasher(**params)).device == device


def test_a_module_has_another_solver_and_scale_than_built_in_layers():
    for params, solver, scale in [
        ({}, "adam_mini", 8.0),
        ({"hidden_layer_sizes": (9,)}, "adam_mini", 8.0),
        ({"module": MODULE}, "adam", 2.0),
        ({"module": MODULE, "solver": "adam_mini", "tanh_scale": 5.0}, "adam_mini", 5.0),
    ]:
        settings = settings_of(TALRHasher(**params))
        assert settings.solver == solver
        assert settings.tanh_scale == (scale, scale)


def test_given_values_are_taken_as_they_are():
    params = {"learning_rate_init": 0.1, "weight_decay": 0.0, "batch_size": 7}
    settings = settings_of(TALRHasher(hidden_layer_sizes=(4, 3), dropout=0.3, **params))
    assert {name: getattr(settings, name) for name in params} == params
    assert settings.layer_sizes == (4, 3)


def test_one_rate_of_dropout_is_that_of_the_hidden_units():
    for dropout, expected in [
        (0.5, (0.0, 0.5)),
        ((0.1, 0.5), (0.1, 0.5)),
        ([0.4], (0.0, 0.4)),
        (0, (0.0, 0.0)),
    ]:
        hasher = TALRHasher(hidden_layer_sizes=(9,), dropout=dropout)
        assert settings_of(hasher).dropout == expected
        assert settings_of(hasher, affinity=ThresholdAffinity()).dropout == expected


def test_kept_bits():
    for n_bits, layers, bit_dropout, n_kept in [
        (8, (), "auto", 8),
        (32, (), "auto", 16),
        (64, (), "auto", 23),
        (8, (9,), "auto", 8),
        (32, (9,), "auto", 24),
        (64, (9,), "auto", 34),
        (32, (), 0.25, 24),
        (32, (), 0.99, 1),
        (1, (), "auto", 1),
    ]:
        hasher = TALRHasher(n_bits, hidden_layer_sizes=layers, bit_dropout=bit_dropout)
        kept = settings_of(hasher).n_kept_bits
        assert len(kept) == n_bits + 1
        assert kept[n_bits] == n_kept
        assert all(1 <= number <= n for n, number in enumerate(kept[1:], start=1))
    assert settings_of(TALRHasher(module=MODULE)).n_kept_bits[32] == 24


def test_sizes_of_batches_and_of_what_is_held_out():
    for n_samples, early_stopping, size, n_held_out in [
        (200, False, 32, 0),
        (1000, False, 50, 0),
        (1000, True, 45, 100),
        (1001, True, 45, 101),  # rounded up
        (10**6, False, 256, 0),
    ]:
        settings = settings_of(TALRHasher(early_stopping=early_stopping), n_samples)
        assert (settings.batch_size, settings.n_held_out) == (size, n_held_out)
    for n_samples, size in [(100, 32), (1000, 200), (10**6, 512)]:
        settings = settings_of(TALRHasher(), n_samples, ThresholdAffinity())
        assert settings.batch_size == size


def test_scale_of_tanh():
    assert settings_of(TALRHasher(tanh_scale=3)).tanh_scale == (3.0, 3.0)
    assert settings_of(TALRHasher(loss=OrthoHashLoss())).tanh_scale is None
    hasher = TALRHasher(loss=MutualInformationLoss(), tanh_scale=(0.5, 4.0))
    assert settings_of(hasher).tanh_scale == (0.5, 4.0)
    hasher.n_iter_ = 2  # fitted
    assert settings_of(hasher).tanh_scale == (0.5, 4.0)
    assert settings_of(hasher.set_params(warm_start=True)).tanh_scale == (4.0, 4.0)


def test_a_chunk_is_one_epoch_at_the_first_rate_and_the_last_scale():
    hasher = TALRHasher(loss=MutualInformationLoss(), max_iter=7, tanh_scale=(0.5, 4.0))
    changed = {"max_iter": 1, "learning_rate": "constant", "tanh_scale": (4.0, 4.0)}
    chunk = settings_of(hasher, is_chunk=True)
    assert vars(chunk) == vars(settings_of(hasher)) | changed
    chunk = settings_of(TALRHasher(loss=OrthoHashLoss()), is_chunk=True)
    assert chunk.tanh_scale is None


def test_auto_is_what_the_loss_wants():
    """Whatever the kind of function is; a value that is given comes first."""

    class Loss:
        training_defaults = {"weight_decay": 0.25, "bit_dropout": 0.5, "batch_size": 7}

        def __call__(self, bits, affinity):
            raise AssertionError("is not called")

    for params in ({}, {"hidden_layer_sizes": 9}, {"module": MODULE}):
        settings = settings_of(TALRHasher(16, loss=Loss(), **params))
        assert (settings.weight_decay, settings.batch_size) == (0.25, 7)
        assert settings.n_kept_bits[16] == 8
        params |= {"weight_decay": 0.0, "bit_dropout": 0.0, "batch_size": 9}
        settings = settings_of(TALRHasher(16, loss=Loss(), **params))
        assert (settings.weight_decay, settings.batch_size) == (0.0, 9)
        assert settings.n_kept_bits[16] == 16


def test_bad_values_are_refused(few_digits):
    for hasher, message in [
        (TALRHasher(hidden_layer_sizes=(0,)), "hidden_layer_sizes"),
        (TALRHasher(hidden_layer_sizes=(2.5,)), "hidden_layer_sizes"),
        (TALRHasher(hidden_layer_sizes=[[2]]), "hidden_layer_sizes"),
        (TALRHasher(module=MODULE, hidden_layer_sizes=(4,)), "hidden_layer_sizes"),
        (TALRHasher(dropout=1.0), "dropout"),
        (TALRHasher(dropout="0.5"), "dropout"),
        (TALRHasher(dropout=(-0.1, 0.1)), "dropout"),
        (TALRHasher(dropout=(0.1, 1.0)), "dropout"),
        (TALRHasher(dropout=(0.1, 0.1, 0.1)), "dropout"),
        (TALRHasher(dropout=()), "dropout"),
        (TALRHasher(tanh_scale=None), "tanh_scale"),
        (TALRHasher(loss=HashNetLoss(), tanh_scale=(1.0, -1.0)), "tanh_scale"),
        (TALRHasher(loss=HashNetLoss(), tanh_scale=(1.0, 2.0, 3.0)), "tanh_scale"),
        (TALRHasher(loss=MutualInformationLoss(), tanh_scale=0.0), "tanh_scale"),
        (TALRHasher(device="toaster"), "device"),
        (TALRHasher(device="mps"), "device"),
    ]:
        with pytest.raises(ValueError, match=message):
            hasher.fit(*few_digits)
        assert not hasattr(hasher, "n_features_in_")
