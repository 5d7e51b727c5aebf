#!/usr/bin/env bash
# NumPy: np.bitwise_count of signed bytes counts the bits of their magnitude.
# Guess before the run: a byte of eight ones has eight, whatever its type is called.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import numpy as np

one, other = np.array([[0, 255]], np.uint8), np.array([[255, 255]], np.uint8)
distances = {}
for dtype in (np.uint8, np.int8):
    differing = one.view(dtype) ^ other.view(dtype)
    distances[dtype.__name__] = int(np.bitwise_count(differing).sum())
print("NumPy", np.__version__)
print("expected: the same two codes of 16 bits differ in 8, as uint8 and as int8")
print("found:", distances, "as -1, all ones, is counted as 1")
assert distances == {"uint8": 8, "int8": 1}, distances
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
