"""What only maintainers run: the tests on other versions and processors, and releases.

    make test                                          # once, which installs nox in .venv
    .venv/bin/nox --list                               # all sessions
    .venv/bin/nox                                      # old and new versions; the archives
    .venv/bin/nox -s "suite(oldest)" -- tests/svm      # one row of versions, some tests
    .venv/bin/nox -s slow                              # the long tests, too
    .venv/bin/nox -s processors                        # all tests as on other processors
    .venv/bin/nox -s "processors(avx2)" -- tests/svm   # one processor, some tests
    .venv/bin/nox -s outputs                           # pages and learned tests only
    .venv/bin/nox -s learned                           # one learned test only
    .venv/bin/nox -s without_torch                     # the tests without torch
    .venv/bin/nox -s nightly                           # next versions of other packages
    .venv/bin/nox -s links                             # links of the pages to other sites
    .venv/bin/nox -s dist wheel                        # the archives, and one installation
    .venv/bin/nox -s dist release                      # the archives, on each Python

Environments are kept in ``.nox`` and used again. Sessions of other processors have no
environment of their own: they run in the one that runs nox.
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
# Versions of each row; all other versions are in constraints.txt. Each NumPy is tried with
# two versions of scikit-learn.
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
# Instructions that libraries may use of this processor, oldest first. Each library has its
# own name for them: the feature that the processor must have, ATEN_CPU_CAPABILITY,
# OPENBLAS_CORETYPE, MKL_ENABLE_INSTRUCTIONS and ONEDNN_MAX_CPU_ISA. NumPy must leave the
# features whose names begin as listed; the names depend on its version. With "native" each
# library chooses itself.
PROCESSORS = {
    "sse4": (
        ("SSE42", "default", "Nehalem", "SSE4_2", "SSE41"),
        ("AVX", "F16C", "FMA", "XOP", "X86_V3", "X86_V4"),
    ),
    "avx": (
        ("AVX", "default", "Sandybridge", "AVX", "AVX"),
        ("AVX2", "AVX512", "FMA", "X86_V3", "X86_V4"),
    ),
    # OpenBLAS of NumPy's wheels uses the same kernels for Zen and Haswell.
    "avx2": (("AVX2", "avx2", "Haswell", "AVX2", "AVX2"), ("AVX512", "X86_V4")),
    "avx512": (("AVX512BW", "avx512", "SkylakeX", "AVX512", "AVX512_CORE"), ()),
    "native": None,
}
# "rounding" is a processor that this machine is not: training ends in other digits.
KINDS_OF_OUTPUT = [*PROCESSORS, "rounding"]
# Prints the features of the processor, the features that NumPy can leave, and the
# instructions that torch and BLAS use.
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
# The folder of all tests marked "cluster", which disturb each other
CLUSTERS = "tests/clusters"
# The two runs of `make test`
SUITE = (
    (*SIDE_BY_SIDE, "-m", "not slow and not cluster"),
    ("-m", "cluster and not slow", CLUSTERS),
)
SUITE_WITH_SLOW = ((*SIDE_BY_SIDE, "-m", "not cluster"), ("-m", "cluster", CLUSTERS))
# Doctests of the package and the pages, and tests of the README
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
    """Run the tests with the versions of a row; arguments go to pytest.

    Two processes share the tests, and tests of one file stay together while both processes
    have work, because they share data that is slow to make.
    """
    install(session, ["--editable", ".[tests]"], ROWS[row])
    run_each(session, "python", SUITE)


@nox.session(venv_backend="none", default=False)
def slow(session):
    """Run all tests, with the long ones."""
    run_each(session, sys.executable, SUITE_WITH_SLOW)


@nox.session(venv_backend="none", default=False)
@nox.parametrize("processor", list(PROCESSORS), ids=list(PROCESSORS))
def processors(session, processor):
    """Run the tests as on another processor, with one thread and with two.

    Then run the learned tests with three other seeds. Arguments go to pytest.
    """
    env = variables_of(session, processor)
    seeds = [(*LEARNED, "--seed", str(seed)) for seed in (1, 2, 3)]
    run_each(session, sys.executable, [*SUITE, ("-m", "not slow"), *seeds], env)


@nox.session(venv_backend="none", default=False)
@nox.parametrize("processor", KINDS_OF_OUTPUT, ids=KINDS_OF_OUTPUT)
def outputs(session, processor):
    """Run the examples of documents and the learned tests, as on another processor.

    Arguments go to pytest and replace both.
    """
    run_outputs(session, processor, session.posargs)


@nox.session(venv_backend="none", default=False)
@nox.parametrize(
    "processor", ["sse4", "avx2", "rounding"], ids=["sse4", "avx2", "rounding"]
)
def learned(session, processor):
    """Run one fast learned test, as on another processor."""
    run_outputs(session, processor, ["tests/hashing/test_talr.py", "-k", "training_beats"])


@nox.session
def dist(session):
    """Build the sdist and the wheel, and compare their files with git's."""
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

    nox skips a Python that is not installed, and says so.
    """
    archives = only(DIST.glob("*.whl")), only(DIST.glob("*.tar.gz"))
    for number, archive in enumerate(archives):
        again = ["--force-reinstall", "--no-deps"] if number else []
        install(session, [*again, f"{archive}[plot]"])
        try_installed(session)


@nox.session(default=False)
def nightly(session):
    """Run the tests with the next versions of NumPy, SciPy and scikit-learn.

    The environment variable NIGHTLY_INDEX_URL names the index that has their builds. All
    other packages are the newest, whatever constraints.txt says.
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
    """Run the tests without torch: all but tests of tensors. Arguments go to pytest."""
    pins = "--constraint", str(ROOT / "constraints.txt")
    session.install(*pins, "--editable", ".[tools]")
    check = "from importlib.util import find_spec; assert find_spec('torch') is None"
    session.run("python", "-c", check)
    paths = () if session.posargs else ("tests",)
    options = *SIDE_BY_SIDE, "-m", "not slow and not cluster", *paths
    run_each(session, "python", [options])


