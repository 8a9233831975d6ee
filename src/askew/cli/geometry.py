"""The commands about geometry: `select` and `plan`."""

# ruff: noqa: PLC0415 - a command imports what it runs, so that --help is quick

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from askew.cli.console import emit_json, plain_table, progress_bar, say, show, show_findings
from askew.cli.options import (
    AsJson,
    BadRows,
    BadRowsPolicy,
    DocumentEncoder,
    Encoder,
    LabelCount,
    Quiet,
    Seed,
    SimilarityName,
    SimilarityOption,
    Split,
    similarity,
)
from askew.errors import ParameterError, counted

if TYPE_CHECKING:
    from askew.geometry import FormChoice, Plan
    from askew.workflows.held_out import HeldOutRanking
    from askew.workflows.learning import GainCurve
    from askew.workflows.plan import LabelPlan
    from askew.workflows.recommend import Evidence
    from askew.workflows.select import GeometryChoice

__all__ = ["plan", "select"]

# Marks a choice whose score is inside the noise, or has no error for want of queries.
_NOISE = "~"


class WhiteningName(StrEnum):
    """The coordinates that the relevance moment is judged in."""

    NONE = "none"
    POOLED = "pooled"
    PER_VIEW = "per-view"


Data = Annotated[Path, typer.Argument(metavar="DATA", help="A folder, as for fit.")]
Ranks = Annotated[
    list[int] | None,
    typer.Option(
        metavar="R", help="Judge at this rank. Repeatable; by default 4, 8, ... to 128, as labels allow.", min=1
    ),
]
WhiteningOption = Annotated[
    WhiteningName, typer.Option(help="Coordinates: raw, one map for both sides, or a map for each.")
]
Residual = Annotated[
    bool, typer.Option("--residual", help="Judge what the base does not explain, in place of all relevance.")
]
ByDocument = Annotated[
    bool, typer.Option("--by-document", help="Let no document stand on both sides of a split, as no query does.")
]
Partial = Annotated[
    bool,
    typer.Option("--partial", help="Also try fits that share some of their rows, and choose how many with the rank."),
]
Figure = Annotated[Path | None, typer.Option(metavar="PATH", help="Also draw the curve, as an SVG file.")]


