"""Short binary codes for retrieval, learned by maximizing tie-aware ranking metrics."""

from pkgutil import iter_modules
from typing import TYPE_CHECKING

from ._core.lazy import lazy_names

if TYPE_CHECKING:  # what editors and type checkers read; below, names come when used
    from . import affinity as affinity
    from . import baselines as baselines
    from . import codes as codes
    from . import dask as dask
    from . import export as export
    from . import hashing as hashing
    from . import histogram as histogram
    from . import inference as inference
    from . import kernel_ridge as kernel_ridge
    from . import losses as losses
    from . import measures as measures
    from . import metrics as metrics
    from . import neighbors as neighbors
    from . import runs as runs
    from . import svm as svm
    from .affinity import PrecomputedAffinity as PrecomputedAffinity
    from .commands.versions import show_versions as show_versions
    from .commands.warm_up import warm_up as warm_up
    from .hashing import AdditiveHasher as AdditiveHasher
    from .hashing import ClassProbabilities as ClassProbabilities
    from .hashing import CrossViewHasher as CrossViewHasher
    from .hashing import ITQHasher as ITQHasher
    from .hashing import LSHHasher as LSHHasher
    from .hashing import TALRHasher as TALRHasher
    from .metrics import make_retrieval_scorer as make_retrieval_scorer
    from .neighbors import HammingNeighbors as HammingNeighbors
    from .neighbors import HashedNeighbors as HashedNeighbors
    from .runs import compare_runs as compare_runs
    from .runs import compare_scores as compare_scores
    from .runs import evaluate_run as evaluate_run
    from .svm import RankingSVC as RankingSVC

__version__ = "0.1.0.dev0"

# Names are imported on first use, so that ``import sklearn_talr.metrics`` does not pay for
# torch. Rooms are offered under their own names, but not `commands` and `features`, which
# nobody imports from.
_HOMES = {"PrecomputedAffinity": "affinity", "RankingSVC": "svm"}
_HOMES |= {"make_retrieval_scorer": "metrics"}
_HOMES |= {"show_versions": "commands.versions", "warm_up": "commands.warm_up"}
_HOMES |= dict.fromkeys(["HammingNeighbors", "HashedNeighbors"], "neighbors")
_HOMES |= dict.fromkeys(["compare_runs", "compare_scores", "evaluate_run"], "runs")
_HOMES |= dict.fromkeys(["AdditiveHasher", "ITQHasher", "LSHHasher"], "hashing")
_HOMES |= dict.fromkeys(["ClassProbabilities", "CrossViewHasher", "TALRHasher"], "hashing")
_ROOMS = {module.name for module in iter_modules(__path__) if module.name[0] != "_"}
_HOMES |= {room: room for room in _ROOMS - {"commands", "features"}}

__all__ = sorted(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
