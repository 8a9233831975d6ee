"""The command that runs the papers' studies: `reproduce`."""

# ruff: noqa: PLC0415 - a command imports what it runs, so that --help is quick

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askew.cli.console import emit_json, progress_bar, say
from askew.cli.options import AsJson, Quiet, Seed
from askew.errors import ParameterError

if TYPE_CHECKING:
    from askew.protocols import Progress
    from askew.reproduce import Study

__all__ = ["reproduce"]


class StudyName(StrEnum):
    """What can be run."""

    CALIBRATION = "calibration"
    CONSTRUCTIONS = "constructions"
    CROSSOVER = "crossover"
    DISTANCE = "distance"
    ERA = "era"
    LABELS = "labels"
    NEGATION = "negation"
    OPERATOR_RISK = "operator-risk"
    SELECTION = "selection"
    SIGNAL = "signal"


_SETS = "scifact, nfcorpus-pp, cosqa, stdlib"
# Queries of a set in era: 300 to test, up to 300 to learn from.
_MOST = 600
# Those that fit real embeddings share one grid of fits, so they are best asked for together.
_ON_DATA = (StudyName.OPERATOR_RISK, StudyName.SELECTION, StudyName.SIGNAL)


def reproduce(
    studies: Annotated[
        list[StudyName], typer.Argument(metavar="STUDY...", help=f"One or more of {', '.join(StudyName)}.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder of data sets with embeddings, for those that fit real ones."),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME",
            help="A data set of it, for era also a folder of them; stdlib needs no folder. Repeatable.  [default: "
            f"{_SETS}; for era, if these are not there, all of it]",
        ),
    ] = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Under these encoders alone; for era that of queries, then the index's. Repeatable."
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="PATH", help="Where tables, data and pictures go.")
    ] = Path("reproduced"),
    no_recipes: Annotated[
        bool, typer.Option("--no-recipes", help="For era: leave out the published recipes, which need torch.")
    ] = False,
    train: Annotated[
        list[float] | None,
        typer.Option(
            metavar="X",
            help="For era: train on this share of a set's queries, or from 1 on on so many. Repeatable.  "
            "[default: 0.05, 0.1, 0.2, 0.4]",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer draws, seeds and sizes: minutes at most.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="The papers' sizes where the default is smaller, negation and era: hours.")
    ] = False,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Where negation and the recipes of era train, such as cuda.  [default: cpu; for negation a GPU, if "
            "there is one]",
        ),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run the papers' studies: every number of theirs beside ours."""
    if quick and full:
        raise ParameterError("--quick and --full are both given", where="--full", remedy="Choose one")
    on_data = any(study in _ON_DATA for study in studies) and set(sets or ()) != {"stdlib"}
    if data is None and (on_data or StudyName.ERA in studies):
        raise ParameterError(
            "these studies fit real embeddings", where="--data", remedy="Name a folder of data sets, or --set stdlib"
        )
    trains = StudyName.NEGATION in studies or (StudyName.ERA in studies and not no_recipes)
    _check_device(device if trains else None)
    chosen = tuple(sets or ()), tuple(encoder or ())
    with progress_bar(quiet) as named:
        done = []
        for name in dict.fromkeys(studies):
            if name == StudyName.ERA:
                options = {"shares": tuple(sorted(train))} if train else {}
                found = _era(data or Path(), *chosen, seed, quick, full, not no_recipes, device, output, named, options)
                done.append(found)
            elif name == StudyName.NEGATION:
                done.append(_negation(seed, quick, full, device, named))
            else:
                done.append(_run(name, data or Path(), *chosen, seed, quick, named))
    written = [path for study in done for path in study.write(output)]
    if as_json:
        emit_json({"studies": [study.to_json() for study in done], "files": [str(path) for path in written]})
        return
    for study in done:
        say(study.title)
        for finding in study.findings:
            say(f"- {finding}")
        say("")
    for path in written:
        say(str(path))


def _run(
    name: StudyName,
    data: Path,
    sets: tuple[str, ...],
    encoders: tuple[str, ...],
    seed: int,
    quick: bool,
    named: Callable[[str], Progress],
) -> Study:
    options: dict[str, Any] = {"seed": seed, "named": named}
    if name in _ON_DATA:
        from askew.reproduce.operator_risk import operator_risk
        from askew.reproduce.operators import SETS, Grid
        from askew.reproduce.selection import selection
        from askew.reproduce.signal import signal

        fewer: dict[str, Any] = {"sizes": (32, 128, 512), "ranks": (4, 16, 64)} if quick else {}
        grid = Grid(data, sets or SETS, encoders, seed=seed, **fewer)
        run = {StudyName.OPERATOR_RISK: operator_risk, StudyName.SELECTION: selection, StudyName.SIGNAL: signal}[name]
        return run(grid, named=named)
    if name == StudyName.CALIBRATION:
        from askew.reproduce.calibration import calibration

        options |= {"draws": 20_000, "projected": 10_000} if quick else {}
        return calibration(**options)
    if name == StudyName.CONSTRUCTIONS:
        from askew.reproduce.constructions import constructions

        options |= {"sizes": (1000, 30_522), "pairs": 16} if quick else {}
        return constructions(**options)
    if name == StudyName.LABELS:
        from askew.reproduce.labels import labels

        options |= {"sizes": (64, 256, 600), "draws": 1} if quick else {}
        return labels(**options)
    from askew.reproduce.crossover import crossover
    from askew.reproduce.distance import distance

    options |= {"pairs": (64, 512, 4096), "seeds": 2} if quick else {}
    return (crossover if name == StudyName.CROSSOVER else distance)(**options)


def _check_device(device: str | None) -> None:
    """Refuse what torch has not before anything is measured."""
    if device is None:
        return
    from askew._extras import require

    require("torch", extra="torch", purpose="training")
    from askew.estimators.torch_descent import check_device

    check_device(device)


def _negation(seed: int, quick: bool, full: bool, device: str | None, named: Callable[[str], Progress]) -> Study:
    from askew._extras import require
    from askew.reproduce.negation import FULL, QUICK, Size, negation

    torch = require("torch", extra="torch", purpose="training on the negation task")
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    size = FULL if full else QUICK if quick else Size()
    return negation(size=size, seed=seed, device=where, named=named)


def _era(
    data: Path,
    sets: tuple[str, ...],
    encoders: tuple[str, ...],
    seed: int,
    quick: bool,
    full: bool,
    recipes: bool,
    device: str | None,
    output: Path,
    named: Callable[[str], Progress],
    more: Mapping[str, Any],
) -> Study:
    from askew.reproduce.era import era
    from askew.reproduce.era_protocol import ENCODERS, Protocol

    if encoders and len(encoders) != 2:
        raise ParameterError(
            f"era needs two encoders, and {len(encoders)} are named",
            where="--encoder",
            remedy="Name that of queries, then that of the index",
        )
    asked, told = encoders or ENCODERS
    options: dict[str, Any] = {"sets": sets, "seeds": (seed, seed + 1, seed + 2), "most": None if full else _MOST}
    options["kept"] = output / "era-scores.jsonl"
    if recipes and device is not None:
        options["device"] = device
    if quick:
        fewer = sets or (("cosqa",) if (data / "cosqa").is_dir() else ())
        options |= {"sets": fewer, "seeds": (seed,), "shares": (0.1, 0.4), "most": 200}
        options |= {"ablations": ("naive top-k",), "rates": ()}
    return era(Protocol(data=data, encoders=(asked, told), recipes=recipes, **{**options, **more}), named=named)
