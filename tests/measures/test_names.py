"""Names of measures: what is understood, what is refused, and how values print."""

import re

import pytest

from sklearn_talr import measures, metrics
from sklearn_talr.measures import parse_measure, parse_measures
from sklearn_talr.measures._base import ALIASES


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("AP", "AP"),
        ("MAP@100", "AP@100"),
        (" AP ( rel = 2 ) @ 5 ", "AP(rel=2)@5"),
        ("AP(rel=1)", "AP"),
        ("AP(judged_only=False)", "AP"),
        ("NDCG@10", "nDCG@10"),
        ("nDCG(dcg='log2')@10", 'nDCG(dcg="log2")@10'),
        ('nDCG(dcg="exp-log2")@10', 'nDCG(dcg="exp-log2")@10'),
        ("AP(denominator='min')@10", 'AP(denominator="min")@10'),
        ("DCG(dcg='log2', log_base=10)", 'DCG(dcg="log2",log_base=10)'),
        ("Precision@5", "P@5"),
        ("Recall@5", "R@5"),
        ("F1@3", "F1@3"),
        ("MRR", "RR"),
        ("average_precision@5", "AP@5"),
        ("reciprocal_rank", "RR"),
        ("hit_rate@10", "Success@10"),
        ("HR@10", "Success@10"),
        ("Hit_Rate(rel=2)@3", "Success(rel=2)@3"),
        ("ndcg@10", "nDCG@10"),
        ("recall@5", "R@5"),
        ("ef @ 0.5%", "EF@0.5%"),
        ("bedroc(alpha=80.5)", "BEDROC(alpha=80.5)"),
        ("RPrec", "Rprec"),
        ("RBP(p=0.8)", "RBP"),
        ("RBP(rel=1, p=.5)", "RBP(p=0.5,rel=1)"),
        ("Judged@10", "Judged@10"),
        ("ERR(max_rel=3)@20", "ERR(max_rel=3)@20"),
    ],
)
def test_names_and_their_standard_form(written, meant):
    measure = parse_measure(written)
    assert str(measure) == repr(measure) == meant
    assert parse_measure(meant) == measure
    assert parse_measure(measure) is measure


def test_functions_and_measures_share_their_names():
    y_true, y_score = [[2, 0, 1, 0, 1]], [[0.5, 0.5, 0.1, 0.9, 0.2]]
    functions = [name for name in metrics.__all__ if name.startswith("tie_aware")]
    assert len(functions) == 8
    for function in functions:
        name = function.removeprefix("tie_aware_").removesuffix("_score")
        measure = parse_measure(f"{name}@3")
        value = getattr(metrics, function)(y_true, y_score, k=3)
        assert measure.score(y_true, y_score) == value
        listed = f"{measure.name:8} .* `{function}`"
        assert re.search(rf"^{listed}$", measures.__doc__, re.MULTILINE)
    for alias, name in ALIASES.items():
        assert re.search(rf"^{name} .*\b{alias}\b.* `tie_", measures.__doc__, re.MULTILINE)


def test_objects_of_ir_measures():
    ir_measures = pytest.importorskip("ir_measures")
    given = [
        ir_measures.AP(rel=2) @ 100,
        ir_measures.nDCG(dcg="exp-log2") @ 10,
        ir_measures.RBP(p=0.5, rel=1),
        ir_measures.Rprec,
    ]
    names = [str(measure) for measure in parse_measures(given)[0]]
    expected = ["AP(rel=2)@100", 'nDCG(dcg="exp-log2")@10', "RBP(p=0.5,rel=1)", "Rprec"]
    assert names == expected
    assert str(parse_measure(ir_measures.MRR @ 10)) == "RR@10"


