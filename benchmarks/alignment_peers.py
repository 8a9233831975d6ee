"""askew's alignment beside the ridge maps of isotrieve and embspec: what is kept of both encoders' rankings, and time.

    python benchmarks/alignment_peers.py --data DIR [--pairs 2000] [--seeds 0 1 2] [--repeats 7]

DIR holds BEIR folders embedded by minilm-l6 (384 dimensions) and wordllama-256. Each seed draws `--pairs` documents, by
hash, that every map is learned from; 500 others stand for queries, and so do the test queries. Results are ranked by
cosine over the documents no map has seen, and over all of them for the queries. Kept: the share of a map's first ten
results that the index's own encoder (its own vector of the same text) has among its first ten, and that the query
encoder has on its own index. nDCG@10 is of the test queries. Times are medians of wall time in one process, a thread,
all systems in turn; imports are not counted. Peers: pip install isotrieve==0.4.0 embspec==0.1.0

isotrieve's `RidgeMapping` chooses its strength by generalised cross-validation, learns from nine tenths, and learns the
map back as well; "forward alone" is the time of what askew does too. embspec's strength is the user's to give: its
default of none, and 1, which is about what the others choose.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from askew.data import Dataset, EmbeddingSet, hash_order
from askew.estimators import align
from askew.evaluation import evaluate
from askew.retrieval import search
from askew.workflows.retention import overlap
from askew.workflows.two_encoders import ALIGNED, REINDEXED, TwoEncoders, read_two

SETS = ("scifact", "cosqa", "nfcorpus-pp")
DIRECTIONS = (("minilm-l6", "wordllama-256"), ("wordllama-256", "minilm-l6"))
ASKED = 500

Rows = npt.NDArray[np.float64]
Fitted = Callable[[Rows], Rows]
Learn = Callable[[EmbeddingSet, EmbeddingSet], Fitted]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2], help="of draws; none for times alone")
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    systems = dict(learners())
    tasks = [read_task(args.data / name, *pair) for name in SETS for pair in DIRECTIONS]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # isotrieve advises more pairs
        print("| set, queries → index | map | kept: document encoder, query encoder | queries: the same | nDCG@10 |")
        print("|---|---|---|---|---|")
        for task in tasks if args.seeds else ():
            for name, learn in systems.items():
                rows = np.mean([kept(task, learn, args.pairs, seed) for seed in args.seeds], axis=0)
                told = f"{rows[0]:.4f}, {rows[1]:.4f} | {rows[2]:.4f}, {rows[3]:.4f} | {rows[4]:.4f}"
                print(f"| {task.name}, {' → '.join(task.names)} | {name} | {told} |", flush=True)
        print(f"\n| map | median ms: {args.pairs:,} pairs, 384 → 256 | 256 → 384 |\n|---|---|---|")
        times = [timed(task, systems, args.pairs, args.repeats) for task in tasks[:2]]
        for name in systems:
            print(f"| {name} | {times[0][name]:.1f} | {times[1][name]:.1f} |")


def read_task(folder: Path, asked: str, told: str) -> TwoEncoders:
    return read_two(folder, query_encoder=asked, document_encoder=told, split="test").only_common()


def learners() -> Iterator[tuple[str, Learn]]:
    yield "askew", lambda x, y: applied(align(x, y).map)
    yield "askew, centred", lambda x, y: applied(align(x, y, centre=1).map)
    yield "askew, strength given", lambda x, y: applied(align(x, y, strengths=[1e-3]).map)
    try:
        from embspec import DriftAdapter  # noqa: PLC0415 - a peer
        from isotrieve.mapping.linear import RidgeMapping  # noqa: PLC0415
        from sklearn.linear_model import RidgeCV  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise SystemExit(f"{error}; pip install isotrieve==0.4.0 embspec==0.1.0") from error

    def forward(x: EmbeddingSet, y: EmbeddingSet) -> Fitted:
        found = RidgeCV(alphas=np.logspace(-3, 3, 13), fit_intercept=False).fit(unit(x), unit(y))
        return applied(found.coef_.T)

    yield "isotrieve, RidgeMapping", lambda x, y: RidgeMapping().fit(unit(x), unit(y)).transform
    yield "isotrieve's RidgeCV, forward alone", forward
    yield "embspec, DriftAdapter", lambda x, y: DriftAdapter.fit(unit(x), unit(y)).transform
    yield "embspec, regularization=1", lambda x, y: DriftAdapter.fit(unit(x), unit(y), regularization=1.0).transform


def applied(matrix: Rows) -> Fitted:
    return lambda rows: rows @ matrix


def unit(embeddings: EmbeddingSet) -> Rows:
    rows = np.asarray(embeddings.matrix, dtype=np.float64)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def parted(task: TwoEncoders, pairs: int, seed: int) -> tuple[list[str], list[str]]:
    """Documents to learn from, and the others."""
    order = hash_order(task.index.ids, seed=seed)
    return order[:pairs], order[pairs:]


def kept(task: TwoEncoders, learn: Learn, pairs: int, seed: int) -> list[float]:
    known, fresh = parted(task, pairs, seed)
    mapped = learn(task.documents.take(known), task.index.take(known))
    names = fresh[:ASKED]
    index, source = task.index.take(fresh), task.documents.take(fresh)
    asked = source.take(names)
    ranked = search(EmbeddingSet(names, mapped(unit(asked))), index, k=10, similarity="cosine", exclude_self=True)
    own = search(index.take(names), index, k=10, similarity="cosine", exclude_self=True)
    theirs = search(asked, source, k=10, similarity="cosine", exclude_self=True)
    aligned, reindexed = dataset_of(task, ALIGNED), dataset_of(task, REINDEXED)
    queries = aligned.queries.take(aligned.qrels.queries)
    run = search(EmbeddingSet(queries.ids, mapped(unit(queries))), task.index, k=10, similarity="cosine")
    assert task.own_queries is not None
    by_own = search(task.own_queries.take(queries.ids), task.index, k=10, similarity="cosine")
    by_theirs = search(queries, reindexed.documents, k=10, similarity="cosine")
    ndcg = evaluate(run, aligned.qrels, ["nDCG@10"]).mean("nDCG@10")
    shares = [overlap(ranked, own), overlap(ranked, theirs), overlap(run, by_own), overlap(run, by_theirs)]
    return [*(float(share.mean()) for share in shares), ndcg]


def dataset_of(task: TwoEncoders, system: str) -> Dataset:
    found = task.dataset(system)
    assert found is not None
    return found


def timed(task: TwoEncoders, systems: dict[str, Learn], pairs: int, repeats: int) -> dict[str, float]:
    known, _ = parted(task, pairs, 0)
    sides = task.documents.take(known), task.index.take(known)
    spent: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(repeats):
        for name, learn in systems.items():
            fresh = [EmbeddingSet(side.ids, side.matrix) for side in sides]
            started = time.perf_counter()
            learn(*fresh)
            spent[name].append(time.perf_counter() - started)
    return {name: 1e3 * statistics.median(times) for name, times in spent.items()}


if __name__ == "__main__":
    main()
