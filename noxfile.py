"""The suite on old and new versions and processors, and what a release would publish.

    make test-matrix                            # old and new versions; the distributions
    nox -s "suite(oldest)" -- tests/svm         # one row of the matrix, some of the tests
    nox -s dist wheel                           # the distributions alone
    nox -s dist release                         # the same, on each Python that is there
    nox -s nightly                              # with the next versions of others
    make test-processors                        # older instructions of this processor
    nox -s "processors(avx2)" -- tests/hashing  # one of them, some of the tests

Environments are kept in ``.nox`` and used again. Other processors need no other: their
tests run where nox itself does.
"""

import json
import os
import re
import sys
import zipfile
from pathlib import Path
from tarfile import TarFile

import nox

nox.options.reuse_venv = "yes"

ROOT = Path(__file__).parent
PYTHONS = re.findall(r"Python :: (3\.\d+)", (ROOT / "setup.cfg").read_text())
DIST = ROOT / "dist"
# Each NumPy stands beside two of scikit-learn. What is not named is as in constraints.txt.
ROWS = {
    "oldest": {
        "scikit-learn": "1.6.1",
        "numpy": "2.0.2",
        "scipy": "1.13.1",
        "numba": "0.61.2",
    },
    "1.7": {"scikit-learn": "1.7.2"},
    "1.8": {"scikit-learn": "1.8.0", "numpy": "2.0.2"},
    "newest": {},
}
# What the libraries may use of this processor, oldest instructions first, by the names that
# each has for them: a feature it must have, ATEN_CPU_CAPABILITY, OPENBLAS_CORETYPE,
# MKL_ENABLE_INSTRUCTIONS, ONEDNN_MAX_CPU_ISA, and how the names of the features begin that
# NumPy must leave, which differ by its version. What "native" uses they choose themselves.
PROCESSORS = {
    "sse4": (
        ("SSE42", "default", "Nehalem", "SSE4_2", "SSE41"),
        ("AVX", "F16C", "FMA", "XOP", "X86_V3", "X86_V4"),
    ),
    "avx": (
        ("AVX", "default", "Sandybridge", "AVX", "AVX"),
        ("AVX2", "AVX512", "FMA", "X86_V3", "X86_V4"),
    ),
    # For Zen the OpenBLAS of NumPy's wheels takes what it takes for Haswell.
    "avx2": (("AVX2", "avx2", "Haswell", "AVX2", "AVX2"), ("AVX512", "X86_V4")),
    "avx512": (("AVX512BW", "avx512", "SkylakeX", "AVX512", "AVX512_CORE"), ()),
    "native": None,
}
# What of the processor there is, what NumPy can leave, and what torch and BLAS use
PROBE = """
import json, numpy, scipy.linalg, threadpoolctl, torch
from numpy._core import _multiarray_umath as umath

libraries = threadpoolctl.threadpool_info()
print(json.dumps({
    "has": [name for name, there in umath.__cpu_features__.items() if there],
    "leaves": umath.__cpu_dispatch__,
    "torch": torch.backends.cpu.get_cpu_capability().lower(),
    "openblas": [each["architecture"] for each in libraries if "architecture" in each],
}))
"""
SIDE_BY_SIDE = "-n2", "--dist=worksteal"
# Two halves: tests marked `cluster` disturb each other
SUITE = (
    (*SIDE_BY_SIDE, "-m", "not slow and not cluster"),
    ("-m", "cluster and not slow"),
)
# What the documents print
DOCUMENTS = (
    "sklearn_talr",
    "docs/index.rst",
    "docs/quickstart.rst",
    "docs/user_guide",
    "tests/docs",
)
LEARNED = (*SIDE_BY_SIDE, "-m", "learned and not slow")
# Files of git that the sdist leaves out
UNPUBLISHED = (".ci/", ".gitignore")


