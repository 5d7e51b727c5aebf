"""A provider of exact means for ir_measures, registered by importing this module.

``ir_measures.calc_aggregate`` and the like then ask it first for the measures it has, also
under PyTerrier, and values no longer depend on how ties are broken. By name it is
``ir_measures.providers.registry["tie_aware"]``.
"""

import ir_measures
from ir_measures import measures as _known
from ir_measures import providers
from ir_measures.providers.base import NOT_PROVIDED, Any, Choices

from ._evaluate import evaluate_run
from ._inputs import Qrels, Run
from ._measures import parse_measures

__all__ = ["TieAwareProvider"]

_RELEVANCE = {"rel": Any(), "judged_only": Choices(False)}
_WITH_CUTOFF = {"cutoff": Any(), **_RELEVANCE}


class TieAwareProvider(providers.Provider):
    """Means over all orders of tied documents.

    Examples
    --------
    >>> import ir_measures
    >>> from ir_measures import RR
    >>> qrels = {"q1": {"d1": 1}}
    >>> run = {"q1": {"d1": 1.0, "d2": 1.0}}
    >>> import sklearn_talr.runs.ir_measures
    >>> ir_measures.calc_aggregate([RR], qrels, run)
    {RR: 0.75}
    """

    NAME = "tie_aware"
    SUPPORTED_MEASURES = [
        _known._AP(**_WITH_CUTOFF),
        _known._ERR(cutoff=Any()),
        _known._Judged(cutoff=Any()),
        _known._P(**_WITH_CUTOFF),
        _known._R(**_WITH_CUTOFF),
        _known._RBP(cutoff=Any(), p=Any(), rel=Any()),
        _known._RR(**_WITH_CUTOFF),
        _known._Rprec(**_RELEVANCE),
        _known._Success(**_WITH_CUTOFF),
        _known._nDCG(
            cutoff=Any(),
            dcg=Choices("log2", "exp-log2"),
            gains=Choices(NOT_PROVIDED),
            judged_only=Choices(False),
        ),
    ]

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
        parsed = {measure: str(parse_measures(measure)[0]) for measure in self.measures}
        names = list(dict.fromkeys(parsed.values()))
        result = evaluate_run(self._qrels, run, names, missing_queries="skip")
        for measure, name in parsed.items():
            column = result.expected[:, result.measures.index(name)].tolist()
            for query, value in zip(result.queries, column):
                yield ir_measures.Metric(query_id=query, measure=measure, value=value)


ir_measures.tie_aware = providers.register(TieAwareProvider())
ir_measures.DefaultPipeline.providers.insert(0, ir_measures.tie_aware)
