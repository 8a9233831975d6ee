"""Figures 7 to 9: operator risk of both geometries over training sizes and ranks, on real embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from askew.protocols import Progress
from askew.report import Mark, Series, curves_figure
from askew.reproduce.operators import Fit, Grid, fit_all
from askew.reproduce.study import Study, Table

__all__ = ["operator_risk"]

_PAPER = "168 of 168"
_DRAWN = 5


def operator_risk(grid: Grid, *, named: Callable[[str], Progress] | None = None) -> Study:
    """Run the study.

    Args:
        grid: the data sets, and what to fit.
        named: makes a progress callback for a named piece of work.

    Raises:
        InputError: a data set is not there or cannot be read.
    """
    fits = fit_all(grid, named=named)
    raw = [fit for fit in fits if fit.coordinates == "raw"]
    up, count = _slopes(raw)
    white_up, white_count = _slopes([fit for fit in fits if fit.coordinates == "whitened"])
    grown = (
        f"The gap of shared less dual grows with the labels in {up} of {count} source × rank cells, raw "
        f"({white_up} of {white_count} whitened; the paper: {_PAPER})."
    )
    return Study(
        name="operator-risk",
        title="Operator risk over labels and ranks (Figures 7 to 9)",
        settings={"sets": ", ".join(grid.sets), "seed": grid.seed, "folds": 5, "half-splits": 20},
        findings=[grown, *_crossings(raw)],
        tables=[_table("raw", raw), _table("whitened", [fit for fit in fits if fit.coordinates == "whitened"])],
        pictures={name: _picture(name, raw) for name in dict.fromkeys(fit.source for fit in raw)},
    )


def _slopes(fits: Sequence[Fit]) -> tuple[int, int]:
    """How many source × rank cells have a gap that rises with the logarithm of the labels, of how many."""
    cells = {(fit.source, fit.rank) for fit in fits}
    rising = 0
    for source, rank in cells:
        mine = [fit for fit in fits if (fit.source, fit.rank) == (source, rank)]
        slope = np.polyfit(np.log2([fit.labels for fit in mine]), [fit.gap for fit in mine], 1)[0]
        rising += slope > 0
    return int(rising), len(cells)


def _gap(fits: Sequence[Fit], source: str, labels: int, rank: int) -> float | None:
    found = [fit.gap for fit in fits if (fit.source, fit.labels, fit.rank) == (source, labels, rank)]
    return float(np.mean(found)) if found else None


def _crossings(fits: Sequence[Fit]) -> list[str]:
    """For each source, the labels from which dual has the smaller mean loss, over its ranks."""
    said = []
    for source in dict.fromkeys(fit.source for fit in fits):
        sizes = sorted({fit.labels for fit in fits if fit.source == source})
        firsts = []
        for rank in sorted({fit.rank for fit in fits if fit.source == source}):
            ahead = [size for size in sizes if (_gap(fits, source, size, rank) or 0.0) > 0]
            firsts.append(min(ahead) if ahead else None)
        known = [first for first in firsts if first is not None]
        never = f"; at {firsts.count(None)} of {len(firsts)} ranks it never has" if None in firsts else ""
        crossed = f"from {min(known):,} to {max(known):,} labels on" if known else "nowhere"
        said.append(f"{source}: dual has the smaller loss {crossed}, by rank{never if known else ''}.")
    return said


def _table(coordinates: str, fits: Sequence[Fit]) -> Table:
    ranks = sorted({fit.rank for fit in fits})
    cells = sorted({(fit.source, fit.labels) for fit in fits})
    rows = [[source, labels, *(_gap(fits, source, labels, rank) for rank in ranks)] for source, labels in cells]
    return Table(
        title=f"Operator loss of shared less that of dual, {coordinates}",
        head=("source", "labels", *(f"r = {rank}" for rank in ranks)),
        rows=rows,
        note="Means over five held-out folds, relative to the fold's own moment. Above 0 dual is nearer to it.",
    )


def _picture(source: str, fits: Sequence[Fit]) -> str:
    mine = [fit for fit in fits if fit.source == source]
    sizes = sorted({fit.labels for fit in mine})
    ranks = sorted({fit.rank for fit in mine})
    drawn = ranks if len(ranks) <= _DRAWN else ranks[:: -(-len(ranks) // _DRAWN)]
    series = [
        Series(name=f"rank {rank}", x=sizes, y=[_gap(mine, source, size, rank) or 0.0 for size in sizes])
        for rank in drawn
    ]
    return curves_figure(
        f"operator-risk-{''.join(letter for letter in source if letter.isalnum())}",
        series,
        title=f"Gap by labels, {source}",
        description="Operator loss of shared less that of dual against labelled queries, one line a rank.",
        x_label="labelled queries",
        y_label=f"loss gap, {source}",
        marks=[Mark(text="equal", y=0.0)],
        log_x=True,
    )
