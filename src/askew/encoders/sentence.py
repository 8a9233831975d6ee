"""Models of sentence-transformers, on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from askew._extras import require
from askew.encoders._quiet import settings_kept
from askew.encoders.base import SerialEncoder
from askew.errors import EncoderError, ParameterError, name_some

if TYPE_CHECKING:
    from askew.protocols import Kind

__all__ = ["SentenceTransformerEncoder"]

# What models call their own prompts, best first.
_PROMPT_NAMES: Mapping[Kind, tuple[str, ...]] = {
    "query": ("query",),
    "document": ("document", "passage", "corpus"),
}


class SentenceTransformerEncoder(SerialEncoder):
    """A model of sentence-transformers, from a folder or by its name on the Hugging Face hub.

    Which texts are longer than the model's window is counted (`Answer.cut`), never silent.

    Args:
        model: a folder, or a name on the hub.
        name: what the encoder is called; the last part of `model` by default.
        batch: texts embedded at once.
        device: such as ``"cpu"`` or ``"cuda"``; what torch finds by default.
        query_prompt: goes before every query. By default the model's own prompt for queries, if it
            has one; ``"@NAME"`` is the model's prompt of that name, ``""`` is none.
        document_prompt: likewise, for documents.

    Raises:
        MissingExtraError: the package `sentence-transformers` is not installed.
        EncoderError: the model cannot be loaded.
        ParameterError: the model has no prompt of that name.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str | None = None,
        batch: int = 32,
        device: str | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
    ) -> None:
        super().__init__(name or Path(model).name or model, batch=batch)
        self._model = _load(model, device)
        # Before version 6 it was called otherwise.
        dim = getattr(self._model, "get_embedding_dimension", None) or self._model.get_sentence_embedding_dimension
        self._dim = int(dim())
        window = self._model.max_seq_length
        self.limit = None if window is None else int(window)
        self._prompts = {
            "query": self._prompt(query_prompt, "query"),
            "document": self._prompt(document_prompt, "document"),
        }
        self._signature: Mapping[str, Any] | None = None

    @property
    def signature(self) -> Mapping[str, Any]:
        """A hash of the weights, the model's parts, and its window: the same wherever the model lies."""
        if self._signature is None:
            parts = hashlib.sha256(str(self._model).encode()).hexdigest()
            facts = {"weights": _weights(self._model), "parts": parts, "window": self.limit}
            self._signature = {"encoder": "sentence-transformers", **facts}
        return self._signature

    def _prompt(self, given: str | None, kind: Kind) -> str:
        own: Mapping[str, str] = self._model.prompts or {}
        if given is None:
            names = (*_PROMPT_NAMES[kind], self._model.default_prompt_name)
            return next((own[name] for name in names if own.get(name)), "")
        if not given.startswith("@"):
            return given
        if given[1:] not in own:
            raise ParameterError(
                f"the model has no prompt {given[1:]!r}",
                where=self.name,
                remedy=f"It has: {name_some(own) or 'none'}; a prompt of your own does not begin with @",
            )
        return own[given[1:]]

    def _embed(self, texts: list[str], prompt: str) -> npt.ArrayLike:
        rows: npt.NDArray[np.float32] = self._model.encode(
            texts, prompt=prompt, batch_size=self.batch, show_progress_bar=False
        )
        return rows

    def _cut(self, texts: list[str], kind: Kind) -> npt.NDArray[np.bool_]:
        tokenizer = getattr(self._model, "tokenizer", None)
        if self.limit is None or tokenizer is None:
            return super()._cut(texts, kind)
        prompted = [self._prompts[kind] + text for text in texts]
        tokens = tokenizer(prompted, truncation=False, padding=False, verbose=False)["input_ids"]
        return np.array([len(row) > self.limit for row in tokens], dtype=np.bool_)


def _load(model: str, device: str | None) -> Any:
    with settings_kept():
        package = require("sentence_transformers", extra="sentence-transformers", purpose="loading this encoder")
        logs = require("transformers.utils.logging", extra="sentence-transformers", purpose="loading this encoder")
        shown = logs.is_progress_bar_enabled()
        logs.disable_progress_bar()  # its bar of weights is no progress of ours
        try:
            return package.SentenceTransformer(model, device=device)
        except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
            raise EncoderError(
                f"the model cannot be loaded ({' '.join(str(error).split())[:300]})",
                where=model,
                remedy="Name a folder of a sentence-transformers model, or one on the Hugging Face hub",
            ) from error
        finally:
            if shown:
                logs.enable_progress_bar()


def _weights(model: Any) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        held = tensor.detach().cpu().contiguous().flatten()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        # As bytes: numpy has no bfloat16, in which many models come.
        digest.update(held.view(_byte_type()).numpy())
    return digest.hexdigest()


def _byte_type() -> Any:
    return require("torch", extra="sentence-transformers", purpose="loading this encoder").uint8
