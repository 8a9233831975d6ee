"""The grid of real fits and its three views, on a small set whose answer is known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.data import Dataset, EmbeddingSet, Qrels, hash_order
from askew.errors import LabelError
from askew.geometry import nearest_dual, nearest_shared
from askew.reproduce import operators
from askew.reproduce.operator_risk import operator_risk
from askew.reproduce.operators import Fit, Grid, Source, fit_operators
from askew.reproduce.selection import selection
from askew.reproduce.signal import signal
from askew.workflows.relevance import relevance_rows


def source(*, turned: bool, count: int = 150, width: int = 6) -> Source:
    rng = np.random.default_rng(1)
    documents = rng.normal(size=(count, width))
    quarter = np.kron(np.eye(width // 2), [[0.0, 1.0], [-1.0, 0.0]])
    turn = quarter if turned else np.eye(width)
    queries = documents @ turn + 0.05 * rng.normal(size=documents.shape)
    names = [f"{row:03}" for row in range(count)]
    task = Dataset(
        EmbeddingSet(names, queries), EmbeddingSet(names, documents), Qrels({name: {name: 1} for name in names})
    )
    return Source("turned" if turned else "straight", task)


def small(which: Source, **options: Any) -> list[Fit]:
    return fit_operators(which, sizes=(40, 100), ranks=(2, 4, 99), folds=3, splits=4, **options)


def test_every_fold_size_rank_and_coordinate_once() -> None:
    fits = small(source(turned=True))
    keys = {(fit.coordinates, fit.fold, fit.labels, fit.rank) for fit in fits}
    assert len(fits) == len(keys) == 2 * 3 * 2 * 2  # a rank above the dimension is left out
    assert all(math.isnan(fit.ndcg_dual) == math.isnan(fit.ranking) == (fit.coordinates == "whitened") for fit in fits)


def test_losses_are_those_of_the_dense_definition() -> None:
    which = source(turned=True)
    rows = relevance_rows(which.dataset)
    order = hash_order(rows.ids, seed=20260923)
    place = {name: row for row, name in enumerate(rows.ids)}
    held, rest = [place[name] for name in order[1::3]], [place[name] for n, name in enumerate(order) if n % 3 != 1]
    fitted = rows.queries[rest[:40]].T @ rows.differences[rest[:40]] / 40
    target = rows.queries[held].T @ rows.differences[held] / len(held)
    (fit,) = (fit for fit in small(which, coordinates=("raw",)) if (fit.fold, fit.labels, fit.rank) == (1, 40, 2))
    for nearest, loss in ((nearest_dual, fit.loss_dual), (nearest_shared, fit.loss_shared)):
        off = np.sum(np.square(nearest(fitted, 2).to_dense() - target)) / np.sum(np.square(target))
        assert loss == pytest.approx(off)
    apart = nearest_dual(fitted, 2).to_dense() - nearest_shared(fitted, 2).to_dense()
    assert fit.asymmetry == pytest.approx(np.sum(np.square(apart)) / np.sum(np.square(fitted)))


def test_a_turn_is_found_and_its_absence_too() -> None:
    turned, straight = (
        [fit for fit in small(source(turned=turned), coordinates=("raw",)) if fit.labels == 100]
        for turned in (True, False)
    )
    assert all(fit.gap > 0 and fit.fold_loss > 0 for fit in turned)
    assert np.mean([fit.cars > 0 for fit in turned]) > 0.6
    assert np.mean([fit.ndcg_dual > fit.ndcg_shared for fit in turned]) > 0.6
    assert np.mean([fit.ndcg_shared >= fit.ndcg_dual for fit in straight]) > 0.6


def test_the_same_fits_for_every_number_of_workers() -> None:
    which = source(turned=True, count=60)
    one, two = (fit_operators(which, sizes=(30,), ranks=(2,), folds=2, splits=3, workers=n) for n in (1, 2))
    assert [repr(fit) for fit in one] == [repr(fit) for fit in two]


def test_too_few_queries() -> None:
    with pytest.raises(LabelError, match="12 queries are too few"):
        fit_operators(source(turned=True, count=12))


def test_the_views_share_one_grid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    read: list[str] = []

    def sources(folder: object, sets: object, encoders: object) -> list[Source]:
        read.append(str(folder))
        return [source(turned=True), source(turned=False)]

    monkeypatch.setattr(operators, "read_sources", sources)
    grid = Grid(tmp_path, ("made",), sizes=(32, 100), ranks=(2, 4))
    studies = [operator_risk(grid), selection(grid), signal(grid, pairs=(64, 256), draws=1)]
    assert len(read) == 1
    risk, chosen, measured = studies
    assert "source × rank cells, raw" in risk.findings[0]
    assert risk.findings[1].startswith("turned: dual has the smaller loss from")
    assert [row[0] for row in chosen.tables[0].rows] == ["turned", "straight", "all"]
    assert "In raw coordinates CARS picks" in chosen.findings[0]
    assert any("always shared has" in finding and "always dual" in finding for finding in chosen.findings)
    assert len(measured.tables) == 3
    assert sum(int(row[1] or 0) for row in measured.tables[1].rows) == 2 * 5 * 2 * 2
    for study in studies:
        assert study.write(tmp_path)
