"""Figure 3B: what dual gains against how far the population's moment lies from the shared family."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from askew.protocols import Progress
from askew.report import Mark, Series, curves_figure
from askew.reproduce.simulation import DIM, NEGATIVES, RANK, Cell, distance_to_shared, simulate
from askew.reproduce.study import Study, Table, rank_correlation

__all__ = ["distance"]

_ANGLES = tuple(round(0.1 * step, 1) for step in range(16))
_PAIRS = (64, 256, 1024, 4096)


def distance(
    *,
    angles: Sequence[float] = _ANGLES,
    pairs: Sequence[int] = _PAIRS,
    seeds: int = 5,
    seed: int = 0,
    named: Callable[[str], Progress] | None = None,
) -> Study:
    """Run the study.

    Args:
        angles: θ, in radians: each gives a distance.
        pairs: training pairs, n.
        seeds: paired draws.
        seed: of the first.
        named: makes a progress callback for a named piece of work.
    """
    progress = named("simulating") if named else None
    cells = simulate(angles=angles, pairs=pairs, seeds=range(seed, seed + seeds), select=False, progress=progress)
    apart = {angle: distance_to_shared(angle) for angle in angles}
    gains = {count: [_gain(cells, angle, count) for angle in angles] for count in pairs}
    along = [apart[angle] for angle in angles]
    rows: list[list[str | float]] = [
        [f"{angle:g}", apart[angle], *(gains[count][place] for count in pairs)] for place, angle in enumerate(angles)
    ]
    correlations = {count: rank_correlation(along, gains[count]) for count in pairs}
    return Study(
        name="distance",
        title="Gain of dual against the distance from the shared family (Figure 3B)",
        settings={"p": DIM, "rank": RANK, "negatives": NEGATIVES, "seeds": seeds, "first seed": seed},
        findings=[f"At {n:,} pairs the rank correlation is {value:+.3f}." for n, value in correlations.items()],
        tables=[
            Table(
                title="nDCG@10 of dual less that of shared",
                head=("angle, rad", "distance", *(f"n = {count:,}" for count in pairs)),
                rows=rows,
                note="Distance: the Frobenius norm from the population's moment to the nearest shared matrix.",
            )
        ],
        pictures={"gain": _picture(along, gains)},
    )


def _gain(cells: Sequence[Cell], angle: float, pairs: int) -> float:
    return float(np.mean([cell.gain for cell in cells if (cell.angle, cell.pairs) == (angle, pairs)]))


def _picture(along: Sequence[float], gains: dict[int, list[float]]) -> str:
    return curves_figure(
        "distance",
        [Series(name=f"n = {count:,}", x=[*along], y=values) for count, values in gains.items()],
        title="Gain of dual by distance",
        description="nDCG@10 of dual less that of shared against the population's distance from the shared family.",
        x_label="distance from the shared family",
        y_label="gain of dual in nDCG@10",
        marks=[Mark(text="equal", y=0.0)],
    )
