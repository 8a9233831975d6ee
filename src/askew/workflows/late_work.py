"""What train-late works with: settings, and a model on a task, with its examples, its judge and its accuracies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from askew.adapters import Canaries
from askew.adapters.provenance import canary_ids
from askew.data import Finding, Run, stable_hash
from askew.encoders import TokenStateEncoder
from askew.errors import ParameterError
from askew.estimators.signed_lessons import Ordinary, SignedLessons, pairs_known
from askew.estimators.tokens_ragged import Ragged
from askew.evaluation import Choices, choice_accuracy
from askew.formats import SignedArtefact
from askew.late import maxsim_pairs
from askew.linalg.fixed import FloatArray
from askew.protocols import Kind, Progress
from askew.workflows.late_encoder import token_means
from askew.workflows.late_task import LateTask

if TYPE_CHECKING:
    from askew.estimators.torch_signed import SignedModel
    from askew.estimators.torch_signed_loss import SignedPlan

__all__ = ["LateSettings", "LateWork"]

_SIDES: tuple[Kind, Kind] = ("query", "document")
_SLOWER = 10.0  # heads that are learned already, while layers are tuned under them
_FEWER = 4  # ordinary texts a step, where each goes through the transformer


@dataclass(frozen=True, kw_only=True)
class LateSettings:
    """How to train.

    Attributes:
        gates: the sides that have a head; ``"none"`` trains the encoder alone, for comparison.
        layers: the transformer's last layers to tune; 0 leaves the encoder frozen.
        hidden: units of a head; 0 for a linear one, which learns what negates more than which words were negated.
        bounded: weights by the hyperbolic tangent.
        held: share of the queries that judges and trains nothing.
        seed: of orders and starts.
        device: ``"cpu"``, ``"cuda"``; None for a GPU where there is one.
        rate: of the heads.
        encoder_rate: of the tuned layers.
        epochs: passes in which heads are learned on the encoder as it is.
        layer_epochs: passes in which layers are tuned, and the heads with them at a tenth of their rate.
        batch: queries a step.
        temperature: that scores are divided by.
        pull: what it counts for how far heads and encoder move on ordinary texts.
        ordinary: ordinary texts of each side that are drawn.
        judge_every: steps between judgements and checkpoints.
        patience: judgements without a better one before it stops.

    Raises:
        ParameterError: a number is out of its range.
    """

    gates: Literal["none", "query", "document", "both"] = "both"
    layers: int = 0
    hidden: int = 0
    bounded: bool = True
    held: float = 0.1
    seed: int = 0
    device: str | None = None
    rate: float = 1e-2
    encoder_rate: float = 1e-4
    epochs: int = 32
    layer_epochs: int = 8
    batch: int = 32
    temperature: float = 0.5
    pull: float = 100.0
    ordinary: int = 1000
    judge_every: int = 50
    patience: int = 20

    def __post_init__(self) -> None:
        if not self.encoder_rate > 0:  # it is used when heads are trained already
            raise ParameterError(
                f"the rate of the encoder is {self.encoder_rate}", where="encoder_rate", remedy="Give a positive number"
            )
        if min(self.ordinary, self.layer_epochs) < 1 or self.layers < 0 or not 0 <= self.held < 1:
            raise ParameterError(
                f"{self.ordinary} ordinary texts, {self.layers} layers, {self.layer_epochs} passes to tune them, a "
                f"share of {self.held} held out",
                where="settings",
                remedy="Give at least 1 text and pass, layers from 0 on, and a share from 0 to below 1",
            )


class LateWork:
    """A model on a task: its examples, its judge, its accuracies."""

    def __init__(
        self,
        task: LateTask,
        calm: tuple[dict[str, str], dict[str, str]] | None,
        encoder: TokenStateEncoder,
        settings: LateSettings,
        device: str,
        named: Callable[[str], Progress] | None,
        first: LateWork | None = None,
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

            if first is None:
                self.findings.extend(encoder.look_over(task.queries, kind="query"))
                self.findings.extend(encoder.look_over(task.documents, kind="document"))
            sides = [
                [*held.values(), *(calm[place].values() if calm else ())]
                for place, held in enumerate((task.queries, task.documents))
            ]
            inner = TextEncoder(encoder, *sides, layers=settings.layers)
            self.queries, self.documents, source = inner.numbers("query"), inner.numbers("document"), inner.fingerprint
        else:
            if settings.gates == "none":
                raise ParameterError(
                    "a frozen encoder without a head has nothing to learn", where="gates", remedy="Tune layers, or gate"
                )
            self.queries = self._stored(task.queries, "query", "queries", named)
            self.documents = self._stored(task.documents, "document", "documents", named)
            inner = StateEncoder(int(self.documents.values.shape[1]))
        known = None if first is None else first.calm
        self.calm: Ordinary | None = None if calm is None else self._calm(*calm, named, known)
        self.model: SignedModel = SignedModel(
            inner,
            gates=settings.gates,
            hidden=settings.hidden,
            bounded=settings.bounded,
            tuned=bool(settings.layers),
            seed=settings.seed,
        )
        if first is not None:
            self.model.put_head_weights(first.model.head_weights())
        self.model.to(device)
        judging, learning = _parted(task, settings)
        self.lessons = self._lessons(learning, source)
        self.held = {name: task.training[name] for name in judging}
        self.held_lessons = self._lessons(judging, source) if judging and not task.choices else None

    def _stored(
        self, texts: Mapping[str, str], kind: Kind, what: str, named: Callable[[str], Progress] | None
    ) -> Ragged:
        found = self.encoder.encode(texts, kind=kind, progress=named(f"embedding {what}") if named else None)
        self.findings.extend(found.findings)
        return Ragged(np.asarray(found.tokens.tokens), found.tokens.offsets)

    def _calm(
        self,
        queries: Mapping[str, str],
        documents: Mapping[str, str],
        named: Callable[[str], Progress] | None,
        known: Ordinary | None,
    ) -> Ordinary:
        """Ordinary texts as the encoder takes them, and of a tuned one what it makes of them now."""
        if known is None:
            told = len(self.findings)
            stored = (
                self._stored(queries, "query", "ordinary queries", named),
                self._stored(documents, "document", "ordinary documents", named),
            )
            del self.findings[told:]  # what is cut off of them is no loss
        else:
            stored = known.queries, known.documents
        if not self.settings.layers:
            return Ordinary(*stored)
        asked, told = (
            texts.take(np.arange(len(texts) - len(held), len(texts)))
            for texts, held in ((self.queries, queries), (self.documents, documents))
        )
        return Ordinary(asked, told, *stored)

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
            self.calm,
            source,
        )

    @property
    def plan(self) -> SignedPlan:
        """How its model is trained."""
        from askew.estimators.torch_signed_loss import SignedPlan  # noqa: PLC0415 - torch is an extra

        settings = self.settings
        shared = {name: value for name, value in asdict(settings).items() if name in SignedPlan.__dataclass_fields__}
        if settings.layers:
            own = {"epochs": settings.layer_epochs, "calm": math.ceil(settings.batch / _FEWER)}
            return SignedPlan(**{**shared, **own, "rate": settings.rate / _SLOWER})
        del shared["encoder_rate"]  # no checkpoint of heads depends on it
        return SignedPlan(**shared)

    @property
    def judge(self) -> Callable[[SignedModel], float] | None:
        """The share of held pairs in order; minus the held loss where there are no choices; None without any held."""
        if not self.held:
            return None
        if self.held_lessons is None:
            return lambda _: float(self.accuracy(self.held)["pairwise"])
        from askew.estimators.torch_signed_loss import mean_loss  # noqa: PLC0415

        lessons, plan = self.held_lessons, self.plan
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

    def training_weights(self) -> dict[str, FloatArray]:
        """Side → what its head, if there is one, says of all tokens of the training texts."""
        training = self.task.training
        names = set(training), {one for sides in training.values() for side in sides for one in side}
        found: dict[str, FloatArray] = {}
        for kind, texts, rows, some in zip(_SIDES, (self.queries, self.documents), self.rows, names, strict=True):
            tokens = self.model.encode(texts.take(np.array(sorted(rows[name] for name in some))), kind)
            if tokens.weights is not None:
                found[kind] = np.asarray(tokens.weights)
        return found

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
            f"{self.encoder.name}-tuned" if self.settings.layers else self.encoder.name,
            Canaries(ids, vectors, said),
            tuned=bool(self.settings.layers),
            record=record,
        )


def _held(name: str, settings: LateSettings) -> bool:
    return stable_hash(name, f"held-{settings.seed}") / 2**64 < settings.held


def _parted(task: LateTask, settings: LateSettings) -> tuple[list[str], list[str]]:
    """Queries to judge by and to learn from; nobody judges where either part would have one document to choose from."""
    parts = [[name for name in task.training if _held(name, settings) is held] for held in (True, False)]
    choices = [{one for name in names for side in task.training[name] for one in side} for names in parts]
    return (parts[0], parts[1]) if min(map(len, choices)) > 1 else ([], list(task.training))
