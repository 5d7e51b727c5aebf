"""Sentences of the guide whose numbers are computed from the CSV files.

A sentence is a text with ``{}`` for each number, and a function that returns the numbers as
texts. Some page must have it, spaces and bold type aside.
"""

from typing import NamedTuple

import numpy as np
from guide_tables import gains, mean, measured, pick, short
from measured_models import of_words
from measured_quality import (
    average,
    honest,
    of_asked,
    of_comparison,
    of_teacher,
    of_training,
)
from measured_tables import UNSEEN, as_printed, recall_tables, short_plus

LENGTHS = 8, 16, 32


class Sentence(NamedTuple):
    text: str
    numbers: callable

    def filled(self):
        return self.text.format(*self.numbers())


# Classes that were not trained on


def unseen(contender, n_bits, queries="bits", protocol=UNSEEN, data="cifar10", seeds=10):
    key = {"contender": contender, "n_bits": n_bits, "queries": queries, "data": data}
    return pick(measured("unseen"), **key, protocol=protocol, seed=list(range(seeds)))


def ap(*args, **kwargs):
    return short(mean(unseen(*args, **kwargs), "ap"))


def change(rows, reference):
    """Mean difference on the splits that both have, and its standard error."""
    found = gains(rows, reference, "ap")
    error = np.std(found, ddof=1) / len(found) ** 0.5
    return short_plus(np.mean(found)), short(error)


BESIDE = "additive bits of features and scores"
ITQ_BESIDE = "ITQ of features and scores"
RECIPE = "TALR, recipe"
SEEN = "seen in seen"


def against_recipe(protocol, contender, n_bits, queries="bits"):
    rows = unseen(contender, n_bits, queries, protocol)
    return change(rows, unseen(RECIPE, n_bits, queries, protocol))


def beside_by_weighted_queries():
    """New classes by 32 and 64 bits, by floats, and classes that were trained on."""
    found = [ap(BESIDE, n_bits, "floats", seeds=5) for n_bits in (32, 64)]
    found.append(ap("features", 0, "floats", seeds=5))
    return [*found, ap(BESIDE, 32, "floats", SEEN, seeds=5)]


def of_rows_without_labels():
    """What training on them gains on CIFAR-10, and two stages of the others on three."""
    for name, sets in (
        ("probabilities", ["cifar10"]),
        ("labeled only, two stages", ["cifar10", "coco17", "fashion_mnist"]),
    ):
        for data in sets:
            rows = pick(measured("unlabeled"), data=data)
            found = [pick(rows, contender=each) for each in (name, "labeled only")]
            yield short(np.mean(gains(*found, "ap")))


def of_words_beside():
    """The least and the greatest change by words in place of single bits, over sets."""
    words, changes = "additive words of features and scores", []
    for data in ("cifar10", "fashion_mnist", "coco17", "tmc2007", "digits"):
        rows = (unseen(name, 64, "floats", data=data) for name in (words, BESIDE))
        changes.append(np.mean(gains(*rows, "ap")))
    return short(min(changes)), short(max(changes))


UNSEEN_SENTENCES = [
    Sentence(
        "With 64 bits the default word size changes the AP among new classes by {} to {} "
        "on five sets.",
        of_words_beside,
    ),
    Sentence(
        "too, gained {} of AP on CIFAR-10 and nothing on COCO and Fashion-MNIST. Two "
        "stages of the labeled rows alone, here with a logistic regression, gained {}, {} "
        "and {} (",
        of_rows_without_labels,
    ),
    Sentence(
        "(AP) of {} with 32 bits and {} with 64 (five splits of CIFAR-10, "
        "``word_size=1``). The features themselves, as floats, have {}. Queries of classes "
        "that were trained on have {}.",
        beside_by_weighted_queries,
    ),
    Sentence(
        "With 32 bits it has {} for new classes and {} for classes that were trained on.",
        lambda: [ap(ITQ_BESIDE, 32, "bits", where, seeds=5) for where in (UNSEEN, SEEN)],
    ),
    Sentence(
        "it has {} for new classes, where the defaults have {} (ten splits). For classes "
        "that were trained on it has {}, where the defaults have {}.",
        lambda: [
            ap(name, 32, "bits", where)
            for where in (UNSEEN, SEEN)
            for name in (RECIPE, "TALR")
        ],
    ),
    Sentence(
        "TALR of probabilities has {} for new classes, where ITQ of features and scores "
        "has {}.",
        lambda: [ap(name, 32, seeds=3) for name in ("TALR of probabilities", ITQ_BESIDE)],
    ),
    Sentence(
        "TALR of probabilities alone is {} ±{} above the recipe, and ITQ of features and "
        "scores {} ±{}.",
        lambda: [
            *against_recipe(SEEN, "TALR of probabilities", 32),
            *against_recipe(SEEN, ITQ_BESIDE, 32),
        ],
    ),
]


