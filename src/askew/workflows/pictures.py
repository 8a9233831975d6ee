"""Pictures: what `select` and `plan` found, as SVG files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from askew._atomic import writing_file
from askew.report import Mark, Series, curves_figure, learning_figure
from askew.workflows.learning import recorded
from askew.workflows.plan import LabelPlan
from askew.workflows.select import GeometryChoice

__all__ = ["gain_picture", "risk_picture", "write_picture"]


def risk_picture(choice: GeometryChoice, *, rank: int | None = None) -> str:
    """Held-out operator risk of both families against the queries fitted on, with the crossing.

    Risks are in units of ‖C‖², and 0 is the risk of no operator. Of the two crossings the one is read off the
    curves, the other is CARS' n · price / signal; each is drawn where it lies within the curves.

    Args:
        choice: what was found.
        rank: one of its ranks; by default that of the answer by operator risk.
    """
    shown = rank if rank is not None else next((a.rank for a in choice.recommendations), choice.ranks[0])
    place = choice.ranks.index(shown)
    curve, unit = choice.curve, choice.energy or 1.0
    counts = _whole(curve.counts.tolist())
    measured, planned = curve.crossing(place), choice.planned_crossing(shown)
    marks = [Mark(text="no operator", y=0.0)]
    if measured is not None:
        marks.append(Mark(text=f"crossing at {measured:.0f}", x=measured))
    if planned is not None and counts[0] <= planned <= counts[-1]:
        marks.append(Mark(text=f"planned at {planned:.0f}", x=planned))
    last = ", ".join(
        f"{name} {risk[place] / unit:.3g}" for name, risk in zip(("shared", "dual"), curve.best, strict=True)
    )
    ahead = "dual from the first" if curve.dual[-1, place] < curve.shared[-1, place] else "shared at the last"
    told = f"the smaller risk is that of {ahead}" if measured is None else f"they cross at {measured:.0f}"
    return curves_figure(
        "risk",
        [
            Series(name="shared", x=counts, y=(curve.shared[:, place] / unit).tolist()),
            Series(name="dual", x=counts, y=(curve.dual[:, place] / unit).tolist()),
        ],
        title=f"Operator risk by number of queries, rank {shown}",
        description=f"Held-out operator risk less that of no operator, in units of the moment's energy, in "
        f"{choice.coordinates}. With {counts[-1]:.0f} queries: {last}; {told}.",
        x_label="labelled queries",
        y_label="operator risk",
        marks=marks,
        log_x=True,
    )


def gain_picture(found: LabelPlan) -> str:
    """The cross-fitted gain against the number of labels, and its forecast to four times as many; "" for none."""
    return learning_figure(None if found.gain is None else recorded(found.gain))


def _whole(counts: Sequence[float]) -> list[float]:
    """Mean counts as an axis can show them."""
    return [float(round(count)) for count in counts]


def write_picture(svg: str, path: Path) -> None:
    """Write an SVG file, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    with writing_file(path) as temporary:
        temporary.write_text(f"{svg}\n", encoding="utf-8")
