#!/usr/bin/env bash
# scikit-learn: a fit with ScoringMonitor(scoring=None) raises a TypeError.
# Expected (written after a first probe): the monitor logs estimator.score, as the page of
# the class says of None.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 scikit-learn==1.9.1
cat > "$folder/look.py" <<'PYTHON'
import sklearn
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

X, y = load_iris(return_X_y=True)
monitor = ScoringMonitor(scoring=None)
model = LogisticRegression(max_iter=1000).set_callbacks(monitor)
try:
    found = f"{len(monitor.get_logs().data)} rows" if model.fit(X, y) else None
except TypeError as error:
    found = f"TypeError: {error}"
print("scikit-learn", sklearn.__version__)
print("expected: a score of each iteration, under some name")
print("found:", found)
assert found == "TypeError: 'float' object is not iterable", found
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
