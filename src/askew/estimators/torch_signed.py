"""Signed late interaction, as it is learned: a small head gives each token a sign or weight. Needs the extra ``torch``.

    s(Q, D) = Σ_q w_q · w_d* · ⟨q, d*⟩,   d* = argmax_d ⟨q, d⟩

A head starts at +1 for every token, so what training starts from is plain MaxSim; routing sees the similarity alone,
and gradients pass through the winner (FORMULAS 3.2 and 3.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from askew.data import TokenEmbeddings
from askew.data.ragged import running_count
from askew.errors import ParameterError
from askew.estimators.tokens_ragged import Ragged
from askew.late.heads import START

__all__ = ["Attach", "Encoded", "Gates", "Side", "SignedHead", "SignedModel", "Spoken", "TokenEncoder", "signed_scores"]

Side = Literal["query", "document"]
Attach = Literal["states", "vectors"]
Gates = Literal["none", "query", "document", "both"]


class Spoken(NamedTuple):
    """What an encoder gives for b texts of at most L tokens.

    Attributes:
        vectors: (b, L, d) token vectors, as they are compared.
        states: (b, L, h) what they were made from.
        mask: (b, L) true for tokens that count.
    """

    vectors: Tensor
    states: Tensor
    mask: Tensor


class TokenEncoder(Protocol):
    """A torch module that turns token ids, or token states, into token vectors.

    Its ``width`` is h, its ``dim`` d. It may give other tokens than it was given, such as one more.
    """

    width: int
    dim: int

    def __call__(self, tokens: Tensor, mask: Tensor, side: Side, /) -> Spoken:
        """(b, L) ids or (b, L, h) states, and which of them are there."""
        ...


class Encoded(NamedTuple):
    """(b, L, d) token vectors, (b, L) their weights, (b, L) true for tokens that count."""

    vectors: Tensor
    weights: Tensor
    mask: Tensor


class SignedHead(nn.Module):  # type: ignore[misc]  # torch is not looked into
    """One number a token: a layer, a rectifier, and one output that starts at +1.

    With z the output, which is 0 at the start, the weight is tanh(2 + z) / tanh 2 where it is bounded, within ±1.04,
    and 1 + z where not.

    Args:
        width: h, of what it reads.
        hidden: units between; 0 for none, a linear head.
        bounded: by the hyperbolic tangent.

    Raises:
        ParameterError: a size is out of range.

    >>> head = SignedHead(8)
    >>> head(torch.ones(2, 3, 8)).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """

    def __init__(self, width: int, *, hidden: int = 64, bounded: bool = True) -> None:
        super().__init__()
        if width < 1 or hidden < 0:
            raise ParameterError(f"a head of {width} → {hidden} → 1", where="hidden", remedy="Give positive sizes")
        self.width, self.hidden, self.bounded = width, hidden, bounded
        self.inner = nn.Linear(width, hidden) if hidden else None
        self.outer = nn.Linear(hidden or width, 1)
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)

    def forward(self, states: Tensor) -> Tensor:
        """(…, h) → (…) weights."""
        raw = self.outer(states if self.inner is None else torch.relu(self.inner(states))).squeeze(-1).float()
        if not self.bounded:
            return 1 + raw
        return torch.tanh(raw + START) / torch.tanh(raw.new_tensor(START))


class SignedModel(nn.Module):  # type: ignore[misc]  # torch is not looked into
    """An encoder of tokens, and heads that weigh them.

    Args:
        encoder: a `TokenEncoder` that is a torch module.
        gates: the sides that have a head; with ``"none"`` this is plain MaxSim.
        attach: what a head reads: the states that vectors are made from, or the vectors.
        hidden: of `SignedHead`.
        bounded: likewise.
        tuned: whether the encoder is trained too; otherwise it stays as it is, and in evaluation mode.
        seed: of the heads' first layers.

    >>> from askew.estimators.torch_signed_encoders import StateEncoder
    >>> model = SignedModel(StateEncoder(4), gates="query")
    >>> sorted(name for name, _ in model.learned())
    ['query_head.inner.bias', 'query_head.inner.weight', 'query_head.outer.bias', 'query_head.outer.weight']
    """

    def __init__(
        self,
        encoder: Any,
        *,
        gates: Gates = "both",
        attach: Attach = "states",
        hidden: int = 64,
        bounded: bool = True,
        tuned: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.encoder, self.gates, self.attach, self.tuned, self.bounded = encoder, gates, attach, tuned, bounded
        if not tuned:
            encoder.requires_grad_(False)
        width = encoder.width if attach == "states" else encoder.dim
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            made = [SignedHead(width, hidden=hidden, bounded=bounded) for _ in range(2)]
        self.query_head = made[0] if gates in ("query", "both") else None
        self.document_head = made[1] if gates in ("document", "both") else None

    def learned(self) -> list[tuple[str, Tensor]]:
        """What training moves, by name."""
        return [(name, part) for name, part in self.named_parameters() if part.requires_grad]

    def train(self, mode: bool = True) -> SignedModel:
        """Training mode; an encoder that is not tuned stays in evaluation mode."""
        super().train(mode)
        if not self.tuned:
            self.encoder.eval()
        return self

    def forward(self, tokens: Tensor, mask: Tensor, side: Side) -> Encoded:
        """(b, L) ids or (b, L, h) states → token vectors and weights."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.tuned):
            vectors, states, kept = self.encoder(tokens, mask, side)
        head = self.query_head if side == "query" else self.document_head
        read = states if self.attach == "states" else vectors
        weights = torch.ones_like(vectors[..., 0], dtype=torch.float32) if head is None else head(read)
        return Encoded(vectors.float(), weights, kept)

    @torch.no_grad()  # type: ignore[untyped-decorator]  # torch is not looked into
    def encode(self, texts: Ragged, side: Side, *, ids: Any = None, batch: int = 256) -> TokenEmbeddings:
        """Token vectors and weights of many texts, for exact search.

        Args:
            texts: n of them.
            side: what they are.
            ids: n ids; their numbers by default.
            batch: texts at once.
        """
        self.eval()
        parts = [_flat(self(*part, side)) for part in batches(texts, batch, self.device)]
        vectors, weights, lengths = (np.concatenate(held) for held in zip(*parts, strict=True))
        return TokenEmbeddings(
            range(len(texts)) if ids is None else ids,
            vectors,
            running_count(lengths),
            weights=None if (self.query_head if side == "query" else self.document_head) is None else weights,
        )

    def head_weights(self) -> dict[str, npt.NDArray[Any]]:
        """The weights of the heads, by name."""
        held = {name: part for name, part in self.state_dict().items() if not name.startswith("encoder.")}
        return {name: part.detach().cpu().numpy().copy() for name, part in held.items()}

    def put_head_weights(self, weights: Mapping[str, npt.NDArray[Any]]) -> None:
        """Put saved weights into the heads.

        Raises:
            ParameterError: they are not those of such heads.
        """
        own = self.head_weights()
        if {name: part.shape for name, part in own.items()} != {name: part.shape for name, part in weights.items()}:
            raise ParameterError(
                "the weights are not those of such heads", where="head", remedy="Make the model as it was when trained"
            )
        self.load_state_dict({name: torch.from_numpy(part.copy()) for name, part in weights.items()}, strict=False)

    @property
    def device(self) -> str:
        """Where it lives."""
        first = next(self.parameters(), None)
        return "cpu" if first is None else str(first.device)


