"""WordLlama: a static 256-d encoder that comes, weights and all, in one PyPI package.

A text's vector is the direction of the sum of its tokens' vectors. The package can compute that
itself, in padded float32 batches; here it is a product of token counts and the table of vectors.
A count times a float32 is exact in float64, and a row is summed in the order of its token numbers,
so a text gives the same bits in every batch, whatever stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from askew._extras import require
from askew.encoders._quiet import settings_kept
from askew.encoders.base import SerialEncoder
from askew.errors import MissingExtraError
from askew.linalg import row_norms

__all__ = ["WordLlamaEncoder"]

# Texts tokenized at once: enough to keep the tokenizer's threads busy, a few MB of tokens at most.
_BATCH = 512
_DIM = 256


class WordLlamaEncoder(SerialEncoder):
    """WordLlama l2_supercat at 256 dimensions: offline, without torch, thousands of texts a second.

    Case counts: lower-case both sides if case carries no meaning. Unpaired surrogates read as ``?``.
    Rows have norm 1; a text without a token, such as ``""``, is a zero row.

    Args:
        name: what it is called; another name for other prompts.
        query_prompt: goes before every query.
        document_prompt: goes before every document.

    Raises:
        MissingExtraError: the package `wordllama` is not installed, or was packed without its weights.

    >>> rows = WordLlamaEncoder().encode(["open a file", "read from a socket", ""])
    >>> rows.shape, rows.dtype.name, np.linalg.norm(rows, axis=1).round(6).tolist()
    ((3, 256), 'float32', [1.0, 1.0, 0.0])
    """

    def __init__(self, *, name: str = "wordllama-256", query_prompt: str = "", document_prompt: str = "") -> None:
        super().__init__(name, batch=_BATCH, query_prompt=query_prompt, document_prompt=document_prompt)
        self._dim = _DIM
        model = _load(_DIM)
        self._tokenizer = model.tokenizer
        self._tokenizer.no_padding()
        self._table: npt.NDArray[np.float64] = np.asarray(model.embedding, dtype=np.float64)

    @property
    def signature(self) -> Mapping[str, Any]:
        """The model, which its package holds."""
        return {"encoder": "wordllama", "model": "l2_supercat", "dim": _DIM}

    def _embed(self, texts: list[str], prompt: str) -> npt.NDArray[np.float64]:
        prompted = [prompt + text for text in texts]
        tokens = [found.ids for found in self._tokenizer.encode_batch(prompted, add_special_tokens=False)]
        ends = np.cumsum([0, *map(len, tokens)])
        columns = np.fromiter(chain.from_iterable(tokens), dtype=np.int64, count=int(ends[-1]))
        counts = csr_array((np.ones(len(columns)), columns, ends), shape=(len(texts), len(self._table)))
        counts.sum_duplicates()  # sorts the token numbers of a row too, which fixes the order of its sum
        sums: npt.NDArray[np.float64] = counts @ self._table
        norms = row_norms(sums)
        return sums / np.where(norms > 0, norms, 1.0)[:, None]


def _load(dim: int) -> Any:
    with settings_kept():
        package = require("wordllama", extra="demo", purpose="encoding texts with WordLlama")
        folder = Path(str(package.__file__)).parent
        try:
            return package.WordLlama.load(cache_dir=folder, dim=dim, disable_download=True)
        except FileNotFoundError as error:
            raise MissingExtraError(
                f"the package 'wordllama' is installed without its weights ({error})",
                where=folder,
                remedy="Install it again: pip install --force-reinstall '.[demo]' in askew's clone",
            ) from error
