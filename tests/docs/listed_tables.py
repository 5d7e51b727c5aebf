"""Tables of the guide that ``measured_tables`` does not compare with a file, and why."""

from typing import NamedTuple

from guide_tables import find_table


class Listed(NamedTuple):
    """How a table is found, the commands that measure it, and its CSV files."""

    find: tuple
    script: tuple = ()
    files: tuple = ()

    def load(self):
        return find_table(*self.find)


def bench(name, *find, files=()):
    """Of a script by its name, which may have arguments behind it."""
    name, *arguments = name.split(" ")
    command = " ".join([f"python benchmarks/bench_{name}.py", *arguments])
    return Listed(find, (command,), files)


OF_SIZES = "python benchmarks/bench_size.py"
# Times and memory of the machine that the page names.
SECONDS = [
    bench("scale", "items", "encode, s"),
    bench("scale", "items", "nearest, faiss itself"),
    bench("scale", "items", "count, at most"),
    bench("scale", "operation", "1 worker"),
    bench("scale", "items", "codes in files"),
    Listed(("commit", "day"), ("python benchmarks/record_speed.py",)),
    Listed(("search by", "call"), (OF_SIZES,), ("size",)),
    Listed(("codes", "encode 10⁶ rows", "bytes per item")),
    Listed(("ranks", "extra peak memory, MiB")),
]
# Measured once, by code that is not kept: ideas that did not help, for the most part.
NOT_KEPT = [
    Listed(("AP", "linear codes, 32 bits")),
    Listed(("epochs", "last loss")),
    Listed(("change", "none", "vectors trained")),
    Listed(("change", "none", "the same, 1.5 in place of .7")),
    Listed(("embedding, set",)),
    Listed(("training", "labeled rows alone, all of it is that probability")),
    Listed(("training", "convolutions", "normalized")),
    Listed(("training", "``hidden_layer_sizes=256``")),
    Listed(("change", "``LinearSVC`` with one `C` for all labels (first draw)")),
    Listed(("fitted on", "time, s")),
    Listed(("data, layers", "bfloat16")),
    Listed(("method", "CIFAR-10 tanh(a/m)")),
]
# Scripts measure these, and keep no file yet.
WITHOUT_FILE = [
    bench("svm", "first cell: loss", "squared hinge: LinearSVC"),
    bench("svm", "trained on", "paper"),
]
# Tests of their own compare these.
COMPARED_ELSEWHERE = [
    Listed(("commit", "day"), ("python benchmarks/record_speed.py",)),
    Listed(("search by", "call", "unit"), (OF_SIZES,), ("size",)),
    bench(
        "comparisons rates",
        "How often equally good runs are separated at 5 %",
        files=("comparisons",),
    ),
    bench(
        "comparisons rates",
        "How often intervals of 95 % hold the mean of all queries",
        files=("comparisons",),
    ),
    bench(
        "comparisons intervals --n-simulations 2000",
        "Coverage of intervals of 95 %, 20 queries",
        files=("intervals",),
    ),
    bench("bitbudget", "BitBudget's protocol, percent of floats", files=("bitbudget",)),
    bench("bitbudget", "nDCG@10 of methods that count bits", files=("bitbudget",)),
    bench("mteb", "mteb's nDCG@10", files=("mteb",)),
]
# Nothing in these is measured, or they repeat figures of other tables.
NOT_MEASURED = [
    ("task", "what more bits bring"),
    ("set", "database", "affinity"),
    ("loss", "what is minimized", "learns from"),
    ("what", "bytes"),
    ("Supported by 0.1",),
    ("symptom", "parameter", "try"),
    ("parameter", "range to try", "worth"),
]
