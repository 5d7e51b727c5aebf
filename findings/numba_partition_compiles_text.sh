#!/usr/bin/env bash
# numba: np.partition of floats compiles some sixty functions, many of them about text.
# Expected (met while a slow fit was looked into): a selection of one array needs about
# ten compiled functions.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numba==0.68.1 numpy==2.4.6 llvmlite==0.50.0
cat > "$folder/count.py" <<'PYTHON'
import numba
import numpy as np
from numba.core import event

compiled = []


class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__module__)

    def on_end(self, event):
        pass


event.register("numba:compile", Listener())


@numba.njit
def third(values):
    return np.partition(values, 2)[2]


@numba.njit
def largest(values):
    best = values[0]
    for value in values:
        best = max(best, value)
    return best


values = np.array([5.0, 1.0, 4.0, 2.0, 3.0])
counts = {}
for function in (largest, third):
    compiled.clear()
    answer = function(values)
    of_text = sum(name.startswith("numba.cpython.unicode") for name in compiled)
    counts[function.py_func.__name__] = len(compiled), of_text
    print(f"{function.py_func.__name__}: {answer}, {len(compiled)} functions compiled, "
          f"{of_text} of them of numba.cpython.unicode")
print("numba", numba.__version__, "NumPy", np.__version__)
print("expected: the selection compiles about ten functions, none of which knows text")
print("found: some sixty, of which a dozen or more handle strings, since np.partition checks")
print("       its argument by np.unique, and messages of errors are put together")
assert counts["largest"][0] < 10, counts
assert counts["third"][0] > 40 and counts["third"][1] >= 10, counts
PYTHON
"$folder/env/bin/python" "$folder/count.py"
