"""Short binary codes for retrieval, learned by maximizing tie-aware ranking metrics."""

from ._lazy import lazy_names

__version__ = "0.1.0.dev0"

# Names are imported on first use, so that ``import sklearn_talr.metrics`` does not pay for
# torch.
_HOMES = {
    "AdditiveHasher": "hashing",
    "ClassProbabilities": "hashing",
    "CrossViewHasher": "hashing",
    "HammingNeighbors": "neighbors",
    "HashedNeighbors": "neighbors",
    "ITQHasher": "hashing",
    "LSHHasher": "hashing",
    "PrecomputedAffinity": "affinity",
    "RankingSVC": "svm",
    "TALRHasher": "hashing",
    "affinity": "affinity",
    "baselines": "baselines",
    "codes": "codes",
    "dask": "dask",
    "export": "export",
    "hashing": "hashing",
    "histogram": "histogram",
    "inference": "inference",
    "kernel_ridge": "kernel_ridge",
    "losses": "losses",
    "make_retrieval_scorer": "metrics",
    "measures": "measures",
    "metrics": "metrics",
    "neighbors": "neighbors",
    "runs": "runs",
    "show_versions": "_show_versions",
    "svm": "svm",
    "warm_up": "_warm_up",
}

__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
