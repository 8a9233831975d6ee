"""Queries and documents made ready for a fast product with a known error.

The product runs in float32, or in float64 where the documents are float64. Its error is at most γ‖q‖‖d‖
with γ = (d + 4)·u (as in `askew.linalg.scores`), and the fixed-order product that settles what lies too
close to call errs by no more; so two tokens that differ by more than twice their sum stand in their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askew.data import TokenEmbeddings
from askew.data.ragged import token_places
from askew.errors import DimensionError, EmbeddingError, counted, name_some
from askew.linalg import row_norms
from askew.linalg.fixed import Float64Array, FloatArray, IntArray
from askew.linalg.scores import to_unit

__all__ = ["Asked", "Block", "Corpus", "check_codes"]

# Below and above these norms a float32 product could leave the normal range: rescale by 2^p first.
_SMALLEST_SAFE, _LARGEST_SAFE = 1e-12, 1e15
# A sum of products above this could overflow float64, and inf - inf is no score.
_LARGEST_SCORE = 1e300


@dataclass(frozen=True, eq=False)
class Asked:
    """The tokens of a block of queries, one query after another.

    Attributes:
        tokens: (t, d), what settled similarities are made of.
        narrow: (t, d) each row brought near length 1 by a power of two, in the type of the product.
        weights: (t,) float64, 1 where the queries have none.
        unit: (t,) what a product of scaled rows is multiplied by to be a similarity.
        close: (t,) how far a product of scaled rows can lie from the settled similarity, in its own units.
        error: (t,) the same in those of similarities, sums of them included.
        starts: (n,) where each query begins; no query is empty.
    """

    tokens: FloatArray
    narrow: FloatArray
    weights: Float64Array
    unit: Float64Array
    close: Float64Array
    error: Float64Array
    starts: IntArray

    def score_error(self, weights: Float64Array | None) -> Float64Array:
        """(n, 1) how far a score from products can lie from the exact one, if its routes are right.

        Args:
            weights: signs or weights of the documents' tokens, or None.
        """
        reach = np.add.reduceat(np.abs(self.weights) * self.error, self.starts)[:, None]
        return reach if weights is None else reach * float(np.abs(weights).max())

    def only(self, query: int) -> Asked:
        """One query of the block."""
        end = self.starts[query + 1] if query + 1 < len(self.starts) else len(self.tokens)
        part = slice(self.starts[query], end)
        return Asked(
            self.tokens[part],
            self.narrow[part],
            self.weights[part],
            self.unit[part],
            self.close[part],
            self.error[part],
            np.zeros(1, np.int64),
        )


@dataclass(frozen=True, eq=False)
class Block:
    """The tokens of some documents, none of them empty, one after another.

    Attributes:
        tokens: (t, d).
        narrow: (t, d) scaled, in the type of the product.
        weights: (t,) float64, or None.
        starts: (f,) where each document begins.
        lengths: (f,).
    """

    tokens: FloatArray
    narrow: FloatArray
    weights: Float64Array | None
    starts: IntArray
    lengths: IntArray


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents to be scored.

    Attributes:
        documents: m items.
        scale: power of two that brings the largest token norm near 1.
        filled: the documents that have tokens.
    """

    documents: TokenEmbeddings
    scale: float
    filled: IntArray

    @classmethod
    def prepare(cls, queries: TokenEmbeddings, documents: TokenEmbeddings) -> Corpus:
        """Check that both sides meet.

        Raises:
            DimensionError: they do not meet in one dimension.
            EmbeddingError: they are sparse vectors by different codes, a query has no tokens, or scores could overflow.
        """
        _check(queries, documents)
        safe = _SMALLEST_SAFE < documents.peak < _LARGEST_SAFE
        scale = 1.0 if safe or documents.peak == 0 else float(to_unit(np.array(documents.peak)))
        return cls(documents, scale, np.flatnonzero(documents.lengths))

    @property
    def narrow_type(self) -> type[np.floating]:
        """The type of the fast product."""
        return np.float64 if self.documents.dtype == np.float64 else np.float32

    def ask(self, queries: TokenEmbeddings, part: slice) -> Asked:
        """A block of queries, scaled, with the error of its products bounded."""
        begin, end = queries.offsets[part.start], queries.offsets[part.stop]
        tokens = queries.tokens[begin:end]
        wide = np.asarray(tokens, dtype=np.float64)
        scales = to_unit(row_norms(wide))
        scaled = wide * scales[:, None]
        width, narrow = queries.dim, self.narrow_type
        rounding = 2 * (width + 4) * float(np.finfo(narrow).eps) / 2
        # Sums of t contributions, in any order, err by less than t·2^-53 of the sum of their sizes.
        rounding += (len(tokens) + 4) * 2.0**-52
        close = 1.01 * rounding * row_norms(scaled) * self.documents.peak * self.scale
        # What a product, and what the settling, can lose below the least number of their type.
        close += 4 * width * float(np.finfo(narrow).tiny)
        with np.errstate(over="ignore", under="ignore"):
            close += width * 2.0**-1074 * scales * self.scale
            unit = 1.0 / scales / self.scale
            error = close * unit + width * 2.0**-1074
        weights = np.ones(len(tokens)) if queries.weights is None else queries.weights[begin:end]
        starts = queries.offsets[part.start : part.stop] - begin
        return Asked(tokens, scaled.astype(narrow), weights, unit, close, error, starts)

    def block(self, rows: IntArray) -> Block:
        """The tokens of some documents that are not empty; a view of them where they stand together."""
        held, offsets = self.documents, self.documents.offsets
        if len(rows) and offsets[rows[-1] + 1] - offsets[rows[0]] == np.sum(held.lengths[rows]) and _ascends(rows):
            places: slice | IntArray = slice(int(offsets[rows[0]]), int(offsets[rows[-1] + 1]))
            within = np.append(offsets[rows] - offsets[rows[0]], offsets[rows[-1] + 1] - offsets[rows[0]])
        else:
            places, within = token_places(offsets, rows)
        tokens = np.asarray(held.tokens[places])
        narrow: FloatArray = tokens if self.scale == 1.0 else np.asarray(tokens, np.float64) * self.scale
        weights = None if held.weights is None else held.weights[places]
        return Block(tokens, np.asarray(narrow, self.narrow_type), weights, within[:-1], np.diff(within))


