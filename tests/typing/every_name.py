"""A use of every public name, for type checkers; `test_types.py` runs it, too.

The names of engines, of files that are not at hand and of scorers are only taken.
"""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
import torch
from numpy.typing import NDArray

import sklearn_talr
from sklearn_talr import (
    affinity,
    baselines,
    codes,
    dask,
    export,
    hashing,
    histogram,
    inference,
    kernel_ridge,
    losses,
    measures,
    metrics,
    neighbors,
    runs,
    svm,
)

Floats = NDArray[np.float64]
Bits = NDArray[np.uint8]

rng = np.random.default_rng(0)
y = rng.integers(3, size=108)
X = rng.normal(size=(108, 16)) + 3 * np.eye(3, 16)[y]
queries, database = X[:20], X[20:]

# Hashers
talr = sklearn_talr.TALRHasher(8, max_iter=1, random_state=0)
assert_type(talr.fit(X, y), hashing.TALRHasher)
assert_type(talr.transform(X), Bits)
assert_type(talr.decision_function(X), NDArray[np.float32])
assert_type(talr.score(X, y), float)
packed = talr.encode(database)
assert_type(packed, codes.PackedCodes)
unfitted: list[hashing.BaseHasher] = [
    sklearn_talr.LSHHasher(8),
    sklearn_talr.AdditiveHasher(8),
    sklearn_talr.CrossViewHasher(8, query="weights"),
    baselines.BREHasher(8),
    baselines.FastHasher(8),
    baselines.MACHasher(8),
    baselines.StructHasher(8),
    hashing.AdditiveHasher(8),
    hashing.CrossViewHasher(8),
    hashing.LSHHasher(8),
]
itq = sklearn_talr.ITQHasher(8, random_state=0).fit(X)
assert_type(itq, hashing.ITQHasher)
assert sklearn_talr.ClassProbabilities is hashing.ClassProbabilities
layers = hashing.Layers([np.eye(16, 8)], [np.zeros(8)], mean=np.zeros(16))
function = hashing.HashFunction(activations=layers, n_bits=8)
assert_type(function.n_bits, int)
ridge = kernel_ridge.KernelRidgeClassifierCV(n_components=20, random_state=0)
assert_type(ridge.fit(X, y).predict_proba(X), Floats)
given = [
    losses.AveragePrecisionLoss(),
    losses.NDCGLoss(simplified=True),
    losses.ContrastiveLoss(),
    losses.CSQLoss(),
    losses.DCMHLoss(),
    losses.DPSHLoss(),
    losses.DSHLoss(),
    losses.DTSHLoss(),
    losses.HashNetLoss(),
    losses.MutualInformationLoss(),
    losses.OrthoHashLoss(margin=0.2),
]
of_others: tuple[type[losses.BaseLoss], type[losses.LossContext], type[losses.Batch]]
of_others = losses.BaseLoss, losses.LossContext, losses.Batch

# Losses as functions
relaxed = torch.tanh(torch.tensor(talr.decision_function(queries)))
level = torch.zeros((20, 20), dtype=torch.long)
counts = losses.soft_counts(relaxed, relaxed, level, 2)
levels = torch.tensor([0.0, 1.0])
assert_type(losses.soft_average_precision(counts, levels), torch.Tensor)
simplified = losses.simplified_average_precision, losses.simplified_ndcg
for of_counts in (losses.soft_ndcg, *simplified):
    assert_type(of_counts(counts, levels), torch.Tensor)
modules: list[torch.nn.Module] = [losses.TieAwareLoss("nDCG"), svm.RankingHingeLoss("nDCG")]

# Affinities
labels = affinity.LabelAffinity()
assert_type(labels.fit(y), affinity.LabelAffinity)
oracles: list[affinity.BaseAffinity] = [
    affinity.JudgmentAffinity(),
    affinity.SharedLabelAffinity(),
    affinity.ThresholdAffinity(),
]
known = sklearn_talr.PrecomputedAffinity(np.eye(4, dtype=int))
assert_type(known[:2], affinity.PrecomputedAffinity)
assert_type(affinity.resolve_affinity("auto", X, y)[0], affinity.BaseAffinity)
assert_type(affinity.fit_affinity(labels, X, y)[0], affinity.BaseAffinity)
assert_type(affinity.query_groups(np.eye(4, dtype=int)), NDArray[np.int64])

