"""What an overlap on held-out documents tells of quality: the ground of the guess that `askew align` makes unjudged.

    python benchmarks/alignment_guess.py --data DIR [--sets NAME ...] [--index 1000] [--seeds 0 1 2]

For each set and both directions of its two encoders, the query encoder's queries on the document encoder's index: the
pair itself, and pairs made of one encoder, the other being the same turned and with noise, or its first dimensions. For
each the share of the index's own first ten that the alignment finds for held-out documents, among all documents and
among a random thousand, beside the share of nDCG@10 that is retained on the test queries. Then the ranges by kind of
pair, and what the bar of 0.8 parts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from askew.data import EmbeddingSet
from askew.evaluation import Comparison
from askew.workflows.advise import LEAST_OVERLAP
from askew.workflows.align import align_encoders
from askew.workflows.retention import Kept, aligned_on_held_out
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
    found: dict[str, list[Seen]] = {}
    with threadpool_limits(1):
        for name in args.sets:
            for asked, told in (PAIR, PAIR[::-1]):
                task = read_two(args.data / name, query_encoder=asked, document_encoder=told, split="test")
                for what, pair in pairs(task):
                    for size, seed in ((None, 0), *((args.index, seed) for seed in args.seeds)):
                        seen = Seen.of(pair if size is None else part(pair, size, seed), whole=size is None)
                        print(f"| {name}, {what} | {seen} |", flush=True)
                        found.setdefault(what.replace(asked, "one").replace(told, "other"), []).append(seen)
    summarise(found)


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


@dataclass(frozen=True)
class Seen:
    """One pair: what its alignment keeps and retains, and whether it is the whole index."""

    kept: Kept
    retained: float
    against: Comparison
    whole: bool

    @classmethod
    def of(cls, task: TwoEncoders, *, whole: bool) -> Seen:
        found = align_encoders(task, measures=["nDCG@10"])
        kept = aligned_on_held_out(found.kept)
        (against,) = [one.against for one in found.standings if one.system == ALIGNED]
        if kept is None or against is None or found.retained is None:
            raise ValueError(f"{task.name} is too small to judge")
        return cls(kept, found.retained, against, whole)

    def __str__(self) -> str:
        row = self.against
        interval = f"{row.difference:+.4f} [{row.low:+.4f}, {row.high:+.4f}]"
        return " | ".join((f"{self.kept.documents:,}", f"{self.overlap:.3f}", f"{self.retained:.3f}", interval))

    @property
    def overlap(self) -> float:
        return self.kept.of_document_encoder or 0.0

    @property
    def below(self) -> bool:
        return self.against.high < 0


def summarise(found: Mapping[str, Sequence[Seen]]) -> None:
    heads = ("pair", "kept, all documents", "kept, a part", "retained", "clearly below")
    print(f"\n| {' | '.join(heads)} |\n" + "|---" * len(heads) + "|")
    for kind, rows in found.items():
        kept = (_range(one.overlap for one in rows if one.whole == whole) for whole in (True, False))
        below = f"{sum(one.below for one in rows)} of {len(rows)}"
        print(f"| {' | '.join((kind, *kept, _range(one.retained for one in rows), below))} |")
    every = [one for rows in found.values() for one in rows]
    over = [one for one in every if one.overlap >= LEAST_OVERLAP]
    lost = sum(one.below for one in every)
    under = lost - sum(one.below for one in over)
    least = min((one.retained for one in over), default=float("nan"))
    print(f"\nFrom {LEAST_OVERLAP:g} on: {len(over)} of {len(every)}, which retain {least:.3f} at least.")
    print(f"Below it: {under} of the {lost} that lose clearly, and {len(every) - len(over) - under} that do not.")


def _range(values: Iterable[float]) -> str:
    held = list(values)
    return f"{min(held):.2f} to {max(held):.2f}" if held else ""


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
