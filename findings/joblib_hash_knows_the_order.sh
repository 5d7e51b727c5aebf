#!/usr/bin/env bash
# joblib: equal arrays have different hashes if one is stored by columns.
# Guess before the run: the hash is that of the numbers, so that a cached fit is found
# again.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 joblib==1.6.0
cat > "$folder/look.py" <<'PYTHON'
import joblib
import numpy as np

X = np.arange(6.0).reshape(2, 3)
calls = []


def fitted(X):
    calls.append(X.shape)
    return X.sum()


cached = joblib.Memory("cache", verbose=0).cache(fitted)
cached(X), cached(X.copy()), cached(np.asfortranarray(X))
print("joblib", joblib.__version__, "NumPy", np.__version__)
print("expected: one call for three equal arrays")
print("found:", len(calls), "since the order of memory is hashed, too")
assert len(calls) == 2 and np.array_equal(X, np.asfortranarray(X)), calls
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
