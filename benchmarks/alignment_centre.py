"""How much of the intercept an alignment should leave out: by what documents and queries find.

    python benchmarks/alignment_centre.py --data DIR [--sets NAME ...] [--documents 500 1000 2000 0] [--seeds 0 1 2]

For each set, both directions of two encoders, a number of documents that both have embedded (0: all) and their draws:
the share of the index's own first ten that the map finds for held-out documents, and nDCG@10 over all documents of the
queries that `askew reproduce era` does not take, by cosine.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from aligned_corrections import ndcg, unused
from askew.adapters import Adapter
from askew.data import hash_order
from askew.estimators import align
from askew.operators import BilinearOperator, Dense
from askew.reproduce.era_protocol import ENCODERS
from askew.retrieval import search
from askew.workflows.retention import overlap
from askew.workflows.two_encoders import ALIGNED, TwoEncoders

CENTRES = (0.0, 0.25, 0.5, 0.75, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["cosqa", "scifact", "nfcorpus-pp"])
    parser.add_argument("--documents", type=int, nargs="+", default=[500, 1000, 2000, 0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    args = parser.parse_args()
    heads = [f"{what}, {centre:g}" for what in ("kept", "nDCG@10") for centre in CENTRES]
    print(f"| set | queries by | documents | {' | '.join(heads)} |\n" + "|---" * (len(heads) + 3) + "|")
    by_size = defaultdict(list)
    for name in args.sets:
        for pair in (ENCODERS, ENCODERS[::-1]):
            task = unused(args.data, name, pair)
            for size in args.documents:
                seeds = args.seeds if size else args.seeds[:1]
                with threadpool_limits(1):
                    found = np.mean([[tried(task, size, seed, one) for one in CENTRES] for seed in seeds], axis=0)
                by_size[size].append(found)
                print(f"| {name} | {pair[0]} | {_row(size, found)}", flush=True)
    for size, rows in by_size.items():
        print(f"| mean | | {_row(size, np.mean(rows, axis=0))}")


def tried(task: TwoEncoders, size: int, seed: int, centre: float) -> tuple[float, float]:
    """What is kept of held-out documents' first ten, and nDCG@10."""
    common = hash_order(task.index.ids, seed=42 + seed)[: size or None]
    found = align(task.documents.take(common), task.index.take(common), centre=centre, seed=seed)
    held = set(found.held_out)
    asked, among = ([one for one in common if (one in held) is is_held] for is_held in (True, False))
    judged = Adapter(BilinearOperator(Dense(found.judged.astype(np.float32))), "cosine")
    index = task.index.take(among)
    own = search(task.index.take(asked), index, k=10, similarity="cosine")
    kept = overlap(search(judged.apply(task.documents.take(asked)), index, k=10, similarity="cosine"), own)
    data = task.dataset(ALIGNED)
    assert data is not None
    return float(kept.mean()), ndcg(data.only(task.judged_by_all), Adapter(BilinearOperator(found.term), "cosine"))


def _row(size: int, found: np.typing.NDArray[np.float64]) -> str:
    return f"{size or 'all'} | {' | '.join(f'{value:.4f}' for value in found.T.ravel())} |"


if __name__ == "__main__":
    main()
