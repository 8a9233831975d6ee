"""WordLlama: a static 256-d encoder that comes, weights and all, in one PyPI package.

A text's vector is the direction of the sum of its tokens' vectors. The package can compute that
itself, in padded float32 batches; here it is a product of token counts and the table of vectors.
A count times a float32 is exact in float64, and a row is summed in the order of its token numbers,
so a text gives the same bits in every batch, whatever stands beside it.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from askew._blocks import blocks
from askew._extras import require
from askew.errors import InputError, MissingExtraError, ParameterError
from askew.linalg import row_norms

if TYPE_CHECKING:
    from askew.protocols import Progress

__all__ = ["WordLlamaEncoder"]

# Texts tokenized at once: enough to keep the tokenizer's threads busy, a few MB of tokens at most.
_BATCH = 512


class WordLlamaEncoder:
    """WordLlama l2_supercat at 256 dimensions: offline, without torch, thousands of texts a second.

    Case counts: lower-case both sides if case carries no meaning. Unpaired surrogates read as ``?``.

    Attributes:
        name: ``"wordllama-256"``.
        dim: 256.

    Raises:
        MissingExtraError: the package `wordllama` is not installed, or was packed without its weights.

    >>> rows = WordLlamaEncoder().encode(["open a file", "read from a socket", ""])
    >>> rows.shape, rows.dtype.name, np.linalg.norm(rows, axis=1).round(6).tolist()
    ((3, 256), 'float32', [1.0, 1.0, 0.0])
    """

    name: ClassVar[str] = "wordllama-256"
    dim: ClassVar[int] = 256

    def __init__(self) -> None:
        model = _load(self.dim)
        self._tokenizer = model.tokenizer
        self._tokenizer.no_padding()
        self._table: npt.NDArray[np.float64] = np.asarray(model.embedding, dtype=np.float64)

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> npt.NDArray[np.float32]:
        """Turn texts into unit vectors.

        Args:
            texts: n texts of any length.
            progress: told after each batch how many texts are done.

        Returns:
            (n, 256) float32 rows of norm 1; a text without a token, such as ``""``, is a zero row.

        Raises:
            ParameterError: `texts` is one string, not a sequence of them.
            InputError: an item is not a string.
        """
        checked = _as_texts(texts)
        rows = np.empty((len(checked), self.dim), dtype=np.float32)
        for part in blocks(len(checked), _BATCH):
            rows[part] = self._encode_batch(checked[part])
            if progress is not None:
                progress(part.stop, len(checked))
        return rows

    def _encode_batch(self, texts: list[str]) -> npt.NDArray[np.float64]:
        tokens = [found.ids for found in self._tokenizer.encode_batch(texts, add_special_tokens=False)]
        ends = np.cumsum([0, *map(len, tokens)])
        columns = np.fromiter(chain.from_iterable(tokens), dtype=np.int64, count=int(ends[-1]))
        counts = csr_array((np.ones(len(columns)), columns, ends), shape=(len(texts), len(self._table)))
        counts.sum_duplicates()  # sorts the token numbers of a row too, which fixes the order of its sum
        sums: npt.NDArray[np.float64] = counts @ self._table
        norms = row_norms(sums)
        return sums / np.where(norms > 0, norms, 1.0)[:, None]


def _load(dim: int) -> Any:
    with _settings_kept():
        package = require("wordllama", extra="demo", purpose="encoding texts with WordLlama")
        folder = Path(str(package.__file__)).parent
        try:
            return package.WordLlama.load(cache_dir=folder, dim=dim, disable_download=True)
        except FileNotFoundError as error:
            raise MissingExtraError(
                f"the package 'wordllama' is installed without its weights ({error})",
                where=folder,
                remedy="Install it again with: pip install --force-reinstall 'askew[demo]'",
            ) from error


@contextmanager
def _settings_kept() -> Iterator[None]:
    """Importing wordllama calls `logging.basicConfig` and, through requests, adds filters of warnings.

    `basicConfig` does nothing while the root logger has a handler, so it is lent one.
    """
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what other packages do at import is not the user's to mend
            yield
    finally:
        root.removeHandler(handler)


def _as_texts(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        raise ParameterError("texts is one string", where="texts", remedy="Give a list of texts: [text]")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"text {place} is a {type(text).__name__}, not a string", where="texts", remedy="Give strings"
            )
    return [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
