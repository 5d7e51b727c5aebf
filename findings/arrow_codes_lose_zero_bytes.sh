#!/usr/bin/env bash
# NumPy and Arrow: packed codes seen as byte strings lose the zero bytes at their end.
# Guess before the run: Arrow makes strings of as many bytes as the NumPy type has.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 pyarrow==26.0.1
cat > "$folder/look.py" <<'PYTHON'
import numpy as np
import pyarrow as pa

codes = np.array([[1, 2], [1, 0], [0, 0]], np.uint8)
column = pa.array(codes.view("S2").ravel())
lengths = [len(code) for code in column.to_pylist()]
sized = pa.array(codes.view("S2").ravel(), pa.binary(2)).to_pylist()
print("pyarrow", pa.__version__, "NumPy", np.__version__)
print("expected: three codes of two bytes")
print("found:", column.type, "of", lengths, "bytes; only pa.binary(2) keeps both:", sized)
assert lengths == [2, 1, 0] and b"".join(sized) == codes.tobytes()
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
