"""The small encoder of the negation study, and one run of its training. Needs the extra ``torch``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from askew.data import TokenEmbeddings
from askew.estimators.signed_lessons import SignedLessons
from askew.estimators.torch_signed import Attach, Gates, Side, SignedModel, Spoken
from askew.estimators.torch_signed_loss import SignedPlan
from askew.estimators.torch_signed_training import Trained, train_signed
from askew.protocols import Progress
from askew.reproduce.negation_task import BEGIN, Benchmark, Lesson

__all__ = ["Arm", "AttributeEncoder", "encode", "train_arm"]


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One way to train; signed or not is said apart.

    Attributes:
        hard: whether each query's near miss is a negative too, beside the batch's documents.
        lexical: start where a token meets its own attribute.
        whole: documents have a token of the whole.
        bend: units of the encoder's layer that is not linear; 0 for none.
        gates: the sides that have a head, where it is signed.
        bounded: weights by the hyperbolic tangent, or unbounded.
        attach: what the heads read.
    """

    hard: bool = False
    lexical: bool = True
    whole: bool = False
    bend: int = 128
    gates: Gates = "both"
    bounded: bool = True
    attach: Attach = "states"


def train_arm(
    arm: Arm,
    lesson: Lesson,
    *,
    signed: bool,
    rate: float,
    steps: int,
    seed: int,
    device: str = "cpu",
    progress: Progress | None = None,
) -> tuple[SignedModel, Trained]:
    """Train one arm: the encoder's layers, and heads where it is signed, at one rate."""
    encoder = AttributeEncoder(hidden=arm.bend, lexical=arm.lexical, whole=arm.whole, seed=seed)
    gates = arm.gates if signed else "none"
    model = SignedModel(encoder, gates=gates, attach=arm.attach, bounded=arm.bounded, tuned=True, seed=seed)
    count = len(lesson.queries)
    rows = np.arange(count)
    misses = (rows + count)[:, None] if arm.hard else np.empty((count, 0), dtype=np.int64)
    lessons = SignedLessons(lesson.queries, lesson.documents, rows, rows, misses, lesson.known)
    plan = SignedPlan(rate=rate, encoder_rate=rate, epochs=steps, steps=steps)
    return model, train_signed(model, lessons, plan, seed=seed, device=device, progress=progress)


def encode(model: SignedModel, task: Benchmark) -> tuple[TokenEmbeddings, TokenEmbeddings]:
    """A benchmark's queries and documents as token vectors and weights, for exact search."""
    names = [f"q{row}" for row in range(len(task.queries))], [f"d{row}" for row in range(len(task.documents))]
    return model.encode(task.queries, "query", ids=names[0]), model.encode(task.documents, "document", ids=names[1])


class AttributeEncoder(nn.Module):  # type: ignore[misc]  # torch is not looked into
    """Attribute ids → unit vectors.

    A query token's state is its own random vector beside that of the token before it; a document's attributes have
    nothing before them. With e a token's vector and x its state, the vector is the direction of We + f(x), f of two
    layers, W and f each side's own. The table of random vectors is never trained.

    Args:
        dim: d, of attribute and token vectors.
        hidden: units of f; 0 for a linear f. The paper does not tell the size of its encoder.
        lexical: start both W at the identity, so that a token meets its own attribute; otherwise at random.
        whole: documents have one more token, made from the mean of theirs.
        seed: of the table and the start.
    """

    def __init__(
        self, dim: int = 128, *, hidden: int = 128, lexical: bool = True, whole: bool = False, seed: int = 0
    ) -> None:
        super().__init__()
        self.width, self.dim, self.whole = 2 * dim, dim, whole
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.register_buffer("table", functional.normalize(torch.randn(BEGIN + 1, dim), dim=1))
            sides = ("query", "document", "whole") if whole else ("query", "document")
            self.maps = nn.ModuleDict({side: nn.Linear(dim, dim, bias=False) for side in sides})
            self.bends = nn.ModuleDict({side: _bend(2 * dim, hidden, dim) for side in sides})
        if lexical:
            for part in self.maps.values():
                nn.init.eye_(part.weight)

    def forward(self, tokens: Tensor, mask: Tensor, side: Side) -> Spoken:
        """(b, L) attribute ids → token vectors, states and mask."""
        own = self.table[tokens]
        if side == "query":
            before = torch.cat([torch.full_like(tokens[:, :1], BEGIN), tokens[:, :-1]], dim=1)
            states = torch.cat([own, self.table[before]], dim=2)
        else:
            states = torch.cat([own, torch.zeros_like(own)], dim=2)
        vectors = self._vectors(own, states, side)
        if side == "query" or not self.whole:
            return Spoken(vectors, states, mask)
        counted = mask[:, :, None]
        mean = functional.normalize((own * counted).sum(dim=1, keepdim=True), dim=2)
        # The second half marks it: no other token of a document has one.
        state = torch.cat([mean, self.table[BEGIN].expand_as(mean)], dim=2)
        return Spoken(
            torch.cat([self._vectors(mean, state, "whole"), vectors], dim=1),
            torch.cat([state, states], dim=1),
            torch.cat([torch.ones_like(mask[:, :1]), mask], dim=1),
        )

    def _vectors(self, own: Tensor, states: Tensor, part: str) -> Tensor:
        return functional.normalize(self.maps[part](own) + self.bends[part](states), dim=2)


def _bend(width: int, hidden: int, dim: int) -> nn.Sequential:
    """Layers that give 0 at the start."""
    last = nn.Linear(hidden or width, dim)
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), last) if hidden else nn.Sequential(last)
