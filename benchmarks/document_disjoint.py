"""What halves that share no document change in CARS's score.

    python benchmarks/document_disjoint.py --data DIR [--ranks 4 16 64]

Halves by query may both hold queries with one relevant document. They are then not independent, as the identity
E⟨V₁, V₂⟩ = ‖Δ‖² assumes, and what they share is counted as signal. For each set and rank: the score with its
error, in units of the moment's energy, from halves by query and from halves by document, the choice of each, and
beside them the lead of dual in held-out operator loss, from five folds that share no document either.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from askew import read_dataset
from askew.data import Dataset
from askew.errors import LabelError
from askew.geometry import Selection, cars, fold_loss
from askew.workflows.coordinates import set_out

SETS = (
    ("scifact", "minilm-l6", "train"),
    ("scifact", "wordllama-256", "train"),
    ("cosqa", "minilm-l6", "dev"),
    ("cosqa", "wordllama-256", "dev"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[4, 16, 64])
    args = parser.parse_args()
    heads = ("set", "sharing", "rank", "halves by query", "halves by document", "held-out lead of dual")
    print(f"| {' | '.join(heads)} |\n" + "|---" * len(heads) + "|")
    for folder, encoder, split in SETS:
        dataset = read_dataset(args.data / folder, split=split, encoder=encoder, texts=False)
        with threadpool_limits(1):
            _print(f"{folder} / {encoder}", dataset, args.ranks)


def _print(name: str, dataset: Dataset, ranks: list[int]) -> None:
    rows = set_out(dataset, whitening="none", residual=False, similarity="dot", seed=0).rows
    energy = float(np.sum(np.square(rows.moment())))
    try:
        apart = cars(rows, ranks=ranks, by_document=True, workers=2)
    except LabelError as error:
        print(f"| {name} | {_sharing(dataset):.0%} | | | {error} | |")
        return
    mixed = cars(rows, ranks=ranks, workers=2)
    held = fold_loss(rows, ranks=ranks, by_document=True, groups=None, workers=2)
    for rank, one, two, three in zip(ranks, mixed, apart, held, strict=True):
        cells = (name, f"{_sharing(dataset):.0%}", rank, _said(one, energy), _said(two, energy))
        print(f"| {' | '.join(map(str, cells))} | {three.score / energy:+.4f} |", flush=True)


def _said(found: Selection, energy: float) -> str:
    error = (found.standard_error or 0.0) / energy
    return f"{found.score / energy:+.4f} ± {error:.4f}, {found.choice}"


def _sharing(dataset: Dataset) -> float:
    """The share of queries that have a relevant document in common with another."""
    relevant = [set(dataset.qrels.positives(query)) for query in dataset.labelled]
    owners = Counter(document for each in relevant for document in each)
    return float(np.mean([any(owners[document] > 1 for document in each) for each in relevant]))


if __name__ == "__main__":
    main()
