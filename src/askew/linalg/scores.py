"""Scores that a fast product finds and a fixed order settles.

A float32 GEMM *finds*: whatever order it sums in, its error is at most γ‖x‖‖y‖ with γ = (d + 4)·2⁻²⁴
(Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., eq. 3.5, two more roundings for the
input's conversion). What lies too close to call is *settled* by `row_dots`, and only those values are
ordered and returned: results are the same for every block and thread count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askew._blocks import blocks, rows_within
from askew.linalg.fixed import BoolArray, Float32Array, Float64Array, FloatArray, IntArray, row_dots, row_norms

__all__ = ["LEAST", "Asked", "Scores", "to_unit"]

#: Below every approximate score, above the -inf of documents that are left out.
LEAST = -1e30

# Below and above these norms a float32 product could leave the normal range: rescale by 2^p first.
_SMALLEST_SAFE, _LARGEST_SAFE = 1e-12, 1e15


@dataclass(frozen=True, eq=False)
class Asked:
    """A block of n queries, ready to be scored.

    Attributes:
        wide: (n, d) float64, what exact scores are made of.
        narrow: (n, d) float32, each row brought near length 1 by a power of two.
        lengths: (n,) norms of the rows so brought.
        error: (n,) how far an approximate score can lie from the exact one, in units of the scaled rows.
    """

    wide: Float64Array
    narrow: Float32Array
    lengths: Float64Array
    error: Float64Array


@dataclass(frozen=True, eq=False)
class Scores:
    """Inner products or cosines of queries with a corpus of m documents.

    Attributes:
        documents: (m, d), memory-mapped or not.
        norms: (m,) their norms.
        without: (m,) documents that are left out, or None.
        cosine: divide each score by both norms.
        scale: power of two that brings the largest document norm near 1.
        gather_rows: pairs that are settled at a time.
    """

    documents: FloatArray
    norms: Float64Array
    without: BoolArray | None
    cosine: bool
    scale: float
    gather_rows: int

    @classmethod
    def prepare(
        cls,
        documents: FloatArray,
        norms: Float64Array | None,
        without: BoolArray | None,
        *,
        cosine: bool,
        budget: int,
    ) -> Scores:
        """Take the norms that are known, or find them; `budget` is the bytes that settling may take."""
        norms = row_norms(documents, budget=budget) if norms is None else norms
        largest = float(norms.max(initial=0.0))
        scale = 1.0 if _SMALLEST_SAFE < largest < _LARGEST_SAFE else float(to_unit(np.array(largest)))
        gather_rows = rows_within(budget // 4, 24 * documents.shape[1], least=16)
        return cls(documents, norms, without, cosine, scale, gather_rows)

    def ask(self, queries: FloatArray) -> Asked:
        """Scale a block of (n, d) queries and bound the error of their products."""
        wide = np.asarray(queries, dtype=np.float64)
        scales = to_unit(row_norms(wide))
        scaled = wide * scales[:, None]
        lengths = row_norms(scaled)
        # Under cosine no power of two changes a score, and no product of two tiny vectors is lost.
        wide = scaled if self.cosine else wide
        return Asked(wide, scaled.astype(np.float32), lengths, self._error(lengths, scales))

    def approximate(self, asked: Asked, part: slice) -> Float32Array:
        """(n, documents of the part) products; -inf for documents that are left out."""
        found = asked.narrow @ self._scaled(part).T
        if self.without is not None:
            found[:, self.without[part]] = -np.inf
        return found

    def approximate_pairs(self, asked: Asked, query: IntArray, row: IntArray) -> Float32Array:
        """(p,) products of some pairs, with the same bound on their error."""
        found = np.empty(len(query), dtype=np.float32)
        for part in blocks(len(found), self.gather_rows):
            found[part] = np.einsum("pd,pd->p", asked.narrow[query[part]], self._scaled(row[part]))
        return found

    def exact_pairs(self, asked: Asked, query: IntArray, row: IntArray) -> Float64Array:
        """(p,) scores of some pairs, in a fixed order."""
        exact = np.zeros(len(query))
        asking = np.flatnonzero(asked.lengths[query] > 0)  # a query of length 0 scores 0, with all documents
        for part in blocks(len(asking), self.gather_rows):
            some = asking[part]
            exact[some] = row_dots(asked.wide[query[some]], self.documents[row[some]])
            if self.cosine:
                length = asked.lengths[query[some]] * self.norms[row[some]]
                exact[some] = np.where(length > 0, exact[some] / np.where(length > 0, length, 1.0), 0.0)
        exact += 0.0  # turns a -0.0 into 0.0
        return exact

    def _error(self, lengths: Float64Array, scales: Float64Array) -> Float64Array:
        """(n,) from norms of scaled queries and the powers of two that they were scaled by."""
        width = self.documents.shape[1]
        peak = 1.0 if self.cosine else float(self.norms.max(initial=0.0)) * self.scale
        rounding = (width + 4) * 2.0**-24
        # The second term covers products that fall below the smallest normal float32.
        error = 1.01 * rounding / (1 - rounding) * lengths * peak + width * 2.0**-125
        if self.cosine:
            return np.asarray(error)
        with np.errstate(over="ignore"):  # and this one what the settling loses below the least float64
            return np.asarray(error + width * 2.0**-1074 * scales * self.scale)

    def _scaled(self, rows: slice | IntArray) -> Float32Array:
        block = self.documents[rows]
        if self.cosine:
            norms = self.norms[rows]
            wide = np.asarray(block, dtype=np.float64)
            return np.asarray(wide / np.where(norms > 0, norms, 1.0)[:, None], dtype=np.float32)
        if self.scale != 1.0:
            return (np.asarray(block, dtype=np.float64) * self.scale).astype(np.float32)
        return np.asarray(block, dtype=np.float32)


def to_unit(norms: Float64Array) -> Float64Array:
    """Powers of two that bring norms between 1/2 and 1; scaling by them loses no bit. 1 for zero.

    >>> to_unit(np.array([3.0, 0.25, 0.0])).tolist()
    [0.25, 2.0, 1.0]
    """
    exponent = np.frexp(norms)[1]
    return np.ldexp(1.0, np.minimum(-exponent, 1023))  # a denormal norm is brought as far up as can be