def _ascends(rows: IntArray) -> bool:
    return bool(np.all(rows[1:] > rows[:-1]))


def check_codes(left: TokenEmbeddings, right: TokenEmbeddings) -> None:
    """Raise EmbeddingError for sparse vectors by different codes, whose tokens do not meet where indices do."""
    if left.code is not None and right.code is not None and left.code != right.code:
        raise EmbeddingError(
            f"indices are {left.code} in {left.source}, and {right.code} in {right.source}",
            remedy="Make both from vectors of one width and with one dtype, or give both the same code=",
        )


def _check(queries: TokenEmbeddings, documents: TokenEmbeddings) -> None:
    check_codes(queries, documents)
    if len(queries.tokens) and len(documents.tokens) and queries.dim != documents.dim:
        raise DimensionError(
            f"the tokens of the queries ({queries.encoder or 'unnamed encoder'}) have {queries.dim} dimensions and "
            f"those of the documents ({documents.encoder or 'unnamed encoder'}) {documents.dim}",
            remedy="Embed both with one encoder",
        )
    empty = np.flatnonzero(queries.lengths == 0)
    if len(empty):
        raise EmbeddingError(
            f"{counted(len(empty), 'query has', 'queries have')} no tokens: "
            f"{name_some(queries.ids[row] for row in empty)}",
            where=queries.source,
            remedy="Leave them out, or keep a token of each",
        )
    with np.errstate(over="ignore"):
        peak = queries.peak * documents.peak * queries.heaviest * documents.heaviest
        if peak * int(queries.lengths.max(initial=0)) > _LARGEST_SCORE:
            raise EmbeddingError(
                f"scores could overflow: norms reach {queries.peak:.3g} and {documents.peak:.3g}, weights "
                f"{queries.heaviest:.3g} and {documents.heaviest:.3g}",
                remedy="Scale the tokens or the weights down",
            )
