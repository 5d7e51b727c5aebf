"""Short binary codes for retrieval, learned by maximising tie-aware ranking metrics."""

from importlib import import_module

__version__ = "0.1.0.dev0"

# Names and where they live. They are imported on first use, so that
# ``import sklearn_talr.metrics`` does not pay for torch.
_HOMES = {
    "HammingNeighbors": "neighbors",
    "ITQHasher": "hashing",
    "LSHHasher": "hashing",
    "PrecomputedAffinity": "affinity",
    "RankingSVC": "svm",
    "TALRHasher": "hashing",
    "make_retrieval_scorer": "metrics",
}
_SUBMODULES = (
    "affinity",
    "codes",
    "datasets",
    "export",
    "hashing",
    "histogram",
    "metrics",
    "neighbors",
    "objectives",
    "svm",
)

__all__ = sorted([*_HOMES, *_SUBMODULES])


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in _SUBMODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *__all__])
