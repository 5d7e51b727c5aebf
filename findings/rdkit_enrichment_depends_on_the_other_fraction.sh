#!/usr/bin/env bash
# RDKit: the enrichment factor at one fraction depends on which other fractions are asked
# for.
# Expected (written after a comparison had shown the difference): each fraction is rounded
# up to whole molecules by itself, so that 5 % of 18 molecules is the first one, whether
# or not 1 % is asked for as well.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet rdkit==2026.9.1 numpy==2.4.6
cat > "$folder/enrich.py" <<'PYTHON'
import rdkit
from rdkit.ML.Scoring import Scoring

# 18 molecules, best first; the first of them is active, and three more further down
active = [1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
ranked = [[1.0 - place / 18, is_active] for place, is_active in enumerate(active)]
(alone,) = Scoring.CalcEnrichment(ranked, 1, [0.05])
_, beside = Scoring.CalcEnrichment(ranked, 1, [0.01, 0.05])
print("RDKit", rdkit.__version__)
print("expected: the same factor at 5 % of 18 molecules, 4.5, alone and beside 1 %")
print(f"found: {alone} alone, {beside} beside 1 %, which rounds up to one molecule as well:")
print("the second of two fractions of one length is taken one molecule later")
assert (alone, beside) == (4.5, 2.25), (alone, beside)

# Shares are multiplied in floating point: 7 % of 100 molecules are eight
hundred = [[1.0 - place / 100, int(place in (7, 50))] for place in range(100)]
(seven,) = Scoring.CalcEnrichment(hundred, 1, [0.07])
print("expected: 0.0 at 7 % of 100 molecules of which the eighth is the first active one")
print(f"found: {seven}, since .07 * 100 is rounded up to eight")
assert seven == 6.25, seven
PYTHON
"$folder/env/bin/python" "$folder/enrich.py"
