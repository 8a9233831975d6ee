"""Figure 3A: dual against shared as pairs grow, at several angles between the two sides' planes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from askew.protocols import Progress
from askew.report import Mark, Series, curves_figure
from askew.reproduce.simulation import ANGLES, DIM, NEGATIVES, PAIRS, RANK, Cell, simulate
from askew.reproduce.study import Study, Table

__all__ = ["crossover"]

# The first n at which the paper's figure has dual ahead.
_PAPER = {0.0: "none", 0.8: "256", 1.2: "64"}
_DRAWN = 6


def crossover(
    *,
    angles: Sequence[float] = ANGLES,
    pairs: Sequence[int] = PAIRS,
    seeds: int = 5,
    seed: int = 0,
    named: Callable[[str], Progress] | None = None,
) -> Study:
    """Run the study.

    Args:
        angles: θ, in radians.
        pairs: training pairs, n.
        seeds: paired draws.
        seed: of the first.
        named: makes a progress callback for a named piece of work.
    """
    progress = named("simulating") if named else None
    cells = simulate(angles=angles, pairs=pairs, seeds=range(seed, seed + seeds), progress=progress)
    first = {angle: _first(cells, angle, pairs) for angle in angles}
    last = [_mean(cells, angle, max(pairs), lambda cell: cell.gain)[0] for angle in angles]
    findings = [_said(angle, first[angle], pairs) for angle in angles]
    ordered = all(one <= two for one, two in pairwise(last))
    findings.append(f"At {max(pairs):,} pairs the gaps are {'' if ordered else 'not '}ordered as the angles.")
    return Study(
        name="crossover",
        title="The crossing of shared and dual (Figure 3A)",
        settings={"p": DIM, "rank": RANK, "negatives": NEGATIVES, "seeds": seeds, "first seed": seed},
        findings=findings,
        tables=[_crossings(angles, first), _gains(cells, angles, pairs), _selected(cells, angles, pairs)],
        pictures={"gain": _picture(cells, angles, pairs)},
    )


def _said(angle: float, first: int | None, pairs: Sequence[int]) -> str:
    grid = ", ".join(f"{count:,}" for count in sorted(pairs))
    where = f"dual is ahead for good from {first:,} pairs" if first else "dual is not ahead for good at any number"
    return f"At {angle:g} rad {where}, of {grid} (the paper: {_PAPER.get(angle, 'not given')})."


def _first(cells: Sequence[Cell], angle: float, pairs: Sequence[int]) -> int | None:
    """The first n at which dual is ahead on the mean of the seeds, and from which it stays so."""
    ahead = [_mean(cells, angle, count, lambda cell: cell.gain)[0] > 0 for count in sorted(pairs)]
    stays = [all(ahead[place:]) for place in range(len(ahead))]
    return next((count for count, holds in zip(sorted(pairs), stays, strict=True) if holds), None)


def _mean(cells: Sequence[Cell], angle: float, pairs: int, of: Callable[[Cell], float]) -> tuple[float, float]:
    """Over seeds, with its standard error."""
    values = np.array([of(cell) for cell in cells if (cell.angle, cell.pairs) == (angle, pairs)])
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


def _crossings(angles: Sequence[float], first: dict[float, int | None]) -> Table:
    rows = [(angle, first[angle], _PAPER.get(angle)) for angle in angles]
    note = "The first number of pairs at which dual is ahead in nDCG@10 on the mean of the seeds, for good."
    return Table(title="Crossings", head=("angle, rad", "pairs", "paper"), rows=rows, note=note)


def _gains(cells: Sequence[Cell], angles: Sequence[float], pairs: Sequence[int]) -> Table:
    rows = []
    for angle in angles:
        means = [_mean(cells, angle, count, lambda cell: cell.gain) for count in pairs]
        rows.append([f"{angle:g}", *(f"{mean:+.4f} ({error:.4f})" for mean, error in means)])
    head = ["angle, rad", *(f"n = {count:,}" for count in pairs)]
    return Table(title="nDCG@10 of dual less that of shared, and its error over seeds", head=head, rows=rows)


def _selected(cells: Sequence[Cell], angles: Sequence[float], pairs: Sequence[int]) -> Table:
    rows = []
    for angle in angles:
        loss = [_mean(cells, angle, count, lambda cell: cell.loss_gap)[0] for count in pairs]
        score = [_mean(cells, angle, count, lambda cell: cell.cars or 0.0)[0] for count in pairs]
        rows.append([f"{angle:g}", *(f"{gap:+.3f} / {gamma:+.2f}" for gap, gamma in zip(loss, score, strict=True))])
    note = "The gap is relative to the population's moment. CARS goes by it, and ranking crosses earlier in n."
    head = ["angle, rad", *(f"n = {count:,}" for count in pairs)]
    return Table(title="Operator loss of shared less that of dual / CARS", head=head, rows=rows, note=note)


def _picture(cells: Sequence[Cell], angles: Sequence[float], pairs: Sequence[int]) -> str:
    shown = [angle for place, angle in enumerate(angles) if len(angles) <= _DRAWN or place % 2 == 0]
    series = []
    for angle in shown:
        means = [_mean(cells, angle, count, lambda cell: cell.gain) for count in pairs]
        low, high = ([mean + sign * error for mean, error in means] for sign in (-1, 1))
        y = [mean for mean, _ in means]
        series.append(Series(name=f"{angle:g} rad", x=[*pairs], y=y, low=low, high=high))
    return curves_figure(
        "crossover",
        series,
        title="Gain of dual by pairs",
        description="nDCG@10 of dual less that of shared against training pairs, one line an angle.",
        x_label="training pairs",
        y_label="gain of dual in nDCG@10",
        marks=[Mark(text="equal", y=0.0)],
        log_x=True,
    )
