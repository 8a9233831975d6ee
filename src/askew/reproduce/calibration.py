"""Table 2: the local theory against matrices drawn and projected.

Y_n = M_n + σ/√n · G with M_n = S + H/√n is drawn many times and sent through the public projections. Risks are
n‖M̂ - M_n‖² of the two; the rule chooses dual where the energy of √n(Y_n - S) in the dual-only directions exceeds
2σ²k. Theory is Theorems 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from askew.errors import ParameterError
from askew.geometry import (
    TangentSpace,
    choice_regret,
    dual_only_dimension,
    dual_probability,
    local_risks,
    nearest_dual,
    nearest_shared,
    prefers_dual,
)
from askew.linalg.fixed import Float64Array
from askew.protocols import Progress
from askew.report import Series, curves_figure
from askew.reproduce.study import Study, Table

__all__ = ["RATIOS", "calibration"]

#: δ²/(σ²k), as in the paper's table.
RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
_DIM, _RANK = 12, 3
# Far enough into the local regime for 10⁶ draws not to see what is left of it.
_PAIRS = 10**8
_CHUNK = 20_000
# The entries of the paper's Table 2 that are known: ratio → simulated n·risk of shared, and probability of dual.
_PAPER = {2.0: (93.10, 0.970)}


@dataclass(frozen=True)
class _Row:
    """One ratio: simulated values and their Monte Carlo errors."""

    ratio: float
    dual: tuple[float, float]
    shared: tuple[float, float]
    chosen: tuple[float, float]


def calibration(
    *,
    ratios: Sequence[float] = RATIOS,
    draws: int = 1_000_000,
    projected: int = 200_000,
    seed: int = 0,
    named: Callable[[str], Progress] | None = None,
) -> Study:
    """Run the study at p = 12, r = 3 and σ = 1.

    Args:
        ratios: signal over price, δ²/(σ²k).
        draws: matrices that the rule is tried on, at each ratio.
        projected: how many of them are projected as well.
        seed: of the draws.
        named: makes a progress callback for a named piece of work.

    Raises:
        ParameterError: a ratio is negative, or there are fewer than two draws.
    """
    if min(draws, projected) < 2 or not all(ratio >= 0 for ratio in ratios):
        raise ParameterError("ratios are from 0 on, and draws at least 2", remedy="Mend the one that is not")
    generator = np.random.default_rng(seed)
    progress = named("drawing") if named else None
    rows = []
    for place, ratio in enumerate(ratios):
        rows.append(_simulated(ratio, draws, min(projected, draws), generator))
        if progress is not None:
            progress(place + 1, len(ratios))
    return _study(rows, {"p": _DIM, "r": _RANK, "n": _PAIRS, "draws": draws, "projected": projected, "seed": seed})


def _simulated(ratio: float, draws: int, projected: int, generator: np.random.Generator) -> _Row:
    target = np.zeros((_DIM, _DIM))
    target[range(_RANK), range(_RANK)] = (3.0, 2.5, 2.0)
    space = TangentSpace(np.eye(_DIM)[:, :_RANK])
    degrees = int(dual_only_dimension(_DIM, _RANK))
    shift = _dual_only(space, ratio * degrees, generator)
    around = target + shift / math.sqrt(_PAIRS)
    errors: list[Float64Array] = []
    chosen = 0
    for start in range(0, draws, _CHUNK):
        noise = generator.normal(size=(min(_CHUNK, draws - start), _DIM, _DIM))
        chosen += int(np.sum(prefers_dual(space.of(shift + noise).dual_only().energy(), degrees)))
        if start < projected:
            drawn = around + noise[: projected - start] / math.sqrt(_PAIRS)
            both = [nearest(drawn, _RANK).to_dense() - around for nearest in (nearest_dual, nearest_shared)]
            errors.append(_PAIRS * np.sum(np.square(both), axis=(-2, -1)))
    dual, shared = np.concatenate(errors, axis=1)
    share = chosen / draws
    return _Row(ratio, _mean(dual), _mean(shared), (share, math.sqrt(share * (1 - share) / draws)))


def _dual_only(space: TangentSpace, energy: float, generator: np.random.Generator) -> Float64Array:
    """A direction that shared has not, of a given squared norm."""
    drawn = space.of(generator.normal(size=(_DIM, _DIM))).dual_only()
    return np.asarray(drawn.to_dense() * math.sqrt(energy / float(drawn.energy())))


def _mean(values: Float64Array) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def _study(rows: Sequence[_Row], settings: dict[str, int]) -> Study:
    degrees = int(dual_only_dimension(_DIM, _RANK))
    signals = np.array([row.ratio for row in rows]) * degrees
    risks = local_risks(_DIM, _RANK, signal=signals)
    theory = np.stack([risks.dual, risks.shared, dual_probability(signals, degrees), choice_regret(signals, degrees)])
    found = np.array([[row.dual[0], row.shared[0], row.chosen[0], _regret(row, degrees)] for row in rows]).T
    off = float(np.max(np.abs(found[:2] / theory[:2] - 1)))
    # A probability of nearly 0 or 1 has an error that the draws cannot tell: the theory's own takes its place.
    spread = np.sqrt(theory[2] * (1 - theory[2]) / settings["draws"])
    far = float(np.max(np.abs(found[2] - theory[2]) / spread))
    lines = [
        (row.ratio, *np.stack([theory[:, place], found[:, place]], axis=1).ravel().tolist(), row.chosen[1], *known)
        for place, row in enumerate(rows)
        for known in [_PAPER.get(row.ratio, (None, None))]
    ]
    head = ["δ²/(σ²k)", "n·Rd", "drawn", "n·Rs", "drawn", "P(dual)", "drawn", "regret", "drawn", "error of P"]
    return Study(
        name="calibration",
        title="Calibration of the local theory (Table 2)",
        settings=settings,
        findings=[
            f"Simulated risks differ from theory by {off:.2%} at the most.",
            f"Selection probabilities differ from theory by {far:.1f} Monte Carlo standard errors at the most.",
        ],
        tables=[
            Table(
                title="Risks, choices and regret",
                head=[*head, "paper's n·Rs", "paper's P"],
                rows=lines,
                note=f"σ = 1, k = {degrees}. Theory, and beside it what was drawn and projected.",
            )
        ],
        pictures={"risk": _picture(rows)},
    )


def _regret(row: _Row, degrees: int) -> float:
    """What the rule lost on the mean against the better geometry, by theory's risks and its own choices."""
    wrong = row.chosen[0] if row.ratio < 1 else 1 - row.chosen[0]
    return abs(row.ratio - 1) * degrees * wrong


def _picture(rows: Sequence[_Row]) -> str:
    x = [row.ratio for row in rows]
    return curves_figure(
        "calibration",
        [
            Series(name="dual", x=x, y=[r.dual[0] for r in rows]),
            Series(name="shared", x=x, y=[r.shared[0] for r in rows]),
        ],
        title="Risk by signal",
        description="Simulated n times risk of dual and shared; they cross where the signal equals its price.",
        x_label="signal over price",
        y_label="n x risk",
    )
