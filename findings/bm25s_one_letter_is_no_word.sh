#!/usr/bin/env bash
# bm25s: a query of one letter finds documents at random, with score 0.
# Guess before the run: C finds the documents on C.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 bm25s==0.3.16
cat > "$folder/look.py" <<'PYTHON'
import bm25s

documents = ["a manual of C", "a book on Python", "gardens"]
index = bm25s.BM25()
index.index(bm25s.tokenize(documents, show_progress=False), show_progress=False)
query = bm25s.tokenize("C", show_progress=False)
found, scores = index.retrieve(query, k=2, show_progress=False)
print("bm25s", bm25s.__version__)
print("expected: the first document, and no other")
print("found:", [documents[i] for i in found[0]], "with scores", scores[0].tolist())
print("       as words of one letter are left out, of documents and of queries")
assert scores[0].tolist() == [0, 0] and 0 not in found[0], (found, scores)
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
