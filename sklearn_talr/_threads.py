"""Threads of our own, and one thread for torch and BLAS while our own work runs."""

import sys
import threading
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController


def map_in_threads(function, arguments, n_jobs):
    """Call a function with each of some arguments, in threads of this process.

    The calls may share memory, whatever backend a `joblib.parallel_config` context names:
    where that backend has processes, on this machine or on others, joblib's own threads
    take its place. It then also sets aside the number of jobs of the context.

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
    if len(arguments) < 2:  # one call needs no threads, and joblib takes longer than it
        return map(function, arguments)
    # Whoever prefers processes in a context would otherwise be refused.
    parallel = Parallel(
        n_jobs=n_jobs, prefer="threads", require="sharedmem", return_as="generator"
    )
    return parallel(delayed(function)(argument) for argument in arguments)


def slices(n, size):
    """Consecutive slices of at most `size` rows that cover all rows.

    scikit-learn's `gen_batches` checks its arguments, for longer than one query may take.
    """
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


@contextmanager
def one_thread():
    """Hold torch and BLAS to one thread, and give the threads back after.

    Threads share out a sum in parts, and the parts decide its rounding, which training
    amplifies. Besides, small operations gain little from a second thread, and wait for it
    whenever that processor is busy with something else.

    Several Python threads may be inside at the same time. The number of threads of BLAS
    and of torch belongs to the process: the first to enter lowers it, and the last to
    leave restores it. That of OpenMP belongs to each Python thread, and each restores its
    own. An interrupt gives all threads back, wherever it comes.
    """
    holder = _Holder(_thread_pools(len(sys.modules)))
    try:
        try:
            holder.enter()
            yield
        finally:
            holder.leave()
    finally:
        holder.leave()  # finishes a first call that an interrupt has broken off


class _Holder:
    """Holds the numbers of threads at one.

    An interrupt may come before each statement. So numbers are noted before they are
    lowered and forgotten after they are restored, and `leave` may be called again.
    """

    def __init__(self, pools):
        self._pools = pools
        self._own = []

    def enter(self):
        """Lower the numbers of this Python thread, and those of the process."""
        with _process.lock:
            _process.holders.add(self)
            # Torch lowers that of OpenMP too, and some builds of BLAS have no other.
            self._own = _numbers(self._pools.openmp)
            _process.lower_torch()
            _lower(self._own)
            _process.lower_blas(self._pools)

    def leave(self):
        """Restore the numbers, those of the process if nobody else holds them."""
        with _process.lock:
            _process.holders.discard(self)
            if not _process.holders:
                _process.restore(self._pools)
        _restore(self._own)
        self._own = []


class _Process:
    """Numbers of threads that are lowered for the whole process while anybody holds it."""

    def __init__(self):
        # One who is inside may come again, as a call that was broken off is tidied up.
        self.lock = threading.RLock()
        self.holders = set()
        self._blas = self._torch_threads = None

    def lower_torch(self):
        """Note the number of torch, if nobody has, and lower it."""
        torch = _imported_torch()
        if torch is None:
            return
        if self._torch_threads is None:
            self._torch_threads = _free_torch_threads(torch)
        torch.set_num_threads(1)

    def lower_blas(self, pools):
        """Note the numbers of BLAS, if nobody has, and lower them."""
        pools.let_any_thread_set()
        if self._blas is None:
            self._blas = _numbers(pools.blas)
        _lower(self._blas)

    def restore(self, pools):
        """Restore the numbers that are noted, and forget them."""
        if self._blas is not None:
            pools.let_any_thread_set()
            _restore(self._blas)
            pools.let_any_thread_set()
        if self._torch_threads is not None:
            _imported_torch().set_num_threads(self._torch_threads)
        self._blas = self._torch_threads = None


_process = _Process()


def _numbers(libraries):
    """Libraries of more than one thread, each with their number now."""
    numbers = [(library, library.get_num_threads()) for library in libraries]
    return [(library, number) for library, number in numbers if number != 1]


def _lower(numbers):
    for library, _ in numbers:
        library.set_num_threads(1)


def _restore(numbers):
    for library, number in numbers:
        library.set_num_threads(number)


def _imported_torch():
    """Torch, if something has imported it to the end."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "set_num_threads") else None


def _free_torch_threads(torch):
    """The number of threads that torch gives to a new Python thread.

    A Python thread that first used torch while somebody held it to one thread has been
    told one for good, so that only the main thread can be asked itself.
    """
    if threading.current_thread() is threading.main_thread():
        return torch.get_num_threads()
    found = []
    asked = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    asked.start()
    asked.join()
    return found[0]


class _Pools(NamedTuple):
    """The thread pools of all loaded libraries.

    Parameters
    ----------
    blas, openmp : list of threadpoolctl.LibController
        Libraries whose number of threads can be set.

    controlled : set of types
        Those whose number only one Python thread may set, from threadpoolctl 3.8 on.
    """

    blas: list
    openmp: list
    controlled: set

    def let_any_thread_set(self):
        """Let the calling Python thread set the number of threads of OpenBLAS.

        The first Python thread to set it keeps all others from doing so without a word, as
        long as it lives.
        """
        for kind in self.controlled:
            kind.clear_controlling_thread(force=True)


@lru_cache(maxsize=1)
def _thread_pools(n_modules):
    """Find the thread pools of all loaded libraries, again once there are more modules.

    The search takes as long as a step of training or two.
    """
    found = ThreadpoolController()
    blas, openmp = (
        found.select(user_api=api).lib_controllers for api in ("blas", "openmp")
    )
    kinds = {type(library) for library in blas}
    controlled = {kind for kind in kinds if hasattr(kind, "clear_controlling_thread")}
    return _Pools(blas, openmp, controlled)
