#!/usr/bin/env bash
# dask: two objects of a dataclass that differ in what was set after __init__ have one
# token.
# Expected (no guess: it was looked for after Ray had lost attributes): a token tells
# objects apart that pickle tells apart, so that a fitted estimator and one that is not
# have two tokens.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet "dask[array]==2026.8.0" numpy==2.4.6
cat > "$folder/names.py" <<'PYTHON'
from dataclasses import dataclass

import dask
from dask.base import tokenize


@dataclass
class Scaler:
    unit: float = 1.0


class Plain:
    def __init__(self):
        self.unit = 1.0


def tokens(kind):
    first, second = kind(), kind()
    first.mean_, second.mean_ = 3.0, 4.0
    return tokenize(first), tokenize(second)


plain, fields = tokens(Plain), tokens(Scaler)
print("dask", dask.__version__)
print("expected: two tokens for two objects whose attribute mean_ differs")
print("found: plain class", len(set(plain)), "tokens; dataclass", len(set(fields)))
print("a dataclass is told by its fields, so tasks of two fitted estimators have one name")
assert len(set(plain)) == 2 and len(set(fields)) == 1, (plain, fields)
PYTHON
"$folder/env/bin/python" "$folder/names.py"
