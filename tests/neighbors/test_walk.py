"""How many files and functions a query goes through, for whoever reads along."""

import sys
import warnings

import pytest
from sklearn.datasets import load_digits

from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import HashedNeighbors

FILES, FUNCTIONS = 10, 45


@pytest.mark.filterwarnings("default:kneighbors goes through")  # it only warns
def test_a_query_walks_through_few_functions():
    X, _ = load_digits(return_X_y=True)
    index = HashedNeighbors(AdditiveHasher(16, random_state=0)).fit(X[:400])
    index.kneighbors(X[:3])
    seen = set()

    def note(frame, event, _):
        code = frame.f_code
        is_ours = "/sklearn_talr/" in code.co_filename.replace("\\", "/")
        if event == "call" and is_ours and not code.co_name.startswith("<"):
            seen.add((code.co_filename, code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        index.kneighbors(X[:3])
    finally:
        sys.setprofile(before)
    n_files = len({file for file, _ in seen})
    if n_files > FILES or len(seen) > FUNCTIONS:
        warnings.warn(
            f"kneighbors goes through {len(seen)} functions in {n_files} files, where "
            f"{FUNCTIONS} in {FILES} are meant.",
            stacklevel=1,
        )
