"""What every encoder here shares: batches, prompts, and answers that are checked before anyone sees them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from askew._blocks import blocks
from askew.errors import EncoderError, InputError, ParameterError, counted

if TYPE_CHECKING:
    from askew.encoders._waits import Stop
    from askew.protocols import Kind, Progress

__all__ = ["Answer", "SerialEncoder", "TextEncoder", "Usage", "as_texts", "excerpt", "prompt_for"]

_SURROGATES = re.compile(r"[\ud800-\udfff]")


class Answer(NamedTuple):
    """Vectors of some of the texts that were asked for.

    Attributes:
        places: (b,) which texts.
        vectors: (b, d) finite float32.
        cut: (b,) whether the encoder saw only the beginning of the text.
    """

    places: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.float32]
    cut: npt.NDArray[np.bool_]


@dataclass
class Usage:
    """What was asked of an encoder so far; tokens as far as its answers tell them.

    Attributes:
        texts: vectors that came back and could be used.
        requests: batches that were asked for, those asked again included.
        retries: requests that had failed before, or whose answer could not be used.
        tokens: as the answers count them; what an endpoint charges for.
    """

    texts: int = 0
    requests: int = 0
    retries: int = 0
    tokens: int = 0


class TextEncoder(ABC):
    """An encoder with prompts, which answers in batches; used as it is, or through `CachedEncoder`.

    Args:
        name: what it is called, in artefacts too.
        batch: texts asked for at once.
        query_prompt: goes before every query.
        document_prompt: goes before every document.

    Attributes:
        name: see above.
        batch: see above.
        usage: what was asked so far.
        model: what made the vectors, if the answers say so.
        limit: tokens of a text that count, if that is known.

    Raises:
        ParameterError: `batch` is below 1, or the name is blank.
    """

    def __init__(self, name: str, *, batch: int, query_prompt: str = "", document_prompt: str = "") -> None:
        if batch < 1:
            raise ParameterError(f"the batch is {batch}", where="batch", remedy="Ask for at least one text at once")
        if not name.strip():
            raise ParameterError("the encoder's name is blank", where="name", remedy="Give it a name")
        self.name = name
        self.batch = batch
        self.usage = Usage()
        self.model: str | None = None
        self.limit: int | None = None
        self._dim: int | None = None
        self._prompts: dict[Kind, str] = {"query": query_prompt, "document": document_prompt}

    @property
    def dim(self) -> int | None:
        """The embedding dimension d; None until it is known."""
        return self._dim

    @property
    @abstractmethod
    def signature(self) -> Mapping[str, Any]:
        """All that decides a vector, but text and prompt, as plain values; two of one signature are one encoder."""

    @property
    def prompts(self) -> Mapping[Kind, str]:
        """What goes before every query, and before every document."""
        return dict(self._prompts)

    def expect(self, *, dim: int, model: str | None = None) -> None:
        """Hold answers to what earlier ones were: of these dimensions, and made by that model.

        Raises:
            EncoderError: the dimension is known to be another.
        """
        if self._dim not in (None, dim):
            raise self._other_dim(dim, self._dim)
        self._dim, self.model = dim, model or self.model

    def encode(
        self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None
    ) -> npt.NDArray[np.float32]:
        """Turn texts into vectors.

        Args:
            texts: n texts; halves of surrogate pairs read as ``?``.
            kind: which prompt goes before them.
            progress: told after each batch how many texts are done.

        Returns:
            (n, d) finite float32; (0, 0) for no texts if d is not known yet.

        Raises:
            ParameterError: `texts` is one string, not a sequence of them, or there is no such kind.
            InputError: an item is not a string.
            EncoderError: some texts have no vector, or their answer cannot be used.
        """
        checked = as_texts(texts)
        rows, done = np.empty((len(checked), self.dim or 0), dtype=np.float32), 0
        for answer in self.answers(checked, kind=kind):
            if rows.shape[1] != answer.vectors.shape[1]:  # the first answer tells the dimension
                rows = np.empty((len(checked), answer.vectors.shape[1]), dtype=np.float32)
            rows[answer.places] = answer.vectors
            done += len(answer.places)
            if progress is not None:
                progress(done, len(checked))
        if done < len(checked):
            raise self._short(done, len(checked))
        return rows

    @abstractmethod
    def answers(self, texts: Sequence[str], *, kind: Kind = "document", stop: Stop | None = None) -> Iterator[Answer]:
        """Vectors as they come, a batch at a time, in any order; what came before an error is good.

        Args:
            texts: n texts.
            kind: which prompt goes before them.
            stop: once it is set, nothing more is asked for, and the answers end with what is under way.

        Raises:
            ParameterError, EncoderError: as `encode`.
        """

    def _checked(self, answer: npt.ArrayLike, count: int) -> npt.NDArray[np.float32]:
        """(count, d) float32 of the known dimension, or of one that is known from now on."""
        array = np.asarray(answer)
        if array.ndim != 2 or array.dtype.kind not in "fiu" or len(array) != count:
            raise EncoderError(
                f"for {counted(count, 'text')} it gave an array of shape {array.shape} and type {array.dtype}",
                where=self.name,
                remedy="An encoder gives a matrix of numbers with one row a text",
            )
        if self._dim is None and array.shape[1]:
            self._dim = array.shape[1]
        if array.shape[1] != self._dim:
            raise self._other_dim(array.shape[1], self._dim)
        with np.errstate(over="ignore"):  # what overflows float32 is infinite, and refused with its text
            return array.astype(np.float32)

    def _short(self, found: int, asked: int) -> EncoderError:
        return EncoderError(
            f"it gave {counted(found, 'vector')} for {counted(asked, 'text')}",
            where=self.name,
            remedy="Its `answers` has to give every text a vector, or fail",
        )

    def _other_dim(self, found: int, known: int | None) -> EncoderError:
        before = "" if known is None else f", and of {known:,} before"
        return EncoderError(
            f"it gave vectors of {counted(found, 'dimension')}{before}",
            where=self.name,
            remedy="Two models answer under one name: find out which, and embed all texts with one of them",
        )

    def _unusable(self, texts: Sequence[str], what: str = "NaN or infinite values") -> EncoderError:
        one, first = len(texts) == 1, excerpt(texts[0])
        told = f"vector of one text holds {what}," if one else f"vectors of {len(texts):,} texts hold {what}, first"
        return EncoderError(
            f"the {told} that of {first}",
            where=self.name,
            remedy="Check these texts and the encoder's precision (float16 overflows)",
            texts=texts,
        )

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Give back what it holds, such as connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()


class SerialEncoder(TextEncoder):
    """An encoder that embeds one batch after the other; a subclass gives `signature` and `_embed`."""

    def answers(self, texts: Sequence[str], *, kind: Kind = "document", stop: Stop | None = None) -> Iterator[Answer]:
        """Vectors, batch after batch; what came before an error is good.

        Raises:
            ParameterError, EncoderError: as `encode`.
        """
        prompt = prompt_for(self._prompts, kind)
        for part in blocks(len(texts), self.batch):
            if stop:
                return
            asked = list(texts[part])
            self.usage.requests += 1
            vectors = self._checked(self._embed(asked, prompt), len(asked))
            good = np.isfinite(vectors).all(axis=1)
            self.usage.texts += int(good.sum())
            yield Answer(np.flatnonzero(good) + part.start, vectors[good], self._cut(asked, kind)[good])
            if not good.all():
                raise self._unusable([asked[place] for place in np.flatnonzero(~good)])

    @abstractmethod
    def _embed(self, texts: list[str], prompt: str) -> npt.ArrayLike:
        """(b, d) vectors of one batch."""

    def _cut(self, texts: list[str], kind: Kind) -> npt.NDArray[np.bool_]:
        """(b,) which texts are longer than what the encoder sees; of one that sees all, none."""
        del kind
        return np.zeros(len(texts), dtype=np.bool_)


def as_texts(texts: Sequence[str]) -> list[str]:
    """A list of strings that UTF-8 can hold.

    Raises:
        ParameterError: `texts` is one string.
        InputError: an item is not a string.
    """
    if isinstance(texts, str):
        raise ParameterError("texts is one string", where="texts", remedy="Give a list of texts: [text]")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"text {place} is a {type(text).__name__}, not a string", where="texts", remedy="Give strings"
            )
    return [_SURROGATES.sub("?", text) for text in texts]


def prompt_for(prompts: Mapping[Kind, str], kind: Kind) -> str:
    """What goes before a text of a kind.

    Raises:
        ParameterError: there is no such kind.

    >>> prompt_for({"query": "query: ", "document": ""}, "query")
    'query: '
    """
    if kind not in tuple(prompts):
        raise ParameterError(f"there is no kind {kind!r}", where="kind", remedy="Say 'query' or 'document'")
    return prompts[kind]


def excerpt(text: str, most: int = 40) -> str:
    """The beginning of a text, for a message.

    >>> excerpt("a" * 50, most=5)
    "'aaaaa…' (50 characters)"
    """
    return repr(text) if len(text) <= most else f"'{' '.join(text[:most].split())}…' ({len(text):,} characters)"
