"""Medians of alternating runs: contenders take turns, so that drift hits all alike."""

import time

import numpy as np


def medians(contenders, repeats):
    """Median seconds of each callable in a dict, after one warm-up of all.

    A contender that took over 5 s in the warm-up runs only once more.
    """
    slow = {name for name, run in contenders.items() if _seconds(run) > 5}
    seconds = {name: [] for name in contenders}
    for repeat in range(repeats):
        for name, run in contenders.items():
            if repeat == 0 or name not in slow:
                seconds[name].append(_seconds(run))
    return {name: float(np.median(values)) for name, values in seconds.items()}


def _seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
