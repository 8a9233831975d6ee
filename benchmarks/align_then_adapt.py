"""Align, then adapt: what an alignment is worth before few labels, and what the closed form costs beside training.

    python benchmarks/align_then_adapt.py [--seeds 0 1 2] [--labels 10 25 50 100 200 400]

A latent z of 16 dimensions; two encoders see documents as tanh(W z + noise), in 96 and in 48 dimensions (W normal,
over 4, so that rows have unit variance; noise 0.1). A query is the z of its document, moved by a fixed drift of norm
0.5 and by noise 0.3, seen by the first encoder; the second one has embedded the index. 2,000 documents, 800 test
queries whose documents no label names. Printed: nDCG@10 of what `askew.fit` ships, without and with the alignment as
its prior; and the alignment alone, in closed form and by 100 epochs of AdamW on the cosine (rate 0.001, decay 0.01,
batch 256, with a bias), with the CPU time of each in this one run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

import askew
from askew.data import Dataset, EmbeddingSet, Qrels
from askew.estimators import align
from askew.workflows.systems import priors_for, threshold_for
from askew.workflows.two_encoders import ALIGNED

LATENT, ASKED, TOLD, DOCUMENTS, TEST, MOST = 16, 96, 48, 2000, 800, 400

Rows = npt.NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--labels", type=int, nargs="+", default=[10, 25, 50, 100, 200, 400])
    args = parser.parse_args()
    with threadpool_limits(1):
        worlds = [World(seed) for seed in args.seeds]
        print("| labels | adapt only | align only | align + adapt | gain over adapt only |\n|---|---|---|---|---|")
        for count in args.labels:
            rows = np.array([world.compared(count) for world in worlds])
            cells = " | ".join(f"{value:.3f}" for value in rows.mean(axis=0))
            gains = rows[:, 2] - rows[:, 0]
            print(f"| {count} | {cells} | {gains.mean():+.3f} (least {gains.min():+.3f}) |", flush=True)
        print("\n| alignment | nDCG@10 | CPU seconds |\n|---|---|---|")
        _print("closed form, strength chosen and judged", in_closed_form, worlds)
        _print("closed form, strength given", with_strength, worlds)
        try:
            _print("100 epochs of AdamW", by_training, worlds)
        except ModuleNotFoundError:
            print("| 100 epochs of AdamW | needs torch | |")


def _print(name: str, learn: Callable[[Rows, Rows], Callable[[Rows], Rows]], worlds: list[World]) -> None:
    """The mean score, and the median time of five rounds after one that is not counted."""
    worlds[0].aligned(learn)
    found = np.array([[world.aligned(learn) for world in worlds] for _ in range(5)])
    print(f"| {name} | {found[0, :, 0].mean():.4f} | {np.median(found[..., 1]):.4f} |", flush=True)


class World:
    """One draw of the simulation."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._views = [self._rng.normal(size=(LATENT, width)) / 4 for width in (ASKED, TOLD)]
        latent = self._rng.normal(size=(DOCUMENTS, LATENT))
        self.asked, self.told = (EmbeddingSet(range(DOCUMENTS), self._seen(latent, view)) for view in (0, 1))
        drift = self._rng.normal(size=LATENT)
        moved = latent[: MOST + TEST] + 0.5 * drift / np.linalg.norm(drift)
        moved += 0.3 * self._rng.normal(size=moved.shape)
        names = [f"q{row}" for row in range(len(moved))]
        queries = EmbeddingSet(names, self._seen(moved, 0), encoder="asked")
        index = EmbeddingSet(range(DOCUMENTS), self.told.matrix, encoder="told")
        self._task = Dataset(queries, index, Qrels({name: {str(row): 1} for row, name in enumerate(names)}))
        self._test = self._task.only(names[MOST:])

    def _seen(self, latent: Rows, view: int) -> Rows:
        noise = 0.1 * self._rng.normal(size=(len(latent), self._views[view].shape[1]))
        return np.asarray(np.tanh(latent @ self._views[view] + noise))

    def _score(self, mapped: EmbeddingSet) -> float:
        asked = mapped.take(self._test.qrels.queries)
        run = askew.search(asked, self.told, k=10)
        return float(askew.evaluate(run, self._test.qrels, ["nDCG@10"]).mean("nDCG@10"))

    def compared(self, labels: int) -> tuple[float, float, float]:
        """nDCG@10 of adapting without an alignment, of the alignment alone, and of both."""
        train = self._task.only(self._task.qrels.queries[:labels])
        alignment = align(self.asked, self.told)
        plain = askew.fit(train)
        both = askew.fit(train, priors=priors_for(ALIGNED, alignment), threshold=threshold_for(ALIGNED))
        mapped = EmbeddingSet(self._task.queries.ids, alignment.term.left_apply(self._task.queries.matrix))
        adapted = (self._score(one.adapter.apply(self._task.queries)) for one in (plain, both))
        alone, together = adapted
        return alone, self._score(mapped), together

    def aligned(self, learn: Callable[[Rows, Rows], Callable[[Rows], Rows]]) -> tuple[float, float]:
        """nDCG@10 and CPU seconds of one way to align."""
        x, y = (unit(np.asarray(side.matrix, dtype=np.float64)) for side in (self.asked, self.told))
        started = time.process_time()
        mapping = learn(x, y)
        seconds = time.process_time() - started
        rows = mapping(unit(np.asarray(self._task.queries.matrix, dtype=np.float64)))
        return self._score(EmbeddingSet(self._task.queries.ids, rows)), seconds


def in_closed_form(x: Rows, y: Rows) -> Callable[[Rows], Rows]:
    """Ours, its choice of strength on held-out documents included."""
    found = align(EmbeddingSet(range(len(x)), x), EmbeddingSet(range(len(y)), y)).map
    return lambda rows: rows @ found


def with_strength(x: Rows, y: Rows) -> Callable[[Rows], Rows]:
    """Ours, at a strength that is given: one solve, its judgement, and the look for copies."""
    found = align(EmbeddingSet(range(len(x)), x), EmbeddingSet(range(len(y)), y), strengths=(1e-3,)).map
    return lambda rows: rows @ found


def by_training(x: Rows, y: Rows) -> Callable[[Rows], Rows]:
    """ERA's first stage."""
    from askew.estimators.torch_recipes import align_by_descent  # noqa: PLC0415 - the rest runs without torch

    found = align_by_descent(EmbeddingSet(range(len(x)), x), EmbeddingSet(range(len(y)), y))
    return lambda rows: np.asarray(found(rows), dtype=np.float64)


def unit(rows: Rows) -> Rows:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


if __name__ == "__main__":
    main()
