#!/usr/bin/env bash
# torch: with one seed, randn gives other numbers where wide instructions are used. It
# needs a processor with AVX2.
# Guess before the run: a seed gives the same numbers on every processor of one kind.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0
"$folder/env/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
cat > "$folder/look.py" <<'PYTHON'
import os
import subprocess
import sys

import torch

code = """
import sys
import torch

torch.manual_seed(0)
torch.save([torch.randn(1000), torch.rand(1000)], sys.argv[1])
"""
drawn = {}
for instructions in ("default", "avx2"):
    environment = os.environ | {"ATEN_CPU_CAPABILITY": instructions}
    subprocess.run([sys.executable, "-c", code, "drawn.pt"], env=environment, check=True)
    drawn[instructions] = torch.load("drawn.pt")
normal, uniform = (a != b for a, b in zip(*drawn.values()))
print("torch", torch.__version__)
print("expected: the same numbers, whatever ATEN_CPU_CAPABILITY is")
print(f"found: {normal.sum()} of 1000 normal numbers differ in their last digits, and "
      f"{uniform.sum()} uniform ones")
assert normal.sum() > 0 and uniform.sum() == 0
assert torch.allclose(*(numbers[0] for numbers in drawn.values()), atol=1e-4)
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
