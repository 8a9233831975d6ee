"""Train the heads of signed late interaction on a folder of texts and choices or judgements, and save them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from askew._extras import require
from askew.data import Finding
from askew.encoders import TokenStateEncoder
from askew.estimators.snapshots import Snapshot
from askew.formats import last_checkpoint, refuse_foreign_signed, save_signed, write_checkpoint
from askew.protocols import Progress
from askew.workflows.late_task import LateTask
from askew.workflows.late_work import LateSettings, LateWork
from askew.workflows.ordinary import ordinary_texts

__all__ = ["LateSettings", "LateTraining", "train_late"]

_SETTINGS = LateSettings()
_CHECKPOINTS = "step-*.safetensors"
_HARM = Finding(
    "no-ordinary-texts",
    "warning",
    "nothing says what must stay as it is, so the head may do harm on other texts: name the collection in which it "
    "will be used, --ordinary FOLDER",
    1,
    (),
)


@dataclass(frozen=True)
class LateTraining:
    """What training gave.

    Attributes:
        output: the head's folder.
        steps: taken, of which the weights after `best_step` were kept.
        best_step: see above; 0 where nothing was better than plain MaxSim.
        history: (step, mean loss, share of held pairs in order, or minus the held loss where there are no choices).
        before: split → accuracies of plain MaxSim.
        after: split → accuracies of what was trained.
        held: how many queries were held out to judge by.
        findings: what is odd about the data.
    """

    output: Path
    steps: int
    best_step: int
    history: Sequence[tuple[int, float, float | None]]
    before: Mapping[str, Mapping[str, float | int]]
    after: Mapping[str, Mapping[str, float | int]]
    held: int
    findings: tuple[Finding, ...] = field(default=())

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
    """Train heads, and the encoder's last layers if asked, and save them.

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
    task = LateTask.read(Path(data), split)
    calm = ordinary_texts(ordinary, most=settings.ordinary, seed=settings.seed) if settings.pull and ordinary else None
    work = LateWork(task, calm, encoder, settings, device, named)
    before = work.accuracies()
    folder = Path(f"{Path(output)}.checkpoints")
    found = last_checkpoint(folder) if resume else None
    findings = [] if calm else [_HARM]
    stale = [] if resume else list(folder.glob(_CHECKPOINTS))
    findings += [
        Finding("damaged-checkpoint", "warning", f"{error}; the one before it is used", 1, ())
        for error in (found[1] if found else ())
    ]
    from askew.estimators.torch_signed_loss import SignedPlan  # noqa: PLC0415 - torch is an extra
    from askew.estimators.torch_signed_training import train_signed  # noqa: PLC0415

    def keep(snapshot: Snapshot) -> None:
        write_checkpoint(snapshot, folder)
        while stale:  # of a run that this one does not go on with
            path = stale.pop()
            if path.name != f"step-{snapshot.step:09d}.safetensors":
                path.unlink(missing_ok=True)

    shared = {name: value for name, value in asdict(settings).items() if name in SignedPlan.__dataclass_fields__}
    trained = train_signed(
        work.model,
        work.lessons,
        SignedPlan(**shared),
        seed=settings.seed,
        judge=work.judge,
        device=device,
        resume=found[0] if found else None,
        keep=keep,
        progress=named("training") if named else None,
    )
    after = work.accuracies()
    record = {"settings": asdict(settings), "steps": trained.steps, "best_step": trained.best_step, "split": split}
    artefact = work.artefact({**record, "before": before, "after": after})
    saved = save_signed(artefact, output, save_encoder=encoder.save if settings.layers else None)
    for path in folder.glob(_CHECKPOINTS):
        path.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    return LateTraining(
        saved,
        trained.steps,
        trained.best_step,
        trained.history,
        before,
        after,
        len(work.held),
        (*findings, *work.findings),
    )
