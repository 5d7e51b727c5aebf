"""The same under schedulers with processes of their own, whose workers may die."""

import os
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from local_ray import local_ray
from numpy.testing import assert_array_equal

from sklearn_talr import HammingNeighbors, ITQHasher
from sklearn_talr.codes import PackedCodes, concatenate_codes
from sklearn_talr.dask import encode, hamming_histogram, index, kneighbors, radius_neighbors
from sklearn_talr.histogram import hamming_histogram as count_in_memory

pytestmark = pytest.mark.cluster

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 12))
Y = RNG.integers(4, size=400)
HASHER = ITQHasher(6, random_state=0).fit(X)
CODES = HASHER.encode(X)
QUERIES = slice(0, 20)


def features():
    return da.from_array(X, chunks=(60, 12))


def blocks_of(data):
    """Delayed codes of the blocks of a dask array of bytes."""
    return [dask.delayed(PackedCodes)(block, 6) for block in data.to_delayed().ravel()]


def database():
    return blocks_of(da.from_array(CODES.data, chunks=(60, 1)))


def data_of(codes):
    return concatenate_codes(dask.compute(*codes)).data


def nearest(codes):
    return found_nearest(index(HammingNeighbors(), codes))


def found_nearest(indexed):
    return np.array(kneighbors(CODES[QUERIES], indexed, 9))


def within(codes):
    found = radius_neighbors(CODES[QUERIES], index(HammingNeighbors(), codes), 1)
    return np.concatenate([np.concatenate(each) for each in found])


def table(codes):
    return hamming_histogram(CODES[QUERIES], codes, "auto", Y[QUERIES], Y).counts


def expected():
    neighbors = HammingNeighbors(n_neighbors=9, radius=1).fit(CODES)
    lists = neighbors.radius_neighbors(CODES[QUERIES])
    return {
        nearest: np.array(neighbors.kneighbors(CODES[QUERIES])),
        within: np.concatenate([np.concatenate(each) for each in lists]),
        table: count_in_memory(CODES[QUERIES], CODES, "auto", Y[QUERIES], Y).counts,
    }


@pytest.fixture(scope="module")
def cluster():
    """Two processes, which are started again when they die."""
    distributed = pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster) as client:
        try:
            client.wait_for_workers(2, timeout=60)
        except TimeoutError:  # a busy machine has not started a killed worker again
            cluster.scale(len(cluster.workers) + 1)
            client.wait_for_workers(2, timeout=60)
        yield client


class Killer:
    """Kills the first worker that begins a task of a kind, once."""

    def __init__(self, task, folder):
        self.task, self.folder = task, folder
        self.name = f"killer of {task}"

    def setup(self, worker):
        pass

    def teardown(self, worker):
        pass

    def transition(self, key, start, finish, **kwargs):
        if finish == "executing" and self.task in str(key):
            try:
                (self.folder / "killed").mkdir()
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def killing(client, task, folder):
    from distributed.diagnostics.plugin import WorkerPlugin

    kind = type("WorkerKiller", (Killer, WorkerPlugin), {})
    plugin = kind(task, Path(folder))
    client.register_plugin(plugin)
    yield
    client.unregister_worker_plugin(plugin.name)
    assert (folder / "killed").exists()


def test_a_cluster_finds_what_one_machine_finds(client):
    codes = dask.persist(*encode(HASHER, features()))
    assert_array_equal(data_of(codes), CODES.data)
    for question, answer in expected().items():
        assert_array_equal(question(codes), answer)


def test_workers_keep_their_blocks_indexed(client):
    indexed = index(HammingNeighbors(), database())
    found = found_nearest(indexed)
    held = {str(key) for keys in client.has_what().values() for key in keys}
    assert sum(key.startswith("_fit_block") for key in held) == 7
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn_talr.dask._neighbors._fit_block", None)
        assert_array_equal(found_nearest(indexed), found)
    assert_array_equal(found, expected()[nearest])


@pytest.mark.parametrize(
    ("task", "ask"),
    [("_count_block", table), ("_fit_block", nearest), ("_search_block", within)],
)
def test_a_worker_is_killed_on_the_way(task, ask, client, tmp_path):
    with killing(client, task, tmp_path):
        assert_array_equal(ask(database()), expected()[ask])


def test_a_worker_is_killed_with_its_index(client):
    indexed = index(HammingNeighbors(), database())
    found_nearest(indexed)
    victim = next(iter(client.run(os.getpid).values()))
    os.kill(victim, signal.SIGKILL)
    assert_array_equal(found_nearest(indexed), expected()[nearest])


def deadly(array, folder):
    """The same array; one of its blocks kills who computes it, once."""

    def compute(block):
        if block.size:
            try:
                folder.mkdir()
            except FileExistsError:
                return block
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    return array.map_blocks(compute, dtype=array.dtype, meta=np.zeros((0, 0), array.dtype))


@pytest.mark.slow  # test_backends.py has a short one of Ray
def test_ray_and_its_workers_that_die(tmp_path):
    pytest.importorskip("pyarrow")  # ray.util.dask needs it
    pytest.importorskip("ray")
    from ray.util.dask import ray_dask_get

    with local_ray(), dask.config.set(scheduler=ray_dask_get):
        dying = deadly(features(), tmp_path / "encode")
        assert_array_equal(data_of(encode(HASHER, dying)), CODES.data)
        for question, answer in expected().items():
            data = da.from_array(CODES.data, chunks=(60, 1))
            codes = blocks_of(deadly(data, tmp_path / question.__name__))
            for _ in range(2):
                assert_array_equal(question(codes), answer)
    found = {path.name for path in tmp_path.iterdir()}
    assert found == {"encode", "nearest", "table", "within"}
