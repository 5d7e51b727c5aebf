#!/usr/bin/env bash
# datasets: packed codes of one byte arrive in NumPy as int64, and double precision as
# float32.
# Guess before the run: the format numpy has the types of the table.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 datasets==5.2.0
cat > "$folder/look.py" <<'PYTHON'
import datasets
import numpy as np

table = datasets.Dataset.from_dict(
    {"code": np.array([[1, 255]], np.uint8), "row": np.array([[0.1, 0.2]])}
)
stored = {name: str(table.features[name].feature.dtype) for name in ("code", "row")}
found = table.with_format("numpy")[:]
types = {name: str(found[name].dtype) for name in stored}
print("datasets", datasets.__version__, "NumPy", np.__version__)
print("expected:", stored, "as the table tells")
print("found:", types, "eight bytes for one, and four for eight")
assert stored == {"code": "uint8", "row": "float64"}, stored
assert types == {"code": "int64", "row": "float32"}, types
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
