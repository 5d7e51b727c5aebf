#!/usr/bin/env bash
# pandas: read_json turns strings of digits into numbers, so that identifiers change.
# Guess before the run: a string of a JSON file stays a string.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1
cat > "$folder/look.py" <<'PYTHON'
import io

import pandas as pd

lines = '{"doc_id": "007", "score": 2.5}\n{"doc_id": "7", "score": 1.5}\n'
table = pd.read_json(io.StringIO(lines), lines=True)
run = pd.read_json(io.StringIO('{"q1": {"007": 2.5, "7": 1.5}}'))
print("pandas", pd.__version__)
print("expected: two documents, 007 and 7")
print("found:", table["doc_id"].tolist(), "in a column, and as an index", run.index.tolist())
assert table["doc_id"].tolist() == [7, 7] and run.index.tolist() == [7, 7]
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
