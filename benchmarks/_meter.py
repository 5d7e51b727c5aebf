"""Time and memory of calls in this process."""

import threading
import time
from pathlib import Path


class Meter:
    """CPU and wall seconds of calls, and the memory that this process has of its own.

    Memory is looked up every few milliseconds, and counted from where the meter was made.
    """

    def __init__(self):
        self._before = own_mib()

    def figures(self, run):
        """Seconds, wall seconds, seconds, MiB at most, MiB in the end."""
        done, seen = threading.Event(), []

        def watch():
            while not done.wait(0.005):
                seen.append(own_mib())

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        wall, cpu = time.perf_counter(), time.thread_time()
        result = run()
        cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
        seen.append(own_mib())
        done.set()
        watcher.join()
        del result
        return cpu, wall, cpu, max(seen) - self._before, own_mib() - self._before


def own_mib():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
