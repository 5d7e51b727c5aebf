"""One thread for torch and BLAS, several of our own, and where loops are kept."""

import subprocess
import sys
import threading
from types import ModuleType

import numpy as np
import pytest
import torch
from hashers import KINDS, name_of
from interruptions import interrupted_at_each_line
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_talr import TALRHasher
from sklearn_talr._core import threads
from sklearn_talr._core.threads import one_thread
from sklearn_talr._loops._compile import compiled
from sklearn_talr.baselines import MACHasher
from sklearn_talr.hashing import ITQHasher, _function
from sklearn_talr.hashing.training import _start
from sklearn_talr.hashing.training._host import HostEngine


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        yield
        torch.set_num_threads(before)


def numbers():
    """Threads of BLAS, where it has its own, and of torch, as this Python thread sees them.

    A BLAS that takes those of OpenMP has a number for each Python thread.
    """
    blas = {
        pool["num_threads"]
        for pool in threadpool_info()
        if pool["user_api"] == "blas" and pool["threading_layer"] != "openmp"
    }
    assert len(blas) == 1
    return (*blas, torch.get_num_threads())


def in_new_thread(function):
    """What a function returns in a Python thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


class Holder(threading.Thread):
    """A Python thread that holds all to one thread until it is told to leave.

    It lives on like one of a pool.
    """

    def __init__(self):
        super().__init__(daemon=True)
        self._inside, self._may_leave, self._outside, self._may_end = (
            threading.Event() for _ in range(4)
        )
        self.seen = []
        self.start()
        self._inside.wait()

    def run(self):
        with one_thread():
            self.seen.append(numbers())
            self._inside.set()
            self._may_leave.wait()
        self._outside.set()
        self._may_end.wait()

    def leave(self):
        self._may_leave.set()
        self._outside.wait()

    def end(self):
        self.leave()
        self._may_end.set()
        self.join()


@pytest.fixture
def hold():
    """Starts holders, which end with the test."""
    holders = []

    def start():
        holders.append(Holder())
        return holders[-1]

    yield start
    for holder in holders:
        holder.end()


class TestOneThread:
    def test_is_lowered_inside_and_given_back(self):
        with one_thread():
            with one_thread():
                assert numbers() == (1, 1)
            assert numbers() == (1, 1)
            assert all(pool["num_threads"] == 1 for pool in threadpool_info())
        assert numbers() == (2, 2)
        assert all(pool["num_threads"] == 2 for pool in threadpool_info())

    @pytest.mark.parametrize(
        ("depth", "run"), [(1, in_new_thread), (2, lambda function: function())]
    )
    def test_an_interrupt_of_entering_and_leaving_gives_back(self, depth, run):
        """Ctrl-C before each line, also where numbers are lowered and restored."""

        def enter_and_leave(depth=depth):
            with one_thread():
                if depth > 1:
                    enter_and_leave(depth - 1)

        def survived():
            assert numbers() == (2, 2)  # torch sets that of OpenMP when a thread first asks
            before = [pool["num_threads"] for pool in threadpool_info()]
            places = []
            for place in interrupted_at_each_line(enter_and_leave, [threads]):
                assert [pool["num_threads"] for pool in threadpool_info()] == before, place
                assert numbers() == (2, 2), place
                places.append(place)
            return places

        places = run(survived)
        assert len(places) > 60 * depth
        assert len(set(places)) > 30
        assert in_new_thread(numbers) == (2, 2)

    def test_an_interrupt_keeps_what_others_hold(self, hold):
        def enter_and_leave():
            with one_thread():
                pass

        holder = hold()
        for place in interrupted_at_each_line(enter_and_leave, [threads]):
            assert numbers()[0] == 1, place
        holder.leave()
        assert numbers() == (2, 2)
        assert in_new_thread(numbers) == (2, 2)

    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
    def test_the_last_of_several_to_leave_gives_back(self, order, hold):
        """First in, first out would leave all at one thread for good."""
        holders = [hold() for _ in range(3)]
        blas = []
        for place in order:
            holders[place].leave()
            blas.append(in_new_thread(numbers)[0])
        assert blas == [1, 1, 2]
        assert numbers() == (2, 2)
        assert in_new_thread(numbers) == (2, 2)
        assert all(holder.seen == [(1, 1)] for holder in holders)

    def test_thread_pools_are_looked_for_once_until_libraries_may_have_come(
        self, monkeypatch
    ):
        class Counted(threads.ThreadpoolController):
            n_searches = 0

            def __init__(self):
                Counted.n_searches += 1
                super().__init__()

        monkeypatch.setattr(threads, "ThreadpoolController", Counted)
        threads._thread_pools.cache_clear()
        for library in (None, None, "new", None):
            if library:
                monkeypatch.setitem(sys.modules, library, ModuleType(library))
            with one_thread():
                assert all(pool["num_threads"] == 1 for pool in threadpool_info())
        assert Counted.n_searches == 2


def test_torch_is_neither_needed_nor_loaded():
    """Also where it is loaded inside, by then held to one thread as long as that lasts."""
    program = """
