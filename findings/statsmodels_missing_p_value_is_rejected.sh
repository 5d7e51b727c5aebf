#!/usr/bin/env bash
# statsmodels: multipletests rejects the hypothesis whose p-value is missing.
# Guess before the run: NaN is left out, and the others are corrected as without it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 statsmodels==0.15.0
cat > "$folder/look.py" <<'PYTHON'
import numpy as np
import statsmodels
from statsmodels.stats.multitest import multipletests

p_values = [0.01, 0.02, np.nan]
found = {}
for method in ("holm", "fdr_bh"):
    rejected, corrected, *_ = multipletests(p_values, method=method)
    found[method] = rejected.tolist(), corrected.tolist()
    print(method, found[method])
print("statsmodels", statsmodels.__version__)
print("expected: two hypotheses are rejected, with corrected p-values of two tests")
print("found: Holm's method rejects the third as well, whose p-value is NaN, and counts it;")
print("       that of Benjamini and Hochberg rejects two whose corrected p-values are NaN")
assert found["holm"][0] == [True] * 3 and found["holm"][1][:2] == [0.03, 0.04], found
assert found["fdr_bh"][0][:2] == [True] * 2 and np.isnan(found["fdr_bh"][1]).all(), found
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
