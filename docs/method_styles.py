"""A color and a marker for each method, and a name for each set, in pictures and tables.

Colors are those of Okabe and Ito, which color-blind readers tell apart, too. A method
that is compared with, and not named in a legend, is gray. Markers and dashes tell methods
apart where colors do not. Scripts outside this folder put it on their path:

    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))
    from method_styles import style_of

    axis.plot(lengths, means, label=method, **style_of(method))
"""

SETS = {  # names of data sets, in the order of tables
    "cifar10": "CIFAR-10",
    "coco17": "COCO",
    "tmc2007": "TMC2007",
    "fashion_mnist": "Fashion-MNIST",
    "digits": "digits",
    "scenes": "scenes",
    "text": "text",
    "recommender": "recommender",
}

BLUE, ORANGE, BLACK, PINK = "#0072B2", "#E69F00", "#000000", "#CC79A7"
GREEN, RED, SKY, GRAY = "#009E73", "#D55E00", "#56B4E9", "#808080"

# Families by name: color, marker, dashes. What is recommended has solid lines. LSH, ITQ,
# TALR and two stages have the first four colors of the displays, which know no names.
_FAMILIES = {
    "two stages": (PINK, "D", "-"),
    "two stages, additive": (SKY, "X", "-"),
    "hidden layer": (RED, "P", "-"),
    "additive": (GREEN, "v", "-"),
    "LSH": (BLUE, "o", "-"),
    "ITQ": (ORANGE, "s", "--"),
    "TALR": (BLACK, "^", "-."),
}
# Quantizers of embeddings, beside which none of the hashers above but ``additive`` is drawn
_QUANTIZERS = {
    "faiss ResidualQuantizer": (BLUE, "s", "--"),
    "faiss OPQ+PQ": (BLACK, "^", ":"),
    "signs": ("0.3", "x", ":"),
}
# Methods of other papers: all gray, each with its marker
_RIVALS = {
    "DSH": "<",
    "DPSH": ">",
    "HashNet": "h",
    "DTSH": "d",
    "MIHash": "p",
    "OrthoHash": "*",
    "CSQ": "8",
    "BRE": "1",
    "MACHash": "2",
    "StructHash": "3",
    "FastHash": "4",
}
# Other names of the families; "NDCG" of a family has hollow markers.
_FAMILY_OF = {
    "TALR-AP": "TALR",
    "TALR-NDCG": "TALR",
    "TALR-AP, hidden layer": "hidden layer",
    "TALR-NDCG, hidden layer": "hidden layer",
    "kernel + TALR-AP": "two stages",
    "kernel + TALR-NDCG": "two stages",
    "TALR, two stages": "two stages",
    "kernel + additive": "two stages, additive",
    "kernel + additive words": "two stages, additive",
    "additive, two stages": "two stages, additive",
    "additive bits": "additive",
    "additive words": "additive",
    "AdditiveHasher": "additive",
    "AdditiveHasher, single bits": "additive",
}
# The same family with hollow markers and its own dashes
_HOLLOW = {
    "TALR-NDCG": (0, (3, 1, 1, 1, 1, 1)),
    "TALR-NDCG, hidden layer": (0, (5, 1)),
    "kernel + TALR-NDCG": (0, (5, 1)),
    "AdditiveHasher, single bits": ":",
}


def style_of(method):
    """Keywords of a line for the method of this name: color, marker and dashes.

    A name of no method here, such as of a loss of one's own, is gray with small crosses.
    ``logistic + NAME`` and ``kernel + NAME`` of another paper's NAME are gray with its
    marker, hollow.
    """
    style = _FAMILIES | _QUANTIZERS
    name = _FAMILY_OF.get(method, method)
    if name in style:
        color, marker, dashes = style[name]
        keywords = {"color": color, "marker": marker, "linestyle": dashes}
        if method in _HOLLOW:
            keywords |= {"markerfacecolor": "white", "linestyle": _HOLLOW[method]}
        return keywords
    before, _, last = method.rpartition(" + ")
    marker = _RIVALS.get(_FAMILY_OF.get(last, last), "x")
    keywords = {"color": GRAY, "marker": marker, "linestyle": ":" if before else "-"}
    return keywords | ({"markerfacecolor": "white"} if before else {})
