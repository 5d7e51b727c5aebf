"""Run other tools of this field, and write the tables of the page on them.

    python benchmarks/other_tools/run_tools.py                # all, an hour
    python benchmarks/other_tools/run_tools.py ranx usearch   # some; other rows stay

Tools are installed, pinned, in temporary environments, one for each set of packages that
they ask for beside themselves. `evaluation_tools.py` and `engine_tools.py` run there; here
only the lines of this package run that should give the same numbers.
"""

import csv
import json
import random
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import engine_tools
import evaluation_tools
import numpy as np

from sklearn_talr.runs import evaluate_run  # noqa: F401

HERE = Path(__file__).resolve().parent
TABLES = HERE.parents[1] / "docs" / "user_guide" / "tables"
TORCH = evaluation_tools.TORCH
N_RUNS = 200
TOLERANCE = 2e-5  # some round to five digits
COLUMNS = {
    "tools_order": ["order of 4 tied", "order of 20 tied", "scores", "scores below 0"],
    "tools_counting": [
        "gain",
        "discount",
        "AP@k divides by",
        "P@10 of 3 divides by",
        "nothing relevant",
        "nothing retrieved",
        "grades below 0",
    ],
    "tools_names": ["behavior behind the name"],
    "tools_engines": [
        "distance",
        "bits of floats",
        "order of ties",
        "beyond the last",
        "radius 3",
        "graph, 256 of each code",
        "lost on saving",
    ],
}


def tied_runs():
    """Judgments and runs of queries: 36 judged documents, 30 retrieved with 6 scores."""
    qrels, runs = {}, {}
    for seed in range(N_RUNS):
        rng = random.Random(seed)
        names = [f"d{i:02}" for i in rng.sample(range(36), 36)]
        grades = {d: rng.choice([0, 0, 0, 1, 2, 3]) for d in names} | {names[0]: 1}
        qrels[f"q{seed:03}"] = grades
        runs[f"q{seed:03}"] = {d: float(rng.randint(1, 6)) for d in names[:30]}
    return qrels, runs


def in_order(run, order):
    """The run with ties broken: documents of a query in an order, then by score."""
    return {
        q: {d: -i for i, d in enumerate(sorted(order(s), key=s.get, reverse=True))}
        for q, s in run.items()
    }


def ones(qrels):
    return {q: {d: int(grade > 0) for d, grade in s.items()} for q, s in qrels.items()}


def agreement(line, values):
    """In how many runs a line gives the value of a tool, or the interval that has it."""
    qrels, run = tied_runs()
    seen = {q: {d: qrels[q].get(d, 0) for d in run[q]} for q in run}
    here = eval(line, globals() | {"qrels": qrels, "run": run, "seen": seen})
    if isinstance(here, np.ndarray):
        return f"equal in {np.sum(abs(here[:, 0] - values) <= TOLERANCE)}"
    low, high = here.worst[:, 0] - TOLERANCE, here.best[:, 0] + TOLERANCE
    return f"within in {np.sum((low <= values) & (values <= high))}"


def escaped(cell):
    """The cell, so that nDCG@10 in it does not become a link to a mail address."""
    return cell.replace("@", r"\@")


def lines_by_form(title, lines, agreements):
    """Rows of a tool: measures that one line gives, if M in it is the measure's name."""
    measures = {}
    for measure, agrees in agreements.items():
        line = lines[measure].replace(f"'{measure}'", "M")
        measures.setdefault((line, agrees), []).append(measure)
    return [
        [title, escaped(", ".join(names)), f"``{line}``", agrees]
        for (line, agrees), names in measures.items()
    ]


def write(table, head, rows, name):
    """Rows of one tool in place of those that a table had."""
    path, kept = TABLES / f"{table}.csv", []
    if path.exists():
        with open(path, newline="") as file:
            kept = [row for row in list(csv.reader(file))[1:] if row[0].split()[0] != name]
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [head, *sorted(kept + rows, key=lambda row: row[0].lower())]
        )


def run_tool(python, script, name, runs):
    """Write the rows of a tool; return a list of its name if it could not be run."""
    command = [python, "-P", str(HERE / script), name]
    done = subprocess.run([*command, runs], capture_output=True, text=True, timeout=1800)
    if done.returncode:
        print(f"{name}: not run\n{done.stderr[-2000:]}", file=sys.stderr)
        return [name]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    function = (
        evaluation_tools if script == "evaluation_tools.py" else engine_tools
    ).TOOLS[name]
    title = found["cells"].get("version", function.packages[0].replace("==", " "))
    for table, columns in COLUMNS.items():
        if (table == "tools_engines") == (script == "engine_tools.py"):
            cells = [escaped(found["cells"].get(column, "none")) for column in columns]
            kept = [[title, *cells]] if set(cells) != {"none"} else []
            write(table, ["tool", *map(escaped, columns)], kept, title.split()[0])
    agreements = {
        measure: agreement(function.lines[measure], values)
        for measure, values in found["values"].items()
    }
    if agreements:
        rows = lines_by_form(title, function.lines, agreements)
        head = ["tool", "measures M", "line of this package", f"of {N_RUNS} runs"]
        write("tools_lines", head, rows, title.split()[0])
    return []


def main(wanted):
    by_packages, failed = {}, []
    for module in (evaluation_tools, engine_tools):
        for name, function in module.TOOLS.items():
            if not wanted or name in wanted:
                some = by_packages.setdefault((*function.packages[1:],), [])
                some.append((Path(module.__file__).name, name, function.packages[0]))
    for packages, tools in by_packages.items():
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            python, runs = f"{folder}/bin/python", f"{folder}/runs.json"
            Path(runs).write_text(json.dumps(tied_runs()))
            install = [python, "-m", "pip", "install", "--quiet"]
            if TORCH in packages:
                subprocess.run([*install, TORCH], check=True)
            pinned = {*packages, *(package for _, _, package in tools)}
            subprocess.run([*install, *sorted(pinned)], check=True)
            for script, name, _ in tools:
                failed += run_tool(python, script, name, runs)
    if failed:
        sys.exit(f"Not run, or changed: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
