"""Backends of joblib: our loops share memory, so all give what a serial run gives."""

from contextlib import contextmanager, nullcontext

import joblib
import numpy as np
import pytest
from local_ray import local_ray
from numpy.testing import assert_array_equal

from sklearn_talr.codes import pack_codes
from sklearn_talr.hashing import ITQHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.metrics import make_retrieval_scorer
from sklearn_talr.neighbors import HammingNeighbors

pytestmark = pytest.mark.cluster


@contextmanager
def dask_cluster():
    distributed = pytest.importorskip("distributed")
    how = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with distributed.Client(dashboard_address=None, **how):
        yield


@contextmanager
def ray_cluster():
    pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    register_ray()
    with local_ray():
        yield


CLUSTERS = {"dask": dask_cluster, "ray": ray_cluster}


def answers(n_jobs):
    """What all functions say that have loops of their own."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 16)), rng.integers(5, size=600)
    several = rng.integers(2, size=(600, 6))
    hasher = ITQHasher(8, random_state=0).fit(X)
    codes = hasher.transform(X)
    neighbors = HammingNeighbors(n_jobs=n_jobs).fit(pack_codes(codes))
    options = {"exclude_self": True, "n_jobs": n_jobs}
    return [
        hamming_histogram(codes, codes, "auto", y, y, **options).counts,
        hamming_histogram(codes, codes, "auto", several, several, **options).counts,
        hasher.score(X, y),
        make_retrieval_scorer("nDCG@10")(hasher, X, several),
        *neighbors.kneighbors(codes, 5),
    ]


@pytest.fixture(scope="module")
def serial():
    return answers(None)


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing", "dask", "ray"])
def test_every_backend_gives_what_a_serial_run_gives(backend, serial):
    with CLUSTERS.get(backend, nullcontext)(), joblib.parallel_config(backend, n_jobs=2):
        for n_jobs in (None, 2):
            for found, expected in zip(answers(n_jobs), serial):
                assert_array_equal(found, expected)


def test_who_prefers_processes_gets_threads_too():
    codes, y = np.eye(9, dtype=int), np.arange(9) % 3
    expected = hamming_histogram(codes, codes, "auto", y, y).counts
    with joblib.parallel_config(prefer="processes"):
        found = hamming_histogram(codes, codes, "auto", y, y, n_jobs=2).counts
    assert_array_equal(found, expected)
