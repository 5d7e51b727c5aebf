"""A Ray of two workers on this machine, for tests that need one."""

from contextlib import contextmanager

import pytest


@contextmanager
def local_ray():
    """Ray started, and stopped afterwards."""
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(
            "local",
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
            object_store_memory=80 * 2**20,
        )
        try:
            yield
        finally:
            ray.shutdown()
