#!/usr/bin/env bash
# skops beside scikit-learn: importing skops.io imports every array library that is
# installed.
# Expected (written after a list of modules had shown the imports): reading a file of a
# NumPy model imports NumPy, SciPy and scikit-learn.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet skops==0.16.0 scikit-learn==1.9.1 "dask[array]==2026.8.0" numpy==2.4.6
cat > "$folder/imports.py" <<'PYTHON'
import sys

import sklearn
import sklearn.linear_model

before = {name.split(".")[0] for name in sys.modules}
import skops
import skops.io

new = {name.split(".")[0] for name in sys.modules} - before
print("skops", skops.__version__, "scikit-learn", sklearn.__version__)
print("expected: import skops.io leaves Dask alone, which no model here has to do with")
print(f"found: it imports {sorted(new & {'dask', 'torch', 'cupy', 'jax'})}: skops asks")
print("scikit-learn for all estimators, and the walk through its packages enters its copy of")
print("array_api_compat, of which each part imports its library. Where PyTorch is installed,")
print("a process that only reads a file pays for PyTorch")
assert "dask" in new
PYTHON
"$folder/env/bin/python" "$folder/imports.py"