# Codes
bits = codes.unpack_codes(packed)
assert_type(bits, Bits)
assert_type(codes.pack_codes(bits), codes.PackedCodes)
assert_type(codes.PackedCodes.from_integers([3], 8), codes.PackedCodes)
assert_type(codes.PackedCodes.from_strings(["01"]), codes.PackedCodes)
assert_type(codes.PackedCodes.from_strings(["ff"], 8, base=16), codes.PackedCodes)
assert_type(codes.concatenate_codes([packed, packed]), codes.PackedCodes)
assert_type(packed.terms, codes.CodeTerms)
assert_type(packed.terms.values, NDArray[np.float32] | None)
assert_type(packed.terms.rows([0]), codes.CodeTerms)
assert_type(codes.hamming_distances(bits, packed), NDArray[np.int32])
assert_type(codes.weighted_scores(talr.query_weights(queries), packed), NDArray[np.float32])
assert_type(codes.maxsim_scores(talr.query_weights(queries), packed), NDArray[np.float32])

# Counts and measures
table = histogram.hamming_histogram(talr.encode(queries), packed, labels, y[:20], y[20:])
assert_type(table, histogram.HammingHistogram)
rankings = histogram.RankingHistogram.from_scores([[1, 0]], [[0.5, 0.1]])
assert_type(rankings, histogram.RankingHistogram)
values = [
    measures.AP @ 10,
    measures.AUC,
    measures.BEDROC(alpha=80.5),
    measures.EF @ "1%",
    measures.RIE,
    measures.Bpref,
    measures.DCG,
    measures.ERR,
    measures.F1 @ 5,
    measures.Judged @ 5,
    measures.P @ 5,
    measures.R @ 5,
    measures.RBP(p=0.8),
    measures.RR,
    measures.Rprec,
    measures.Success @ 1,
    measures.nDCG,
    measures.parse_measure("nDCG@10"),
]
of_names: tuple[list[measures.Measure], bool] = measures.parse_measures(["AP", "RR"])
assert_type(measures.AP.of(table), Floats)
assert_type(measures.AP.score([[1, 0]], [[0.5, 0.1]]), float | Floats)
assert_type(metrics.tie_breaking_range(table), measures.TieBreakingRange)

# Metrics
for score in (
    metrics.tie_aware_average_precision_score,
    metrics.tie_aware_dcg_score,
    metrics.tie_aware_f1_score,
    metrics.tie_aware_hit_rate_score,
    metrics.tie_aware_precision_score,
    metrics.tie_aware_recall_score,
    metrics.tie_aware_reciprocal_rank_score,
):
    score([[1, 0]], [[0.5, 0.1]], k=1)
assert_type(metrics.tie_aware_ndcg_score([[1, 0]], [[0.5, 0.1]]), float | Floats)
assert_type(metrics.radius_precision(table, radius=2), Floats)
for of_table in (metrics.radius_recall, metrics.pair_precision, metrics.pair_recall):
    assert_type(of_table(table), Floats)
assert_type(metrics.radius_aware_map(table), Floats)
assert_type(metrics.empty_lookup_fraction(table), Floats)
assert_type(metrics.lookup_cost(8, 2), Floats)
assert_type(metrics.radius_at_precision(table, 0.1), int)
metrics.retrieval_report(talr.encode(queries), packed, labels, y[:20], y[20:])
metrics.retrieval_report_from_estimator(talr, queries, y[:20], database, y[20:])
scorers = [metrics.make_ranking_scorer(), metrics.make_retrieval_scorer(affinity=labels)]
scorers.append(sklearn_talr.make_retrieval_scorer())

