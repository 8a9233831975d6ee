"""A cache around an encoder: what was answered once is never asked for again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from askew._blocks import blocks
from askew.encoders._interrupts import held_interrupts
from askew.encoders._store import VectorStore
from askew.encoders._waits import Stop
from askew.encoders.base import TextEncoder, as_texts, excerpt, prompt_for
from askew.errors import EncoderError, counted
from askew.linalg import row_dots, row_norms

if TYPE_CHECKING:
    from askew.protocols import Kind, Progress

__all__ = ["CachedEncoder", "Filled", "default_cache"]

# Rows looked up and copied at once: a few MB.
_ROWS = 4096
# Texts that `verify` asks for again, and how far their vectors may turn. Endpoints that run in half
# precision repeat themselves to about 0.9999; another version of a model falls far below 0.98.
_PROBES = 4
_LEAST_COSINE = 0.98


def default_cache() -> Path:
    """The folder of caches: ``$ASKEW_CACHE``, else ``askew`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    named = os.environ.get("ASKEW_CACHE")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "askew"


@dataclass(frozen=True)
class Filled:
    """What it took to have a vector of every text.

    Attributes:
        texts: how many there are.
        distinct: how many different ones.
        held: distinct texts whose vector was there already.
        cut: places of the texts of which the encoder saw only the beginning.
    """

    texts: int
    distinct: int
    held: int
    cut: tuple[int, ...]

    @property
    def asked(self) -> int:
        """Distinct texts that were asked for."""
        return self.distinct - self.held


class CachedEncoder:
    """An encoder whose answers are kept on disk, batch by batch as they come.

    A vector is found by the encoder's signature, the prompt and the text, whatever file the text
    stands in. The texts themselves are not kept. An answer that differs from earlier ones in its
    dimension, or in the name of the model, is refused, and all that came before stays.

    Args:
        encoder: what is asked; it stays open when this is closed.
        folder: where the vectors are kept, a file for each encoder; `default_cache` by default.

    Raises:
        OutputError: the folder cannot be written to.
        FormatError: the file of this encoder is damaged.
        EncoderError: its vectors are of another dimension than the encoder's.

    >>> import tempfile
    >>> from askew.encoders import CallableEncoder
    >>> lengths = CallableEncoder(lambda texts: [[len(text), 1] for text in texts], name="lengths")
    >>> with tempfile.TemporaryDirectory() as folder, CachedEncoder(lengths, folder) as cached:
    ...     first = cached.fill(["newt", "toads", "newt"])
    ...     again = cached.fill(["toads"])
    ...     rows = cached.encode(["toads"])
    >>> (first.distinct, first.asked, again.asked), lengths.usage.texts, rows.tolist()
    ((2, 2, 0), 2, [[5.0, 1.0]])
    """

    def __init__(self, encoder: TextEncoder, folder: str | os.PathLike[str] | None = None) -> None:
        self._encoder = encoder
        place = default_cache() if folder is None else Path(folder)
        self._store = VectorStore(place, encoder.signature)
        if self._store.dim is not None:
            try:
                encoder.expect(dim=self._store.dim, model=self._store.model)
            except EncoderError:
                self._store.close()
                raise

    @property
    def name(self) -> str:
        """The encoder's."""
        return self._encoder.name

    @property
    def dim(self) -> int | None:
        """The encoder's, or that of the vectors that are kept."""
        return self._encoder.dim

    @property
    def path(self) -> Path:
        """The file that keeps the vectors."""
        return self._store.path

    def encode(
        self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None
    ) -> npt.NDArray[np.float32]:
        """Turn texts into vectors, those that are kept without asking.

        Args:
            texts: n texts.
            kind: which prompt goes before them.
            progress: told how many distinct texts have a vector.

        Returns:
            (n, d) finite float32.

        Raises:
            ParameterError, InputError, EncoderError: as the encoder; what it answered before stays.
            OutputError: the cache cannot be written to.
        """
        self.fill(texts, kind=kind, progress=progress)
        return self.read(texts, kind=kind)

    def fill(self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None) -> Filled:
        """Ask for the texts that have no vector yet, each once, and keep every batch as it comes.

        An interrupt or a SIGTERM takes effect when the answers that are under way are kept; a second one gives them up.

        Raises:
            ParameterError, InputError, EncoderError, OutputError: as `encode`.
        """
        checked = as_texts(texts)
        keys = self._keys(checked, kind)
        distinct = dict(zip(keys, checked, strict=True))
        cut = self._store.held(list(distinct))
        missing = [key for key in distinct if key not in cut]
        held = len(cut)
        if progress is not None:
            progress(held, len(distinct))
        stop, asked = Stop(), [distinct[key] for key in missing]
        with held_interrupts(stop.set):
            for answer in self._encoder.answers(asked, kind=kind, stop=stop):
                answered = [missing[place] for place in answer.places]
                self._store.write(answered, answer.vectors, answer.cut, model=self._encoder.model)
                cut.update(zip(answered, answer.cut.tolist(), strict=True))
                if progress is not None:
                    progress(len(cut), len(distinct))
        if len(cut) < len(distinct):
            raise EncoderError(
                f"it gave no vector for {len(distinct) - len(cut):,} of {counted(len(distinct), 'text')}",
                where=self.name,
                remedy="Its `answers` has to give every text a vector, or fail",
            )
        return Filled(len(keys), len(distinct), held, tuple(place for place, key in enumerate(keys) if cut[key]))

    def read(self, texts: Sequence[str], *, kind: Kind = "document") -> npt.NDArray[np.float32]:
        """(n, d) vectors of texts that are kept.

        Raises:
            FormatError: a vector is missing or damaged.
        """
        keys = self._keys(as_texts(texts), kind)
        rows = np.empty((len(keys), self._store.dim or 0), dtype=np.float32)
        for part in blocks(len(keys), _ROWS):
            rows[part] = self._store.read(keys[part])
        return rows

    def verify(self, texts: Sequence[str], *, kind: Kind = "document") -> int:
        """Ask for a few kept texts again, and compare: has the encoder changed under its name?

        Returns:
            How many were compared; 0 if none is kept.

        Raises:
            EncoderError: a vector points elsewhere than the one that is kept.
        """
        checked = as_texts(texts)
        kept = dict(zip(self._keys(checked, kind), checked, strict=True))
        probes = [kept[key] for key in sorted(self._store.held(list(kept)))[:_PROBES]]
        before, after = self.read(probes, kind=kind), self._encoder.encode(probes, kind=kind)
        for text, old, new in zip(probes, before, after, strict=True):
            norms = row_norms(np.stack([old, new]))
            cosine = float(row_dots(old[None], new[None])[0] / (norms.prod() or 1.0))
            if cosine < _LEAST_COSINE and norms.any():
                raise EncoderError(
                    f"{self.name} gives another vector than is kept (cosine {cosine:.3f}) for {excerpt(text)}",
                    where=self.path,
                    remedy="The model has changed under its name: name another --cache and embed all texts again",
                )
        return len(probes)

    def close(self) -> None:
        """Close the cache; the encoder stays open."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _keys(self, texts: Sequence[str], kind: Kind) -> list[bytes]:
        prompt = prompt_for(self._encoder.prompts, kind)
        # The prompt's length first: "a" + "bc" is not "ab" + "c" to an encoder that pools them apart.
        begin = f"{len(prompt)}:{prompt}"
        return [hashlib.sha256(f"{begin}{text}".encode()).digest() for text in texts]
