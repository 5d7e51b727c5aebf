"""Threads of our own, and one thread for torch and BLAS while our own work runs."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache

from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController


def map_in_threads(function, arguments, n_jobs):
    """Call a function with each of some arguments, in threads of this process.

    The calls may share memory, whatever backend a `joblib.parallel_config` context names:
    if that backend has processes, on this machine or on others, joblib's own threads
    take its place. The number of jobs of the context is then ignored, too.

    Parameters
    ----------
    function : callable
        Called with one argument.

    arguments : iterable
        The argument of each call.

    n_jobs : int or None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context with
        threads, -1 all processors.

    Returns
    -------
    results : iterator
        Results in the order of the arguments.
    """
    arguments = list(arguments)
    if len(arguments) < 2:
        # One call needs no threads, and joblib's overhead may take longer than the call.
        return map(function, arguments)
    # With both options a context that prefers processes is no error.
    parallel = Parallel(
        n_jobs=n_jobs, prefer="threads", require="sharedmem", return_as="generator"
    )
    return parallel(delayed(function)(argument) for argument in arguments)


def slices(n, size):
    """Consecutive slices of at most `size` rows that cover all rows.

    scikit-learn's `gen_batches` checks its arguments, which may take longer than a query.
    """
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


# The calls that hold the process at one thread now, and the numbers of threads of BLAS and
# torch before the first of these calls. A Python thread can take the lock again, since it
# may have it when it tidies up an interrupted call.
_lock = threading.RLock()
_holders = set()
_numbers_before = {}


@contextmanager
def one_thread():
    """Hold torch and BLAS to one thread, and give the threads back after.

    Threads share out a sum in parts, and the parts decide its rounding, which training
    amplifies. Besides, small operations gain little from a second thread, and wait for it
    whenever that processor is busy with something else.

    Several Python threads may be inside at the same time. The numbers of threads of BLAS
    and of torch belong to the process: the first Python thread to enter lowers them, and
    the last one to leave restores them. The number of OpenMP belongs to each Python thread,
    and each restores its own. An interrupt gives all threads back, whenever it comes: it
    may come before each statement, so numbers are noted before they are lowered and
    forgotten after they are restored, and `leave` may be called again.
    """
    holder = _Holder()
    try:
        try:
            with _lock:
                holder.enter()
            yield
        finally:
            holder.leave()
    finally:
        # This finishes a first call that an interrupt has broken off.
        holder.leave()


class _Holder:
    """A call that holds torch and BLAS to one thread."""

    def __init__(self):
        self._blas, self._openmp, self._kinds = _thread_pools(len(sys.modules))
        self._openmp_before = []
        # Another Python thread may be importing torch, which then is not yet complete.
        torch = sys.modules.get("torch")
        self._torch = torch if hasattr(torch, "set_num_threads") else None

    def enter(self):
        """Lower all numbers to one; the lock must be held."""
        _holders.add(self)
        # Torch lowers the number of OpenMP too, and some builds of BLAS have no other.
        self._openmp_before.extend(_numbers_above_one(self._openmp))
        if self._torch is not None:
            if "torch" not in _numbers_before:
                _numbers_before["torch"] = _free_torch_threads(self._torch)
            self._torch.set_num_threads(1)
        _set([(library, 1) for library, _ in self._openmp_before])
        _let_any_thread_set(self._kinds)
        if "blas" not in _numbers_before:
            _numbers_before["blas"] = _numbers_above_one(self._blas)
        _set([(library, 1) for library, _ in _numbers_before["blas"]])

    def leave(self):
        """Restore the numbers, those of the process if no other holder is left."""
        with _lock:
            _holders.discard(self)
            if not _holders:
                if "blas" in _numbers_before:
                    _let_any_thread_set(self._kinds)
                    _set(_numbers_before["blas"])
                    _let_any_thread_set(self._kinds)
                if "torch" in _numbers_before:
                    sys.modules["torch"].set_num_threads(_numbers_before["torch"])
                _numbers_before.clear()
        _set(self._openmp_before)
        self._openmp_before.clear()


@lru_cache(maxsize=1)
def _thread_pools(n_modules):
    """Find the thread pools of all loaded libraries, again if there are more modules.

    The search takes as long as one or two steps of training.

    Returns
    -------
    blas, openmp : list of threadpoolctl.LibController
        Libraries whose number of threads can be set.

    kinds : set of types
        Types of libraries of BLAS whose number only one Python thread may set, from
        threadpoolctl 3.8 on.
    """
    controller = ThreadpoolController()
    blas = controller.select(user_api="blas").lib_controllers
    openmp = controller.select(user_api="openmp").lib_controllers
    kinds = {type(library) for library in blas}
    return blas, openmp, {k for k in kinds if hasattr(k, "clear_controlling_thread")}


def _let_any_thread_set(kinds):
    """Let the calling Python thread set the number of threads of OpenBLAS.

    As long as it lives, the first Python thread to set the number keeps all others from
    setting it, without an error.
    """
    for kind in kinds:
        kind.clear_controlling_thread(force=True)


def _numbers_above_one(libraries):
    """Libraries of more than one thread, each with its number now."""
    numbers = [(library, library.get_num_threads()) for library in libraries]
    return [(library, number) for library, number in numbers if number != 1]


def _set(numbers):
    """Set the numbers of threads of libraries."""
    for library, number in numbers:
        library.set_num_threads(number)


def _free_torch_threads(torch):
    """The number of threads that torch gives to a new Python thread.

    A Python thread that first used torch while torch was held to one thread keeps the
    number one for good. So only the main thread knows the number, and a new thread.
    """
    if threading.current_thread() is threading.main_thread():
        return torch.get_num_threads()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(torch.get_num_threads).result()
