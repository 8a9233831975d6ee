"""Corrections over an alignment: what they gain, by which estimator, beside the nested gain that a gate would go by.

    python benchmarks/aligned_corrections.py --data DIR [--sets NAME ...] [--labels 60 120] [--seeds 0 1 2] [--ridge]

Queries that `askew reproduce era` does not take, at most 600 a set: half of them test, some of the others teach, in
both directions of two encoders. Printed: the nested cross-fitted gain of the correction that is chosen, over the
alignment, and what it gains on the test queries, over all documents; with `--ridge` also what is gained there by ridge
regression alone, and by what is chosen of both.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from askew.adapters import Adapter
from askew.data import Dataset, hash_order, take_shares
from askew.estimators import Estimator, Ridge, Softmax
from askew.evaluation import evaluate
from askew.operators import BilinearOperator
from askew.reproduce.era_protocol import ENCODERS, Protocol
from askew.retrieval import search
from askew.workflows.domains import read_domain, sample_documents
from askew.workflows.methods import Ground, Lesson
from askew.workflows.systems import priors_for, threshold_for
from askew.workflows.two_encoders import ALIGNED, TwoEncoders

MOST = 600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["cosqa", "scifact"])
    parser.add_argument("--labels", type=int, nargs="+", default=[60, 120])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--ridge", action="store_true", help="beside ridge regression, and both")
    args = parser.parse_args()
    kinds: dict[str, tuple[Estimator, ...]] = {"softmax": (Softmax(),)}
    kinds |= {"ridge": (Ridge(),), "both": (Ridge(), Softmax())} if args.ridge else {}
    known = ("set", "queries by", "seed", "labels", "nested gain", "standard error")
    heads = (*known, *(f"gain by {one}" for one in kinds))
    rows = list[list[float]]()
    print(f"| {' | '.join(heads)} |\n" + "|---" * len(heads) + "|")
    for name in args.sets:
        for pair in (ENCODERS, ENCODERS[::-1]):
            task = unused(args.data, name, pair)
            for seed in args.seeds:
                for labels in args.labels:
                    rows.append(tried(task, labels, seed, list(kinds.values())))
                    cells = " | ".join(f"{value:+.4f}" for value in rows[-1])
                    print(f"| {name} | {pair[0]} | {seed} | {labels} | {cells} |", flush=True)
    print(f"| mean | | | | {' | '.join(f'{value:+.4f}' for value in np.mean(rows, axis=0))} |")


def unused(data: Path, name: str, pair: tuple[str, str]) -> TwoEncoders:
    """The task with queries that the study leaves out."""
    studied = set(Protocol(data=data, sets=(name,), encoders=pair, most=MOST).read()[0][0].judged_by_all)
    whole = read_domain(data / name, query_encoder=pair[0], document_encoder=pair[1], name=name)
    left = [query for query in hash_order(whole.judged_by_all) if query not in studied][:MOST]
    sides = whole.index, whole.documents, whole.queries, whole.own_queries
    return TwoEncoders(name, *sides, None if whole.qrels is None else whole.qrels.only(left), whole.split)


def tried(task: TwoEncoders, labels: int, seed: int, kinds: Sequence[tuple[Estimator, ...]]) -> list[float]:
    """Nested gain of the first kind, its standard error, and the gain of each on test queries."""
    sample = sample_documents([task], seed=42 + seed)[0]
    ground = Ground(task, tuple(sample), seed=seed)
    parts = take_shares(task.judged_by_all, train=labels, seed=42 + seed)
    lesson = Lesson(ground, parts.train, (), traffic="recurring")
    priors = priors_for(ALIGNED, ground.alignment) or {}
    with threadpool_limits(1):
        found = [lesson.fit(priors, threshold=threshold_for(ALIGNED), estimators=kind) for kind in kinds]
    alone = Adapter(BilinearOperator(ground.alignment.term), "cosine")
    tested = ground.dataset.only(parts.test)
    base, *means = (ndcg(tested, one) for one in (alone, *(fit.adapter for fit in found)))
    verdict = found[0].choice.verdict
    return [verdict.gain, verdict.standard_error, *(mean - base for mean in means)]


def ndcg(data: Dataset, adapter: Adapter) -> float:
    """nDCG@10 over all documents, by cosine."""
    asked = adapter.apply(data.queries.take(data.qrels.queries))
    run = search(asked, data.documents, k=10, similarity="cosine")
    return float(evaluate(run, data.qrels, ["nDCG@10"]).mean("nDCG@10"))


if __name__ == "__main__":
    main()
