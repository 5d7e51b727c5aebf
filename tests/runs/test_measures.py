"""Names of measures: what is understood, and what is refused by name."""

import re

import pytest

from sklearn_talr.runs._measures import parse_measures


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("AP", "AP"),
        ("MAP@100", "AP@100"),
        (" AP ( rel = 2 ) @ 5 ", "AP(rel=2)@5"),
        ("AP(rel=1)", "AP"),
        ("AP(judged_only=False)", "AP"),
        ("NDCG@10", "nDCG@10"),
        ("nDCG(dcg='log2')@10", "nDCG@10"),
        ('nDCG(dcg="exp-log2")@10', "nDCG(dcg='exp-log2')@10"),
        ("Precision@5", "P@5"),
        ("Recall@5", "R@5"),
        ("F1@3", "F1@3"),
        ("MRR", "RR"),
        ("RPrec", "Rprec"),
        ("RBP(p=0.8)", "RBP"),
        ("RBP(rel=1, p=.5)", "RBP(p=0.5,rel=1)"),
        ("Judged@10", "Judged@10"),
        ("ERR(max_rel=3)@20", "ERR(max_rel=3)@20"),
    ],
)
def test_names_and_their_standard_form(written, meant):
    (measure,) = parse_measures(written)
    assert str(measure) == meant
    assert str(parse_measures([meant])[0]) == meant


def test_objects_of_ir_measures():
    ir_measures = pytest.importorskip("ir_measures")
    given = [
        ir_measures.AP(rel=2) @ 100,
        ir_measures.nDCG(dcg="exp-log2") @ 10,
        ir_measures.RBP(p=0.5, rel=1),
        ir_measures.Rprec,
    ]
    names = [str(measure) for measure in parse_measures(given)]
    assert names == [
        "AP(rel=2)@100",
        "nDCG(dcg='exp-log2')@10",
        "RBP(p=0.5,rel=1)",
        "Rprec",
    ]
    assert str(parse_measures(ir_measures.MRR @ 10)[0]) == "RR@10"


def test_repetitions_are_dropped():
    assert [str(m) for m in parse_measures(["AP", "RR", "MAP", "AP"])] == ["AP", "RR"]


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (
            "AveragePrecision",
            "'AveragePrecision' is not a known measure. Known are AP, ERR",
        ),
        ("Bpref", "Bpref is refused: its exact mean"),
        ("infAP", "infAP is refused"),
        ("IPrec@0.1", "no measure"),
        ("INST(max_rel=3)", "INST is refused"),
        ("alpha_nDCG@10", "alpha_nDCG is refused"),
        ("α_nDCG@10", "α_nDCG is refused"),  # noqa: RUF001
        ("SetP", "SetP is refused: it is about sets"),
        ("NumRet", "NumRet is refused: it is about sets"),
        ("P", "P needs a cutoff, such as P@10"),
        ("Success", "Success needs a cutoff"),
        ("P@0", "the cutoff of P@0 must be a positive integer"),
        ("P@x", "the cutoff of P@x must be a positive integer"),
        (f"P@{2**63}", "must be a positive integer"),
        ("Rprec@10", "Rprec takes no cutoff"),
        ("AP(rel=0)", "AP(rel=0): rel must be a positive integer below 1024, got 0"),
        ("AP(rel=True)", "rel must be a positive integer below 1024, got True"),
        ("AP(k=10)", "AP takes no parameter k; it takes rel"),
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
        ("AP@5@6", "no measure"),
        ("", "no measure"),
        ([], "at least one measure"),
        (3, "'3' is not a known measure"),
    ],
)
def test_what_is_refused(measure, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_measures(measure)