@nox.session(default=False)
def links(session):
    """Follow the links of the pages to other sites, without drawing the gallery."""
    install(session, ["--editable", ".[docs]"])
    folders = "docs", "docs/_build/linkcheck"
    options = "-b", "linkcheck", "-D", "plot_gallery=0"
    session.run("python", "-m", "sphinx", *options, *folders)


def run_outputs(session, processor, arguments):
    """Run pytest with arguments, or documents and learned tests, as on a processor."""
    if processor == "rounding":
        paths = filter(None, ["tests", os.environ.get("PYTHONPATH")])
        env = {"PYTHONPATH": os.pathsep.join(paths)}
        options = "-p", "rounding", "--rounding", "1"
    else:
        env = variables_of(session, processor)
        options = ()
    if arguments:
        runs = [(*options, *arguments)]
    else:
        runs = [(*SIDE_BY_SIDE, *options, *DOCUMENTS), (*options, *LEARNED)]
    codes = [0, 5] if session.posargs else [0]  # 5: pytest has found no test
    run_pytest(session, sys.executable, runs, env, codes)


def try_installed(session):
    """Run the programs of the README, the first example and the commands."""
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    # In an empty folder Python finds installed packages only.
    with session.chdir(session.create_tmp()):
        for block in blocks:
            session.run("python", "-c", block)
        example = ROOT / "examples" / "first_steps" / "plot_quickstart.py"
        session.run("python", str(example))
        session.run("sklearn-talr-runs", "--help", silent=True)
        session.run("sklearn-talr-codes", "--help", silent=True)
        session.run("python", "-m", "sklearn_talr", "--versions")


def run_each(session, python, runs, variables=None):
    """Run pytest with each of these options and the arguments of the session."""
    codes = [0, 5] if session.posargs else [0]  # 5: pytest has found no test
    if session.posargs:
        runs = [(*session.posargs, *without_paths(options)) for options in runs]
    run_pytest(session, python, runs, variables, codes)


def without_paths(options):
    """Options without the folder that they name, for a session that names its own."""
    return [option for option in options if option != CLUSTERS]


def run_pytest(session, python, runs, variables, codes):
    """Run pytest with each of these options, and then give up if a run has failed.

    Two processes have one thread each, and a single process has two threads.
    """
    failed = []
    for options in runs:
        command = python, "-m", "pytest", *options
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
    """Install with the pins of constraints.txt, except the packages of `versions`."""
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    kept = [pin for pin in pins if pin.partition("==")[0] not in (versions or {})]
    kept += [f"{name}=={version}" for name, version in (versions or {}).items()]
    # create_tmp() would move TMPDIR into the environment. Ray's workers do not start there,
    # and a test that waits for them waits for ever.
    path = Path(session.virtualenv.location) / "constraints.txt"
    path.write_text("\n".join(kept) + "\n")
    session.install("--constraint", str(path), *arguments)


def in_sdist(path):
    """Files of an sdist, except the files that setuptools adds."""
    with TarFile.open(path) as archive:
        names = [member.name.partition("/")[2] for member in archive if member.isfile()]
    return {name for name in names if name != "PKG-INFO" and ".egg-info/" not in name}


def in_wheel(path):
    """Files of a wheel, except its metadata."""
    with zipfile.ZipFile(path) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def compare(session, there, expected):
    """Give up if an archive lacks a file or has one too many."""
    missing, odd = sorted(expected - there), sorted(there - expected)
    if missing or odd:
        session.error(f"missing: {missing}; too many: {odd}")


def only(items):
    """The one item that there is."""
    (item,) = items
    return item
