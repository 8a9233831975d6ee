"""No gate over an alignment: what corrections gain, beside the nested gain that a gate would go by.

    python benchmarks/aligned_gate.py --data DIR [--sets NAME ...] [--labels 60 90] [--seeds 0 1 2]

Queries that `askew reproduce era` does not take, at most 600 a set: half of them test, some of the others teach, in
both directions of two encoders. Printed: the nested cross-fitted gain of the correction that is chosen, over the
alignment, and what it gains on the test queries, over all documents.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from threadpoolctl import threadpool_limits

from askew.adapters import Adapter
from askew.data import EmbeddingSet, hash_order, take_shares
from askew.evaluation import evaluate
from askew.operators import BilinearOperator
from askew.reproduce.era_protocol import ENCODERS, Protocol
from askew.retrieval import search
from askew.workflows.domains import read_domain, sample_documents
from askew.workflows.methods import Ground, Lesson
from askew.workflows.two_encoders import TwoEncoders

MOST = 600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["cosqa", "scifact"])
    parser.add_argument("--labels", type=int, nargs="+", default=[60, 90])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    args = parser.parse_args()
    heads = ("set", "queries by", "seed", "labels", "nested gain", "standard error", "gain on test queries")
    print(f"| {' | '.join(heads)} |\n" + "|---" * len(heads) + "|")
    for name in args.sets:
        for pair in (ENCODERS, ENCODERS[::-1]):
            task = unused(args.data, name, pair)
            for seed in args.seeds:
                for labels in args.labels:
                    found = tried(task, labels, seed)
                    cells = " | ".join(f"{value:+.4f}" for value in found)
                    print(f"| {name} | {pair[0]} | {seed} | {labels} | {cells} |", flush=True)


def unused(data: Path, name: str, pair: tuple[str, str]) -> TwoEncoders:
    """The task with queries that the study leaves out."""
    studied = set(Protocol(data=data, sets=(name,), encoders=pair, most=MOST).read()[0][0].judged_by_all)
    whole = read_domain(data / name, query_encoder=pair[0], document_encoder=pair[1], name=name)
    left = [query for query in hash_order(whole.judged_by_all) if query not in studied][:MOST]
    sides = whole.index, whole.documents, whole.queries, whole.own_queries
    return TwoEncoders(name, *sides, None if whole.qrels is None else whole.qrels.only(left), whole.split)


def tried(task: TwoEncoders, labels: int, seed: int) -> tuple[float, float, float]:
    """Nested gain, its standard error, and the gain on test queries."""
    sample = sample_documents([task], seed=42 + seed)[0]
    ground = Ground(task, tuple(sample), seed=seed)
    parts = take_shares(task.judged_by_all, train=labels, seed=42 + seed)
    with threadpool_limits(1):
        found = Lesson(ground, parts.train, (), traffic="recurring").fitted
    alone = Adapter(BilinearOperator(ground.alignment.term), "cosine")
    queries = ground.dataset.queries.take(parts.test)
    means = [_mean(ground, one.apply(queries), parts.test) for one in (alone, found.candidate)]
    verdict = found.choice.verdict
    return verdict.gain, verdict.standard_error, means[1] - means[0]


def _mean(ground: Ground, asked: EmbeddingSet, test: tuple[str, ...]) -> float:
    run = search(asked, ground.dataset.documents, k=10, similarity="cosine")
    return float(evaluate(run, ground.dataset.qrels.only(test), ["nDCG@10"]).mean("nDCG@10"))


if __name__ == "__main__":
    main()
