#!/usr/bin/env bash
# scikit-learn: a ScoringMonitor of a GridSearchCV says that the search is not fitted.
# Guess before the run: a search has many scores, and the monitor has a row for each
# candidate and fold.
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
from sklearn.model_selection import GridSearchCV

X, y = load_iris(return_X_y=True)
monitor = ScoringMonitor(scoring="accuracy")
search = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [0.1, 1]}, cv=3)
search.set_callbacks(monitor).fit(X, y)
try:
    found = f"{len(monitor.get_logs().data)} rows"
except ValueError as error:
    found = str(error)
print("scikit-learn", sklearn.__version__, "best score", round(search.best_score_, 3))
print("expected: rows of scores")
print("found:", found)
assert "not fitted" in found and search.best_score_ > 0.9, found
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
