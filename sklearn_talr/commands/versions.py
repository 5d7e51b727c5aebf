"""Versions of the package, of what it uses, and of the machine."""

import os
import re
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version

import numpy as np
import sklearn

# Environment variables that change how libraries use a processor, or how scikit-learn works
VARIABLES = "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "NPY_DISABLE_CPU_FEATURES"
VARIABLES += "OMP_NUM_THREADS", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE", "SCIPY_ARRAY_API"


def show_versions() -> None:
    """Print the versions and the machine, for a report of a bug.

    The command ``python -m sklearn_talr --versions`` prints the same. The first sections
    are those of ``sklearn.show_versions``. Then come the packages that sklearn-talr
    requires or can use, the instructions that NumPy and torch use of this processor, and
    the variables that change them. Packages that are not installed are left out.

    Examples
    --------
    >>> from sklearn_talr import show_versions
    >>> show_versions()
    <BLANKLINE>
    System:
    ...
    sklearn-talr:
        version: 0...
    """
    torch_facts = _describe_torch()
    # scikit-learn lists the threads of torch, which has been imported by now.
    sklearn.show_versions()
    rows = {
        "version": sys.modules["sklearn_talr"].__version__,
        **_installed_versions(),
        **torch_facts,
        "NumPy instructions": _numpy_instructions(),
        **{name: os.environ[name] for name in VARIABLES if name in os.environ},
    }
    print("\nsklearn-talr:")
    for name, value in rows.items():
        print(f"{name:>18}: {value}")


def _describe_torch():
    try:
        import torch
    # A broken installation of torch is a fact to be reported.
    except Exception as error:
        return {"torch": f"cannot be imported: {error!r}"}
    return {
        "torch instructions": torch.backends.cpu.get_cpu_capability(),
        "torch threads": torch.get_num_threads(),
        "CUDA": torch.version.cuda if torch.cuda.is_available() else "no device",
    }


def _installed_versions():
    """Versions of the installed packages that sklearn-talr requires or can use."""
    requirements = []
    # A folder on the path has no requirements.
    with suppress(PackageNotFoundError):
        requirements = requires("sklearn-talr")
    for_work = re.compile(r'extra == "(tests|bench|dev|docs)"')
    offered = [line for line in requirements if not for_work.search(line)]
    versions = {}
    for name in sorted({re.match(r"[\w-]+", line)[0] for line in offered}):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _numpy_instructions():
    instructions = np.show_config("dicts")["SIMD Extensions"]
    names = [*instructions.get("baseline", ()), *instructions.get("found", ())]
    return " ".join(names)