# Search
nearest = sklearn_talr.HammingNeighbors(n_neighbors=3).fit(packed, y[20:])
assert_type(nearest, neighbors.HammingNeighbors)
assert_type(nearest.n_items_, int)
distances, indices = nearest.kneighbors(talr.encode(queries))
assert_type(indices, NDArray[Any])
nearest.kneighbors(ids=[0], exclude={1}, allow_fewer=True)
nearest.radius_neighbors_graph(mode="distance")
assert_type(nearest.rank(talr.encode(queries)), neighbors.Ranking)
assert_type(nearest.score(talr.encode(queries), y[:20]), float)
hashed = sklearn_talr.HashedNeighbors(talr, n_rescored=50).fit(database, y[20:])
assert_type(hashed, neighbors.HashedNeighbors)
neighbors.rescore(queries, database, indices)
neighbors.HashedSearchBackend(hashed).clear()
neighbors.WeightedHammingNeighbors(radius=1.5)
neighbors.ItemRanker(hashing.CrossViewHasher(8), database)
assert_type(neighbors.MaxSimNeighbors(itq).fit(database), neighbors.MaxSimNeighbors)
bits_for: Callable[..., neighbors.BitsForRecall] = neighbors.n_bits_for_recall

# Runs
qrels = runs.Qrels({"q1": {"d1": 1}, "q2": {"d2": 1}})
results = [
    runs.Run({"q1": {"d1": 2.0, "d2": score}, "q2": {"d1": 1.0, "d2": 2.0}}, str(score))
    for score in (1.0, 3.0)
]
evaluations = [runs.evaluate_run(qrels, run) for run in results]
assert_type(evaluations, list[runs.RunEvaluation])
assert_type(evaluations[0].to_dict(), dict[str, Any])
comparison = runs.compare_runs(*evaluations, test="t")
assert_type(comparison, runs.RunComparison)
of_scores = runs.compare_scores({"A": [0.1, 0.2], "B": [0.2, 0.4]}, test="t")
assert_type(of_scores, runs.RunComparison)
by_name = {run.name: run for run in results}
assert_type(sklearn_talr.compare_runs(qrels, by_name, "RR", test="t"), runs.RunComparison)
assert_type(sklearn_talr.evaluate_run(qrels, results[0]), runs.RunEvaluation)
assert sklearn_talr.compare_scores is runs.compare_scores
files = runs.read_mteb_results, runs.read_qrels, runs.read_run
assert_type(svm.loss_augmented_ranks([0.1], [0.2])[0], NDArray[Any])
assert_type(svm.RankingSVC().fit(X, y == 0).decision_function(X), Floats)
assert sklearn_talr.RankingSVC is svm.RankingSVC
test = inference.paired_test([0.1, 0.2, 0.3], [0.2, 0.2, 0.4], test="t")
assert_type(test, inference.PairedTest)
assert_type(inference.n_queries_needed([0.1, 0.2], 0.1), int)
inference.mean_interval([0.1, 0.2, 0.3])

# Pictures
assert_type(metrics.TiersDisplay.from_comparison(comparison), metrics.TiersDisplay)
pictures = [
    metrics.RadiusDisplay.from_histogram(table),
    metrics.RanksDisplay.from_comparison(comparison),
    metrics.RetrievalCurveDisplay.from_histogram(table),
    metrics.RunDifferencesDisplay.from_comparison(comparison),
    metrics.TieBreakingDisplay.from_runs(evaluations),
]

# Other systems
assert_type(export.to_bit_strings(packed), list[str])
assert_type(export.to_pgvector(packed), export.PgvectorExport)
code, tables = next(export.to_sql_weights([[1.0, -1.0]], 2, engine="pgvector"))
engines = [export.to_duckdb, export.to_faiss, export.to_lancedb, export.to_sqlite_vec]
systems = export.to_usearch, export.to_onnx
blocks: list[Any] = [dask.encode, dask.fit, dask.hamming_histogram, dask.index]
searches = dask.kneighbors, dask.radius_neighbors
sklearn_talr.warm_up()
sklearn_talr.show_versions()
