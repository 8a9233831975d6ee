"""Fusion: a query embedded by a second encoder too, over the index of the first; and what the rivals cost.

    python benchmarks/fusion.py --data DIR [--split test] [--labels 500] [--own wordllama-256] [--other minilm-l6]

First without labels, nDCG@10 on a split: each encoder alone, on an index of its own; the second one aligned to the
first one's index; the fusion at every β; and plain score fusion of the two systems, which needs both indexes. Then
with labels of the training split (cosqa has none: its development split), drawn by a hash of the query with each
seed: the index's own encoder adapted, and the fusion, everything chosen by cross-fitting; on all documents of the
test split, and on those that no label had named.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

import askew
from askew.data import Dataset, EmbeddingSet, split_queries
from askew.estimators import Alignment, align, fused
from askew.workflows.assess import assess_parts
from askew.workflows.systems import BETAS, priors_for
from askew.workflows.two_encoders import FUSED, OLD, TwoEncoders, read_two

Rows = npt.NDArray[np.floating[Any]]

TEACHING = {"cosqa": "dev"}
SETS = ("cosqa", "scifact", "nfcorpus-pp")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--split", default="test")
    parser.add_argument("--labels", type=int, default=500, help="0 leaves fits out")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--own", default="wordllama-256")
    parser.add_argument("--other", default="minilm-l6")
    parser.add_argument("--systems", nargs="+", default=[OLD, FUSED], help="to fit")
    args = parser.parse_args()
    heads = ("set", "own", "other", "aligned", *(f"β = {beta:g}" for beta in BETAS), "both indexes")
    print(f"| {' | '.join(heads)} |\n" + "|---" * len(heads) + "|")
    for name in args.sets:
        task = _read(args, name, args.split)
        cells = (f"{value:.4f}" for value in without_labels(task, align(task.documents, task.index)))
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if args.labels:
        heads = ("set", "seed", "system", "chosen", "verdict", "all: base → adapted", "unseen: base → adapted")
        print(f"\n| {' | '.join(heads)} |\n" + "|---" * len(heads) + "|")
        with threadpool_limits(1):
            for name in args.sets:
                for row in with_labels(args, name):
                    print(f"| {' | '.join(row)} |", flush=True)


def _read(args: argparse.Namespace, name: str, split: str) -> TwoEncoders:
    return read_two(args.data / name, query_encoder=args.other, document_encoder=args.own, split=split)


def without_labels(task: TwoEncoders, alignment: Alignment) -> Iterator[float]:
    own, both = task.dataset(OLD), task.dataset(FUSED)
    if own is None or both is None:
        raise SystemExit(f"{task.name} lacks queries by one of the encoders")
    x, z = np.split(both.queries.matrix, [own.queries.dim], axis=1)
    y, w = unit(task.index), unit(task.documents.take(task.index.ids))
    yield _ndcg(own, x, y)
    yield _ndcg(own, z, w)
    yield _ndcg(own, z @ alignment.map, y)
    for beta in BETAS:
        yield _ndcg(own, fused(alignment, beta).left_apply(both.queries.matrix), y)
    yield _ndcg(own, np.hstack([x, z]), np.hstack([y, w]))


def unit(embeddings: EmbeddingSet) -> Rows:
    return (
        np.asarray(embeddings.matrix, dtype=np.float64) / np.where(embeddings.norms > 0, embeddings.norms, 1)[:, None]
    )


def _ndcg(task: Dataset, queries: Rows, documents: Rows) -> float:
    asked = EmbeddingSet(task.queries.ids, queries).take([name for name in task.qrels.queries if name in task.queries])
    run = askew.search(asked, EmbeddingSet(task.documents.ids, documents), k=10)
    return float(askew.evaluate(run, task.qrels, ["nDCG@10"]).mean("nDCG@10"))


def with_labels(args: argparse.Namespace, name: str) -> Iterator[tuple[str, ...]]:
    teaching, judged = _read(args, name, TEACHING.get(name, "train")), _read(args, name, args.split)
    alignment = align(teaching.documents, teaching.index)
    for seed in args.seeds:
        for system in args.systems:
            train, test = teaching.dataset(system), judged.dataset(system)
            if train is None or test is None:
                continue
            able = [query for query in train.labelled if query not in test.qrels]
            taken, _ = split_queries(able, labels=min(args.labels, len(able)), seed=seed)
            fitted = askew.fit(train.only(taken), priors=priors_for(system, alignment), seed=seed)
            parts = dict(assess_parts(test, fitted.candidate, fitted.candidate.provenance.seen))
            told = (parts[part].comparisons[0] for part in ("all", "unseen"))
            scores = (f"{row.base_mean:.4f} → {row.other_mean:.4f} ({row.difference:+.4f})" for row in told)
            choice = fitted.choice
            yield name, str(seed), system, str(choice.chosen), choice.verdict.decision, *scores


if __name__ == "__main__":
    main()