# Planning and late interaction


def of_lengths():
    """How often bounds held, and by how much what was promised and a sample are off."""
    rows = measured("bits")
    found = {name: np.array([float(row[name]) for row in rows]) for name in rows[0] if
             name not in ("data", "hasher")}  # fmt: skip
    actual = found["actual_hasher_of_sample"]
    lower = actual >= found["low"]
    both = lower & (actual <= found["high"])
    promised, sample = (abs(found[name] - actual) for name in ("recall", "measured"))
    held = ["all" if lower.all() else str(lower.sum()), str(len(rows)), str(both.sum())]
    errors = promised.mean(), promised.max(), sample.mean(), sample.max()
    return [*held, *map(short, errors)]


def speedup():
    """How much faster than the loop that decodes the index is."""
    rows = pick(measured("maxsim"), codes="single bits")
    times = {row["contender"]: float(row["ms"]) for row in rows}
    return [f"{times['decoding loop'] / times['index']:.0f}"]


PLANNING_SENTENCES = [
    Sentence(
        "the lower bound held in {} {} cases, and both bounds in {}. What was promised "
        "differs from what was found by {} in the mean, and by {} at most. Recall among "
        "8 000 differs by {} in the mean, and by {} at most,",
        of_lengths,
    ),
    Sentence("The index is {} times as fast.", speedup),
]


# Two views


def views(data, contender, queries="bits", column="ap", n_bits=32):
    key = {"data": data, "contender": contender, "queries": queries, "n_bits": n_bits}
    return mean(pick(measured("views"), **key), column)


def judged_by_hundred():
    data = "cifar10, 100 judged"
    return [
        short(views(data, "CrossViewHasher, weights", "weights")),
        short(views(data, "CrossViewHasher")),
    ]


def without_partners():
    """What half of the images on either side cost."""
    names = [f"{name}, {{}}" for name in ("digits", "fashion_mnist", "cifar10")]
    lost = [
        views(name.format("paired"), "CrossViewHasher")
        - views(name.format("unpaired"), "CrossViewHasher")
        for name in names
    ]
    return short(min(lost)), short(max(lost))


def ahead_by_distance():
    sets = "coco17 rare", "text", "scenes"
    for rival in ("ridge to mean bits", "relevance-CCA + ITQ"):
        ahead = [views(name, "CrossViewHasher") - views(name, rival) for name in sets]
        yield short(min(ahead), 2)
        yield short(max(ahead), 2)


VIEW_SENTENCES = [
    Sentence(
        "100 judged queries lead to an AP of {} so, and of {} by Hamming distance.",
        judged_by_hundred,
    ),
    Sentence(
        "With half of the images for each view AP falls by {} to {} by Hamming distance.",
        without_partners,
    ),
    Sentence(
        "is ahead of ridge regression by {} to {}, and of the CCA by {} to {}.",
        ahead_by_distance,
    ),
]


# Embeddings

COLUMNS = "COCO", "scenes", "CIFAR-10", "text"


def recall(method, n_bytes, column):
    title = f"{8 * n_bytes} bits, {n_bytes} bytes"
    return as_printed(recall_tables, title)(method, column)


def mean_recall(method, ending=""):
    return short(np.mean([float(recall(method, 8, c + ending)) for c in COLUMNS]))


OURS, THEIRS = "AdditiveHasher", "faiss ResidualQuantizer"
EMBEDDING_SENTENCES = [
    Sentence(
        "with codes of 8, 16 and 32 bytes: COCO {}, {} and {}; summaries of software {}, "
        "{} and {}.",
        lambda: [recall(OURS, n, column) for column in ("COCO", "text") for n in LENGTHS],
    ),
    Sentence(
        "Fitted to 5 000 rows they have means over the four sets of {} and {}, and fitted "
        "to more rows both have {}.",
        lambda: [mean_recall(OURS), mean_recall(THEIRS), mean_recall(OURS, "+")],
    ),
    Sentence("and fitted to more rows both have {}.", lambda: [mean_recall(THEIRS, "+")]),
    Sentence(
        "On text with more rows ResidualQuantizer has {} and AdditiveHasher {}; on "
        "CIFAR-10 it is {} and {}.",
        lambda: [
            recall(name, 8, column)
            for column in ("text+", "CIFAR-10+")
            for name in (THEIRS, OURS)
        ],
    ),
    Sentence(
        "Single bits have means of {} and {}.",
        lambda: [mean_recall(f"{OURS}, single bits", ending) for ending in ("", "+")],
    ),
    Sentence(
        "On text ResidualQuantizer has {}, and {} with more rows, where AdditiveHasher has "
        "{} and {}. On CIFAR-10 with more rows ResidualQuantizer has {} and AdditiveHasher "
        "{}.",
        lambda: [
            *(recall(name, 16, c) for name in (THEIRS, OURS) for c in ("text", "text+")),
            *(recall(name, 16, "CIFAR-10+") for name in (THEIRS, OURS)),
        ],
    ),
    Sentence(
        "On text with more rows ResidualQuantizer has {} and AdditiveHasher {}. With 32",
        lambda: [recall(name, 32, "text+") for name in (THEIRS, OURS)],
    ),
]


