#!/usr/bin/env bash
# Arrow: .values of a slice of packed codes are those of the whole array.
# Guess before the run: they are the bytes of the slice.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 pyarrow==26.0.1
cat > "$folder/look.py" <<'PYTHON'
import numpy as np
import pyarrow as pa

codes = np.arange(8, dtype=np.uint8).reshape(4, 2)
column = pa.FixedSizeListArray.from_arrays(pa.array(codes.ravel()), 2)
last = column[2:]
found = np.asarray(last.values).reshape(-1, 2)
print("pyarrow", pa.__version__, "NumPy", np.__version__)
print("expected:", codes[2:].tolist())
print("found:", found.tolist(), "of .values; .flatten() has the slice's own")
assert found.tolist() == codes.tolist(), found
assert np.asarray(last.flatten()).reshape(-1, 2).tolist() == codes[2:].tolist()
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
