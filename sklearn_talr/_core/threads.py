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


# Who holds the process at one thread now, and the numbers of threads of before. Who is
# inside the lock may come again, as a call that was broken off is tidied up.
_lock = threading.RLock()
_holders = set()
_noted = {}


@contextmanager
def one_thread():
    """Hold torch and BLAS to one thread, and give the threads back after.

    Threads share out a sum in parts, and the parts decide its rounding, which training
    amplifies. Besides, small operations gain little from a second thread, and wait for it
    whenever that processor is busy with something else.

    Several Python threads may be inside at the same time. The number of threads of BLAS
    and of torch belongs to the process: the first to enter lowers it, and the last to
    leave restores it. That of OpenMP belongs to each Python thread, and each restores its
    own. An interrupt gives all threads back, wherever it comes: it may come before each
    statement, so numbers are noted before they are lowered and forgotten after they are
    restored, and `leave` may be called again.
    """
    blas, openmp, kinds = _thread_pools(len(sys.modules))
    holder, own = object(), []
    torch = sys.modules.get("torch")
    torch = torch if hasattr(torch, "set_num_threads") else None  # perhaps half imported

    def enter():
        _holders.add(holder)
        # Torch lowers the number of OpenMP too, and some builds of BLAS have no other.
        own.extend(_numbers(openmp))
        if torch is not None:
            if "torch" not in _noted:
                _noted["torch"] = _free_torch_threads(torch)
            torch.set_num_threads(1)
        _set([(library, 1) for library, _ in own])
        _let_any_thread_set(kinds)
        if "blas" not in _noted:
            _noted["blas"] = _numbers(blas)
        _set([(library, 1) for library, _ in _noted["blas"]])

    def leave():
        with _lock:
            _holders.discard(holder)
            if not _holders:
                if "blas" in _noted:
                    _let_any_thread_set(kinds)
                    _set(_noted["blas"])
                    _let_any_thread_set(kinds)
                if "torch" in _noted:
                    sys.modules["torch"].set_num_threads(_noted["torch"])
                _noted.clear()
        _set(own)
        own.clear()

    try:
        try:
            with _lock:
                enter()
            yield
        finally:
            leave()
    finally:
        leave()  # finishes a first call that an interrupt has broken off


@lru_cache(maxsize=1)
def _thread_pools(n_modules):
    """Find the thread pools of all loaded libraries, again once there are more modules.

    The search takes as long as a step of training or two.

    Returns
    -------
    blas, openmp : list of threadpoolctl.LibController
        Libraries whose number of threads can be set.

    kinds : set of types
        Those whose number only one Python thread may set, from threadpoolctl 3.8 on.
    """
    select = ThreadpoolController().select
    blas, openmp = (select(user_api=api).lib_controllers for api in ("blas", "openmp"))
    kinds = {type(library) for library in blas}
    return blas, openmp, {k for k in kinds if hasattr(k, "clear_controlling_thread")}


def _let_any_thread_set(kinds):
    """Let the calling Python thread set the number of threads of OpenBLAS.

    The first Python thread to set it keeps all others from doing so without a word, as
    long as it lives.
    """
    for kind in kinds:
        kind.clear_controlling_thread(force=True)


def _numbers(libraries):
    """Libraries of more than one thread, each with their number now."""
    numbers = [(library, library.get_num_threads()) for library in libraries]
    return [(library, number) for library, number in numbers if number != 1]


def _set(numbers):
    for library, number in numbers:
        library.set_num_threads(number)


def _free_torch_threads(torch):
    """The number of threads that torch gives to a new Python thread.

    A Python thread that first used torch while somebody held it to one thread has been
    told one for good, so that only the main thread can be asked itself.
    """
    if threading.current_thread() is threading.main_thread():
        return torch.get_num_threads()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(torch.get_num_threads).result()
