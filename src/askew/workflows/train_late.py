"""Train the heads of signed late interaction on a folder of texts and choices or judgements, and save them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from askew._extras import require
from askew.adapters import Canaries
from askew.adapters.provenance import canary_ids
from askew.data import Finding, Run, stable_hash
from askew.encoders import TokenStateEncoder
from askew.errors import ParameterError
from askew.estimators.signed_lessons import SignedLessons, pairs_known
from askew.estimators.tokens_ragged import Ragged
from askew.evaluation import Choices, choice_accuracy
from askew.formats import (
    SignedArtefact,
    last_checkpoint,
    save_signed,
    write_checkpoint,
)
from askew.late import maxsim_pairs
from askew.protocols import Kind, Progress
from askew.workflows.late_encoder import token_means
from askew.workflows.late_task import LateTask

if TYPE_CHECKING:
    from askew.estimators.torch_signed import SignedModel

__all__ = ["LateSettings", "LateTraining", "train_late"]


@dataclass(frozen=True, kw_only=True)
class LateSettings:
    """How to train.

    Attributes:
        gates: the sides that have a head; ``"none"`` trains the encoder alone, for comparison.
        layers: the transformer's last layers to tune; 0 leaves the encoder frozen.
        hidden: units of a head; 0 for a linear one.
        bounded: weights by the hyperbolic tangent.
        held: share of the queries that judges and trains nothing.
        seed: of orders and starts.
        device: ``"cpu"``, ``"cuda"``; None for a GPU where there is one.
        rate: of the heads.
        encoder_rate: of the tuned layers.
        epochs: passes.
        batch: queries a step.
        temperature: that scores are divided by.
        pull: of the weights towards +1.
        judge_every: steps between judgements and checkpoints.
        patience: judgements without a better one before it stops.
    """

    gates: Literal["none", "query", "document", "both"] = "both"
    layers: int = 0
    hidden: int = 64
    bounded: bool = True
    held: float = 0.1
    seed: int = 0
    device: str | None = None
    rate: float = 1e-3
    encoder_rate: float = 1e-4
    epochs: int = 8
    batch: int = 32
    temperature: float = 0.5
    pull: float = 0.0
    judge_every: int = 50
    patience: int = 4


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
        findings: what is odd about the data.
    """

    output: Path
    steps: int
    best_step: int
    history: Sequence[tuple[int, float, float | None]]
    before: Mapping[str, Mapping[str, float | int]]
    after: Mapping[str, Mapping[str, float | int]]
    findings: tuple[Finding, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain = {name: getattr(self, name) for name in ("steps", "best_step", "before", "after")}
        history = [dict(zip(("step", "loss", "judged"), entry, strict=True)) for entry in self.history]
        return {"output": str(self.output), **plain, "history": history}


def train_late(
    data: str | PathLike[str],
    *,
    model: str,
    output: str | PathLike[str],
    split: str = "train",
    settings: LateSettings = LateSettings(),
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
    encoder = TokenStateEncoder(model, device=device)
    task = LateTask.read(Path(data), split)
    work = _Work(task, encoder, settings, device, named)
    before = work.accuracies()
    folder = Path(f"{output}.checkpoints")
    found = last_checkpoint(folder) if resume else None
    findings = [
        Finding("damaged-checkpoint", "warning", f"{error}; the one before it is used", 1, ())
        for error in (found[1] if found else ())
    ]
    from askew.estimators.torch_signed_training import SignedPlan, train_signed  # noqa: PLC0415 - torch is an extra

    shared = {name: value for name, value in asdict(settings).items() if name in SignedPlan.__dataclass_fields__}
    trained = train_signed(
        work.model,
        work.lessons,
        SignedPlan(**shared),
        seed=settings.seed,
        judge=work.judge,
        device=device,
        resume=found[0] if found else None,
        keep=lambda snapshot: write_checkpoint(snapshot, folder),
        progress=named("training") if named else None,
    )
    after = work.accuracies()
    record = {"settings": asdict(settings), "steps": trained.steps, "best_step": trained.best_step, "split": split}
    artefact = work.artefact({**record, "before": before, "after": after})
    saved = save_signed(artefact, output, save_encoder=encoder.save if settings.layers else None)
    for path in folder.glob("step-*.safetensors"):
        path.unlink()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    return LateTraining(
        saved, trained.steps, trained.best_step, trained.history, before, after, (*findings, *work.findings)
    )


class _Work:
    """A model on a task: its examples, its judge, its accuracies."""

    def __init__(
        self,
        task: LateTask,
        encoder: TokenStateEncoder,
        settings: LateSettings,
        device: str,
        named: Callable[[str], Progress] | None,
    ) -> None:
        from askew.estimators.torch_signed import SignedModel  # noqa: PLC0415 - torch is an extra
        from askew.estimators.torch_signed_encoders import StateEncoder  # noqa: PLC0415

        self.task, self.encoder, self.settings, self.device = task, encoder, settings, device
        self.findings: list[Finding] = []
        self.rows = (
            {name: row for row, name in enumerate(task.queries)},
            {name: row for row, name in enumerate(task.documents)},
        )
        inner: Any
        source = ""
        if settings.layers:
            from askew.encoders.torch_signed_texts import TextEncoder  # noqa: PLC0415

            inner = TextEncoder(
                encoder, list(task.queries.values()), list(task.documents.values()), layers=settings.layers
            )
            self.queries, self.documents, source = inner.numbers("query"), inner.numbers("document"), inner.fingerprint
        else:
            if settings.gates == "none":
                raise ParameterError(
                    "a frozen encoder without a head has nothing to learn", where="gates", remedy="Tune layers, or gate"
                )
            self.queries, self.documents = (self._stored(kind, named) for kind in ("query", "document"))
            inner = StateEncoder(int(self.documents.values.shape[1]))
        self.model: SignedModel = SignedModel(
            inner,
            gates=settings.gates,
            hidden=settings.hidden,
            bounded=settings.bounded,
            tuned=bool(settings.layers),
            seed=settings.seed,
        )
        self.model.to(device)
        judging = [name for name in task.training if _held(name, settings)]
        learning = [name for name in task.training if not _held(name, settings)]
        self.lessons = self._lessons(learning, source)
        self.held = {name: task.training[name] for name in judging}
        self.held_lessons = self._lessons(judging, source) if judging and not task.choices else None

    def _stored(self, kind: Kind, named: Callable[[str], Progress] | None) -> Ragged:
        texts = self.task.queries if kind == "query" else self.task.documents
        progress = named(f"embedding {'queries' if kind == 'query' else 'documents'}") if named else None
        found = self.encoder.encode(texts, kind=kind, progress=progress)
        self.findings.extend(found.findings)
        return Ragged(np.asarray(found.tokens.tokens), found.tokens.offsets)

    def _lessons(self, names: Sequence[str], source: str) -> SignedLessons:
        queries, documents = self.rows
        held = self.task.training
        examples = [(name, right) for name in names for right in held[name][0]]
        most = max((len(held[name][1]) for name in names), default=0)
        wrong = [
            [documents[held[name][1][place % len(held[name][1])]] for place in range(most)] for name, _ in examples
        ]
        pairs = np.array([(queries[name], documents[one]) for name in held for one in held[name][0]])
        return SignedLessons(
            self.queries,
            self.documents,
            np.array([queries[name] for name, _ in examples], dtype=np.int64),
            np.array([documents[right] for _, right in examples], dtype=np.int64),
            np.array(wrong, dtype=np.int64).reshape(len(examples), most),
            pairs_known(pairs[:, 0], pairs[:, 1], len(documents)),
            source,
        )

    @property
    def judge(self) -> Callable[[SignedModel], float] | None:
        """The share of held pairs in order; minus the held loss where there are no choices; None without any held."""
        if not self.held:
            return None
        if self.held_lessons is None:
            return lambda _: float(self.accuracy(self.held)["pairwise"])
        from askew.estimators.torch_signed_training import SignedPlan, mean_loss  # noqa: PLC0415

        lessons, plan = self.held_lessons, SignedPlan(temperature=self.settings.temperature)
        return lambda model: -mean_loss(model, lessons, plan, device=self.device)

    def accuracies(self) -> dict[str, dict[str, float | int]]:
        """Of every split of choices but the one trained on."""
        return {split: self.accuracy(held) for split, held in self.task.choices.items() if split != self.task.split}

    def accuracy(self, choices: Choices) -> dict[str, float | int]:
        """Of some choices; queries that choose among the same documents are a group."""
        names = list(choices), list(dict.fromkeys(one for sides in choices.values() for side in sides for one in side))
        taken = [
            texts.take(np.array([rows[name] for name in some]))
            for texts, rows, some in zip((self.queries, self.documents), self.rows, names, strict=True)
        ]
        asked = self.model.encode(taken[0], "query", ids=names[0])
        told = self.model.encode(taken[1], "document", ids=names[1])
        pairs = [(query, one) for query, sides in choices.items() for side in sides for one in side]
        scores = maxsim_pairs(asked, told, pairs).tolist()
        ranked: dict[str, dict[str, float]] = {query: {} for query in choices}
        for (query, one), score in zip(pairs, scores, strict=True):
            ranked[query][one] = score
        groups = {query: "|".join(sorted({*right, *wrong})) for query, (right, wrong) in choices.items()}
        return choice_accuracy(Run(ranked), choices, groups=groups).to_json()

    def artefact(self, record: Mapping[str, Any]) -> SignedArtefact:
        """The heads as they are saved."""
        texts = self.task.documents
        ids = canary_ids(texts)
        said = tuple(texts[name] for name in ids)
        vectors = token_means(self.encoder, said)
        return SignedArtefact(
            self.settings.gates,
            "vectors",
            vectors.shape[1],
            self.settings.hidden,
            self.settings.bounded,
            self.model.head_weights(),
            self.encoder.name,
            Canaries(ids, vectors, said),
            tuned=bool(self.settings.layers),
            record=record,
        )


def _held(name: str, settings: LateSettings) -> bool:
    return stable_hash(name, f"held-{settings.seed}") / 2**64 < settings.held
