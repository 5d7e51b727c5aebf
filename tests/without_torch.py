"""Runs scripts where PyTorch cannot be imported."""

import os
import subprocess
import sys

_HIDE_TORCH = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name="torch")

sys.meta_path.insert(0, NoTorch())
"""


def run_without_torch(script, *arguments):
    """Run a script in a process of its own, and return what it has printed."""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _HIDE_TORCH + script, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
