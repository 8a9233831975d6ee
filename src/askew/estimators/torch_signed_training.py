"""Training of signed late interaction: in-batch and mined negatives, early stop, snapshots. It needs torch."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from askew.errors import ParameterError
from askew.estimators.signed_lessons import SignedLessons
from askew.estimators.snapshots import Snapshot
from askew.estimators.torch_descent import Descent, steady
from askew.estimators.torch_signed import SignedModel
from askew.estimators.torch_signed_loss import SignedPlan, batch_loss, moved
from askew.linalg.fixed import IntArray
from askew.protocols import Progress

__all__ = ["Trained", "train_signed"]

Judge = Callable[[SignedModel], float]


@dataclass(frozen=True, eq=False)
class Trained:
    """What training gave; the model itself holds the best weights.

    Attributes:
        steps: taken.
        best_step: whose weights the model has.
        best: their judgement; None without a judge.
        history: (step, mean loss since the last entry, judgement or None).
    """

    steps: int
    best_step: int
    best: float | None
    history: tuple[tuple[int, float, float | None], ...]


@dataclass
class _Course:
    """What changes as a run goes on, beside parameters and moments."""

    history: list[tuple[int, float, float | None]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    best: float | None = None
    best_step: int = 0
    waited: int = 0


def train_signed(
    model: SignedModel,
    lessons: SignedLessons,
    plan: SignedPlan,
    *,
    seed: int = 0,
    judge: Judge | None = None,
    device: str = "cpu",
    resume: Snapshot | None = None,
    keep: Callable[[Snapshot], object] | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train the heads of a model, and its encoder where it is tuned.

    One thread on the CPU, and every draw from the seed: the same bits every time, and the same from a snapshot on. The
    model is changed; where training diverges it is left as it was when it came.

    Args:
        model: what to train.
        lessons: what to learn from.
        plan: how.
        seed: of orders, and of what the encoder drops out.
        judge: of the model as it is, larger is better; the best weights are kept, those at the start among them.
        device: ``"cpu"``, ``"cuda"`` or another name of torch's.
        resume: go on from here.
        keep: hears of a snapshot at every judgement.
        progress: called with the steps done and to do.

    Raises:
        ParameterError: the loss or a weight left the finite numbers (it says at which step; nothing is kept), there is
            no such device, nothing is to be learned, or the snapshot is of another run.
    """
    run = _Run(model, lessons, plan, seed, judge, device)
    with steady(device), _own_randomness(device, seed):
        model.to(device)
        start = run.parameters()
        try:
            return run.go(resume, keep, progress)
        except ParameterError:
            run.put(start)
            raise


