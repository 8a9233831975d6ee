"""What an overlap on held-out documents tells of quality: the ground of the guess that `askew align` makes unjudged.

    python benchmarks/alignment_guess.py --data DIR [--sets NAME ...] [--index 1000] [--seeds 0 1 2]

For each set and both directions of its two encoders, the query encoder's queries on the document encoder's index: the
pair itself, and pairs made of one encoder, the other being the same turned and with noise, or its first dimensions. For
each the share of the index's own first ten that the alignment finds for held-out documents, among all documents and
among a random thousand, beside the share of nDCG@10 that is retained on the test queries.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from askew.data import EmbeddingSet
from askew.workflows.align import align_encoders
from askew.workflows.two_encoders import ALIGNED, TwoEncoders, read_two

Rows = npt.NDArray[np.float64]

PAIR = ("minilm-l6", "wordllama-256")
NOISE = (0.3, 0.5, 0.7)
WIDTHS = (64, 128)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["scifact", "cosqa", "nfcorpus-pp"])
    parser.add_argument("--index", type=int, default=1000, help="documents of the smaller index")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="draws of the smaller index")
    args = parser.parse_args()
    heads = ("pair", "documents", "own first ten kept", "retained", "difference")
    print(f"| {' | '.join(heads)} |\n" + "|---" * len(heads) + "|")
    with threadpool_limits(1):
        for name in args.sets:
            for asked, told in (PAIR, PAIR[::-1]):
                task = read_two(args.data / name, query_encoder=asked, document_encoder=told, split="test")
                for what, pair in pairs(task):
                    for size, seed in ((None, 0), *((args.index, seed) for seed in args.seeds)):
                        print(row(f"{name}, {what}", pair if size is None else part(pair, size, seed)), flush=True)


def pairs(task: TwoEncoders) -> Iterator[tuple[str, TwoEncoders]]:
    """The pair, and those of its query encoder alone."""
    yield " → ".join(task.names), task
    if task.queries is None or task.own_queries is None:
        raise ValueError(f"{task.name} needs queries by both encoders")
    sides = [task.documents, task.queries]
    name = task.names[0]
    for size in NOISE:
        rng = np.random.default_rng(0)
        turn = np.linalg.qr(rng.normal(size=(task.documents.dim,) * 2))[0]
        changed = [_named(side, (_unit(side) + size * _noise(side, rng)) @ turn, "turned") for side in sides]
        yield f"{name} → the same turned, noise {size:g}", _made(task, sides, changed)
    for width in WIDTHS:
        changed = [_named(side, _unit(side)[:, :width], "short") for side in sides]
        yield f"{name} → its first {width}", _made(task, sides, changed)
        yield f"{name}'s first {width} → all", _made(task, changed, sides)


def part(task: TwoEncoders, size: int, seed: int) -> TwoEncoders:
    """The task over some documents."""
    ids = sorted(np.random.default_rng(seed).permutation(list(task.index.ids))[:size].tolist())
    sides = task.index.take(ids), task.documents.take(ids)
    return TwoEncoders(task.name, *sides, task.queries, task.own_queries, task.qrels, task.split)


def row(name: str, task: TwoEncoders) -> str:
    found = align_encoders(task, measures=["nDCG@10"])
    kept = next(one for one in found.kept if one.system == ALIGNED)
    (against,) = [one.against for one in found.standings if one.system == ALIGNED and one.against is not None]
    interval = f"{against.difference:+.4f} [{against.low:+.4f}, {against.high:+.4f}]"
    cells = (name, f"{kept.documents:,}", f"{kept.of_document_encoder:.3f}", f"{found.retained:.3f}", interval)
    return f"| {' | '.join(cells)} |"


def _made(task: TwoEncoders, asked: list[EmbeddingSet], told: list[EmbeddingSet]) -> TwoEncoders:
    (documents, queries), (index, own) = asked, told
    return TwoEncoders(task.name, index, documents, queries, own, task.qrels, task.split)


def _unit(side: EmbeddingSet) -> Rows:
    return np.asarray(side.unit(), dtype=np.float64)


def _noise(side: EmbeddingSet, rng: np.random.Generator) -> Rows:
    return np.asarray(rng.normal(size=(len(side), side.dim)) / side.dim**0.5)


def _named(side: EmbeddingSet, rows: Rows, encoder: str) -> EmbeddingSet:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return EmbeddingSet(side.ids, (rows / norms).astype(np.float32), encoder=encoder)


if __name__ == "__main__":
    main()
