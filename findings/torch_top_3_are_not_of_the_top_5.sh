#!/usr/bin/env bash
# torch: among ties the first three of topk are others than the three of topk.
# Guess before the run: the three best are the first three of the five best.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0
"$folder/env/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import torch

scores = torch.ones(100)
found = {k: torch.topk(scores, k).indices.tolist() for k in (1, 2, 3, 5, 10)}
for k, indices in found.items():
    print(k, indices)
print("torch", torch.__version__)
print("expected: each list begins with the one before it")
print("found: some do not, so that a longer list of neighbors drops those of a shorter one")
lists = list(found.values())
assert any(long[: len(short)] != short for short, long in zip(lists, lists[1:])), found
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
