#!/usr/bin/env bash
# scikit-learn: a file that dump_svmlight_file wrote loses a first column of zeros when
# load_svmlight_file reads it.
# Guess before the run: both defaults fit together, so that X comes back.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 scikit-learn==1.9.1
cat > "$folder/look.py" <<'PYTHON'
import numpy as np
import sklearn
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

train = np.array([[5.0, 1.0, 2.0], [0.0, 3.0, 4.0]])
test = np.array([[0.0, 1.0, 2.0], [0.0, 3.0, 4.0]])
shapes = []
for X in (train, test):
    dump_svmlight_file(X, [0, 1], "data.txt")
    loaded, _ = load_svmlight_file("data.txt")
    shapes.append(loaded.shape)
print("scikit-learn", sklearn.__version__)
print("expected: three columns in both, and the second feature in the second of them")
print("found:", shapes, "since a file without an index 0 is taken to count from 1")
assert shapes == [(2, 3), (2, 2)], shapes
np.testing.assert_array_equal(loaded.toarray(), test[:, 1:])
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
