"""A provider of exact means for ir_measures.

After ``register()`` the functions of ir_measures, such as ``calc_aggregate``, use it before
other providers, also in PyTerrier, so that values no longer depend on how ties are broken.
A warning names measures that it lacks. Importing this module changes nothing in
ir_measures.
"""

import ir_measures
from ir_measures import providers
from ir_measures.providers.base import NOT_PROVIDED, Any, Choices

from .._core.progress import warn_caller
from ..measures import parse_measure
from ._data import Qrels, Run
from ._evaluate import evaluate_run

__all__ = ["TieAwareProvider", "register"]

_RELEVANCE = {"rel": Any(), "judged_only": Choices(False)}
_WITH_CUTOFF = {"cutoff": Any(), **_RELEVANCE}
_GAINS = {"dcg": Choices("log2", "exp-log2"), "gains": Choices(NOT_PROVIDED)}
# Measures of sets of documents, which no order of ties changes
_OF_SETS = {"NumQ", "NumRel", "NumRelRet", "NumRet"}
_OF_SETS |= {"SetAP", "SetF", "SetP", "SetR", "SetRelP"}


class TieAwareProvider(providers.Provider):
    """Means over all orders of tied documents.

    It can be used by itself, or before all other providers after :func:`register`.

    Examples
    --------
    >>> from ir_measures import RR
    >>> from sklearn_talr.runs.ir_measures import TieAwareProvider
    >>> qrels = {"q1": {"d1": 1}}
    >>> run = {"q1": {"d1": 1.0, "d2": 1.0}}
    >>> TieAwareProvider().calc_aggregate([RR], qrels, run)
    {RR: 0.75}
    """

    NAME = "tie_aware"
    SUPPORTED_MEASURES = [
        type(ir_measures.AP)(**_WITH_CUTOFF),
        type(ir_measures.Bpref)(rel=Any()),
        type(ir_measures.ERR)(cutoff=Any()),
        type(ir_measures.Judged)(cutoff=Any()),
        type(ir_measures.P)(**_WITH_CUTOFF),
        type(ir_measures.R)(**_WITH_CUTOFF),
        type(ir_measures.RBP)(cutoff=Any(), p=Any(), rel=Any()),
        type(ir_measures.RR)(**_WITH_CUTOFF),
        type(ir_measures.Rprec)(**_RELEVANCE),
        type(ir_measures.Success)(**_WITH_CUTOFF),
        type(ir_measures.nDCG)(cutoff=Any(), judged_only=Choices(False), **_GAINS),
    ]

    def __init__(self):
        super().__init__()
        self._told = set()

    def supports(self, measure):
        """Whether the measure is provided; one warning for others that depend on ties."""
        is_ours = super().supports(measure)
        if not is_ours and measure.NAME not in _OF_SETS and measure not in self._told:
            warn_caller(
                f"tie_aware has no mean over orders of ties for {measure}. Another "
                "provider of ir_measures computes it, and its value depends on how that "
                "provider breaks the ties of the run.",
            )
            self._told.add(measure)
        return is_ours

    def _evaluator(self, measures, qrels):
        return _TieAwareEvaluator(measures, Qrels(qrels))


class _TieAwareEvaluator(providers.Evaluator):
    def __init__(self, measures, qrels):
        super().__init__(list(measures), set(qrels.queries))
        self._qrels = qrels

    def _iter_calc(self, run):
        """Yield values of queries of the run; ir_measures adds 0 for the others."""
        run = Run(run)
        if not self.qrel_qids.intersection(run.queries):
            return
        result = evaluate_run(self._qrels, run, self.measures, missing_queries="skip")
        columns = dict(zip(result.measures, result.expected.T.tolist()))
        for measure in self.measures:
            column = columns[str(parse_measure(measure))]
            for query, value in zip(result.queries, column):
                yield ir_measures.Metric(query_id=query, measure=measure, value=value)


def register():
    """Register the provider ``tie_aware``, which ir_measures then uses before others.

    It is ``ir_measures.providers.registry["tie_aware"]``. Other providers compute measures
    that it lacks, such as infAP, as before. A warning says that these values depend on how
    ties are broken. Calling this function again changes nothing.

    Returns
    -------
    provider : TieAwareProvider
        The registered provider.

    Examples
    --------
    >>> import ir_measures
    >>> from sklearn_talr.runs.ir_measures import register
    >>> provider = register()
    >>> qrels = {"q1": {"d1": 1}}
    >>> run = {"q1": {"d1": 1.0, "d2": 1.0}}
    >>> ir_measures.calc_aggregate([ir_measures.RR], qrels, run)
    {RR: 0.75}
    """
    provider = providers.registry.get(TieAwareProvider.NAME)
    if provider is None:
        provider = providers.register(TieAwareProvider())
    pipeline = ir_measures.DefaultPipeline.providers
    if provider not in pipeline:
        pipeline.insert(0, provider)
    return provider
