#!/usr/bin/env bash
# DuckDB: a query reads the rows of a two-dimensional NumPy array as columns.
# Guess before the run: four rows of two numbers are a table of four rows.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 duckdb==2.0.1
cat > "$folder/look.py" <<'PYTHON'
import duckdb
import numpy as np

codes = np.arange(8).reshape(4, 2)
rows = duckdb.sql("select * from codes").fetchall()
print("DuckDB", duckdb.__version__, "NumPy", np.__version__)
print("expected:", [*map(tuple, codes.tolist())])
print("found:", rows)
assert rows == [(0, 2, 4, 6), (1, 3, 5, 7)], rows
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
