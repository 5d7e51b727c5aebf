#!/usr/bin/env bash
# polars: codes of a fixed number of bytes come back from Parquet as bytes of any number.
# Guess before the run: the type of the file is kept when polars reads and writes it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 polars==2.1.0 pyarrow==26.0.1
cat > "$folder/look.py" <<'PYTHON'
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

codes = pa.array([b"\1\0", b"\0\0"], pa.binary(2))
pq.write_table(pa.table({"code": codes}), "codes.parquet")
pl.read_parquet("codes.parquet").write_parquet("again.parquet")
types = [str(pq.read_schema(name).field("code").type) for name in
         ("codes.parquet", "again.parquet")]
print("polars", pl.__version__, "pyarrow", pa.__version__)
print("expected: fixed_size_binary[2] in both files")
print("found:", types)
assert types == ["fixed_size_binary[2]", "large_binary"], types
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
