"""Quality of the defaults on the benchmark sets: what the project promises of them."""

import os
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hashers import LOSSES, name_of

from sklearn_talr.baselines import BREHasher, FastHasher, MACHasher, StructHasher
from sklearn_talr.hashing import ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP, nDCG

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("SKLEARN_TALR_DATA"),
        reason="SKLEARN_TALR_DATA does not name the folder of the benchmark files",
    ),
]


@pytest.fixture(autouse=True)
def path_of_benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))


def held_out(hasher, metric, name, seed, leading=None):
    """Mean metric of held-out queries against the database, by all or leading bits."""
    data = import_module("benchmark_sets").load_benchmark(name, seed)
    if "affinity" in hasher.get_params():
        hasher.set_params(affinity=data.affinity)
    hasher.set_params(random_state=seed).fit(data.X_train, data.y_train)
    histogram = hamming_histogram(
        hasher.transform(data.X_query)[:, :leading],
        hasher.transform(data.X_database)[:, :leading],
        data.affinity,
        data.y_query,
        data.y_database,
    )
    return np.nanmean(metric.of(histogram))


def mean_of_seeds(hasher, metric, name, leading=None):
    seeds = (0, 1, 2)
    return np.mean([held_out(hasher, metric, name, seed, leading) for seed in seeds])


@pytest.mark.parametrize(
    ("name", "least"), [("cifar10", 0.63), ("coco17", 0.57), ("tmc2007", 0.695)]
)
def test_average_precision_of_the_defaults(name, least):
    assert mean_of_seeds(TALRHasher(), AP, name) >= least


@pytest.mark.parametrize("name", ["cifar10", "coco17"])
def test_longer_codes_are_better(name):
    short, long = (mean_of_seeds(TALRHasher(n_bits), AP, name) for n_bits in (32, 64))
    assert long > short + 0.01


@pytest.mark.parametrize(
    ("name", "least"), [("cifar10", 0.0), ("coco17", 0.0), ("tmc2007", -0.01)]
)
def test_hidden_layers_keep_up_with_linear_functions(name, least):
    linear, hidden = (
        mean_of_seeds(hasher, AP, name)
        for hasher in (TALRHasher(), TALRHasher(hidden_layer_sizes=(512,)))
    )
    assert hidden >= linear + least


def test_ndcg_of_distances_beats_itq():
    talr = mean_of_seeds(TALRHasher(loss="nDCG"), nDCG, "scenes")
    itq = mean_of_seeds(ITQHasher(), nDCG, "scenes")
    assert talr >= itq + 0.008


@pytest.mark.parametrize("n_bits", [16, 32])
def test_leading_bits_of_nested_codes_keep_up_with_separate_fits(n_bits):
    separate = mean_of_seeds(TALRHasher(n_bits), AP, "cifar10")
    nested = TALRHasher(64, nested=True)
    leading = mean_of_seeds(nested, AP, "cifar10", n_bits)
    assert leading >= separate - 0.015


@pytest.mark.parametrize("loss", LOSSES, ids=name_of)
def test_losses_of_other_papers_beat_random_hyperplanes_by_far(loss):
    trained, random = (
        held_out(hasher, AP, "cifar10", 0)
        for hasher in (TALRHasher(loss=loss), LSHHasher())
    )
    assert trained >= random + 0.35


def test_bre_beats_random_hyperplanes_and_itq():
    bre, itq, random = (
        held_out(hasher, AP, "cifar10", 0)
        for hasher in (BREHasher(), ITQHasher(), LSHHasher())
    )
    assert bre > itq + 0.05
    assert itq > random + 0.1


@pytest.mark.parametrize("cls", [FastHasher, MACHasher, StructHasher])
def test_older_methods_beat_random_hyperplanes_by_far(cls):
    learned, random = (
        held_out(hasher, AP, "cifar10", 0) for hasher in (cls(n_samples=2000), LSHHasher())
    )
    assert learned >= random + 0.25
