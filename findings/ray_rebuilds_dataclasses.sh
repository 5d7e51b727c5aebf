#!/usr/bin/env bash
# Ray under dask: an object of a dataclass reaches its task made anew of its fields.
# Expected (written after a test of ours had failed): a task gets the object that it was
# given, or a pickled copy of it, with all attributes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet ray==2.60.0 "dask==2026.8.0" pyarrow==26.0.1 pandas==3.1.1 numpy==2.4.6
cat > "$folder/fitted.py" <<'PYTHON'
from dataclasses import dataclass

import dask
import ray
from ray.util.dask import ray_dask_get


@dataclass
class Scaler:
    unit: float = 1.0


class Plain:
    unit = 1.0


def has_mean(scaler):
    return hasattr(scaler, "mean_")


def asked(scaler):
    scaler.mean_ = 3.0
    task = dask.delayed(has_mean)(dask.delayed(scaler, traverse=False))
    return task.compute(scheduler="threads"), task.compute(scheduler=ray_dask_get)


if __name__ == "__main__":
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    plain, fields = asked(Plain()), asked(Scaler())
    print("Ray", ray.__version__, "dask", dask.__version__)
    print("expected: the task sees the attribute that was set before, under both schedulers")
    print("found: (threads, Ray) plain class", plain, "dataclass", fields)
    assert plain == (True, True) and fields == (True, False), (plain, fields)
PYTHON
"$folder/env/bin/python" "$folder/fitted.py"
