"""Models of sentence-transformers, on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from askew.encoders._models import load_model, longer_than, model_prompts, model_signature, model_window
from askew.encoders.base import SerialEncoder, prompt_for

if TYPE_CHECKING:
    from askew.protocols import Kind

__all__ = ["SentenceTransformerEncoder"]


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
        self._model = load_model(model, device)
        # Before version 6 it was called otherwise.
        dim = getattr(self._model, "get_embedding_dimension", None) or self._model.get_sentence_embedding_dimension
        self._dim = int(dim())
        self.limit = model_window(self._model)
        self._prompts = model_prompts(self._model, query_prompt, document_prompt, where=self.name)
        self._signature: Mapping[str, Any] | None = None

    @property
    def signature(self) -> Mapping[str, Any]:
        """A hash of the weights, the model's parts, and its window: the same wherever the model lies."""
        if self._signature is None:
            self._signature = model_signature(self._model)
        return self._signature

    def _embed(self, texts: list[str], prompt: str) -> npt.ArrayLike:
        rows: npt.NDArray[np.float32] = self._model.encode(
            texts, prompt=prompt, batch_size=self.batch, show_progress_bar=False
        )
        return rows

    def _cut(self, texts: list[str], kind: Kind) -> npt.NDArray[np.bool_]:
        return longer_than(self._model, self.limit, [prompt_for(self._prompts, kind) + text for text in texts])