def test_one_name_or_several():
    assert parse_measures("AP") == ([parse_measure("AP")], True)
    assert parse_measures(parse_measure("AP")) == ([parse_measure("AP")], True)
    assert parse_measures(["AP"]) == ([parse_measure("AP")], False)
    assert list(map(str, parse_measures(("RR@5", "MAP"))[0])) == ["RR@5", "AP"]


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (
            "AveragePrecision",
            "'AveragePrecision' is not a known measure. Known are AP, AUC, BEDROC",
        ),
        ("roc_auc", "'roc_auc' is not a known measure. Is AUC meant? Known"),
        ("MRR_10", "Is RR@10 meant?"),
        ("precision_at_5", "Is P@5 meant?"),
        (
            "ndcg_cut.10",
            "not a measure; write one as 'nDCG(dcg=\"log2\")@10'. Is nDCG@10 meant?",
        ),
        ("map_cut_5", "Is AP@5 meant?"),
        ("f1-3", "Is F1@3 meant?"),
        ("recip_rank", "Is RR meant?"),
        ("hit@1", "Is Success@1 meant?"),
        ("hit rate@10", "Is Success@10 meant?"),
        ("hit rate at 10", "Is Success@10 meant?"),
        ("mean average precision", "Is AP meant?"),
        ("Reciprocal Rank", "Is RR meant?"),
        ("infAP", "infAP is refused: it has no formula"),
        ("IPrec@0.1", "IPrec is refused: it has no formula"),
        ("INST(max_rel=3)", "INST is refused"),
        ("alpha_nDCG@10", "alpha_nDCG is refused"),
        ("α_nDCG@10", "α_nDCG is refused"),  # noqa: RUF001
        ("SetP", "SetP is refused: it is a measure of sets"),
        ("NumRet", "NumRet is refused: it is a measure of sets"),
        ("P@0", "the cutoff of P must be a positive integer"),
        ("P@x", "the cutoff of P@x must be a positive integer"),
        (f"P@{2**63}", "must be a positive integer"),
        ("Rprec@10", "Rprec takes no cutoff"),
        ("AP(rel=0)", "AP: rel must be a positive integer below 1024, got 0"),
        ("AP(rel=True)", "rel must be a positive integer below 1024, got True"),
        ("AP(k=10)", "AP takes no parameter k; it takes denominator, rel"),
        ("AP(judged_only=True)", "AP takes no parameter judged_only"),
        ("Judged(rel=1)@5", "Judged takes no parameter rel; it takes none"),
        ("nDCG(gains={1: 2})", "nDCG takes no parameter gains"),
        ("nDCG(dcg='log')", "dcg must be 'log2' or 'exp-log2', got 'log'"),
        ("RBP(p=1)", "p must be a number between 0 and 1, got 1"),
        ("AP(2)", "the parameters of AP(2) must be keywords"),
        ("AP(rel=)", "must be keywords"),
        ("AP(rel=1,rel=2)", "must be keywords, each once"),
        ("AP(**{'rel': 2})", "must be keywords"),
        ("AP(rel=1)(rel=2)", "must be keywords"),
        ("AP(rel=1)+f(x=2)@3", "must be keywords"),
        ("AP(rel=1),g(rel=2)", "must be keywords"),
        (f"AP(rel={'-' * 100_000}1)", "must be keywords"),
        ("AP(rel=1024)", "rel must be a positive integer below 1024, got 1024"),
        ("P@\uff11\uff10", "must be a positive integer"),
        ("P@1_0", "must be a positive integer"),
        (f"P@{'1' * 5_000}", "must be a positive integer"),
        ("AP(rel=f())", "must be keywords"),
        ("AP@5@6", "not a measure"),
        ("", "not a measure"),
        ([], "at least one measure"),
        ("AP(cutoff=3)", "AP takes no parameter cutoff"),
        ("AP(zero_division=0)", "AP takes no parameter zero_division"),
        ("AP(denominator='k')", "denominator must be 'relevant', 'min' or 'retrieved'"),
        ("DCG(log_base=1)", "DCG: log_base must be a number above 1, got 1"),
        (3, "'3' is not a known measure"),
    ],
)
def test_what_is_refused(measure, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_measures(measure)
