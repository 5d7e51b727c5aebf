#!/usr/bin/env bash
# torch and NumPy: right=True of bucketize is right=False of digitize.
# Guess before the run: one word means the same in both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0
"$folder/env/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import numpy as np
import torch

limits, values = [1.0, 2.0], [1.0]
found = {}
for right in (False, True):
    of_torch = torch.bucketize(torch.tensor(values), torch.tensor(limits), right=right)
    found[right] = of_torch.item(), np.digitize(values, limits, right=right).item()
    print(f"right={right}: torch {found[right][0]}, NumPy {found[right][1]}")
print("torch", torch.__version__, "NumPy", np.__version__)
print("expected: a score at a limit falls into the same bin in both")
print("found: the opposite one")
assert found == {False: (0, 1), True: (1, 0)}, found
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
