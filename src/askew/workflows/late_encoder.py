"""A token encoder with the heads that were trained on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

import numpy as np

from askew.data import TokenEmbeddings
from askew.encoders import TokenStateEncoder
from askew.errors import ParameterError
from askew.formats import SignedArtefact, load_signed
from askew.linalg.fixed import FloatArray
from askew.protocols import Kind

__all__ = ["LateEncoder", "load_late", "token_means"]


class LateEncoder:
    """A token encoder and the heads that were trained on it.

    Args:
        artefact: the heads.
        encoder: the encoder.

    Raises:
        EncoderMismatchError: the encoder is another than the heads'.
    """

    def __init__(self, artefact: SignedArtefact, encoder: TokenStateEncoder) -> None:
        self.artefact, self.encoder = artefact, encoder
        artefact.check(token_means(encoder, artefact.canaries.texts), encoder.name)

    def encode(self, texts: Mapping[str, str], *, kind: Kind = "document") -> TokenEmbeddings:
        """Texts as token embeddings with the heads' weights; documents over the window are read in several."""
        found = self.encoder.encode(texts, kind=kind, long="windows" if kind == "document" else "cut")
        return self.weigh(found.tokens, kind=kind)

    def weigh(self, tokens: TokenEmbeddings, *, kind: Kind = "document") -> TokenEmbeddings:
        """Token embeddings of this encoder with the heads' weights."""
        head = self.artefact.head(kind)
        return tokens if head is None else head.weigh(tokens)


def load_late(head: str | PathLike[str], model: str | None = None) -> LateEncoder:
    """Read heads, and the encoder they belong to.

    Args:
        head: a folder that `train_late` wrote.
        model: the encoder's folder or name; not needed where it was tuned, as it is saved beside the heads.

    Raises:
        ArtefactError: the folder is no head, or damaged.
        EncoderMismatchError: the encoder is another one.
        ParameterError: no encoder is named, and none was saved.
    """
    artefact = load_signed(head)
    place = model or artefact.encoder_folder
    if place is None:
        raise ParameterError(
            f"the head needs its encoder, {artefact.encoder!r}, which was not tuned and so not saved",
            where="model",
            remedy="Name it",
        )
    return LateEncoder(artefact, TokenStateEncoder(str(place), name=artefact.encoder if model is None else None))


def token_means(encoder: TokenStateEncoder, texts: Sequence[str]) -> FloatArray:
    """(c, d) unit means of the token vectors of some texts, each embedded by itself."""
    if not texts:
        return np.empty((0, 0), dtype=np.float32)
    rows = [encoder.encode({"text": text}, kind="document").tokens.tokens.mean(axis=0) for text in texts]
    means = np.stack(rows).astype(np.float32)
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True))
