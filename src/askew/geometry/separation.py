"""Separation: the mean margin of an operator over the spread of its scores, held out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from askew.errors import DimensionError, ParameterError
from askew.geometry.moments import Covariance
from askew.geometry.rows import RelevanceRows
from askew.geometry.spectra import Spectra, margins
from askew.linalg import FloatArray
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["Separation", "mean_margins"]


class Separation:
    """Held-out ⟨M, C⟩ / spread(M) of both families' fits (CARS, theorem 4; arXiv 2609.32488).

    Args:
        rows: n rows of the moment.
        ranks: K ranks.
        whitened: whether the rows are: then the spread is ‖M‖, and else √tr(Wᵀ Σx W Σy).
        documents: (m, p) for Σy in raw coordinates; the differences of the training rows stand for them
            by default.

    Raises:
        ParameterError: documents are given for whitened rows.
        DimensionError: the documents are of another dimension.

    >>> rows = RelevanceRows(tuple("abcd"), np.eye(4), np.eye(4))
    >>> found = Separation(rows, [4]).of(Spectra.of(np.eye(4), largest=4), np.arange(2), np.arange(2, 4))
    >>> [part.round(6).tolist() for part in found]
    [[0.5], [0.5]]
    """

    def __init__(
        self, rows: RelevanceRows, ranks: Sequence[int], *, whitened: bool = True, documents: FloatArray | None = None
    ) -> None:
        if whitened and documents is not None:
            raise ParameterError("whitened rows need no documents", where="documents", remedy="Say whitened=False")
        self._rows, self._ranks, self._whitened = rows, ranks, whitened
        self._covariance = None if documents is None else _document_covariance(documents, rows.shape[1])

    def of(self, spectra: Spectra, kept: IntArray, held: IntArray) -> tuple[Float64Array, Float64Array]:
        """Separation of dual and of shared at every rank: two (K,); 0 for an operator that is zero.

        Args:
            spectra: of the moment of the training rows.
            kept: training rows.
            held: held-out rows.
        """
        dual, shared = self.margins(spectra, kept, held)
        return dual.mean(axis=0), shared.mean(axis=0)

    def margins(self, spectra: Spectra, kept: IntArray, held: IntArray) -> tuple[Float64Array, Float64Array]:
        """What separation is the mean of: each held-out margin over the spread, two (h, K), dual and shared."""
        dual, shared = margins(spectra, self._rows.queries[held], self._rows.differences[held], self._ranks)
        spreads = spectra.norms(self._ranks) if self._whitened else self._spreads(spectra, kept)
        return _over_root(dual, spreads[0]), _over_root(shared, spreads[1])

    def margins_of(self, query: Float64Array, document: Float64Array, kept: IntArray, held: IntArray) -> Float64Array:
        """The same of one fit, M = queryᵀ · document from two (r, p): (h,)."""
        rows = self._rows
        found = np.sum((rows.queries[held] @ query.T) * (rows.differences[held] @ document.T), axis=1)
        if self._whitened:
            spread = np.sum((query @ query.T) * (document @ document.T))
        else:
            spread = np.sum(self._terms(query.T, document.T, kept))
        return _over_root(found, np.maximum(spread, 0.0))

    def _spreads(self, spectra: Spectra, kept: IntArray) -> tuple[Float64Array, Float64Array]:
        """tr(Wᵀ Σx W Σy) of both families at every rank: two (K,)."""

        def spread(left: Float64Array, weights: Float64Array, right: Float64Array) -> Float64Array:
            terms = self._terms(left * weights, right, kept)
            sums = np.concatenate([[0.0], np.diagonal(np.cumsum(np.cumsum(terms, axis=0), axis=1))])
            return np.asarray(np.maximum(sums[np.minimum(self._ranks, len(terms))], 0.0))

        return (
            spread(spectra.left, spectra.values, spectra.right),
            spread(spectra.vectors, spectra.eigenvalues, spectra.vectors),
        )

    def _terms(self, left: Float64Array, right: Float64Array, kept: IntArray) -> Float64Array:
        """(r, r) with tr(Wᵀ Σx W Σy) for its sum, W = left · rightᵀ from two (p, r)."""
        seen, differences = self._rows.queries[kept] @ left, self._rows.differences[kept]
        if self._covariance is None:
            shaped = (differences - differences.mean(axis=0)) @ right
            inner = shaped.T @ shaped / len(kept)
        else:
            inner = right.T @ self._covariance @ right
        return np.asarray((seen.T @ seen / len(kept)) * inner)


def mean_margins(
    spectra: Spectra, rows: RelevanceRows, held: IntArray, ranks: Sequence[int]
) -> tuple[Float64Array, Float64Array]:
    """⟨M, Cₖ⟩ of both families: two (K,)."""
    dual, shared = margins(spectra, rows.queries[held], rows.differences[held], ranks)
    return dual.mean(axis=0), shared.mean(axis=0)


def _document_covariance(documents: FloatArray, dim: int) -> Float64Array:
    covariance = Covariance.of(documents)
    if len(covariance.mean) != dim or not covariance.count:
        raise DimensionError(
            f"documents of shape {documents.shape} cannot spread scores of differences of {dim} dimensions",
            remedy="Give raw documents of the same encoder",
        )
    return covariance.matrix


def _over_root(means: Float64Array, squares: Float64Array) -> Float64Array:
    """Quotients means / √squares, and 0 where nothing is spread."""
    some = np.broadcast_to(squares > 0, means.shape)
    return np.asarray(np.divide(means, np.sqrt(squares), out=np.zeros_like(means), where=some))