@nox.session
@nox.parametrize("row", list(ROWS), ids=list(ROWS))
def suite(session, row):
    """Run the tests with the versions of a row, on two cores; arguments go to pytest.

    Neighbors stay together as long as both cores have work: tests of a file share what is
    slow to make.
    """
    install(session, ["--editable", ".[tests]"], ROWS[row])
    run_each(session, "python", SUITE)


@nox.session(venv_backend="none", default=False)
@nox.parametrize("processor", list(PROCESSORS), ids=list(PROCESSORS))
def processors(session, processor):
    """Run the tests as on another processor, with one thread and with two.

    Then the learned tests under three other seeds. Arguments go to pytest.
    """
    env = variables_of(session, processor)
    seeds = [(*LEARNED, "--seed", str(seed)) for seed in (1, 2, 3)]
    run_each(session, sys.executable, [*SUITE, ("-m", "not slow"), *seeds], env)


@nox.session(venv_backend="none", default=False)
@nox.parametrize("processor", [*PROCESSORS, "rounding"], ids=[*PROCESSORS, "rounding"])
def outputs(session, processor):
    """Run what the documents show and the learned tests, as on another processor.

    That of "rounding" is none of this machine: its training ends in other digits. Arguments
    go to pytest in place of these.
    """
    if processor == "rounding":
        paths = filter(None, ["tests", os.environ.get("PYTHONPATH")])
        env = {"PYTHONPATH": os.pathsep.join(paths)}
        options = "-p", "rounding", "--rounding", "1"
    else:
        env, options = variables_of(session, processor), ()
    documents = (*SIDE_BY_SIDE, *options, *DOCUMENTS)
    runs = [documents, (*options, *LEARNED)]
    if session.posargs:
        runs = [options]
    run_each(session, sys.executable, runs, env)


@nox.session
def dist(session):
    """Build the sdist and the wheel, and check what is in them."""
    install(session, ["build", "twine"])
    for old in DIST.glob("*"):
        old.unlink()
    session.run("python", "-m", "build", "--outdir", str(DIST))
    session.run("twine", "check", "--strict", *map(str, DIST.iterdir()))
    tracked = session.run("git", "ls-files", external=True, silent=True).split()
    sources = {name for name in tracked if not name.startswith(UNPUBLISHED)}
    modules = {name for name in tracked if name.startswith("sklearn_talr/")}
    compare(session, in_sdist(only(DIST.glob("*.tar.gz"))), sources)
    compare(session, in_wheel(only(DIST.glob("*.whl"))), modules)


@nox.session(requires=["dist"], reuse_venv=False)
def wheel(session):
    """Try the wheel in an empty environment of the Python that runs nox."""
    install(session, [f"{only(DIST.glob('*.whl'))}[plot]"])
    try_installed(session)


@nox.session(python=PYTHONS, requires=["dist"], reuse_venv=False, default=False)
def release(session):
    """Try the wheel and then the sdist, each Python in an empty environment.

    A Python that is not there is skipped, and nox says so.
    """
    archives = only(DIST.glob("*.whl")), only(DIST.glob("*.tar.gz"))
    for number, archive in enumerate(archives):
        again = ["--force-reinstall", "--no-deps"] if number else []
        install(session, [*again, f"{archive}[plot]"])
        try_installed(session)


@nox.session(default=False)
def nightly(session):
    """Run the tests with the next versions of NumPy, SciPy and scikit-learn.

    The environment variable NIGHTLY_INDEX_URL names the index that has their builds. What
    else is installed is the newest, not what constraints.txt names.
    """
    index = os.environ.get("NIGHTLY_INDEX_URL")
    if not index:
        session.error("NIGHTLY_INDEX_URL must name an index of nightly builds.")
    session.install("--editable", ".[tests]")
    options = "--pre", "--upgrade", "--no-deps", "--index-url", index
    session.install(*options, "numpy", "scipy", "scikit-learn")
    session.run("python", "-m", "sklearn_talr", "--versions")
    run_each(session, "python", SUITE)


