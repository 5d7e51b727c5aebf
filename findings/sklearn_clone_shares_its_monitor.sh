#!/usr/bin/env bash
# scikit-learn: a clone writes into the log of the estimator that it was cloned from.
# Guess before the run: clone copies parameters only, and what it returns knows of no
# callback.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 scikit-learn==1.9.1
cat > "$folder/look.py" <<'PYTHON'
import sklearn
from sklearn.base import clone
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

X, y = load_iris(return_X_y=True)
monitor = ScoringMonitor(scoring="accuracy")
first = LogisticRegression(max_iter=1000).set_callbacks(monitor).fit(X, y)
before = len(monitor.get_logs("all"))
clone(first).set_params(C=1e-6).fit(X, y)
after, last = len(monitor.get_logs("all")), monitor.get_logs().data[0]["accuracy"]
print("scikit-learn", sklearn.__version__)
print("expected: the log of the first estimator has one run, of its own fit")
print(f"found: {after} runs; the most recent is the clone's, with {last:.3f} where the first "
      f"scores {first.score(X, y):.3f}")
assert (before, after) == (1, 2) and last < first.score(X, y)
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