import sys
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits
from sklearn_talr._core.threads import one_thread

blas = lambda: {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}
with threadpool_limits(2):
    with one_thread():
        assert blas() == {1}
    assert blas() == {2}
    assert "torch" not in sys.modules
    with one_thread():
        import torch
        torch.set_num_threads(2)
        with one_thread():
            assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    assert blas() == {2}
"""
    subprocess.run([sys.executable, "-c", program], check=True)


class TestTraining:
    """It does not depend on how many threads torch and BLAS are given."""

    @pytest.mark.parametrize("batch_size", [256, 1500])
    @pytest.mark.parametrize("params", [{}, {"hidden_layer_sizes": 32, "loss": "nDCG"}])
    def test_same_codes_with_one_thread_and_two(self, digits, batch_size, params):
        X, y = digits[0].astype(np.float32), digits[1]
        hasher = TALRHasher(16, batch_size=batch_size, max_iter=2, random_state=0, **params)
        fits = []
        for n_torch, n_blas in ((1, 1), (2, 2)):
            with threadpool_limits(n_blas):
                torch.set_num_threads(n_torch)
                codes = hasher.fit(X, y).transform(X)
            fits.append((codes, hasher.coefs_, hasher.loss_curve_))
        assert np.array_equal(fits[0][0], fits[1][0])
        assert all(map(np.array_equal, fits[0][1], fits[1][1]))
        assert fits[0][2] == fits[1][2]

    def test_work_whose_rounding_depends_on_threads_has_one(self, few_digits, monkeypatch):
        found = []

        def recorded(function):
            def record(*args, **kwargs):
                found.append(numbers())
                return function(*args, **kwargs)

            return record

        monkeypatch.setattr(_start, "start_weights", recorded(_start.start_weights))
        monkeypatch.setattr(HostEngine, "step", recorded(HostEngine.step))
        monkeypatch.setattr(MACHasher, "_fit_pairs", recorded(MACHasher._fit_pairs))
        TALRHasher(8, batch_size=150, max_iter=1, random_state=0).fit(*few_digits)
        assert len(found) == 3  # the start, and two batches
        MACHasher(2, subsample=50, random_state=0).fit(*few_digits)
        assert len(found) == 4
        assert set(found) == {(1, 1)}
        assert numbers() == (2, 2)


class TestEncoding:
    """Blocks of rows are what threads share, so that BLAS needs one."""

    @pytest.mark.parametrize("hasher", KINDS, ids=name_of)
    def test_codes_of_all_threads_and_numbers_of_jobs(
        self, hasher, few_digits, monkeypatch
    ):
        X, y = few_digits
        hasher = clone(hasher).set_params(random_state=0).fit(X, y)
        X, found, packbits = X[:120], [], np.packbits

        def recorded(*args, **kwargs):
            found.append((threading.get_ident(), numbers()[0]))
            return packbits(*args, **kwargs)

        answers = []
        for n_blas, n_jobs in ((1, 1), (2, 1), (2, 2)):
            with (
                threadpool_limits(n_blas),
                parallel_config("threading", n_jobs=n_jobs),
                config_context(working_memory=2**12 / 2**20),
            ):
                with monkeypatch.context() as patch:
                    patch.setattr(np, "packbits", recorded)
                    data = hasher.encode(X).data
                answers.append((data, hasher.transform(X), hasher.query_weights(X)))
        for other in answers[1:]:
            assert all(map(np.array_equal, answers[0], other))
        assert len(found) >= 9
        assert {number for _, number in found} == {1}
        assert len({thread for thread, _ in found}) > 1
        assert numbers() == (2, 2)

    def test_one_row_is_held_too_and_needs_no_thread(self, few_digits, monkeypatch):
        X = few_digits[0]
        hasher = ITQHasher(8, random_state=0).fit(X)
        found, feed_forward = [], _function.feed_forward

        def recorded(*args):
            found.append((threading.get_ident(), numbers()))
            return feed_forward(*args)

        monkeypatch.setattr(_function, "feed_forward", recorded)
        with parallel_config("threading", n_jobs=2):
            hasher.query_weights(X[:1])
        assert found == [(threading.get_ident(), (1, 1))]


def test_loops_run_where_no_folder_keeps_them():
    names = {}
    exec("def add(a):\n    return a + 1", names)  # without a file, and so without a folder
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        add = compiled(names["add"])
    assert add(1) == 2