# What flatters


def flatters(protocol, reference, n_bits):
    return short(honest(protocol, n_bits) - honest(reference, n_bits))


def flattered_at(n_bits):
    yield flatters("training rows as items", "600 unseen items", n_bits)
    yield flatters("best order of ties", "honest", n_bits)


def of_choice():
    same, other = (
        honest(f"gain of the choice, {kind}") for kind in ("same queries", "others")
    )
    return short(same), short(other), short(same - other)


def spread():
    rows = pick(measured("honest"), n_bits=16, protocol="honest")
    error = mean(rows, "error")
    return short(error, 2), short(error / 300**0.5)


# Choices of training


def losses_of(change):
    """The least and the greatest loss of AP by a change of the defaults."""
    lost = [
        -np.mean(gains(of_training(data, change), of_training(data, "default"), "score"))
        for data in ("cifar10", "coco17", "tmc2007")
    ]
    return short(min(lost)), short(max(lost))


def added_by_ndcg(n_bits):
    """What training on NDCG adds to the NDCG of scenes, a mean of three splits."""
    rows = pick(measured("scenes-defaults"), n_bits=n_bits)
    ndcg, ap = (pick(rows, method=f"TALR-{measure}") for measure in ("NDCG", "AP"))
    return float(np.mean(gains(ndcg, ap, "ndcg")))


def bound_of_what_is_added():
    return ".0005" if max(abs(added_by_ndcg(n)) for n in (32, 64)) < 0.0005 else "more"


TRAINING_SENTENCES = [
    Sentence(
        "training linear functions on NDCG adds {} at 12 bits, and nothing, within {}, at "
        "32 and 64.",
        lambda: (short(added_by_ndcg(12)), bound_of_what_is_added()),
    ),
    Sentence("a constant rate loses {} to {}", lambda: losses_of("constant learning rate")),
    Sentence(
        "The full length loses {} to {} of AP at 32 bits",
        lambda: losses_of("nested, all 32 bits"),
    ),
]

HONEST_SENTENCES = [
    Sentence(
        "Its standard deviation is {},",
        lambda: [
            short(
                np.std(
                    [
                        float(row["ap"])
                        for row in pick(measured("honest"), n_bits=16, protocol="honest")
                    ]
                )
            )
        ],
    ),
    Sentence(
        "With 8 bits, training rows in the database flatter by {} and the best order of "
        "ties by {}. With 32 bits it is {} and {}.",
        lambda: [*flattered_at(8), *flattered_at(32)],
    ),
    Sentence(
        "it comes close to the mean: {} where the mean is {}. With the database sorted by "
        "class it came to {}. But an order that favors the right items may give up to {},",
        lambda: [
            *(
                short(honest(name), 4)
                for name in ("rows in random order", "honest", "rows sorted by class")
            ),
            short(honest("best order of ties")),
        ],
    ),
    Sentence(
        "it was {} above the mean of all random states, and on the other half {}. The "
        "difference, {}, was luck.",
        of_choice,
    ),
    Sentence(
        "an AP of {} in place of {} (mean of five such splits,",
        lambda: [short(honest("in the order of the file")), short(honest("honest"))],
    ),
    Sentence(
        "The AP of single queries has a standard deviation of {} here, so the mean of 300 "
        "queries has one of {} even if nothing else varies.",
        spread,
    ),
]


# Ways to ask, and teachers


def of_recall(contender, n_bits, asked, n_candidates=10):
    key = {"part": "recall", "contender": contender, "n_bits": n_bits, "asked": asked}
    return of_asked(**key, n_candidates=n_candidates)


def of_left_out(first):
    key = {"part": "left out", "second": "TALR", "items": "new"}
    return [
        of_teacher(first=first, data=d, **key) for d in ("cifar10", "coco17", "tmc2007")
    ]


