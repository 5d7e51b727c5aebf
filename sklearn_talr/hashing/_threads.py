"""One thread for all that must not depend on how many there are."""

from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from ..histogram._kernels import one_torch_thread


@contextmanager
def one_thread():
    """Hold torch and BLAS to one thread, and give the threads back after.

    Threads share out a sum in parts, and the parts decide its rounding, which training
    amplifies. Besides, the small operations of training gain little from a second thread,
    and wait for it whenever that processor is busy with something else.
    """
    with one_torch_thread(), threadpool_limits(1):
        yield
