#!/usr/bin/env bash
# LightGBM, CatBoost: nDCG and MAP of a query with nothing relevant.
# Expected (written after a run had shown the value): it counts 0, or is left out of the
# mean.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 lightgbm==4.7.0 catboost==1.2.10
cat > "$folder/look.py" <<'PYTHON'
import catboost
import lightgbm
import numpy as np
from catboost.utils import eval_metric

# The first query ranks its relevant document second, the second has none
relevant, scores = np.array([0, 1, 0, 0]), np.array([2.0, 1.0, 2.0, 1.0])
found = {}
for n in (2, 4):
    settings = {"objective": "lambdarank", "metric": ["map"], "eval_at": 10, "verbose": -1}
    data = lightgbm.Dataset(
        np.arange(n)[:, None], relevant[:n], group=[2] * (n // 2), init_score=scores[:n]
    )
    of_lightgbm = lightgbm.Booster(settings, data).eval_train()[0][2]
    queries = np.repeat([0, 1], 2)[:n]
    of_catboost = eval_metric(relevant[:n], scores[:n], "MAP:top=10", group_id=queries)[0]
    found[n // 2] = of_lightgbm, of_catboost
    print(f"{n // 2} queries: LightGBM {of_lightgbm}, CatBoost {of_catboost}")
print("LightGBM", lightgbm.__version__, "CatBoost", catboost.__version__)
print("expected: .5, and with the second query .5 or .25")
print("found: .75 in LightGBM, which takes nothing relevant for a perfect ranking")
assert found == {1: (0.5, 0.5), 2: (0.75, 0.25)}, found
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
