"""What the tables of the guide show of networks of one's own, and of ranking SVMs."""

from guide_tables import Measured, NotMeasuredError, mean, measured, pick, short

OF_NETWORKS = {
    "two convolutions and a linear layer": "convolutions",
    "the same with batch normalization": "normalized",
    "two layers of a transformer over the lines": "attention",
}
SETS = {"Fashion-MNIST": "fashion_mnist", "digits": "digits"}


def is_of(row, label):
    """Whether a row of ``modules.csv`` has the set, the rows and the epochs of a label."""
    name, rows, epochs = label.split(", ")
    wanted = SETS[name], rows.removesuffix(" rows").replace(" ", ""), epochs.split(" ")[0]
    return (row["data"], row["rows"], row["epochs"]) == wanted


def of_networks(label, network, column):
    """AP of one seed; of the loops by hand the best."""
    rows = pick(measured("modules"), network=OF_NETWORKS[network], seed=0)
    rows = [row for row in rows if is_of(row, label)]
    of_hand = [row for row in rows if row["contender"].startswith("by hand")]
    if column == "by hand":
        if len(of_hand) < 6:
            raise NotMeasuredError(label, network)
        return short(max(float(row["ap"]) for row in of_hand))
    found = pick(rows, contender=column.strip("`"))
    if not found:
        raise NotMeasuredError(label, network, column)
    return short(float(found[0]["ap"]))


OF_WORDS = {"held-out": "two stages, held-out", "150 words": "module"}


def of_words(network, epochs, column):
    """Mean AP of three draws of words."""
    contender = OF_WORDS.get(column, column.strip("`"))
    key = {"data": "words", "network": network, "epochs": epochs, "contender": contender}
    rows = pick(measured("modules"), **key)
    if len(rows) < 3:
        raise NotMeasuredError(network, epochs, column)
    return short(mean(rows, "ap"))


def of_batches(network, column):
    size = column.removesuffix(" words")
    return of_words(network, 30, column if size == "150" else f"module, batches of {size}")


OF_GRADES = {
    '``RankingSVC("ndcg")``, grades': "RankingSVC, grades",
    "the same, grade 1 and above": "RankingSVC, grade >= 1",
    "the same, grade 2 and above": "RankingSVC, grade >= 2",
    "logistic regression of all pairs": "logistic regression of pairs",
}


def of_grades(label, column):
    """Means of three draws; the other set was measured once."""
    source, _, measure = column.partition(": ")
    if source != "drawn":
        return None
    rows = pick(measured("svm"), table="grades", model=OF_GRADES[label])
    if len(rows) < 3:
        raise NotMeasuredError(label)
    return short(mean(rows, {"NDCG": "ndcg", "NDCG@10": "ndcg_at_10"}[measure]))


WORDS = (
    "python benchmarks/bench_modules.py --sets words --rows 3000 --epochs 30 --seeds 0 1 2"
)
MODELS_TABLES = [
    Measured(
        ("start", "by hand"),
        "python benchmarks/bench_modules.py",
        "modules",
        of_networks,
        n_labels=2,
    ),
    Measured(("two stages", "held-out"), WORDS, "modules", of_words, n_labels=2),
    Measured(("32 words", "512 words"), WORDS, "modules", of_batches),
    Measured(
        ('``RankingSVC("ndcg")``, grades',),
        "python benchmarks/bench_svm.py grades",
        "svm",
        of_grades,
    ),
]
