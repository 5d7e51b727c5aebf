"""Late interaction over codes: documents of many tokens, ranked by sums of maxima.

    python benchmarks/bench_maxsim.py                     # all codes; a few minutes
    python benchmarks/bench_maxsim.py --n-documents 1000  # a quick look
    python benchmarks/bench_maxsim.py --tables            # what is measured, as a table

Contenders score all documents for one query of 32 tokens, in one process and one thread,
and take turns. Figures are medians of wall time.

* *index* is `kneighbors` of MaxSimNeighbors.
* *function* is `maxsim_scores`, which also reads the labels of all tokens.
* *decoding loop* is what the codes mean, in floats: document by document, decode the
  tokens, multiply by those of the query, take maxima, add up.
* *float loop* does so with tokens that were decoded before: it needs their bytes in memory.
* *float blocks* multiplies thousands of them at once, as one would by hand with BLAS.

Tokens are drawn: documents mix a few of many topics, and a query has tokens near those of
one document. *Recall* is the share of the ten documents that MaxSim of the tokens as they
were drawn puts first which the codes find. Every row goes to a CSV file, ``--csv``.
"""

import argparse
import csv
from functools import partial
from pathlib import Path

import numpy as np
from _timing import medians
from sklearn.frozen import FrozenEstimator

from sklearn_talr._threads import one_thread
from sklearn_talr.codes import maxsim_scores, weighted_scores
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import MaxSimNeighbors

CSV = Path(__file__).parent / "results" / "maxsim.csv"
N_FEATURES, N_TOKENS, N_QUERY_TOKENS, N_NEIGHBORS = 128, 100, 32, 10
N_TOPICS, TOPICS_PER_DOCUMENT, N_TRAIN, N_QUERIES = 2_000, 12, 5_000, 20
CODES = {"single bits": 1}
BITS = (128,)
FIELDS = "codes", "n_bits", "contender", "n_documents", "ms", "recall", "bytes_per_token"


def draw_tokens(n_documents, rng):
    """Tokens of documents and of queries, of unit length, and the true documents."""
    topics = rng.standard_normal((N_TOPICS, N_FEATURES))
    own = rng.integers(0, N_TOPICS, (n_documents, TOPICS_PER_DOCUMENT))
    choice = rng.integers(0, TOPICS_PER_DOCUMENT, (n_documents, N_TOKENS))
    tokens = topics[np.take_along_axis(own, choice, axis=1)].reshape(-1, N_FEATURES)
    tokens = tokens.astype(np.float32)
    tokens += rng.standard_normal(tokens.shape, dtype=np.float32)
    meant = rng.integers(0, n_documents, (N_QUERIES, 1)) * N_TOKENS
    rows = meant + rng.integers(0, N_TOKENS, (N_QUERIES, N_QUERY_TOKENS))
    queries = tokens[rows.ravel()]
    queries = queries + 1.5 * rng.standard_normal(queries.shape, dtype=np.float32)
    return unit(tokens), unit(queries)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def float_loop(query, tokens):
    """Scores of documents one by one."""
    documents = tokens.reshape(-1, N_TOKENS, N_FEATURES)
    return np.array([(query @ rows.T).max(axis=1).sum() for rows in documents])


def decoding_loop(query, hasher, codes):
    """Scores of documents one by one, whose tokens are decoded."""
    scores = []
    for first in range(0, len(codes), N_TOKENS):
        decoded = hasher.inverse_transform(codes[first : first + N_TOKENS])
        scores.append((query @ decoded.T).max(axis=1).sum())
    return np.array(scores)


def float_blocks(query, tokens):
    """Scores of documents, by products of as many tokens as the cache holds."""
    scores, step = [], 40 * N_TOKENS
    for first in range(0, len(tokens), step):
        products = tokens[first : first + step] @ query.T
        maxima = products.reshape(-1, N_TOKENS, len(query)).max(axis=1)
        scores.append(maxima.sum(axis=1))
    return np.concatenate(scores)


def measure(size, n_bits, tokens, queries, best):
    """Rows of one kind of codes."""
    groups = np.repeat(np.arange(len(tokens) // N_TOKENS), N_TOKENS)
    rng = np.random.default_rng(0)
    train = tokens[rng.choice(len(tokens), min(len(tokens), N_TRAIN), replace=False)]
    hasher = AdditiveHasher(n_bits, word_size=size, random_state=0).fit(train)
    index = MaxSimNeighbors(FrozenEstimator(hasher)).fit(tokens, groups=groups)
    codes, query = hasher.encode(tokens), queries[:N_QUERY_TOKENS]
    decoded, weights = hasher.inverse_transform(codes), hasher.query_weights(query)
    numbers = np.zeros(len(query))
    ask = partial(maxsim_scores, weights, codes, query_groups=numbers, groups=groups)
    by_token = weighted_scores(weights, codes).reshape(len(query), -1, N_TOKENS)
    expected = by_token.max(axis=2).sum(axis=0)
    assert np.abs(ask()[0] - expected).max() < 1e-4 * N_QUERY_TOKENS
    contenders = {
        "index": partial(index.kneighbors, query, N_NEIGHBORS, groups=numbers),
        "function": ask,
        "decoding loop": partial(decoding_loop, query, hasher, codes),
        "float loop": partial(float_loop, query, decoded),
        "float blocks": partial(float_blocks, query, decoded),
    }
    with one_thread():
        seconds = medians(contenders, 7)
    found = index.kneighbors(
        queries, N_NEIGHBORS, False, groups=np.repeat(np.arange(N_QUERIES), N_QUERY_TOKENS)
    )
    recall = np.mean([np.isin(*pair).mean() for pair in zip(best, found)])
    for name, value in seconds.items():
        is_float = name.startswith("float")
        n_bytes = 4 * N_FEATURES if is_float else codes.nbytes // len(codes)
        yield f"{1e3 * value:.1f}", name, f"{recall:.2f}", n_bytes


def measure_all(n_documents, path):
    """Measure all codes, and write the file."""
    tokens, queries = draw_tokens(n_documents, np.random.default_rng(0))
    scores = [float_blocks(q, tokens) for q in np.split(queries, N_QUERIES)]
    best = [np.argsort(-row, kind="stable")[:N_NEIGHBORS] for row in scores]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for n_bits in BITS:
            for codes, size in CODES.items():
                for ms, *rest in measure(size, n_bits, tokens, queries, best):
                    name, recall, n_bytes = rest
                    writer.writerow([codes, n_bits, name, n_documents, ms, recall, n_bytes])
                    file.flush()


def print_table(path):
    """Print times, and how many times longer each takes than the index."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    for kind in dict.fromkeys((row["codes"], row["n_bits"]) for row in rows):
        mine = [row for row in rows if (row["codes"], row["n_bits"]) == kind]
        times = {row["contender"]: float(row["ms"]) for row in mine}
        print(f"\n{kind[0]}, {kind[1]} bits, recall {mine[0]['recall']}")
        for row in mine:
            ms, name = float(row["ms"]), row["contender"]
            ratio = ms / times["index"]
            print(f"  {name:16s}{ms:10.1f} ms{ratio:8.1f} x{row['bytes_per_token']:>6s} B")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-documents", type=int, default=10_000)
    parser.add_argument("--csv", type=Path, default=CSV)
    parser.add_argument("--tables", action="store_true", help="print only")
    args = parser.parse_args()
    if not args.tables:
        measure_all(args.n_documents, args.csv)
    print_table(args.csv)


if __name__ == "__main__":
    main()
