#!/usr/bin/env bash
# Chroma: add with an id that is there says nothing, and keeps the old vector.
# Guess before the run: a repeated id is refused, or replaces the vector.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 chromadb==1.5.9
cat > "$folder/look.py" <<'PYTHON'
import chromadb
from chromadb.config import Settings

client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
rows = client.create_collection("rows", embedding_function=None)
rows.add(ids=["a", "b"], embeddings=[[1.0, 0.0], [0.0, 1.0]])
rows.add(ids=["a"], embeddings=[[5.0, 5.0]])
kept = rows.get(ids=["a"], include=["embeddings"])["embeddings"].tolist()
print("chromadb", chromadb.__version__)
print("expected: an error, or [[5.0, 5.0]] for a")
print("found:", kept, "and no word of it")
assert kept == [[1.0, 0.0]] and rows.count() == 2, kept
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