class _Run:
    """One run of training."""

    def __init__(
        self, model: SignedModel, lessons: SignedLessons, plan: SignedPlan, seed: int, judge: Judge | None, device: str
    ) -> None:
        self.model, self.lessons, self.plan, self.seed = model, lessons, plan, seed
        self.judge, self.device = judge, device
        named = model.learned()
        if not named:
            raise ParameterError(
                "nothing is to be learned", where="model", remedy="Give it a head, or tune its encoder"
            )
        self.names = [name for name, _ in named]
        heads = [part for name, part in named if not name.startswith("encoder.")]
        encoder = [part for name, part in named if name.startswith("encoder.")]
        self.total = plan.total(len(lessons))
        self.descent = Descent(
            [(parts, rate) for parts, rate in ((heads, plan.rate), (encoder, plan.encoder_rate)) if parts],
            total=self.total,
            decay=plan.decay,
            clip=plan.clip,
            warm_up=plan.warm_up,
        )
        self.course = _Course()
        self.shipped: dict[str, npt.NDArray[Any]] = {}
        self.print = _fingerprint(model, lessons, plan, seed)

    def go(
        self, resume: Snapshot | None, keep: Callable[[Snapshot], object] | None, progress: Progress | None
    ) -> Trained:
        if resume is not None:
            self.restore(resume)
        elif self.judge is not None:
            self.course.best, self.shipped = self.judge(self.model), self.parameters()
        # Judging may draw, and resuming does not judge again: training draws from here on.
        if resume is None:
            torch.manual_seed(self.seed)
        for epoch, rows in self.orders():
            if self.course.waited >= self.plan.patience:
                break
            self.model.train()
            self.course.losses.append(self.descent.down(self.loss(rows), epoch=epoch))
            step = self.descent.step
            if progress is not None:
                progress(step, self.total)
            if step % self.plan.judge_every == 0 or step == self.total:
                self.descent.check(epoch=epoch)
                self.note(step)
                if keep is not None:
                    keep(self.snapshot())
        if self.judge is not None:
            self.put(self.shipped)
        self.model.eval()
        course = self.course
        best_step = self.descent.step if self.judge is None else course.best_step
        return Trained(self.descent.step, best_step, course.best, tuple(course.history))

    def loss(self, rows: IntArray) -> Tensor:
        """Of a batch, and of what moved that should not."""
        loss = batch_loss(self.model, self.lessons, self.plan, rows, self.device)
        if self.lessons.ordinary is None or not self.plan.pull:
            return loss
        rng = np.random.default_rng([self.seed, self.descent.step, 1])
        return loss + self.plan.pull * moved(self.model, self.lessons.ordinary, self.plan, rng, self.device)

    def orders(self) -> Iterator[tuple[int, IntArray]]:
        """Epoch and examples of every step that is still to come."""
        each = math.ceil(len(self.lessons) / self.plan.batch)
        drawn, order = -1, np.empty(0, dtype=np.int64)
        for step in range(self.descent.step, self.total):
            epoch, place = divmod(step, each)
            if epoch != drawn:
                drawn, order = epoch, np.random.default_rng([self.seed, epoch]).permutation(len(self.lessons))
            yield epoch + 1, order[place * self.plan.batch : (place + 1) * self.plan.batch]

    def note(self, step: int) -> None:
        """Judge the model as it is now."""
        value = None if self.judge is None else float(self.judge(self.model))
        self.course.history.append((step, float(np.mean(self.course.losses)), value))
        self.course.losses = []
        if value is None:
            return
        if self.course.best is None or value > self.course.best:
            self.course.best, self.course.best_step, self.course.waited = value, step, 0
            self.shipped = self.parameters()
        else:
            self.course.waited += 1

    def parameters(self) -> dict[str, npt.NDArray[Any]]:
        """What is learned, as it is now."""
        return {name: part.detach().cpu().numpy().copy() for name, part in self.model.learned()}

    @torch.no_grad()  # type: ignore[untyped-decorator]  # torch is not looked into
    def put(self, held: dict[str, npt.NDArray[Any]]) -> None:
        """Put weights in place."""
        for name, part in self.model.learned():
            part.copy_(torch.from_numpy(held[name]))

    def snapshot(self) -> Snapshot:
        """Everything that the next step depends on."""
        course = self.course
        random = {"cpu": torch.get_rng_state().numpy().copy()}
        if self.device.startswith("cuda"):
            random["cuda"] = torch.cuda.get_rng_state(self.device).numpy().copy()
        groups = {"own": self.parameters(), "best": self.shipped, "adam": self.descent.state(), "random": random}
        return Snapshot(
            {f"{group}.{name}": array for group, held in groups.items() for name, array in held.items()},
            {
                "step": self.descent.step,
                "run": self.print,
                "best": course.best,
                "best_step": course.best_step,
                "waited": course.waited,
                "history": [list(entry) for entry in course.history],
            },
        )

    def restore(self, held: Snapshot) -> None:
        """Go back to a snapshot of this very run."""
        if held.facts.get("run") != self.print:
            raise ParameterError(
                "the checkpoint is of another run: other texts, settings or seed, or another start",
                where="resume",
                remedy="Train with what the checkpoint was made with, or begin anew in another folder",
            )
        facts = held.facts
        self.put(held.group("own"))
        self.shipped = held.group("best")
        self.descent.restore(held.group("adam"), held.step)
        history = [(int(step), float(loss), value) for step, loss, value in facts["history"]]
        self.course = _Course(history, [], facts["best"], int(facts["best_step"]), int(facts["waited"]))
        random = held.group("random")
        torch.set_rng_state(torch.from_numpy(random["cpu"]))
        if "cuda" in random and self.device.startswith("cuda"):
            torch.cuda.set_rng_state(torch.from_numpy(random["cuda"]), self.device)


def _fingerprint(model: SignedModel, lessons: SignedLessons, plan: SignedPlan, seed: int) -> str:
    """Of everything that a run's numbers depend on."""
    learned = [name for name, _ in model.learned()]
    settings = [asdict(plan), seed, model.gates, model.attach, model.bounded, learned, lessons.source]
    digest = hashlib.sha256(json.dumps(settings).encode())
    ordinary = lessons.ordinary
    for texts in (lessons.queries, lessons.documents, *((ordinary.queries, ordinary.documents) if ordinary else ())):
        digest.update(np.ascontiguousarray(texts.values).tobytes() + texts.lengths.tobytes())
    for rows in (lessons.query, lessons.positive, lessons.negatives):
        digest.update(np.ascontiguousarray(rows).tobytes())
    for name, part in model.state_dict().items():
        digest.update(name.encode() + part.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


@contextmanager
def _own_randomness(device: str, seed: int) -> Iterator[None]:
    """Draws from the seed, and the caller's generators as they were afterwards."""
    with torch.random.fork_rng(devices=[device] if device.startswith("cuda") else []):
        torch.manual_seed(seed)
        yield
