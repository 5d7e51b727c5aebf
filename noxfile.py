"""The suite on old and new scikit-learn and NumPy, and what a release would publish.

    make test-matrix                       # all of it
    nox -s "suite(oldest)" -- tests/svm    # one row of the matrix, some of the tests
    nox -s dist wheel                      # the distributions alone

Environments are kept in ``.nox`` and used again.
"""

import re
import zipfile
from pathlib import Path
from tarfile import TarFile

import nox

nox.options.reuse_venv = "yes"

ROOT = Path(__file__).parent
DIST = ROOT / "dist"
# Each NumPy stands beside two of scikit-learn. What is not named is as in constraints.txt.
ROWS = {
    "oldest": {"scikit-learn": "1.6.1", "numpy": "2.0.2", "scipy": "1.13.1"},
    "1.7": {"scikit-learn": "1.7.2"},
    "1.8": {"scikit-learn": "1.8.0", "numpy": "2.0.2"},
    "newest": {},
}
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
    pytest = "python", "-m", "pytest", *session.posargs
    session.env["OMP_NUM_THREADS"] = "1"  # of each of two processes
    codes = [0, 5] if session.posargs else [0]  # 5: none of those asked for
    both = ["-n2", "--dist=worksteal", "-m", "not slow and not cluster"]
    for options in both, ["-m", "cluster and not slow"]:
        session.run(*pytest, *options, success_codes=codes)


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


@nox.session(requires=["dist"])
def wheel(session):
    """Run the quick start of the README from the wheel, in an empty environment."""
    install(session, [f"{only(DIST.glob('*.whl'))}[plot]"])
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    whole = [block for block in blocks if "load_digits" in block]
    session.chdir(session.create_tmp())  # where Python finds no package but the installed
    for block in whole:
        session.run("python", "-c", block)
    session.run("python", str(ROOT / "examples" / "first_steps" / "plot_quickstart.py"))
    session.run("sklearn-talr-runs", "--help", silent=True)


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
