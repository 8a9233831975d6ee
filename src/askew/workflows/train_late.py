"""Train the heads of signed late interaction on a folder of texts and choices or judgements, and save them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from askew._extras import require
from askew.data import Finding
from askew.encoders import TokenStateEncoder
from askew.errors import FormatError
from askew.estimators.snapshots import Snapshot
from askew.formats import last_checkpoint, refuse_foreign_signed, save_signed, write_checkpoint
from askew.protocols import Progress
from askew.workflows.late_task import LateTask
from askew.workflows.late_work import LateSettings, LateWork
from askew.workflows.ordinary import ordinary_texts

__all__ = ["LateSettings", "LateTraining", "train_late"]

_SETTINGS = LateSettings()
_ALIKE = 0.01
_IDLE = Finding(
    "idle-layers",
    "warning",
    "tuning layers made nothing better on the queries held out, so the encoder is as it was: train without --layers, "
    "or longer",
    1,
    (),
)


@dataclass(frozen=True)
class LateTraining:
    """What training gave.

    Attributes:
        output: the head's folder.
        steps: taken, of heads and then of layers; the weights after `best_step` were kept.
        best_step: see above; 0 where nothing was better than plain MaxSim.
        history: (step, mean loss, share of held pairs in order, or minus the held loss where there are no choices).
        before: split → accuracies of plain MaxSim.
        after: split → accuracies of what was trained.
        held: how many queries were held out to judge by.
        findings: what is odd about the data.
    """

    output: Path
    steps: int = 0
    best_step: int = 0
    history: Sequence[tuple[int, float, float | None]] = ()
    before: Mapping[str, Mapping[str, float | int]] = field(default_factory=dict)
    after: Mapping[str, Mapping[str, float | int]] = field(default_factory=dict)
    held: int = 0
    findings: tuple[Finding, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain = {name: getattr(self, name) for name in ("steps", "best_step", "before", "after", "held")}
        history = [dict(zip(("step", "loss", "judged"), entry, strict=True)) for entry in self.history]
        return {"output": str(self.output), **plain, "history": history}


def train_late(
    data: str | PathLike[str],
    *,
    model: str,
    output: str | PathLike[str],
    ordinary: Sequence[str | PathLike[str]] = (),
    split: str = "train",
    settings: LateSettings = _SETTINGS,
    resume: bool = False,
    named: Callable[[str], Progress] | None = None,
) -> LateTraining:
    """Train heads, and then with them the encoder's last layers if asked, and save them.

    Checkpoints stand in ``OUTPUT.checkpoints`` until the head is written. What is judged is a share of the training
    queries; other splits are only reported.

    Args:
        data: a folder of ``corpus.jsonl``, ``queries.jsonl``, and ``pairs.tsv`` (choices: the negatives are each
            query's own, and other queries' documents) or judgements (other queries' documents alone).
        model: a sentence-transformers model: its folder, or its name on the hub.
        output: the head's folder.
        ordinary: folders of texts among which the head will be used, see `ordinary_texts`: what they are ranked by
            should stay as it is. Without any, heads do harm on other texts than those of `data`.
        split: to train on.
        settings: how.
        resume: go on from the last good checkpoint, if there is one.
        named: makes a progress callback for a named piece of work.

    Raises:
        ParameterError: no such split, nothing to be learned, training diverged, or a checkpoint of another run.
        InputError: texts are missing, or there is nothing to tell apart.
        AskewError: as readers and writers do.
        MissingExtraError: an extra is not installed.
    """
    torch = require("torch", extra="torch", purpose="training late interaction")
    device = settings.device or ("cuda" if torch.cuda.is_available() else "cpu")
    from askew.estimators.torch_descent import check_device  # noqa: PLC0415 - torch is an extra

    check_device(device)
    refuse_foreign_signed(output)
    encoder = TokenStateEncoder(model, device=device)
    if settings.layers:  # before heads are trained
        from askew.encoders.torch_signed_texts import last_layers  # noqa: PLC0415 - torch is an extra

        last_layers(encoder, settings.layers)
    task = LateTask.read(Path(data), split)
    calm = ordinary_texts(ordinary, most=settings.ordinary, seed=settings.seed) if settings.pull and ordinary else None
    told = [] if calm else [_harm(given=bool(ordinary))]
    if not any(wrong for _, wrong in task.training.values()):
        told.append(_no_negatives(len(task.training)))
    found = LateTraining(Path(output), findings=tuple(told))
    kept = _Checkpoints(Path(f"{Path(output)}.checkpoints"), resume=resume)
    first, *later = _stages(settings)
    work = LateWork(task, calm, encoder, first, device, named)
    found = _learned(work, kept, found, named)
    heads = found.steps
    for stage in later:
        work = LateWork(task, calm, encoder, stage, device, named, work)
        found = _learned(work, kept, found, named)
    found = replace(found, after=work.accuracies())
    shown = {name: getattr(found, name) for name in ("steps", "best_step", "before", "after")}
    artefact = work.artefact({"settings": asdict(settings), "split": split, **shown})
    saved = save_signed(artefact, output, save_encoder=encoder.save if settings.layers else None)
    kept.clear([_named(stage) for stage in (first, *later)])
    if later and found.best_step <= heads:
        found = replace(found, findings=(*found.findings, _IDLE))
    return replace(found, output=saved, findings=(*found.findings, *_alike(work)))


def _stages(settings: LateSettings) -> list[LateSettings]:
    """Heads on the encoder as it is; then its layers, if any are tuned, and the heads with them."""
    both = settings.layers > 0 and settings.gates != "none"
    return [replace(settings, layers=0), settings] if both else [settings]


def _named(stage: LateSettings) -> str:
    return "layers" if stage.layers else "heads"


def _learned(
    work: LateWork, kept: _Checkpoints, found: LateTraining, named: Callable[[str], Progress] | None
) -> LateTraining:
    """Train a stage, and put down what it gave after what the stage before it gave."""
    from askew.estimators.torch_signed_training import train_signed  # noqa: PLC0415 - torch is an extra

    what = _named(work.settings)
    before = found.before or work.accuracies()
    resume, findings = kept.last(what)
    trained = train_signed(
        work.model,
        work.lessons,
        work.plan,
        seed=work.settings.seed,
        judge=work.judge,
        device=work.device,
        resume=resume,
        keep=lambda snapshot: kept.keep(what, snapshot),
        progress=named(f"training {what}") if named else None,
    )
    return replace(
        found,
        steps=found.steps + trained.steps,
        best_step=found.steps + trained.best_step if trained.best_step else found.best_step,
        history=(*found.history, *((found.steps + step, loss, value) for step, loss, value in trained.history)),
        before=before,
        held=len(work.held),
        findings=(*found.findings, *findings, *work.findings),
    )


def _harm(*, given: bool) -> Finding:
    told = "ordinary texts count for nothing with a pull of 0" if given else "nothing says what must stay as it is"
    what = "give a pull" if given else "name the collection in which it will be used, --ordinary FOLDER"
    return Finding("no-ordinary-texts", "warning", f"{told}, so the head may do harm on other texts: {what}", 1, ())


def _no_negatives(queries: int) -> Finding:
    told = (
        "no query has documents that it should not find, so nothing shows what excludes: give choices, pairs.tsv, if "
        "queries are to exclude"
    )
    return Finding("no-negatives", "warning", told, queries, ())


def _alike(work: LateWork) -> list[Finding]:
    """A warning for each side whose head gives every token of the training texts one weight: it tells nothing apart."""
    found = []
    for kind, weights in work.training_weights().items():
        least, most = float(weights.min()), float(weights.max())
        if most - least < _ALIKE:
            told = (
                f"the {kind} head gives every token of the training texts one weight ({least:.3f} to {most:.3f}), so "
                "it tells nothing apart: train on queries of more than one kind, or longer"
            )
            found.append(Finding("flat-head", "warning", told, 1, ()))
    return found


class _Checkpoints:
    """A folder for each stage of a run; what is left of another run goes as soon as this one has its own."""

    def __init__(self, folder: Path, *, resume: bool) -> None:
        self.folder, self.resume = folder, resume
        self._stale = [] if resume else self._all()

    def last(self, stage: str) -> tuple[Snapshot | None, list[Finding]]:
        """The last good one of a stage, if this run goes on from it, and a warning for each that is damaged."""
        if not self.resume:
            return None, []
        try:
            snapshot, wrong = last_checkpoint(self.folder / stage) or (None, ())
        except FormatError as error:  # none is good
            snapshot, wrong = None, (error,)
        then = "the one before it is used" if snapshot else f"{stage} are trained from their start"
        told = [
            Finding("damaged-checkpoint", "warning", f"{error.where}: {error.problem}; {then}", 1, ())
            for error in wrong
        ]
        return snapshot, told

    def keep(self, stage: str, snapshot: Snapshot) -> None:
        """Write one."""
        written = write_checkpoint(snapshot, self.folder / stage)
        for path in self._stale:
            if path != written:
                path.unlink(missing_ok=True)
        self._stale = []

    def clear(self, stages: Sequence[str]) -> None:
        """Remove those of some stages, and the folders if nothing else is in them."""
        for path in self._all(stages):
            path.unlink()
        for place in (*(self.folder / stage for stage in stages), self.folder):
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()

    def _all(self, stages: Sequence[str] = ("heads", "layers")) -> list[Path]:
        return [path for stage in stages for path in (self.folder / stage).glob("step-*.safetensors")]
