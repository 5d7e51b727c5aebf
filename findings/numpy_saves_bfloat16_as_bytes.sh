#!/usr/bin/env bash
# NumPy and ml_dtypes: np.save of bfloat16 rows keeps the bytes and forgets what they are.
# Guess before the run: the type is kept, or np.save refuses it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 ml-dtypes==0.6.0
cat > "$folder/look.py" <<'PYTHON'
import ml_dtypes
import numpy as np

rows = np.array([[1.5, -2.0]], ml_dtypes.bfloat16)
np.save("rows.npy", rows)
loaded = np.load("rows.npy")
print("NumPy", np.__version__, "ml_dtypes", ml_dtypes.__version__)
print("expected: bfloat16, as ml_dtypes is imported")
print("found:", repr(loaded.dtype), "two bytes a number, with which nothing can be computed")
assert loaded.dtype == np.dtype("V2"), loaded.dtype
np.testing.assert_array_equal(loaded.view(ml_dtypes.bfloat16), rows)
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
