"""One thread for all that must not depend on how many there are."""

import sys
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread():
    """Hold torch and BLAS to one thread, and give the threads back after.

    Threads share out a sum in parts, and the parts decide its rounding, which training
    amplifies. Besides, the small operations of training gain little from a second thread,
    and wait for it whenever that processor is busy with something else.
    """
    with one_torch_thread(), _thread_pools(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _thread_pools(n_modules):
    """Those of all loaded libraries, looked for again once there are other modules.

    To look for them takes as long as a step of training or two.
    """
    return ThreadpoolController()


@contextmanager
def one_torch_thread():
    """Hold torch, if it is imported, to one thread, and give the threads back after.

    Its small reductions would otherwise wait for a second thread at every block, which
    takes many times as long as the work once that processor is busy with something else.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
