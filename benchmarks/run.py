"""Run the benchmarks, keep their results, and write the tables of the guide.

    python benchmarks/run.py --only neighbors training   # some
    python benchmarks/run.py                             # all: a day

SKLEARN_TALR_DATA names the folder of the sets. What is in the result files is not measured
again, but times are: take a quiet machine. `speed` records the speed of this commit. Last,
`write_tables.py` writes the tables.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SETS = "cifar10", "digits", "fashion_mnist", "coco17", "tmc2007", "scenes"
COMMANDS = {
    "neighbors": [["bench_neighbors.py", "knn"], ["bench_neighbors.py", "one"]],
    "training": [["bench_training.py"]],
    "steps": [["bench_steps.py"]],
    "metrics": [["bench_metrics.py"]],
    "runs": [["bench_runs.py"]],
    "first_call": [["bench_first_call.py"]],
    "svm": [["bench_svm.py"]],
    "embeddings": [["bench_embeddings.py"]],
    "new_rows": [["bench_new_rows.py"]],
    "many_classes": [["bench_many_classes.py"]],
    "many_rows": [["bench_many_rows.py"]],
    "raw": [["bench_raw.py"]],
    "copies": [["bench_copies.py"]],
    "choice": [["bench_choice.py"]],
    "judged": [["bench_judged.py"]],
    "unseen": [["bench_unseen.py"]],
    "tests": [["bench_tests.py"]],
    "comparison": [
        ["comparison/compare_methods.py", "--no-tuning", "--data", name] for name in SETS
    ],
    "speed": [["record_speed.py"]],
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "SKLEARN_TALR_SECONDS": str(HERE / "results" / "seconds.csv"),
    }
    for name in parser.parse_args().only:
        for script, *rest in COMMANDS[name]:
            command = [sys.executable, str(HERE / script), *rest]
            subprocess.run(command, check=True, env=environment)
    subprocess.run([sys.executable, str(HERE / "write_tables.py")], check=True)
