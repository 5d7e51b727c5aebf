#!/usr/bin/env bash
# numba: a loop variable that begins as the literal 0 lets each function it is passed to
# be compiled twice.
# Expected (met while a slow fit was looked into): 0 and a counter are both int64, so one
# version serves both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numba==0.68.1 numpy==2.4.6 llvmlite==0.50.0
cat > "$folder/count.py" <<'PYTHON'
import numba
import numpy as np
from numba.core import event

kinds = []


class Listener(event.Listener):
    def on_start(self, event):
        if event.data["dispatcher"].py_func.__name__ == "take":
            kinds.append(str(event.data["args"][-1]))

    def on_end(self, event):
        pass


event.register("numba:compile", Listener())


def searches():
    @numba.njit
    def take(values, count):
        return count + (values[0] > 0)

    @numba.njit
    def from_literal(values):
        count = 0
        for _ in range(3):
            count = take(values, count)
        return count

    @numba.njit
    def from_array(values):
        count = np.zeros(1, np.int64)[0]
        for _ in range(3):
            count = take(values, count)
        return count

    return from_literal, from_array


values, found = np.ones(3), {}
for place, name in enumerate(("from_literal", "from_array")):
    kinds.clear()
    answer = searches()[place](values)
    found[name] = list(kinds)
    print(f"{name}: {answer}, take is compiled for count = {kinds}")
print("numba", numba.__version__, "NumPy", np.__version__)
print("expected: one version of take in both")
print("found: two where count begins as the literal 0, which is a type of its own")
assert len(found["from_literal"]) == 2 and len(found["from_array"]) == 1, found
PYTHON
"$folder/env/bin/python" "$folder/count.py"
