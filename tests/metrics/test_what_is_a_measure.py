"""Losses, measures and scorers in each other's places: errors say which is meant."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score

from sklearn_talr import losses
from sklearn_talr.baselines import StructHasher
from sklearn_talr.hashing import CrossViewHasher, ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.measures import AP, nDCG, parse_measure
from sklearn_talr.metrics import (
    make_ranking_scorer,
    make_retrieval_scorer,
    retrieval_report,
)
from sklearn_talr.neighbors import HammingNeighbors, HashedNeighbors
from sklearn_talr.svm import RankingSVC

X = np.random.default_rng(0).normal(size=(40, 4))
Y = np.arange(40) % 2
BITS = (X > 0).astype(int)
LSH = LSHHasher(4, random_state=0)
SCORERS = [make_retrieval_scorer("nDCG@5"), make_ranking_scorer("AP"), make_scorer(np.dot)]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("triplet", "DTSHLoss"),
        ("triplet_loss", "DTSHLoss"),
        ("TripletLoss", "DTSHLoss"),
        ("contrastive", "ContrastiveLoss"),
        ("ContrastiveLoss", "ContrastiveLoss"),
        ("contrastve", "ContrastiveLoss"),
        ("cross_entropy", "OrthoHashLoss"),
        ("CrossEntropyLoss", "OrthoHashLoss"),
        ("info_nce", "ContrastiveLoss"),
        ("csq", "CSQLoss"),
        ("DPSH", "DPSHLoss"),
        ("hashnet", "HashNetLoss"),
        ("mihash", "MutualInformationLoss"),
        ("lambdarank", "NDCGLoss"),
        ("AveragePrecisionLoss", "AveragePrecisionLoss"),
    ],
)
@pytest.mark.parametrize("kind", [TALRHasher, CrossViewHasher])
def test_the_nearest_loss_is_named(kind, word, name):
    with pytest.raises(ValueError, match=rf"got '{word}'\. Is {name} meant\?") as refused:
        kind(4, loss=word).fit(X, Y)
    assert f"from sklearn_talr.losses import {name}, and loss={name}()" in str(
        refused.value
    )
    assert hasattr(losses, name)


def test_what_is_like_no_loss_gets_a_list_of_all():
    with pytest.raises(ValueError, match="Losses are") as refused:
        TALRHasher(4, loss="mse").fit(X, Y)
    message = str(refused.value)
    assert "meant?" not in message
    public = {name for name in losses.__all__ if name.endswith("Loss")}
    public -= {"BaseLoss", "TieAwareLoss"}
    assert public == set(re.findall(r"(\w+Loss)\(\)", message))


@pytest.mark.parametrize(
    ("loss", "measure"),
    [
        ("ap", "AP"),
        ("map", "AP"),
        ("mAP", "AP"),
        ("average_precision", "AP"),
        ("AP(rel=1)", "AP"),
        (AP, "AP"),
        ("ndcg", "nDCG"),
        (nDCG, "nDCG"),
    ],
)
def test_a_loss_has_all_names_that_a_scorer_takes(loss, measure):
    assert make_retrieval_scorer(loss).measures == [parse_measure(measure)]
    for make in (
        lambda loss: TALRHasher(4, loss=loss, max_iter=1, random_state=0),
        lambda loss: StructHasher(2, loss=loss, random_state=0),
        lambda loss: RankingSVC(loss=loss),
    ):
        called, plain = make(loss).fit(X, Y), make(measure).fit(X, Y)
        function = "decision_function" if hasattr(plain, "coef_") else "transform"
        assert_array_equal(getattr(called, function)(X), getattr(plain, function)(X))


@pytest.mark.parametrize(
    ("loss", "nearest", "measure"),
    [
        ("ndcg@10", "nDCG", "nDCG@10"),
        ("map_cut_5", "AP", "AP@5"),
        ("AP(rel=2)", "AP", "AP(rel=2)"),
        ("P@5", "AP", "P@5"),
        ("NDCG@10", "nDCG", "nDCG@10"),
        ("map@100", "AP", "AP@100"),
        (nDCG @ 10, "nDCG", "nDCG@10"),
        ("mrr", "AP", "RR"),
    ],
)
def test_the_measure_of_a_loss_has_its_name_here(loss, nearest, measure):
    for estimator, maker in (
        (TALRHasher(4, loss=loss), "make_retrieval_scorer"),
        (CrossViewHasher(4, loss=loss), "make_retrieval_scorer"),
        (StructHasher(4, loss=loss), "make_retrieval_scorer"),
        (RankingSVC(loss=loss), "make_ranking_scorer"),
    ):
        with pytest.raises(ValueError, match="loss must be 'AP' or 'nDCG'") as refused:
            estimator.fit(X, Y)
        message = str(refused.value)
        remedy = f"loss={nearest!r}, and evaluate with scoring={maker}('{measure}')"
        assert remedy in message
        if isinstance(estimator, TALRHasher):
            assert "Losses are 'AP', 'nDCG', AveragePrecisionLoss()" in message
    assert str(parse_measure(measure)) == measure


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        ("map", "AP"),
        ("mAP", "AP"),
        ("average_precision", "AP"),
        (AP, "AP"),
        ("ndcg", "nDCG"),
    ],
)
def test_a_loss_has_all_names_of_its_measure(loss, name):
    rows = slice(0, 20)
    by_name, by_other_name = (
        RankingSVC(loss=each, tol=0.1).fit(X[rows], Y[rows]) for each in (name, loss)
    )
    assert_array_equal(by_other_name.coef_, by_name.coef_)
    by_name, by_other_name = (
        TALRHasher(2, loss=each, max_iter=1, random_state=0).fit(X[rows], Y[rows])
        for each in (name, loss)
    )
    assert_array_equal(by_other_name.coefs_[0], by_name.coefs_[0])


def test_the_nearest_of_few_words():
    with pytest.raises(
        ValueError, match=r"'zero_one', got 'zero-one'\. Is 'zero_one' meant"
    ):
        RankingSVC(loss="zero-one").fit(X, Y)


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: type(scorer).__name__)
def test_a_scorer_is_no_measure(scorer):
    index = HammingNeighbors(scoring=scorer).fit(BITS, Y)
    hashed = HashedNeighbors(LSH, scoring=scorer).fit(X, Y)
    for parameter, call in (
        ("scoring", lambda: index.score(BITS, Y)),
        ("scoring", lambda: hashed.score(X, Y)),
        ("measure", lambda: make_retrieval_scorer(scorer)),
        ("measure", lambda: make_ranking_scorer([scorer])),
        ("measure", lambda: retrieval_report(BITS, BITS, "auto", Y, Y, measures=scorer)),
        ("loss", lambda: TALRHasher(4, loss=scorer).fit(X, Y)),
    ):
        with pytest.raises(
            TypeError, match=rf"{parameter} is the scorer .*{parameter}='"
        ) as e:
            call()
        assert "scorer(estimator, X, y)" in str(e.value)
    assert 0 < index.set_params(scoring="nDCG@5").score(BITS, Y) < 1


@pytest.mark.parametrize("measure", [AP, nDCG @ 10], ids=str)
def test_a_measure_is_no_scorer(measure):
    with pytest.raises(TypeError, match=rf"scoring=make_retrieval_scorer\('{measure}'\)"):
        cross_val_score(LSH, X, Y, cv=2, scoring=measure, error_score="raise")
    scores = cross_val_score(LSH, X, Y, cv=2, scoring=make_retrieval_scorer(str(measure)))
    assert np.all((scores > 0) & (scores < 1))


@pytest.mark.parametrize("rows", [3.0, np.float64(3), "abc", np.array(3), 7, b"abc"])
def test_a_single_value_is_no_table(rows):
    hasher = ITQHasher(4, random_state=0).fit(X)
    for call in (hasher.score, TALRHasher(4, max_iter=1).fit(X, Y).score):
        with pytest.raises(ValueError, match=r"X (must be an array|are 3 bytes)"):
            call(rows, Y)
