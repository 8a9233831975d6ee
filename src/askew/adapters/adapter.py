"""Adapter: what a fit returns, what is saved, and what is applied to queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from askew.adapters.pair import Pair
from askew.adapters.provenance import Provenance
from askew.data import EmbeddingSet, side_by_side
from askew.data.fusion import JOINT
from askew.errors import DimensionError, EmbeddingError, ParameterError
from askew.linalg import FloatArray
from askew.operators import BilinearOperator, Term

__all__ = ["Adapter", "Similarity", "check_similarity"]

Similarity = Literal["dot", "cosine"]


@dataclass(frozen=True, eq=False)
class Adapter:
    """Maps query embeddings so that the stored document embeddings fit the task; those stay untouched.

    The map is linear, x ↦ c Mᵀx, and is not followed by a normalisation: for one query, neither its
    norm nor the adapted query's changes the order of documents.

    Args:
        operator: M, of shape (d_query, d_document).
        similarity: ``"dot"``, or ``"cosine"`` if search must divide by both norms.
        provenance: encoder names, canary vectors, fingerprint and evidence.
        scale: c, which changes no order: what brings dot products to the base's scale, for thresholds in use.
        base: what it is to be compared with, where that is another prior than its own; of the operator's shape.

    Raises:
        ParameterError: an unknown similarity, or a scale that is not a positive number.
        DimensionError: the base has another shape than the operator.

    >>> adapter = Adapter(BilinearOperator.identity(2))
    >>> x = np.array([[0.1, 0.2]], dtype=np.float16)
    >>> adapter.apply(x) is x  # nothing was fitted: the base, bit for bit
    True
    """

    operator: BilinearOperator
    similarity: Similarity = "dot"
    provenance: Provenance = field(default_factory=Provenance)
    scale: float = 1.0
    base: Term | None = None

    def __post_init__(self) -> None:
        check_similarity(self.similarity)
        if not 0 < self.scale < np.inf:
            raise ParameterError(f"the scale is {self.scale}", where="scale", remedy="Give a positive number")
        if self.base is not None and self.base.shape != self.operator.shape:
            raise DimensionError(f"the base is {self.base.shape} and the operator {self.operator.shape}", where="base")

    @property
    def is_base(self) -> bool:
        """Whether it holds the prior alone, and that is its base."""
        return self.operator.delta is None and self.base is None

    @overload
    def apply(self, queries: EmbeddingSet, other: EmbeddingSet | None = None) -> EmbeddingSet: ...
    @overload
    def apply(self, queries: npt.ArrayLike, other: npt.ArrayLike | None = None) -> FloatArray: ...
    def apply(
        self, queries: EmbeddingSet | npt.ArrayLike, other: EmbeddingSet | npt.ArrayLike | None = None
    ) -> EmbeddingSet | FloatArray:
        """Adapted queries, ready to be searched with.

        Args:
            queries: (n, d_query), or one vector (d_query,); an EmbeddingSet is checked against the
                encoder's name and the canary vectors.
            other: the same queries by a second encoder, for an adapter that fuses two; see `side_by_side`.

        Returns:
            The same kind of thing with d_document columns: float64 for float64, else float32; the
            input itself if the operator is the identity.

        Raises:
            DimensionError: the vectors do not have d_query entries.
            EmbeddingError: they are not float numbers, or not finite.
            EncoderMismatchError: they come from another encoder, or those of two in the wrong order.
            ParameterError: there is a second encoder, and the adapter takes one.
            MatchError: a query has no vector by the second encoder.
        """
        if other is not None:
            return self._apply_both(queries, other)
        if isinstance(queries, EmbeddingSet):
            self.check_queries(queries)
            adapted = self._map(queries.matrix)
            if adapted is queries.matrix:
                return queries
            return EmbeddingSet(queries.ids, adapted, source=f"adapted {queries.source}")
        given = _as_floats(queries)
        rows = given[None, :] if given.ndim == 1 else given
        adapted = self._map(rows)
        if adapted is rows:
            return given
        if not np.all(np.isfinite(adapted)):
            raise EmbeddingError("the adapted queries are not finite", remedy="Give finite queries of usual size")
        return adapted[0] if given.ndim == 1 else adapted

    def _apply_both(
        self, queries: EmbeddingSet | npt.ArrayLike, other: EmbeddingSet | npt.ArrayLike
    ) -> EmbeddingSet | FloatArray:
        if isinstance(queries, EmbeddingSet) and isinstance(other, EmbeddingSet):
            return self.apply(self.join_queries(queries, other))
        if isinstance(queries, EmbeddingSet) or isinstance(other, EmbeddingSet):
            raise EmbeddingError("one side has ids and the other none", remedy="Give two EmbeddingSets, or two arrays")
        first, second = _as_floats(queries), _as_floats(other)
        rows = [np.atleast_2d(side) for side in (first, second)]
        if first.ndim != second.ndim or len(rows[0]) != len(rows[1]):
            raise EmbeddingError(
                f"queries of the shapes {first.shape} and {second.shape} are not the same ones",
                remedy="Give one row a query on both sides, in one order",
            )
        both = self.join_queries(*(EmbeddingSet(range(len(side)), side) for side in rows)).matrix
        return self.apply(both[0] if first.ndim == 1 else both)

    def join_queries(self, first: EmbeddingSet, second: EmbeddingSet) -> EmbeddingSet:
        """Two embeddings of the same queries side by side (`side_by_side`), if they are those this adapter fuses.

        Args:
            first: (n, d) by the encoder of the documents.
            second: (·, d_other) by the other.

        Returns:
            (n, d_query), to be applied to or searched with.

        Raises:
            DimensionError, EncoderMismatchError: they are of other encoders, or in the wrong order.
            ParameterError: the adapter takes queries of one encoder.
            MatchError: a query has no second vector.
        """
        pair, width, name = self._pair, self.operator.shape[0], self.provenance.query_encoder
        if pair is not None:
            pair.check(first, second)
        elif first.dim + second.dim != width or (name and JOINT not in name):
            told = f" ({name!r})" if name else ""
            raise ParameterError(
                f"there are queries by a second encoder, the adapter takes those of one{told}, of {width} dimensions",
                where=second.source,
                remedy="Leave the second ones out (--second-queries), or take an adapter that fuses two (askew fit "
                "--query-encoder)",
            )
        return side_by_side(first, second)

    def _map(self, rows: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused by the callers
            adapted = self.operator.query_side(rows)
            if self.scale != 1:
                adapted = adapted * self.scale
            if adapted is rows:
                return rows
            return adapted if rows.dtype.itemsize >= np.float64().itemsize else adapted.astype(np.float32)

    def check_queries(self, queries: EmbeddingSet) -> None:
        """Refuse query vectors that this adapter was not made for.

        Raises:
            DimensionError: another dimension than d_query.
            EncoderMismatchError: another encoder, by name or by canary vectors.
        """
        self._check(queries, "query", self.operator.shape[0])

    def check_documents(self, documents: EmbeddingSet) -> None:
        """Refuse document vectors that this adapter was not made for; raises as `check_queries`."""
        self._check(documents, "document", self.operator.shape[1])

    @property
    def _pair(self) -> Pair | None:
        """The two encoders of its queries; None if it takes those of one."""
        return Pair.of(self.operator.prior, self.provenance)

    def _check(self, embeddings: EmbeddingSet, side: str, dim: int) -> None:
        if embeddings.dim != dim:
            name, pair = embeddings.encoder or "unnamed encoder", self._pair if side == "query" else None
            told = "" if pair is None else f": {pair}"
            raise DimensionError(
                f"the {side} vectors ({name}) have {embeddings.dim} dimensions, the adapter takes {dim}{told}",
                where=embeddings.source,
                remedy="Use the encoder that the adapter was fitted on" if pair is None else pair.remedy,
            )
        self.provenance.check(embeddings, side)


def _as_floats(queries: npt.ArrayLike) -> FloatArray:
    try:
        rows = queries if isinstance(queries, np.memmap) else np.asarray(queries)
    except ValueError as error:  # ragged rows
        raise EmbeddingError(f"the queries do not form a matrix ({error})", remedy="Give rows of one length") from None
    if rows.dtype.kind != "f":
        raise EmbeddingError(f"the queries are {rows.dtype.name} values", remedy="Give a float array")
    return rows


def check_similarity(similarity: str) -> None:
    """Raise ParameterError unless the similarity is known."""
    if similarity not in ("dot", "cosine"):
        raise ParameterError(f"there is no similarity {similarity!r}", where="similarity", remedy="Say dot or cosine")