@nox.session(default=False)
def without_torch(session):
    """Run the tests where there is no torch: all but those of tensors."""
    pins = "--constraint", str(ROOT / "constraints.txt")
    session.install(*pins, "--editable", ".[tools]")
    gone = "from importlib.util import find_spec; assert find_spec('torch') is None"
    session.run("python", "-c", gone)
    where = () if session.posargs else ("tests",)
    options = *SIDE_BY_SIDE, "-m", "not slow and not cluster", *where
    run_each(session, "python", [options])


def try_installed(session):
    """Run what the README shows, the first example and the commands."""
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    with session.chdir(session.create_tmp()):  # there Python finds but what is installed
        for block in blocks:
            session.run("python", "-c", block)
        example = ROOT / "examples" / "first_steps" / "plot_quickstart.py"
        session.run("python", str(example))
        session.run("sklearn-talr-runs", "--help", silent=True)
        session.run("sklearn-talr-codes", "--help", silent=True)
        session.run("python", "-m", "sklearn_talr", "--versions")


def run_each(session, python, runs, variables=None):
    """Run pytest with each of these options, and then give up if one of them failed.

    Of two processes each has one thread, and one has two.
    """
    codes = [0, 5] if session.posargs else [0]  # 5: none of those asked for
    failed = []
    for options in runs:
        command = python, "-m", "pytest", *session.posargs, *options
        env = {"OMP_NUM_THREADS": "1" if SIDE_BY_SIDE[0] in options else "2"}
        try:
            session.run(*command, env=env | (variables or {}), success_codes=codes)
        except nox.command.CommandFailed:
            failed.append(" ".join(options))
    if failed:
        session.error(f"failed: {failed}")


def variables_of(session, processor):
    """Environment variables that make this processor another one."""
    if processor == "native":
        return {}
    (feature, torch, openblas, mkl, onednn), left = PROCESSORS[processor]
    probe = sys.executable, "-c", PROBE
    here = json.loads(session.run(*probe, silent=True))
    if feature not in here["has"]:
        session.skip(f"this processor has no {feature}")
    env = {
        "ATEN_CPU_CAPABILITY": torch,
        "OPENBLAS_CORETYPE": openblas,
        "MKL_ENABLE_INSTRUCTIONS": mkl,
        "ONEDNN_MAX_CPU_ISA": onednn,
        "NPY_DISABLE_CPU_FEATURES": " ".join(
            name for name in here["leaves"] if name.startswith(left)
        ),
    }
    used = json.loads(session.run(*probe, env=env, silent=True))
    if used["torch"] != torch or set(used["openblas"]) - {openblas}:
        session.error(f"asked for {torch} and {openblas}, got {used}")
    return env


def install(session, arguments, versions=None):
    """Install with the pins of constraints.txt, of which `versions` replaces some."""
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    kept = [pin for pin in pins if pin.partition("==")[0] not in (versions or {})]
    kept += [f"{name}=={version}" for name, version in (versions or {}).items()]
    # Not in create_tmp(), which moves TMPDIR into the environment: Ray's workers refuse to
    # start there, and who waits for them waits for ever.
    path = Path(session.virtualenv.location) / "constraints.txt"
    path.write_text("\n".join(kept) + "\n")
    session.install("--constraint", str(path), *arguments)


def in_sdist(path):
    """Files of an sdist, but for those that setuptools adds."""
    with TarFile.open(path) as archive:
        names = [member.name.partition("/")[2] for member in archive if member.isfile()]
    return {name for name in names if name != "PKG-INFO" and ".egg-info/" not in name}


def in_wheel(path):
    """Files of a wheel, but for its metadata."""
    with zipfile.ZipFile(path) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def compare(session, there, expected):
    """Give up where an archive lacks a file, or has one too many."""
    missing, odd = sorted(expected - there), sorted(there - expected)
    if missing or odd:
        session.error(f"missing: {missing}; too many: {odd}")


def only(items):
    (item,) = items
    return item
