"""Texts as a token encoder for signed late interaction takes them: by their number, through the whole model."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from askew.encoders.token_states import TokenStateEncoder
from askew.errors import ParameterError
from askew.estimators.tokens_ragged import Ragged
from askew.estimators.torch_signed import Side, Spoken

__all__ = ["TextEncoder", "last_layers"]


class TextEncoder(nn.Module):  # type: ignore[misc]  # torch is not looked into
    """A model under training; heads read its token vectors, times √d. Nothing of it drops out.

    Args:
        encoder: the model.
        queries: texts of queries.
        documents: texts of documents.
        layers: how many of the transformer's last layers are tuned, with all that follows them.

    Raises:
        ParameterError: the model has fewer layers, or they cannot be told apart.
    """

    def __init__(
        self, encoder: TokenStateEncoder, queries: Sequence[str], documents: Sequence[str], *, layers: int
    ) -> None:
        super().__init__()
        self.model = encoder.model
        self._states, self._texts = encoder.states, {"query": [*queries], "document": [*documents]}
        found = last_layers(encoder, layers)
        self.model.requires_grad_(False)
        for part in (*found, *list(self.model)[1:]):
            part.requires_grad_(True)
        found = encoder.states(["a"], kind="document").vectors
        self.width = self.dim = int(found.shape[-1])

    def train(self, mode: bool = True) -> TextEncoder:
        """Stay in evaluation mode: vectors are held to where they were, and what drops out would drown that."""
        del mode
        super().train(False)
        return self

    def forward(self, tokens: Tensor, mask: Tensor, side: Side) -> Spoken:
        """(b, 1) numbers of texts → their token vectors."""
        del mask
        texts = [self._texts[side][row] for row in tokens[:, 0].tolist()]
        found = self._states(texts, kind=side)
        return Spoken(found.vectors, found.vectors * math.sqrt(self.width), found.mask)

    def numbers(self, side: Side) -> Ragged:
        """The texts of a side, as training takes them."""
        return Ragged.of_lists(np.arange(len(self._texts[side]))[:, None])

    @property
    def fingerprint(self) -> str:
        """A hash of the texts, which their numbers do not tell."""
        return hashlib.sha256(json.dumps(self._texts).encode()).hexdigest()


def last_layers(encoder: TokenStateEncoder, count: int) -> list[Any]:
    """The transformer's last layers, of the longest list of parts in it.

    Raises:
        ParameterError: the model has fewer layers, or they cannot be told apart.
    """
    lists = [part for part in encoder.model[0].modules() if isinstance(part, nn.ModuleList)]
    found = [*max(lists, key=len)] if lists else []
    if not 1 <= count <= len(found):
        raise ParameterError(
            f"{count} layers are to be tuned, and {encoder.name} has {len(found)}",
            where="layers",
            remedy=f"Give 1 to {len(found)}",
        )
    return found[len(found) - count :]