def batches(texts: Ragged, size: int, device: str) -> Iterator[tuple[Tensor, Tensor]]:
    """All texts as padded tensors, so many at once."""
    for start in range(0, len(texts), size):
        yield tensors(texts, np.arange(start, min(len(texts), start + size)), device)


def tensors(texts: Ragged, rows: npt.NDArray[np.int64], device: str) -> tuple[Tensor, Tensor]:
    """Some texts as a padded tensor, and its mask."""
    tokens, mask = texts.batch(rows)
    return torch.from_numpy(tokens).to(device), torch.from_numpy(mask).to(device)


def signed_scores(queries: Encoded, documents: Encoded) -> Tensor:
    """(b, n) scores of every query and document: signed MaxSim, which a gradient passes through.

    What a mask leaves out is no candidate of a maximum.

    >>> one = Encoded(torch.eye(2)[None], torch.tensor([[1.0, -1.0]]), torch.ones(1, 2, dtype=torch.bool))
    >>> signed_scores(one, one._replace(weights=torch.ones(1, 2))).tolist()
    [[0.0]]
    """
    b, longest, _ = queries.vectors.shape
    n, most, _ = documents.vectors.shape
    every = queries.vectors.flatten(0, 1) @ documents.vectors.flatten(0, 1).T
    every = every.view(b, longest, n, most).masked_fill(~documents.mask, -torch.inf)
    best, place = every.max(dim=3)
    won = documents.weights.T[place, torch.arange(n, device=place.device)]
    weights = (queries.weights * queries.mask)[:, :, None]
    return (weights * won * best).sum(dim=1)


def _flat(found: Encoded) -> tuple[npt.NDArray[Any], ...]:
    vectors, weights, mask = (part.cpu().numpy() for part in found)
    return vectors[mask], weights[mask], mask.sum(axis=1)
