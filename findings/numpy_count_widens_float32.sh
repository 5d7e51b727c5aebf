#!/usr/bin/env bash
# NumPy: what np.count_nonzero returns decides the precision of float32 arithmetic behind
# it.
# Expected (met while a slow fit was looked into): a count is a Python int in all
# versions, and leaves float32 as it is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/count.py" <<'PYTHON'
import numpy as np

gradient = np.ones(3, np.float32)
count = np.count_nonzero(gradient > 0)
mean = gradient * (-2.0 / count)
print(np.__version__, type(count).__name__, mean.dtype)
PYTHON
for version in 2.2.6 2.4.6; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet "numpy==$version"
    "$folder/$version/bin/python" "$folder/count.py" | tee -a "$folder/found"
done
echo "expected: int and float32 in both"
echo "found: the newer one returns a NumPy integer, by which a float is divided to a float64"
echo "       scalar, and the float32 array becomes float64"
printf '2.2.6 int float32\n2.4.6 int64 float64\n' | diff - "$folder/found"
