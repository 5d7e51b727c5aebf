#!/usr/bin/env bash
# mat73: one row of a MATLAB file of version 7.3 loses a dimension, and one number both.
# Guess before the run: a matrix has two dimensions, as in SciPy's reader of older files.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 scipy==1.17.1 hdf5storage==0.2.2 mat73==0.65
cat > "$folder/look.py" <<'PYTHON'
from importlib.metadata import version

import hdf5storage
import mat73
import numpy as np
from scipy.io import loadmat, savemat

codes = np.arange(6, dtype=np.uint8).reshape(2, 3)
data = {"all": codes, "row": codes[:1], "column": codes[:, :1], "one": codes[:1, :1]}
savemat("old.mat", data)
how = {"format": "7.3", "matlab_compatible": True, "store_python_metadata": False}
hdf5storage.savemat("new.mat", data, **how)
old, new = loadmat("old.mat"), mat73.loadmat("new.mat")
found = {name: (old[name].shape, np.shape(new[name])) for name in data}
for name, shapes in found.items():
    print(f"{name}: version 5 {shapes[0]}, version 7.3 {shapes[1]}")
print(*(f"{name} {version(name)}" for name in ("scipy", "hdf5storage", "mat73")))
print("expected: the same shapes from both files")
print("found: only a matrix of several rows and columns stays one")
assert [of_new for _, of_new in found.values()] == [(2, 3), (3,), (2,), ()], found
assert all(of_old == data[name].shape for name, (of_old, _) in found.items()), found
PYTHON
cd "$folder"
"$folder/env/bin/python" look.py
