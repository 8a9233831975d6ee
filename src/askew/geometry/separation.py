"""Separation: the mean margin of an operator over the spread of its scores, held out; and the rank it favours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askew.errors import DimensionError, ParameterError
from askew.geometry.halving import compact, side_by_side, spectra_of
from askew.geometry.moments import Covariance
from askew.geometry.rows import RelevanceRows
from askew.geometry.selection import Geometry
from askew.geometry.spectra import Spectra, check_ranks, margins
from askew.geometry.splits import Units
from askew.linalg import FloatArray
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["RankChoice", "Separation", "choose_rank", "mean_margins"]


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
        dual, shared = mean_margins(spectra, self._rows, held, self._ranks)
        spreads = spectra.norms(self._ranks) if self._whitened else self._spreads(spectra, kept)
        return _over_root(dual, spreads[0]), _over_root(shared, spreads[1])

    def _spreads(self, spectra: Spectra, kept: IntArray) -> tuple[Float64Array, Float64Array]:
        """tr(Wᵀ Σx W Σy) of both families at every rank: two (K,)."""
        queries, differences = self._rows.queries[kept], self._rows.differences[kept]
        centred = differences - differences.mean(axis=0)

        def spread(left: Float64Array, weights: Float64Array, right: Float64Array) -> Float64Array:
            seen = queries @ (left * weights)
            shaped = centred @ right
            inner = shaped.T @ shaped / len(kept) if self._covariance is None else right.T @ self._covariance @ right
            terms = (seen.T @ seen / len(kept)) * inner
            sums = np.concatenate([[0.0], np.diagonal(np.cumsum(np.cumsum(terms, axis=0), axis=1))])
            return np.asarray(np.maximum(sums[np.minimum(self._ranks, len(terms))], 0.0))

        return (
            spread(spectra.left, spectra.values, spectra.right),
            spread(spectra.vectors, spectra.eigenvalues, spectra.vectors),
        )


@dataclass(frozen=True, eq=False)
class RankChoice:
    """The rank and the geometry of the best cross-fitted separation.

    Attributes:
        rank: r.
        choice: ``"shared"`` or ``"dual"``.
        separation: its mean.
        ranks: K ranks tried.
        shared: (folds, K) separation of the shared fits.
        dual: (folds, K) of the dual fits.
    """

    rank: int
    choice: Geometry
    separation: float
    ranks: tuple[int, ...]
    shared: Float64Array
    dual: Float64Array


def choose_rank(
    rows: RelevanceRows,
    *,
    ranks: Sequence[int],
    whitened: bool = True,
    documents: FloatArray | None = None,
    folds: int = 5,
    by_document: bool = False,
    seed: int = 0,
    workers: int = 1,
) -> RankChoice:
    """Choose rank and geometry together, by the mean of held-out separation over folds.

    Of equals the smaller family: shared before dual, and the lower rank first. A comparison of families at a
    guessed rank can be a comparison of guesses; this one has none.

    Args:
        rows: n rows of the moment.
        ranks: K ranks to try.
        whitened: whether the rows are.
        documents: (m, p) for the spread in raw coordinates.
        folds: by query.
        by_document: folds that share no document.
        seed: of the hashes.
        workers: folds that run side by side; no result depends on it.

    Raises:
        DimensionError: the sides, or the documents, differ in dimension.
        ParameterError: an argument is out of range.
        LabelError: fewer than four queries.

    >>> rng = np.random.default_rng(0)
    >>> signal = rng.normal(size=(300, 2)) @ np.eye(2, 6)
    >>> x, z = signal + rng.normal(size=(300, 6)), signal + rng.normal(size=(300, 6))
    >>> found = choose_rank(RelevanceRows(tuple(map(str, range(300))), x, z), ranks=[1, 2, 4])
    >>> found.rank, found.choice
    (2, 'shared')
    """
    check_ranks(ranks, rows.shape)
    if folds < 2:
        raise ParameterError(f"{folds} folds were asked for", where="folds", remedy="Ask for at least 2")
    units = Units(rows, by_document=by_document)
    fold = units.deal(min(folds, len(units)), f"fold-{seed}")
    order = tuple(sorted(set(ranks)))
    small = compact(rows) if documents is None else rows
    measure = Separation(small, order, whitened=whitened, documents=documents)

    def work(number: int) -> tuple[Float64Array, Float64Array]:
        kept, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        largest = min(order[-1], small.shape[0])
        spectra = spectra_of(small, kept, largest=largest)
        return measure.of(spectra, kept, held)

    found = side_by_side(work, range(int(fold.max()) + 1), workers)
    dual, shared = (np.stack([pair[side] for pair in found]) for side in (0, 1))
    means = np.concatenate([shared.mean(axis=0), dual.mean(axis=0)])
    # Equal but for rounding is equal: at full support shared and dual can be one operator.
    best = int(np.argmax(means >= means.max() - 1e-12 * np.abs(means).max()))
    choice: Geometry = "dual" if best >= len(order) else "shared"
    return RankChoice(order[best % len(order)], choice, float(means[best]), order, shared, dual)


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
    return np.asarray(np.divide(means, np.sqrt(squares), out=np.zeros_like(means), where=squares > 0))
