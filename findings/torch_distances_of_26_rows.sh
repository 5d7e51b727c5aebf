#!/usr/bin/env bash
# torch: cdist has zeros in its diagonal for 25 rows, and not for 26.
# Guess before the run: the distance of a row to itself is 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0
"$folder/env/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import torch

rows = 100 + torch.rand(26, 8, generator=torch.Generator().manual_seed(0))
largest = {n: torch.cdist(rows[:n], rows[:n]).diagonal().max().item() for n in (25, 26)}
print("torch", torch.__version__)
print("expected: 0 for both")
print("found:", largest, "since more than 25 rows are compared by inner products")
assert largest[25] == 0 and largest[26] > 0.01, largest
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
