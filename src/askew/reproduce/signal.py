"""Figure 4: asymmetry as it is measured, and corrected for its own noise, against what two geometries gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from askew.linalg.fixed import Float64Array
from askew.protocols import Progress
from askew.report import Mark, Series, curves_figure
from askew.reproduce.operators import Grid, fit_all
from askew.reproduce.simulation import ANGLES, distance_to_shared, simulate
from askew.reproduce.study import Study, Table, rank_correlation

__all__ = ["signal"]

_DECILES = 10


def signal(
    grid: Grid,
    *,
    pairs: Sequence[int] = (64, 256, 1024, 4096),
    draws: int = 3,
    named: Callable[[str], Progress] | None = None,
) -> Study:
    """Run the study: against the population's distance in simulation, and by deciles of real fits.

    Args:
        grid: the data sets, and what to fit.
        pairs: training pairs of the simulation.
        draws: of the simulation, from the grid's seed on.
        named: makes a progress callback for a named piece of work.

    Raises:
        InputError: a data set is not there or cannot be read.
    """
    fits = fit_all(grid, named=named)
    raw = [fit for fit in fits if fit.coordinates == "raw"]
    gaps = np.array([fit.gap for fit in raw])
    measured, corrected = (np.array([getattr(fit, name) for fit in raw]) for name in ("asymmetry", "cars"))
    simulated, told = _simulated(pairs, range(grid.seed, grid.seed + draws), named)
    return Study(
        name="signal",
        title="Raw and corrected asymmetry (Figure 4)",
        settings={"sets": ", ".join(grid.sets), "seed": grid.seed, "real fits": len(raw)},
        findings=[*told, *_said(measured, corrected, gaps)],
        tables=[simulated, _deciles("raw", measured, gaps), _deciles("corrected", corrected, gaps)],
        pictures={"deciles": _picture(measured, corrected, gaps)},
    )


def _said(measured: Float64Array, corrected: Float64Array, gaps: Float64Array) -> list[str]:
    raw, mended = rank_correlation(measured, gaps), rank_correlation(corrected, gaps)
    right = float(np.mean((corrected > 0) == (gaps > 0)))
    return [
        f"Over {len(gaps):,} real fits the rank correlation with the held-out gap is {raw:+.3f} for raw asymmetry.",
        f"For corrected asymmetry it is {mended:+.3f}, and its sign is right in {right:.1%} of the fits.",
    ]


def _simulated(
    pairs: Sequence[int], seeds: Sequence[int], named: Callable[[str], Progress] | None
) -> tuple[Table, list[str]]:
    """Against the population's squared distance from the shared family, at each number of pairs."""
    progress = named("simulating") if named else None
    cells = simulate(pairs=pairs, seeds=seeds, progress=progress)
    rows: list[list[str | int | float]] = []
    for angle in ANGLES:
        for count in pairs:
            mine = [cell for cell in cells if (cell.angle, cell.pairs) == (angle, count)]
            known = [
                float(np.mean([getattr(cell, name) for cell in mine])) for name in ("asymmetry", "cars", "loss_gap")
            ]
            rows.append([f"{angle:g}", count, distance_to_shared(angle) ** 2, *known])
    truth, raw, corrected = (np.array([float(row[column]) for row in rows]) for column in (2, 3, 4))
    said = (
        f"In simulation, over angles and pairs together, the correlation with the population's squared distance is "
        f"{np.corrcoef(truth, raw)[0, 1]:+.3f} for raw asymmetry and {np.corrcoef(truth, corrected)[0, 1]:+.3f} for "
        "corrected: noise looks like asymmetry, and there is most of it where pairs are few."
    )
    head = ("angle, rad", "pairs", "distance²", "raw", "corrected", "loss gap")
    return Table(title="Simulation: the population's distance and both measures", head=head, rows=rows), [said]


def _parts(scores: Float64Array) -> list[Float64Array]:
    """Rows of each tenth of the scores, ascending."""
    return np.array_split(np.argsort(scores, kind="stable"), min(_DECILES, len(scores)))


def _deciles(name: str, scores: Float64Array, gaps: Float64Array) -> Table:
    rows = [
        (place, len(part), float(scores[part].mean()), float(gaps[part].mean()), float(np.mean(gaps[part] > 0)))
        for place, part in enumerate(_parts(scores), start=1)
    ]
    head = ("decile", "fits", f"{name} asymmetry", "held-out gap", "dual wins")
    return Table(title=f"Real fits by deciles of {name} asymmetry", head=head, rows=rows, note="Relative to ‖C‖².")


def _picture(measured: Float64Array, corrected: Float64Array, gaps: Float64Array) -> str:
    series = []
    for name, scores in (("raw", measured), ("corrected", corrected)):
        wins = [float(np.mean(gaps[part] > 0)) for part in _parts(scores)]
        series.append(Series(name=name, x=list(range(1, len(wins) + 1)), y=wins))
    return curves_figure(
        "signal",
        series,
        title="Dual's wins by decile",
        description="Share of real fits in which dual has the smaller held-out loss, by deciles of both measures.",
        x_label="decile of the asymmetry",
        y_label="share in which dual wins",
        marks=[Mark(text="even", y=0.5)],
    )
