#!/usr/bin/env bash
# Scalable Vector Search: more neighbors than rows come as ids of 2 ** 64 - 1.
# Guess before the run: that many neighbors are refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 scalable-vs==0.5.0
cat > "$folder/look.py" <<'PYTHON'
from importlib.metadata import version

import numpy as np
import svs

rows = np.eye(3, dtype=np.float32)
ids, distances = svs.Flat(rows, svs.DistanceType.L2).search(rows[:1], 5)
print("scalable-vs", version("scalable-vs"), "NumPy", np.__version__)
print("expected: an error, or three neighbors")
print("found:", ids[0].tolist(), "at", distances[0].tolist())
assert ids[0, 3:].tolist() == [2**64 - 1] * 2 and (distances[0, 3:] > 1e38).all(), ids
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
