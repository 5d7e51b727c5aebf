#!/usr/bin/env bash
# rank_bm25: a word that half of the documents have scores 0 in all of them.
# Guess before the run: of two documents the one with the word is first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 rank-bm25==0.2.2
cat > "$folder/look.py" <<'PYTHON'
from importlib.metadata import version

from rank_bm25 import BM25Okapi

documents = [["green", "bus"], ["red", "car"]]
scores = BM25Okapi(documents).get_scores(["red"])
print("rank-bm25", version("rank-bm25"))
print("expected: the second document scores above the first")
print("found:", scores.tolist(), "a tie, since the weight of the word is log(1)")
assert scores.tolist() == [0, 0], scores
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
