#!/usr/bin/env bash
# Dask: packed blocks keep the width of the bits, and a slice by columns is empty.
# Guess before the run: map_blocks looks at what the function returns, or compute tells that
# the width is wrong.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 dask[array]==2026.8.0
cat > "$folder/look.py" <<'PYTHON'
import dask
import dask.array as da
import numpy as np

bits = da.ones((6, 64), chunks=(3, 64), dtype=np.uint8)
codes = bits.map_blocks(np.packbits, axis=1)
found = codes.shape, codes.compute().shape, codes[:, 8:].compute().shape
print("Dask", dask.__version__, "NumPy", np.__version__)
print("expected: shape (6, 8), or an error")
print(f"found: shape {found[0]}, computed {found[1]}; columns 8 to 63 are {found[2]}")
assert found == ((6, 64), (6, 8), (6, 0)), found
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
