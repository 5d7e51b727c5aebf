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
from sklearn_talr.dask import (
    DaskCodes,
    encode,
    hamming_histogram,
    kneighbors,
    radius_neighbors,
)
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


def database():
    return DaskCodes(da.from_array(CODES.data, chunks=(60, 1)), 6)


def nearest(codes):
    return np.array(kneighbors(CODES[QUERIES], codes, 9))


def within(codes):
    found = radius_neighbors(CODES[QUERIES], codes, 1)
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
        client.wait_for_workers(2)
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
    codes = encode(HASHER, features()).persist()
    assert_array_equal(codes.compute().data, CODES.data)
    for question, answer in expected().items():
        assert_array_equal(question(codes), answer)


def test_workers_keep_their_blocks_indexed(client):
    codes = database()
    assert_array_equal(nearest(codes), expected()[nearest])
    held = {str(key) for keys in client.has_what().values() for key in keys}
    assert sum(key.startswith("_index_block") for key in held) == 7
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sklearn_talr.dask._codes._index_block", None)
        assert_array_equal(nearest(codes), expected()[nearest])
        assert_array_equal(within(codes), expected()[within])


@pytest.mark.parametrize(
    ("task", "ask"),
    [("_count_block", table), ("_nearest", nearest), ("_within", within)],
)
def test_a_worker_is_killed_on_the_way(task, ask, client, tmp_path):
    with killing(client, task, tmp_path):
        assert_array_equal(ask(database()), expected()[ask])


def test_a_worker_is_killed_while_encoding(client, tmp_path):
    with killing(client, "encode_block", tmp_path):
        assert_array_equal(encode(HASHER, features()).compute().data, CODES.data)


def test_a_worker_is_killed_with_its_index(client):
    codes = database()
    nearest(codes)
    victim = next(iter(client.run(os.getpid).values()))
    os.kill(victim, signal.SIGKILL)
    for question, answer in expected().items():
        assert_array_equal(question(codes), answer)


def test_where_the_engine_gives_up_there_is_an_error(client, tmp_path):
    from distributed import KilledWorker

    scheduler = client.cluster.scheduler
    with pytest.MonkeyPatch.context() as patch, killing(client, "_count_block", tmp_path):
        patch.setattr(scheduler, "allowed_failures", 0)
        with pytest.raises(KilledWorker):
            table(database())


def test_another_client_indexes_again(cluster):
    from distributed import Client

    codes = database()
    for _ in range(2):
        with Client(cluster):
            assert_array_equal(nearest(codes), expected()[nearest])
    with dask.config.set(scheduler="synchronous"):
        assert_array_equal(nearest(codes), expected()[nearest])


def test_a_forgetful_cluster_indexes_again(client):
    codes = database()
    nearest(codes)
    client.cancel(list(codes._indexed[0]))
    assert_array_equal(nearest(codes), expected()[nearest])


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


def test_ray_and_its_workers_that_die(tmp_path):
    pytest.importorskip("pyarrow")  # ray.util.dask needs it
    pytest.importorskip("ray")
    from ray.util.dask import ray_dask_get

    with local_ray(), dask.config.set(scheduler=ray_dask_get):
        dying = deadly(features(), tmp_path / "encode")
        assert_array_equal(encode(HASHER, dying).compute().data, CODES.data)
        for question, answer in expected().items():
            dying = deadly(database().data, tmp_path / question.__name__)
            codes = DaskCodes(dying, 6)
            for _ in range(2):
                assert_array_equal(question(codes), answer)
    assert {path.name for path in tmp_path.iterdir()} == {
        "encode",
        "nearest",
        "table",
        "within",
    }