def of_new_items_of_coco():
    """Floats of the teacher by width of the kernel."""
    key = {"part": "widths", "data": "coco17", "items": "new"}
    return [of_teacher(first=f"kernel, width {w}", **key) for w in (0.35, 0.45, 0.6)]


ASKED_SENTENCES = [
    Sentence(
        "Among the other items the three widths have {}, {} and {}.", of_new_items_of_coco
    ),
    Sentence(
        "signs of the 512 features, Hamming: {}",
        lambda: [of_recall("signs", 512, "Hamming")],
    ),
    Sentence(
        "finds {} of the ten nearest by the codes alone",
        lambda: [of_recall("additive", 256, "weighted")],
    ),
    Sentence(
        "trained on left-out probabilities, has an AP of {} on CIFAR-10, {} on COCO and {} "
        "on TMC2007",
        lambda: of_left_out("kernel"),
    ),
    Sentence(
        "Trained on the probabilities of ``transform`` it has {}, {} and {} (first split,",
        lambda: of_left_out("kernel, not left out"),
    ),
]

# The comparison, where other pages quote it


def of_fashion(*cells):
    return lambda: [of_comparison("fashion_mnist", *cell) for cell in cells]


def of_two_stages():
    """Means over splits of both second stages at 4 bytes, and of linear TALR."""
    for method, column in (
        ("two stages", "new"),
        ("two stages, additive", "new_weighted"),
        ("linear", "new"),
    ):
        rows = pick(measured("new_rows"), data="cifar10", method=method)
        yield short(average(rows, column, 3))


def shares_found(data, contender):
    """How many of the first hundred a shortlist holds, by length."""
    for n_bits in (12, 32):
        key = {"data": data, "contender": contender, "n_bits": n_bits}
        rows = pick(measured("similarity"), **key, queries="shortlist")
        yield f"{100 * average(rows, 'found'):.0f}"


COMPARED_SENTENCES = [
    Sentence(
        "the first has an average precision (AP) of {} among rows that were not trained "
        "on, the second {} with a fifth byte, and linear TALR of the features {} (means of "
        "three splits).",
        of_two_stages,
    ),
    Sentence(
        "The 1 000 nearest by Hamming distance hold {} (12 bits) and {} (32 bits) of the "
        "100 items that weighted queries rank first.",
        lambda: shares_found("cifar10", "additive bits of probabilities"),
    ),
    Sentence(
        "The 1 000 nearest of 20 000 items by Hamming distance hold {} (12 bits) and {} "
        "(32 bits) of the 100 items that weighted queries of additive bits rank first.",
        lambda: shares_found("scenes", "additive bits, cosine"),
    ),
    Sentence(
        "words have an AP of {} and {} on CIFAR-10, {} and {} on COCO, and {} and {} on "
        "TMC2007.",
        lambda: [
            of_comparison(data, "kernel + additive words", n_bits, "ap_float")
            for data in ("cifar10", "coco17", "tmc2007")
            for n_bits in (12, 32)
        ],
    ),
    Sentence(
        "By Hamming distance the teacher with TALR has {}, TALR with a hidden layer {} and "
        "linear TALR {}.",
        of_fashion(
            ("kernel + TALR-AP", 32, "ap"),
            ("TALR-AP, hidden layer", 32, "ap"),
            ("TALR-AP", 32, "ap"),
        ),
    ),
    Sentence(
        "By weighted queries additive bits of the teacher have {}, and of a logistic "
        "regression {}. The probabilities as floats have {} and {}.",
        of_fashion(
            ("kernel + additive", 32, "ap_float"),
            ("logistic + additive", 32, "ap_float"),
            ("kernel scores", 0, "ap_float"),
            ("logistic scores", 0, "ap_float"),
        ),
    ),
]


def of_own_networks():
    """What training on words reaches by two stages and end to end."""
    columns = "two stages", "held-out", "warm-up", "module"
    return [
        of_words("recurrent, normalized", epochs, column)
        for epochs in (30, 100)
        for column in columns
    ]


OWN_NETWORKS = (
    "of {} by two stages, {} with held-out probabilities, {} after a warm-up of half of "
    "the epochs, and {} from random weights; after 100 epochs of {}, {}, {} and {}."
)

SENTENCES = [
    Sentence(OWN_NETWORKS, of_own_networks),
    *COMPARED_SENTENCES,
    *UNSEEN_SENTENCES,
    *PLANNING_SENTENCES,
    *VIEW_SENTENCES,
    *EMBEDDING_SENTENCES,
    *HONEST_SENTENCES,
    *TRAINING_SENTENCES,
    *ASKED_SENTENCES,
]
