#!/usr/bin/env bash
# SciPy: a mask that savemat wrote is no mask any more when loadmat reads it.
# Guess before the run: an array of bool comes back as bool.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 scipy==1.17.1
cat > "$folder/look.py" <<'PYTHON'
import numpy as np
import scipy
from scipy.io import loadmat, savemat

rows, mask = np.array([10, 20, 30, 40]), np.array([False, False, True, True])
savemat("data.mat", {"mask": mask})
loaded = loadmat("data.mat", squeeze_me=True)["mask"]
print("SciPy", scipy.__version__, "NumPy", np.__version__)
print("expected: rows[mask] is", rows[mask], "with the mask of the file, too")
print("found:", rows[loaded], "as the mask is", loaded.dtype, "and picks rows 0 and 1")
assert loaded.dtype == np.uint8 and rows[loaded].tolist() == [10, 10, 20, 20]
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
