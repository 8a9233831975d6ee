"""Where an adapter came from, and how to tell that vectors are its encoder's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from askew.data import EmbeddingSet, stable_hash, stable_hashes
from askew.errors import EncoderMismatchError, InputError
from askew.linalg import FloatArray, row_dots, row_norms

__all__ = ["Canaries", "Provenance", "Seen", "canary_ids"]

HashArray = npt.NDArray[np.uint64]

_CANARY_COUNT = 4
# float16 keeps 0.999999 and int8 quantisation about 0.99; another version of a model falls far below.
_LEAST_COSINE = 0.98


def canary_ids(names: Iterable[str]) -> tuple[str, ...]:
    """The few of some ids whose vectors an encoder is told by: the first in the order of a hash."""
    return tuple(sorted(names, key=lambda name: (stable_hash(name, "canary"), name))[:_CANARY_COUNT])


@dataclass(frozen=True, eq=False)
class Canaries:
    """A few vectors that the encoder gave, by id, with their texts where they are known.

    Attributes:
        ids: c ids.
        vectors: (c, d) float32 unit rows: only directions are compared.
        texts: c texts; empty strings where unknown.

    Raises:
        InputError: ids, vectors and texts differ in number, or a vector is not finite.
    """

    ids: tuple[str, ...]
    vectors: FloatArray
    texts: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or not len(self.ids) == len(self.vectors) == len(self.texts):
            raise InputError(
                f"there are {len(self.ids)} canary ids, {len(self.texts)} texts and vectors of shape "
                f"{self.vectors.shape}"
            )
        if self.vectors.dtype.kind != "f" or not np.all(np.isfinite(self.vectors)):
            raise InputError("the canary vectors are not finite numbers")

    @classmethod
    def pick(cls, embeddings: EmbeddingSet, texts: Mapping[str, str]) -> Canaries:
        """The first few non-zero rows in the order of a hash of their ids."""
        usable = [name for name, norm in zip(embeddings.ids, embeddings.norms, strict=True) if norm > 0]
        ids = canary_ids(usable)
        vectors = embeddings.unit(embeddings.rows(ids)).astype(np.float32)
        return cls(ids, vectors, tuple(texts.get(name, "") for name in ids))

    def among(self, texts: Mapping[str, str]) -> Canaries:
        """Those whose text is not known to be another: ids such as 1, 2, 3 name other texts in another collection.

        Args:
            texts: id → text, as far as they are known.
        """
        kept = [
            row
            for row, (name, text) in enumerate(zip(self.ids, self.texts, strict=True))
            if not text or texts.get(name, text) == text
        ]
        return Canaries(
            tuple(self.ids[row] for row in kept), self.vectors[kept], tuple(self.texts[row] for row in kept)
        )

    def check(self, embeddings: EmbeddingSet, side: str, *, least: float = _LEAST_COSINE) -> None:
        """Compare with the vectors that stand under the same ids.

        Args:
            embeddings: vectors by the encoder in question.
            side: what they are, for the message.
            least: the smallest cosine that counts as the same encoder.

        Raises:
            EncoderMismatchError: one of them points elsewhere.
        """
        held = [(name, vector) for name, vector in zip(self.ids, self.vectors, strict=True) if name in embeddings]
        given = embeddings.unit(embeddings.rows(name for name, _ in held))
        for (name, expected), vector in zip(held, given, strict=True):
            length = row_norms(expected[None])[0]
            cosine = float(row_dots(vector, expected) / (length or 1.0))
            if cosine < least:
                raise EncoderMismatchError(
                    f"the vector of {side} {name!r} has changed (cosine {cosine:.4f} with the one the adapter was "
                    "fitted on)",
                    where=embeddings.source,
                    remedy="Use the encoder and version that the adapter was fitted on, or fit again; if this is "
                    "another text under the same id, give it an id of its own",
                )


@dataclass(frozen=True, eq=False)
class Seen:
    """Which queries and documents an adapter has learned from, as hashes of their ids.

    With it, what an adapter remembers can be told from what it has understood wherever it goes, and
    no id leaves with it. A hash has 64 bits: among 10 million ids the chance that any two meet is
    below 10⁻⁵.

    Attributes:
        queries: (n,) ascending distinct uint64, `askew.data.stable_hash` of the labelled queries.
        positives: (p,) likewise, of the documents relevant to one of them.
        negatives: (c,) likewise, of the documents that were only mined as negatives.

    Raises:
        InputError: an array is not as above, or a document is in both.

    >>> seen = Seen.of(queries=["q1"], positives=["a", "b"], negatives=["b", "c"])
    >>> seen.knows_query("q1"), seen.knows_query("q2")
    (True, False)
    >>> [sorted(part) for part in seen.split_documents(["a", "b", "c", "d"])]
    [['a', 'b'], ['c'], ['d']]
    """

    queries: HashArray
    positives: HashArray
    negatives: HashArray

    def __post_init__(self) -> None:
        for name in ("queries", "positives", "negatives"):
            held: HashArray = getattr(self, name)
            if held.dtype != np.uint64 or held.ndim != 1 or np.any(held[1:] <= held[:-1]):
                raise InputError(f"the hashes of seen {name} are not ascending distinct numbers of 64 bits")
        if len(np.intersect1d(self.positives, self.negatives)):
            raise InputError("a document was both relevant and only a negative")

    @classmethod
    def of(cls, *, queries: Iterable[str], positives: Iterable[str], negatives: Iterable[str]) -> Seen:
        """Hash ids, in any order; a document that is in both counts as a positive.

        Args:
            queries: ids of the labelled queries.
            positives: ids of documents relevant to one of them.
            negatives: ids of mined negatives.
        """
        relevant = _hashes(positives)
        return cls(_hashes(queries), relevant, np.setdiff1d(_hashes(negatives), relevant))

    def knows_query(self, query: str) -> bool:
        """Whether a query was a labelled one."""
        return bool(_within([query], self.queries)[0])

    def split_documents(self, ids: Iterable[str]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
        """Ids by what the adapter knows of them: positive in training, only a negative, never seen."""
        names = list(ids)
        positive, negative = _within(names, self.positives), _within(names, self.negatives)
        parts = (positive, negative, ~(positive | negative))
        first, second, third = (
            frozenset(name for name, here in zip(names, part, strict=True) if here) for part in parts
        )
        return first, second, third


def _hashes(ids: Iterable[str]) -> HashArray:
    return np.unique(stable_hashes(ids))


def _within(ids: Sequence[str], hashes: HashArray) -> npt.NDArray[np.bool_]:
    return np.isin(stable_hashes(ids), hashes)


@dataclass(frozen=True, eq=False)
class Provenance:
    """What an adapter was made from.

    Attributes:
        query_encoder: name of the encoder of queries, if known.
        document_encoder: name of the encoder of documents, if known.
        query_canaries: vectors to tell the encoder of queries by.
        document_canaries: vectors to tell the encoder of documents by.
        fingerprint: hash of the training data and settings; empty for an adapter that was not fitted.
        record: plain values for people: labels, estimator, strength, verdict and its evidence.
        seen: queries and documents that it was fitted on; None if nobody noted them.
    """

    query_encoder: str | None = None
    document_encoder: str | None = None
    query_canaries: Canaries | None = None
    document_canaries: Canaries | None = None
    fingerprint: str = ""
    record: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    seen: Seen | None = None

    def among(self, query_texts: Mapping[str, str], document_texts: Mapping[str, str]) -> Provenance:
        """As it holds for a collection with these texts, as far as they are known.

        Canaries whose text is another there are left out (`Canaries.among`); with one such, ids of that side name
        other things there, and none of these was seen.
        """
        queries, other_queries = _among(self.query_canaries, query_texts)
        documents, other_documents = _among(self.document_canaries, document_texts)
        seen, none = self.seen, np.empty(0, dtype=np.uint64)
        if seen is not None and other_queries:
            seen = replace(seen, queries=none)
        if seen is not None and other_documents:
            seen = replace(seen, positives=none, negatives=none)
        return replace(self, query_canaries=queries, document_canaries=documents, seen=seen)

    def check(self, embeddings: EmbeddingSet, side: str) -> None:
        """Refuse vectors of another encoder.

        Args:
            embeddings: the vectors.
            side: ``"query"`` or ``"document"``.

        Raises:
            EncoderMismatchError: the encoder's name differs, or a canary vector does.
        """
        name = self.query_encoder if side == "query" else self.document_encoder
        if name and embeddings.encoder and name != embeddings.encoder:
            raise EncoderMismatchError(
                f"the {side} vectors come from the encoder {embeddings.encoder!r}, the adapter was fitted on {name!r}",
                where=embeddings.source,
                remedy=f"Embed with {name!r}, or fit an adapter for {embeddings.encoder!r}",
            )
        canaries = self.query_canaries if side == "query" else self.document_canaries
        if canaries is not None:
            canaries.check(embeddings, side)


def _among(held: Canaries | None, texts: Mapping[str, str]) -> tuple[Canaries | None, bool]:
    """The canaries that hold for some texts, and whether some do not."""
    if held is None:
        return None, False
    kept = held.among(texts)
    return kept, len(kept.ids) < len(held.ids)
