#!/usr/bin/env bash
# NumPy: np.load of an .npz file takes mmap_mode and reads everything into memory.
# Guess before the run: an array that was stored without compression is mapped, or the
# option is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import numpy as np

np.save("rows.npy", np.ones((4, 2)))
np.savez("rows.npz", rows=np.ones((4, 2)))
of_npy = np.load("rows.npy", mmap_mode="r")
of_npz = np.load("rows.npz", mmap_mode="r")["rows"]
found = type(of_npy).__name__, type(of_npz).__name__, of_npz.flags.writeable
print("NumPy", np.__version__)
print("expected: memmap in both, or an error that tells that .npz cannot be mapped")
print("found:", found[:2], "without a word; the second may even be written to:", found[2])
assert found == ("memmap", "ndarray", True), found
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
