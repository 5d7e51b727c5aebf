#!/usr/bin/env bash
# numba: a cached function goes on with a table that its module has changed meanwhile.
# Guess before the run: a new process compiles the function again, as a global array is a
# constant in it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 numba==0.68.1
cat > "$folder/look.py" <<'PYTHON'
import subprocess
import sys
from pathlib import Path

Path("scaled.py").write_text("""
import numba
from weights import WEIGHTS

@numba.njit(cache=True)
def scaled(value):
    return value * WEIGHTS[0]

print(scaled(1), numba.__version__)
""")
found = []
for weight in (1, 2):
    Path("weights.py").write_text(f"import numpy as np\n\nWEIGHTS = np.array([{weight}])\n")
    command = [sys.executable, "scaled.py"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found.append(int(told.split()[0]))
print("numba", told.split()[1])
print("expected: 1, and 2 once weights.py has changed")
print("found:", found, "as only the file of the function itself is looked at")
assert found == [1, 1], found
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
