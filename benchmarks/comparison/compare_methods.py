"""Every method on the same splits and tuning budget, by binary and weighted queries.

Run it from its folder:

    SKLEARN_TALR_DATA=/path/to/data python compare_methods.py --data cifar10
    python compare_methods.py --data digits --bits 12 24 32 48 --seeds 0 1 2
    python compare_methods.py --data mine.npz --methods LSH ITQ TALR-AP
    python compare_methods.py --data digits --methods TALR-AP my_losses.py:my_loss
    python compare_methods.py --data cifar10 --unseen
    python compare_methods.py --data cifar10 --lookup --bits 48 64

Each method is tuned on the training rows of each seed: seven weight decays to choose from
by cross-validation in two folds at 32 bits, scored by tie-aware AP, or NDCG where affinity
is graded. Logistic regression has four penalties to choose from. With ``--no-tuning`` all
have their defaults. Then a method is fitted at each length, and held-out queries rank the
whole database, by the Hamming distance of their bits and by the weights of their queries.

Rows go to ``OUT/DATA.csv`` when a method is finished; what is there already is not run
again, so an interrupted run goes on. ``../write_tables.py`` makes the tables of the guide
from these files. Seconds are those of the processor.

Methods named "kernel" learn from the probabilities of one teacher, the default of
``ClassProbabilities``, or are those. It is fitted once for each split, and for several
commands once if the environment variable ``SKLEARN_TALR_CACHE`` names a folder to keep
its probabilities in; its seconds are among those of every such method. These methods are
not tuned.

``--unseen`` trains on 70 % of the classes and ranks samples of the others. ``--lookup``
compares DSH with m-DSH, for m = 4, 8 and 12, by the metrics of hash lookup.
"""

import argparse
import json
import platform
import time
from importlib.metadata import version
from pathlib import Path

from _data import load_once
from _measures import measure
from _methods import CLASSIFIERS, LOOKUP_METHODS, METHODS, applies, find_method, tune
from _results import Results
from joblib import Parallel, delayed

RESULTS = Path(__file__).parent / "results"
_LIBRARIES = ("numpy", "scikit-learn", "torch")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="name of a set, or an .npz file")
    parser.add_argument("--bits", nargs="+", type=int, default=[12, 32, 64])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    help = "names of the tables, and losses of your own as FILE.py:NAME"
    parser.add_argument("--methods", nargs="+", type=method_name, help=help)
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--lookup", action="store_true")
    parser.add_argument("--no-tuning", action="store_true", help="defaults everywhere")
    parser.add_argument("--jobs", type=int, default=1, help="processes, a method in each")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.lookup and arguments.methods:
        parser.error("--lookup has methods of its own; leave --methods out.")
    return arguments


def method_name(name):
    """Check the name of a method; that of a loss of one's own is FILE.py:NAME."""
    try:
        if name not in CLASSIFIERS:
            find_method(name)
    except (OSError, KeyError) as error:
        raise argparse.ArgumentTypeError(
            f"{name!r} is none of {', '.join([*METHODS, *CLASSIFIERS])}, and names no loss "
            f"as FILE.py:NAME: {error!r}"
        ) from error
    return name


def setting(arguments):
    """What is the same for all rows of this experiment, as a row tells it."""
    parts = ["unseen"] * arguments.unseen + ["lookup"] * arguments.lookup
    return "-".join([*parts, "defaults" if arguments.no_tuning else "tuned"])


def missing(arguments, results):
    """What is still to be run: a seed, a method, its parameters if known, its lengths."""
    methods = LOOKUP_METHODS if arguments.lookup else [*METHODS, *CLASSIFIERS]
    for seed in arguments.seeds:
        for method in arguments.methods or methods:
            lengths = [0] if method in CLASSIFIERS else arguments.bits
            lengths = [n for n in lengths if not results.has(method, n, seed)]
            if lengths:
                yield seed, method, results.params(method, seed), lengths


def run_method(arguments, seed, method, params, lengths):
    """Rows of a method that is tuned, if asked for, and fitted at each length."""
    data = load_once(arguments.data, seed, arguments.unseen)
    if not applies(method, data):
        return []
    rows, seconds = [], 0.0
    if params is None:
        params = {}
        if not arguments.no_tuning:
            params, seconds = tune(method, data, seed)
    same = {"data": Path(arguments.data).stem, "setting": setting(arguments)}
    same |= {"versions": versions(), "params": json.dumps(params)}
    for n_bits in lengths:
        row = {"method": method, "n_bits": n_bits, "seed": seed, "tune_seconds": seconds}
        row |= measure(method, n_bits, seed, data, params)
        rows.append(same | row)
        seconds = 0.0  # it was tuned once
    return rows


def versions():
    """What the results were measured with."""
    libraries = (f"{name} {version(name)}" for name in _LIBRARIES)
    return ", ".join([f"Python {platform.python_version()}", *libraries])


def run(arguments, results):
    """Run what is missing, in several processes if asked; write rows as they come."""
    todo = list(missing(arguments, results))
    in_turn = Parallel(arguments.jobs, return_as="generator_unordered")
    start = time.perf_counter()
    calls = (delayed(run_method)(arguments, *part) for part in todo)
    for done, rows in enumerate(in_turn(calls), start=1):
        for row in rows:
            results.add(row)
            figures = " ".join(
                f"{name} {row[name]:.4f}"
                for name in ("ap", "ndcg", "ap_float", "ndcg_float")
                if name in row
            )
            print(f"{row['method']} {row['n_bits']} bits seed {row['seed']}: {figures}")
        minutes = (time.perf_counter() - start) / done * (len(todo) - done) / 60
        bar = "#" * (30 * done // len(todo))
        print(f"[{bar:.<30}] {done}/{len(todo)}, {minutes:.0f} min left", flush=True)


def main():
    arguments = parse_arguments()
    name = f"{Path(arguments.data).stem}-{setting(arguments)}.csv"
    results = Results(arguments.out / name)
    run(arguments, results)


if __name__ == "__main__":
    main()
