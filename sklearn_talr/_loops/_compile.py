"""How loops are compiled, and where the results are kept."""

import logging
import time
import warnings
from contextlib import suppress
from functools import cache

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache
from numba.extending import intrinsic

_SILENT_SECONDS = 2.0
_LOGGER = logging.getLogger("sklearn_talr")


class _Patience(event.Listener):
    """Logs once that a process waits for loops to be compiled.

    Without any configuration of logging the line goes to stderr.
    """

    def __init__(self):
        self._depth = 0
        self._started = 0.0
        self._seconds = 0.0

    def on_start(self, event):
        self._started = self._started if self._depth else time.perf_counter()
        self._depth += 1

    def on_end(self, event):
        self._depth -= 1
        if self._depth or self._seconds > _SILENT_SECONDS:
            return
        if str(event.data["dispatcher"].py_func.__module__).startswith(__package__):
            self._seconds += time.perf_counter() - self._started
        if self._seconds > _SILENT_SECONDS:
            _LOGGER.warning(
                "sklearn_talr compiles its loops when they are first called, which takes "
                "seconds, and keeps them on disk for later processes. "
                "sklearn_talr.warm_up() compiles them beforehand."
            )


event.register("numba:compile", _Patience())


def compiled(function):
    """Compile a function with numba at its first call with each kind of arguments.

    Loops run without Python's lock. Compiled loops are kept on disk, so that later
    processes load them: beside the source; or in the folder that ``NUMBA_CACHE_DIR`` names;
    or, if the folder of the source is not writable, in the user's folder of caches. Without
    any of these a warning says so, and every process compiles anew. Damaged files are
    compiled anew, which the logger of the package says once.

    Only compiled functions call functions whose names begin with an underscore. So these
    have no entry from Python, which saves an eighth of the time.
    """
    is_inner = function.__name__.startswith("_")
    loop = njit(
        no_cpython_wrapper=is_inner, no_cfunc_wrapper=True, nogil=True, error_model="numpy"
    )(function)
    try:
        kept_loops = _KeptLoops(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        _warn_that_nothing_is_kept()
    else:
        # njit(cache=True) sets this attribute to a cache that cannot bear damaged files
        loop._cache = kept_loops
    return loop


class _KeptLoops(FunctionCache):
    """Compiled forms of a loop on disk; files that are damaged are compiled anew.

    A full disk or a power cut leaves files that are empty or cut. numba would raise the
    error of pickle in every process until somebody empties the folder.
    """

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        # Pickle has no list of errors: bytes that are cut can raise nearly all of them
        except Exception:
            _tell_of_damaged_files(self.cache_path)
            # An index that cannot be read could not be added to, either
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _tell_of_lost_loops(self.cache_path, str(error))


@cache
def _tell_of_damaged_files(folder):
    _LOGGER.warning(
        "sklearn_talr: files of compiled loops in %s are damaged, as after a full disk or "
        "a power cut. The loops are compiled anew, which takes seconds.",
        folder,
    )


@cache
def _tell_of_lost_loops(folder, reason):
    _LOGGER.warning(
        "sklearn_talr: compiled loops cannot be kept in %s (%s), so that each process "
        "compiles them anew, which takes seconds. Set NUMBA_CACHE_DIR to a folder that is "
        "writable and has room.",
        folder,
        reason,
    )


@cache
def _warn_that_nothing_is_kept():
    """Warn once for all loops."""
    warnings.warn(
        "Compiled loops cannot be kept on disk, so that each process compiles them anew, "
        "which takes seconds: neither the folder of the package nor the user's folder of "
        "caches is writable. Set NUMBA_CACHE_DIR to a folder that is.",
        RuntimeWarning,
        stacklevel=3,
    )


@compiled
def copy_to(target, source):
    """Copy an array to another one of equal length.

    The assignment of NumPy, which has to tell shapes that differ, takes seconds to compile.
    """
    for place in range(len(source)):
        target[place] = source[place]


@intrinsic
def count_ones(typing_context, word):
    """Instruction that counts the ones of a word."""
    return word(word), lambda _, builder, __, words: builder.ctpop(words[0])