def select(
    data: Data,
    split: Split = None,
    labels: LabelCount = None,
    encoder: Encoder = None,
    document_encoder: DocumentEncoder = None,
    similarity_name: SimilarityOption = SimilarityName.DOT,
    rank: Ranks = None,
    whitening: WhiteningOption = WhiteningName.NONE,
    residual: Residual = False,
    by_document: ByDocument = False,
    partial: Partial = False,
    figure: Figure = None,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say whether the labels ask for one geometry or for two, and how sure that is."""
    from askew.workflows.deliver import read_splits
    from askew.workflows.pictures import risk_picture, write_picture
    from askew.workflows.select import PARTS, select_geometry

    _check_figure(figure)
    train, _, findings = read_splits(
        data,
        split=split,
        labels=labels,
        encoder=encoder,
        document_encoder=document_encoder,
        bad_rows=bad_rows.value,
        seed=seed,
    )
    with progress_bar(quiet) as named:
        choice = select_geometry(
            train,
            ranks=rank,
            whitening=_kind(whitening),
            residual=residual,
            by_document=by_document,
            partial=PARTS if partial else (),
            similarity=similarity(similarity_name) or "dot",
            seed=seed,
            progress=named("judging"),
        )
    if figure is not None:
        write_picture(risk_picture(choice), figure)
    if not quiet:
        show_findings((*findings, *choice.findings))
    if as_json:
        emit_json({**choice.to_json(), "figure": None if figure is None else str(figure)})
        return
    _show_choice(choice)
    _say_figure(figure)


def plan(
    data: Data,
    split: Split = None,
    labels: LabelCount = None,
    encoder: Encoder = None,
    document_encoder: DocumentEncoder = None,
    similarity_name: SimilarityOption = SimilarityName.DOT,
    rank: Ranks = None,
    whitening: WhiteningOption = WhiteningName.NONE,
    residual: Residual = False,
    by_document: ByDocument = False,
    figure: Figure = None,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say how many more labels it takes until adapting pays, and until two geometries do."""
    from askew.workflows.deliver import read_splits
    from askew.workflows.pictures import gain_picture, write_picture
    from askew.workflows.plan import plan_labels

    _check_figure(figure)
    train, _, findings = read_splits(
        data,
        split=split,
        labels=labels,
        encoder=encoder,
        document_encoder=document_encoder,
        bad_rows=bad_rows.value,
        seed=seed,
    )
    with progress_bar(quiet) as named:
        found = plan_labels(
            train,
            ranks=rank,
            whitening=_kind(whitening),
            residual=residual,
            by_document=by_document,
            similarity=similarity(similarity_name) or "dot",
            seed=seed,
            progress=named("planning"),
        )
    picture = "" if figure is None else gain_picture(found)
    drawn = figure if picture else None
    if drawn is not None:
        write_picture(picture, drawn)
    if not quiet:
        show_findings((*findings, *found.findings))
    if as_json:
        emit_json({**found.to_json(), "figure": None if drawn is None else str(drawn)})
        return
    _show_plan(found)
    _say_figure(drawn)
    if figure is not None and drawn is None:
        say(f"No figure: {found.reason}.")


def _check_figure(figure: Path | None) -> None:
    """Refuse a place or an ending before time is spent on what should go there."""
    from askew.workflows.deliver import check_file

    if figure is None:
        return
    if figure.suffix.lower() != ".svg":
        raise ParameterError(
            f"no figure is drawn as {figure.suffix or 'a name without an ending'}",
            where=figure,
            remedy="End its name in .svg",
        )
    check_file(figure)


def _kind(name: WhiteningName) -> Literal["none", "pooled", "per-view"]:
    """The plain string."""
    if name is WhiteningName.NONE:
        return "none"
    return "pooled" if name is WhiteningName.POOLED else "per-view"


def _say_figure(figure: Path | None) -> None:
    if figure is not None:
        say("")
        say(f"figure: {figure}")


def _size(queries: int, documents: int) -> str:
    return f"{counted(queries, 'labelled query', 'labelled queries')}, {counted(documents, 'document')}"


def _show_choice(choice: GeometryChoice) -> None:
    say(f"{_size(choice.queries, choice.documents)}, {counted(choice.dim, 'dimension')}")
    say(f"{choice.coordinates}{', no document on both sides of a split' if choice.by_document else ''}")
    for target in dict.fromkeys(found.target for found in choice.evidence):
        say("")
        _show_evidence(target, [found for found in choice.evidence if found.target == target], choice.energy)
    say("")
    say(f"Above 0 is for dual; {_NOISE} is inside the noise. P(dual): the chance that a")
    say("repetition would be above 0. Operator risk is in units of the moment's energy.")
    if any(one.standard_error is None for found in choice.evidence for one in found.selections):
        say("Where there is no interval, queries are too few for an error.")
    if choice.ranking is not None:
        _say_ranking(choice.ranking)
    if choice.form is not None:
        say("")
        _show_forms(choice.form)
    say("")
    for answer in choice.recommendations:
        say(f"{answer.target}: {answer.choice}{'' if answer.settled else ', not settled'} (rank {answer.rank})")
        say(f"  {answer.reason}.")
    if choice.form is not None:
        _say_form(choice.form)
    if len({answer.choice for answer in choice.recommendations}) > 1:
        say("The two targets differ: for search, go by ranking.")


def _show_evidence(target: str, evidence: list[Evidence], energy: float) -> None:
    numbers = ("rank", "dual - shared", "90% interval", "P(dual)")
    table = plain_table(target, *numbers, "says", right=numbers)
    unit = energy if target == "operator risk" and energy > 0 else 1.0
    for found in evidence:
        for one in found.selections:
            interval = (
                "" if one.interval is None else "[{:+.4f}, {:+.4f}]".format(*(end / unit for end in one.interval))
            )
            table.add_row(
                found.rule,
                str(one.rank),
                f"{one.score / unit:+.4f}",
                interval,
                "" if one.dual_chance is None else f"{one.dual_chance:.2f}",
                one.choice + (f" {_NOISE}" if one.inside_noise else ""),
            )
    show(table)


def _say_ranking(ranking: HeldOutRanking) -> None:
    best = [f"{name} {values.max():.4f}" for name, values in (("shared", ranking.shared), ("dual", ranking.dual))]
    what = "corrections of the base" if ranking.correction else "fits alone"
    say(f"Held-out nDCG@10 of {what}, on unseen documents:")
    say(f"base {ranking.base:.4f}, best {', best '.join(best)}.")


def _show_forms(found: FormChoice) -> None:
    """Separation by rank and by the share of rows that is untied."""
    from askew.workflows.select import PARTS

    known = {(form.rank, form.untied): f"{found.separation(form):.4f}" for form in found.forms}
    numbers = ("rank", "shared", *(f"{part:.0%} untied" for part in PARTS), "dual")
    table = plain_table("separation", *numbers, right=numbers)
    for rank in sorted({form.rank for form in found.forms}):
        between = [round(part * rank) for part in PARTS]
        cells = [known[rank, untied] if 0 < untied < rank else "" for untied in between]
        table.add_row("", str(rank), known[rank, 0], *cells, known[rank, rank])
    show(table)


def _say_form(found: FormChoice) -> None:
    chosen = found.chosen
    rows = f", {counted(chosen.untied, 'row')} untied" if chosen.family == "partly shared" else ""
    sure = ", not settled" if found.inside_noise else ""
    say(f"separation: {chosen.family}{sure} (rank {chosen.rank}{rows}; {counted(chosen.dimension, 'parameter')})")
    say(f"  {found.reason}.")


def _show_plan(found: LabelPlan) -> None:
    from askew.geometry.planning import FEWEST_TO_SEE

    say(f"{_size(found.queries, found.documents)}, {found.coordinates}")
    say("")
    numbers = ("rank", "crossing", "90% interval")
    table = plain_table(*numbers, "dual beats shared in operator risk", right=numbers)
    for one in found.plans:
        ends = ("-", "-") if one.crossing is None else (f"{one.crossing:,.0f}", _interval(one))
        table.add_row(str(one.rank), *ends, _standing(one))
    show(table)
    if found.queries < FEWEST_TO_SEE and not all(one.in_sight for one in found.plans):
        say(f"{counted(found.queries, 'query', 'queries')} are too few to see a crossing.")
    if found.gain is not None:
        say("")
        _show_gain(found.gain)
    say("")
    say(f"{found.reason[:1].upper()}{found.reason[1:]}.")
    if found.note:
        say(f"{found.note}.")


def _interval(one: Plan) -> str:
    if one.interval is None:
        return "not known"
    return " to ".join(f"{end:,.0f}" if end < 1e9 else "no end" for end in one.interval)


def _standing(one: Plan) -> str:
    """Where the pilot stands, as far as its interval can tell."""
    if one.interval is None:
        return "not known"
    if not one.in_sight:
        return "no crossing in sight"
    if one.interval[1] < one.queries:
        return "already"
    return "not yet" if one.interval[0] > one.queries else "about now"


def _show_gain(gain: GainCurve) -> None:
    from askew.workflows.learning import LEVEL, recorded

    numbers = ("labels", "gain in nDCG@10", f"{LEVEL:.0%} interval", "needed")
    table = plain_table(*numbers, "", right=numbers)
    for point in recorded(gain).points:
        if point.measured or point.labels > gain.labels:  # a forecast of what is measured says nothing
            interval = f"[{point.low:+.4f}, {point.high:+.4f}]"
            needed, kind = f"{gain.needed(point.labels):.4f}", "measured" if point.measured else "forecast"
            table.add_row(f"{point.labels:,.0f}", f"{point.gain:+.4f}", interval, needed, kind)
    show(table)
