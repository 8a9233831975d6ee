"""Closed-form fits of both geometries on real embeddings, held out: what Figures 4, 7 to 9 and Table 1 are views of.

For five disjoint folds of queries: fit on nested numbers of the other queries, and look at the fold. The moment's
rows are a query and its relevant documents less its hardest unjudged one; operators have no prior.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np

from askew.data import Dataset, Qrels, hash_order
from askew.errors import LabelError
from askew.formats import list_encoders, list_splits, read_dataset, read_split
from askew.geometry import (
    Covariance,
    RelevanceRows,
    Selection,
    Spectra,
    Whitening,
    cars,
    fold_loss,
    fold_separation,
    held_out_ranking,
    inner_products,
    margins,
)
from askew.linalg.fixed import Float64Array, IntArray
from askew.protocols import Progress
from askew.workflows.footing import rank_score
from askew.workflows.relevance import relevance_rows
from askew.workflows.stdlib_pairs import stdlib_dataset

__all__ = ["FOLDS", "RANKS", "SETS", "SIZES", "Fit", "Grid", "Source", "fit_all", "fit_operators", "read_sources"]

Coordinates = Literal["raw", "whitened"]
FOLDS = 5
SIZES = (32, 64, 128, 256, 512, 1024, 2048)
RANKS = (4, 8, 16, 32, 64, 128, 256)
#: Data sets by default, where they are; the standard library's is made on the spot.
SETS = ("scifact", "nfcorpus-pp", "cosqa", "stdlib")
_SPLITS = 20


@dataclass(frozen=True, eq=False)
class Source:
    """A data set under one encoder, all its splits together."""

    name: str
    dataset: Dataset


@dataclass(frozen=True)
class Fit:
    """Both geometries at one rank, fitted on some labels and looked at on a fold.

    Attributes:
        source: data set and encoder.
        coordinates: ``"raw"``, or ``"whitened"``: pooled, by the training queries and the corpus.
        fold: which fifth of the queries was held out.
        labels: n that were fitted on.
        rank: r.
        loss_dual: ‖P_d,r(C) - T‖² / ‖T‖², T the fold's moment.
        loss_shared: likewise.
        asymmetry: ‖P_d,r(C) - P_s,r(C)‖² over ‖C‖², uncorrected.
        cars: Γ over ‖C‖²: the same, corrected for its noise and price.
        fold_loss: dual's lead in K-fold operator loss.
        separation: dual's lead in K-fold separation.
        ranking: dual's lead in K-fold held-out nDCG@10; NaN in whitened coordinates.
        ndcg_dual: nDCG@10 of the fold's queries over the corpus; NaN in whitened coordinates.
        ndcg_shared: likewise.
    """

    source: str
    coordinates: Coordinates
    fold: int
    labels: int
    rank: int
    loss_dual: float
    loss_shared: float
    asymmetry: float
    cars: float
    fold_loss: float
    separation: float
    ranking: float
    ndcg_dual: float
    ndcg_shared: float

    @property
    def gap(self) -> float:
        """Operator loss of shared less that of dual: above 0, dual is better."""
        return self.loss_shared - self.loss_dual


def read_sources(folder: str | PathLike[str], sets: Sequence[str], encoders: Sequence[str] = ()) -> list[Source]:
    """Every data set of a folder under every encoder that it has, all splits together.

    Args:
        folder: of data sets.
        sets: their names; ``"stdlib"`` is Python's standard library under its one encoder.
        encoders: take these alone; all by default.

    Raises:
        InputError: a data set is not there or cannot be read.
        MissingExtraError: the standard library is asked for without the extra ``demo``.
    """
    found = []
    for name in sets:
        if name == "stdlib":
            dataset = stdlib_dataset()
            if not encoders or dataset.queries.encoder in encoders:
                found.append(Source(f"{name} / {dataset.queries.encoder}", dataset))
            continue
        home = Path(folder) / name
        for encoder in list_encoders(home):
            if encoders and encoder not in encoders:
                continue
            splits = list_splits(home)
            dataset = read_dataset(home, split=splits[0], encoder=encoder, texts=False)
            grades = {query: qrels[query] for qrels in (read_split(home, s) for s in splits) for query in qrels.queries}
            found.append(Source(f"{name} / {encoder}", replace(dataset, qrels=Qrels(grades))))
    return found


@dataclass(frozen=True)
class Grid:
    """Which operators are fitted: one grid serves all studies of real embeddings.

    Attributes:
        folder: of data sets.
        sets: as `read_sources` takes them, and so are `encoders`.
        encoders: all by default.
        sizes: as `fit_operators` takes them, and so are `ranks` and `seed`.
        ranks: of the operators.
        seed: of the hashes.
    """

    folder: str | PathLike[str]
    sets: tuple[str, ...] = SETS
    encoders: tuple[str, ...] = ()
    sizes: tuple[int, ...] = SIZES
    ranks: tuple[int, ...] = RANKS
    seed: int = 0


def fit_all(grid: Grid, *, named: Callable[[str], Progress] | None = None) -> tuple[Fit, ...]:
    """Read every source and fit, in both coordinates; the last grid is kept, so that several studies share it.

    Args:
        grid: what to fit.
        named: makes a progress callback for a named piece of work.

    Raises:
        InputError: a data set is not there or cannot be read.
    """
    if grid not in _KEPT:
        fits: list[Fit] = []
        for source in read_sources(grid.folder, grid.sets, grid.encoders):
            progress = named(source.name) if named else None
            workers = os.cpu_count() or 1
            fits += fit_operators(
                source, sizes=grid.sizes, ranks=grid.ranks, seed=grid.seed, workers=workers, progress=progress
            )
        _KEPT.clear()
        _KEPT[grid] = tuple(fits)
    return _KEPT[grid]


_KEPT: dict[Grid, tuple[Fit, ...]] = {}


def fit_operators(
    source: Source,
    *,
    sizes: Sequence[int] = SIZES,
    ranks: Sequence[int] = RANKS,
    coordinates: Sequence[Coordinates] = ("raw", "whitened"),
    folds: int = FOLDS,
    splits: int = _SPLITS,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[Fit]:
    """Fit and look, at every fold, number of labels and rank.

    Args:
        source: the data.
        sizes: numbers of labels; those that a fold leaves too few queries for are left out.
        ranks: those above the dimension are left out.
        coordinates: of the moment.
        folds: disjoint, by a hash of the query.
        splits: half-splits of CARS.
        seed: of the hashes.
        workers: splits side by side.
        progress: called with the folds done and to do.

    Raises:
        LabelError: fewer queries than two a fold, or than the smallest size.
    """
    rows = relevance_rows(source.dataset, seed=seed)
    ranks = [rank for rank in ranks if rank <= rows.shape[0]]
    order = np.array([rows.ids.index(name) for name in hash_order(rows.ids, seed=seed + 20260923)])
    if len(rows) < max(2 * folds, min(sizes)):
        raise LabelError(f"{len(rows)} queries are too few for {folds} folds", where=source.name)
    judge = _Judge(source.dataset, rows)
    fits: list[Fit] = []
    for fold in range(folds):
        held, rest = order[fold::folds], np.delete(order, np.s_[fold::folds])
        for count in (size for size in sizes if size <= len(rest)):
            for kind in coordinates:
                task = _Task(source.name, kind, fold, rest[:count], held)
                fits += _fit(task, rows, judge, ranks, splits, seed, workers)
        if progress is not None:
            progress(fold + 1, folds)
    return fits


@dataclass(frozen=True, eq=False)
class _Task:
    source: str
    coordinates: Coordinates
    fold: int
    training: IntArray
    held: IntArray


def _fit(
    task: _Task, rows: RelevanceRows, judge: _Judge, ranks: Sequence[int], splits: int, seed: int, workers: int
) -> Iterator[Fit]:
    raw = task.coordinates == "raw"
    training, held = _part(rows, task.training), _part(rows, task.held)
    if not raw:
        whitening = Whitening.fit(Covariance.of(training.queries), judge.spread, kind="pooled")
        training, held = whitening.rows(training), whitening.rows(held)
    spectra = Spectra.of_rows(training.queries, training.differences, largest=max(ranks))
    losses = _losses(spectra, held, ranks)
    size = float(np.sum(np.square(training.moment())))
    asymmetry = inner_products(spectra, spectra, ranks).contrast() / size
    scores = [
        np.array([one.score for one in found])
        for found in _selected(training, ranks, raw=raw, splits=splits, seed=seed, workers=workers)
    ]
    ranking = np.full((3, len(ranks)), np.nan)
    if raw:
        ranking[0] = judge.lead(training, task.training, ranks, seed=seed, workers=workers)
        ranking[1:] = judge.ndcg(spectra, task.held, ranks).mean(axis=2)
    columns = np.vstack([*losses, asymmetry, scores[0] / size, *scores[1:], ranking])
    for rank, values in zip(ranks, columns.T.tolist(), strict=True):
        yield Fit(task.source, task.coordinates, task.fold, len(task.training), rank, *values)


def _selected(
    rows: RelevanceRows, ranks: Sequence[int], *, raw: bool, splits: int, seed: int, workers: int
) -> tuple[tuple[Selection, ...], ...]:
    """CARS, K-fold operator loss and K-fold separation, as their signs go."""
    return (
        cars(rows, ranks=ranks, splits=splits, groups=None, fallback="none", seed=seed, workers=workers),
        fold_loss(rows, ranks=ranks, groups=None, fallback="none", seed=seed, workers=workers),
        fold_separation(rows, ranks=ranks, whitened=not raw, groups=None, fallback="none", seed=seed, workers=workers),
    )


def _part(rows: RelevanceRows, places_of: IntArray) -> RelevanceRows:
    return RelevanceRows(
        tuple(rows.ids[row] for row in places_of.tolist()), rows.queries[places_of], rows.differences[places_of]
    )


def _losses(spectra: Spectra, held: RelevanceRows, ranks: Sequence[int]) -> tuple[Float64Array, Float64Array]:
    """‖P_g,r(C) - T‖² / ‖T‖² of dual and shared: two (K,)."""
    target = float(np.sum(np.square(held.moment())))
    norms = spectra.norms(ranks)
    means = (part.mean(axis=0) for part in margins(spectra, held.queries, held.differences, ranks))
    dual, shared = ((norm - 2 * mean + target) / target for norm, mean in zip(norms, means, strict=True))
    return dual, shared


class _Judge:
    """nDCG@10 of operators, by exact search over the whole corpus."""

    def __init__(self, dataset: Dataset, rows: RelevanceRows) -> None:
        self.score = rank_score(dataset, rows.ids)
        self.queries = rows.queries
        self.spread = Covariance.of(dataset.documents.matrix)

    def ndcg(self, spectra: Spectra, held: IntArray, ranks: Sequence[int]) -> Float64Array:
        """(2, K, h) of some rows of queries: dual and shared at every rank."""
        operators = [of(rank) for of in (spectra.dual, spectra.shared) for rank in ranks]
        adapted = [operator.left_apply(self.queries[held]).astype(np.float32) for operator in operators]
        tiled = np.tile(held, len(operators))
        found, _ = self.score(np.concatenate(adapted), tiled, np.empty(0, dtype=np.int64))
        return np.asarray(found.reshape(2, len(ranks), len(held)))

    def lead(self, rows: RelevanceRows, at: IntArray, ranks: Sequence[int], *, seed: int, workers: int) -> Float64Array:
        """(K,) dual's lead over shared in K-fold held-out nDCG among training rows, which stand at `at` in all rows."""

        def scores(kept: IntArray, held: IntArray) -> tuple[Float64Array, Float64Array]:
            spectra = Spectra.of_rows(rows.queries[kept], rows.differences[kept], largest=max(ranks))
            dual, shared = self.ndcg(spectra, at[held], ranks)
            return shared.T, dual.T

        found = held_out_ranking(rows, scores, ranks=ranks, groups=None, fallback="none", seed=seed, workers=workers)
        return np.array([one.score for one in found])
