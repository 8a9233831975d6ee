"""One factorisation of a relevance moment, sliced for every rank, and inner products of the slices.

    P_d,r(C) = Σ_{i≤r} σᵢ uᵢ vᵢᵀ             the nearest matrix of rank r (dual)
    P_s,r(C) = Σ_{i≤r, ηᵢ>0} ηᵢ wᵢ wᵢᵀ       the nearest symmetric, positive semi-definite one (shared)

(a signed one: the r largest |ηᵢ|, the nearest symmetric matrix, for corrections of a positive prior)
with C = U diag(σ) Vᵀ and ½(C + Cᵀ) = W diag(η) Wᵀ (CARS, theorem 1; arXiv 2609.32488). Each family's
projections at rank r are the first r terms of one sum, so that inner products at all ranks are
cumulative sums of one cross-Gram matrix and no p × p projection is ever formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from askew._checks import is_number, is_whole, listed
from askew.errors import DimensionError, ParameterError
from askew.linalg import FloatArray, factored_svd, svd
from askew.linalg.fixed import Float64Array
from askew.operators import Factored

__all__ = ["Products", "Spectra", "check_ranks", "check_whole_ranks", "inner_products", "interpolate", "margins"]

_EPS = float(np.finfo(np.float64).eps)
# A Gram matrix squares the condition: singular vectors of C come from CCᵀ only down to this share of the
# largest singular value, where they are orthonormal to 1e-8 and the projection itself is good to 1e-12.
_GRAM_REACH = 1e-4
# A subset of eigenvectors is cheaper than all of them only while it is small (measured at p = 768: 58 ms
# for 64, 133 ms for 256, against 106 ms for all by divide and conquer).
_FEW = 8


@dataclass(frozen=True, eq=False)
class Spectra:
    """The leading R singular triplets of C and the leading eigenpairs of its symmetric part, at most R.

    Attributes:
        left: (p, R') u, one a column; R' ≤ R is less where the rank of C is.
        values: (R',) σ, descending and positive.
        right: (p, R') v.
        vectors: (p, S) w.
        eigenvalues: (S,) η, descending and positive, or of descending size if signed; S may be 0.
    """

    left: Float64Array
    values: Float64Array
    right: Float64Array
    vectors: Float64Array
    eigenvalues: Float64Array

    @classmethod
    def of(cls, matrix: Float64Array, *, largest: int, signed: bool = False) -> Spectra:
        """Factorise a moment.

        Args:
            matrix: (p, p) C, finite.
            largest: R, the largest rank that will be asked for.
            signed: whether shared projections may have negative eigenvalues.

        Raises:
            DimensionError: C is not square.
            ParameterError: R is not between 1 and p.

        >>> Spectra.of(np.array([[1.0, 2.0], [0.0, 0.0]]), largest=2).eigenvalues.round(3).tolist()
        [1.618]
        """
        check_ranks((largest,), matrix.shape)
        left, values, right = _leading_triplets(matrix, largest)
        eigenvalues, vectors = _leading_pairs((matrix + matrix.T) / 2, largest, signed=signed)
        return cls(left, values, right, vectors, eigenvalues)

    @classmethod
    def of_rows(cls, queries: FloatArray, differences: FloatArray, *, largest: int, signed: bool = False) -> Spectra:
        """Factorise C = (1/h) Σ x zᵀ from its rows, kept in factors where they are few.

        With 2h < p, one thin QR gives a basis of span[x₁…x_h, z₁…z_h] in which C is 2h × 2h, of rank h:
        C and ½(C + Cᵀ) both live there. O(p h² + h³) in place of O(h p² + p³).

        Args:
            queries: (h, p) rows x.
            differences: (h, p) rows z.
            largest: R.
            signed: as in `of`.

        Raises:
            DimensionError: the two sides differ in shape.
            ParameterError: R is not between 1 and p, or there is no row.

        >>> x, z = np.array([[3.0, 0.0, 0.0]]), np.array([[0.0, 4.0, 0.0]])
        >>> found = Spectra.of_rows(x, z, largest=2)
        >>> found.values.round(9).tolist(), found.eigenvalues.round(9).tolist()
        ([12.0], [6.0])
        """
        if queries.shape != differences.shape or not len(queries):
            raise DimensionError(
                f"queries of shape {queries.shape} and differences of shape {differences.shape} make no moment",
                remedy="Give at least one row of each, in one dimension",
            )
        count, width = queries.shape
        check_ranks((largest,), (width, width))
        if 2 * count >= width:
            return cls.of(np.asarray(queries.T @ differences / count), largest=largest, signed=signed)
        basis, factor = np.linalg.qr(np.vstack([queries, differences]).T)
        # The first h rows of the basis' coordinates hold all of x: below them its factor is 0.
        core = factor[:count, :count] @ factor[:, count:].T / count
        square = np.zeros((2 * count, 2 * count))
        square[:count] = core
        left, values, right = _leading_triplets(core, largest)
        eigenvalues, vectors = _leading_pairs((square + square.T) / 2, min(largest, 2 * count), signed=signed)
        return cls(basis[:, :count] @ left, values, basis @ right, basis @ vectors, eigenvalues)

    def dual(self, rank: int) -> Factored:
        """P_d,r(C), in factors."""
        return Factored(self.left[:, :rank] * self.values[:rank], self.right[:, :rank])

    def shared(self, rank: int) -> Factored:
        """P_s,r(C), in factors."""
        return Factored(self.vectors[:, :rank] * self.eigenvalues[:rank], self.vectors[:, :rank])

    def norms(self, ranks: Sequence[int]) -> tuple[Float64Array, Float64Array]:
        """‖P_d,r‖² and ‖P_s,r‖² at each of K ranks: two (K,)."""
        check_whole_ranks(ranks)
        return _cumulated(np.square(self.values), ranks), _cumulated(np.square(self.eigenvalues), ranks)


class Products(NamedTuple):
    """Inner products of two moments' projections at K ranks, each (K,): first family, then second."""

    dual_dual: Float64Array
    dual_shared: Float64Array
    shared_dual: Float64Array
    shared_shared: Float64Array

    def contrast(self) -> Float64Array:
        """⟨V₁, V₂⟩ with V = P_d,r - P_s,r: (K,)."""
        return self.dual_dual - self.dual_shared - self.shared_dual + self.shared_shared


def inner_products(first: Spectra, second: Spectra, ranks: Sequence[int]) -> Products:
    """⟨P_g,r(C₁), P_g',r(C₂)⟩ for both families on both sides, at every rank.

    ⟨Σ σᵢ uᵢvᵢᵀ, Σ τⱼ aⱼbⱼᵀ⟩ = Σᵢⱼ σᵢ τⱼ (uᵢ·aⱼ)(vᵢ·bⱼ): one elementwise product of two cross-Gram
    matrices, summed over its leading r × r block.

    Args:
        first: of C₁ (p, p).
        second: of C₂ (p, p).
        ranks: K ranks, none above what both were factorised for.

    >>> one = Spectra.of(np.diag([3.0, 2.0, 1.0]), largest=3)
    >>> inner_products(one, one, [1, 2]).dual_dual.round(9).tolist()
    [9.0, 13.0]
    """
    check_whole_ranks(ranks)
    duals, doubles = first.left.shape[1], second.left.shape[1]
    lefts = np.hstack([first.left, first.vectors]).T @ np.hstack([second.left, second.vectors])
    rights = np.hstack([first.right, first.vectors]).T @ np.hstack([second.right, second.vectors])
    weights = np.append(first.values, first.eigenvalues)[:, None] * np.append(second.values, second.eigenvalues)
    terms = lefts * rights * weights
    return Products(
        _block_sums(terms[:duals, :doubles], ranks),
        _block_sums(terms[:duals, doubles:], ranks),
        _block_sums(terms[duals:, :doubles], ranks),
        _block_sums(terms[duals:, doubles:], ranks),
    )


def margins(
    spectra: Spectra, queries: FloatArray, differences: FloatArray, ranks: Sequence[int]
) -> tuple[Float64Array, Float64Array]:
    """xᵀ P_g,r(C) z of each row at every rank: two (n, K), dual and shared.

    Args:
        spectra: of C (p, p).
        queries: (n, p) rows x.
        differences: (n, p) rows z.
        ranks: K ranks.

    >>> both = margins(Spectra.of(np.eye(2), largest=2), np.ones((1, 2)), np.ones((1, 2)), [1, 2])
    >>> [part.round(9).tolist() for part in both]
    [[[1.0, 2.0]], [[1.0, 2.0]]]
    """
    check_whole_ranks(ranks)
    dual = (queries @ spectra.left) * (differences @ spectra.right) * spectra.values
    shared = (queries @ spectra.vectors) * (differences @ spectra.vectors) * spectra.eigenvalues
    return _cumulated(dual, ranks), _cumulated(shared, ranks)


def interpolate(spectra: Spectra, rank: int, weight: float) -> Factored:
    """P_d,r(P_s,r(C) + α (P_d,r(C) - P_s,r(C))): from shared (α = 0) to dual (α = 1), in factors.

    Args:
        spectra: of C (p, p).
        rank: r.
        weight: α from 0 to 1.

    Raises:
        ParameterError: α is outside [0, 1], or r no whole number from 1 on.

    >>> spectra = Spectra.of(np.array([[1.0, 2.0], [0.0, 0.0]]), largest=1)
    >>> interpolate(spectra, 1, 1.0).to_dense().round(6).tolist()
    [[1.0, 2.0], [0.0, 0.0]]
    """
    check_whole_ranks((rank,))
    if not is_number(weight) or not 0 <= weight <= 1:
        raise ParameterError(f"the weight of the dual fit is {weight!r}", where="weight", remedy="Give 0 to 1")
    if weight in (0.0, 1.0):
        return spectra.dual(rank) if weight else spectra.shared(rank)
    shared, dual = spectra.shared(rank), spectra.dual(rank)
    left, values, right = factored_svd(
        np.hstack([(1 - weight) * shared.left, weight * dual.left]), np.hstack([shared.right, dual.right])
    )
    return Factored(left[:, :rank] * values[:rank], right[:, :rank])


def check_ranks(ranks: Sequence[int], shape: tuple[int, ...]) -> None:
    """Raise unless a moment of a shape is square and every rank is between 1 and its size."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise DimensionError(
            f"a moment of shape {shape} has no shared projection",
            remedy="Bring both sides to one dimension, with a prior or an alignment, or use the dual family",
        )
    check_whole_ranks(ranks, shape[0])


def check_whole_ranks(ranks: object, most: float = np.inf) -> None:
    """Raise ParameterError unless there is a rank, and all are whole numbers from 1 on."""
    found = listed(ranks)
    if not found or not all(is_whole(rank) and 1 <= rank <= most for rank in found):
        bounded = most < np.inf
        raise ParameterError(
            f"the ranks {found or ranks} are not all " + (f"between 1 and {most}" if bounded else "from 1 on"),
            where="ranks",
            remedy="Give at least one whole number" + (f", none above the dimension {most}" if bounded else ""),
        )


def _leading_triplets(matrix: Float64Array, largest: int) -> tuple[Float64Array, Float64Array, Float64Array]:
    """u, σ, v of the largest singular values: by the Gram matrix where it is exact enough, else in full.

    Args:
        matrix: (m, p) with m ≤ p.
        largest: the number of triplets.
    """
    squares, left = _eigen(matrix @ matrix.T, min(largest, len(matrix)))
    if squares[0] > 0 and squares[-1] >= _GRAM_REACH**2 * squares[0]:
        right = matrix.T @ left
        values = np.sqrt(np.einsum("ij,ij->j", right, right))  # of Cᵀu, so that σ v is Cᵀu itself
        return left, values, right / values
    return _held(*(part[..., :largest] for part in svd(matrix)))


def _leading_pairs(matrix: Float64Array, largest: int, *, signed: bool) -> tuple[Float64Array, Float64Array]:
    """η, w of the largest eigenvalues of a symmetric matrix, the positive ones alone; by size if signed."""
    values, vectors = _eigen(matrix, len(matrix) if signed else largest)
    if signed:
        order = np.argsort(-np.abs(values), kind="stable")[:largest]
        values, vectors = values[order], vectors[:, order]
    kept = (np.abs(values) if signed else values) > len(matrix) * _EPS * float(np.linalg.norm(matrix))
    return values[kept], vectors[:, kept]


def _eigen(matrix: Float64Array, largest: int) -> tuple[Float64Array, Float64Array]:
    """The largest eigenvalues of a symmetric matrix, descending, and their vectors."""
    size = len(matrix)
    if largest * _FEW > size:
        values, vectors = np.linalg.eigh(matrix)  # numpy's lets other threads run meanwhile, scipy's does not
        return values[: -largest - 1 : -1], vectors[:, : -largest - 1 : -1]
    values, vectors = scipy.linalg.eigh(matrix, subset_by_index=(size - largest, size - 1), check_finite=False)
    return values[::-1], vectors[:, ::-1]


def _held(
    left: Float64Array, values: Float64Array, right: Float64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Triplets without those that are 0 but for rounding."""
    kept = int(np.sum(values > max(len(left), len(right)) * _EPS * values.max(initial=0.0)))
    return left[:, :kept], values[:kept], right[:, :kept]


def _cumulated(terms: Float64Array, ranks: Sequence[int]) -> Float64Array:
    """Sums of the first r entries of the last axis, for each rank; all of them where r is more."""
    sums = np.cumsum(terms, axis=-1)
    sums = np.concatenate([np.zeros((*sums.shape[:-1], 1)), sums], axis=-1)
    return np.asarray(sums[..., np.minimum(ranks, terms.shape[-1])])


def _block_sums(terms: Float64Array, ranks: Sequence[int]) -> Float64Array:
    """Sums of the leading r × r blocks, for each rank."""
    sums = _cumulated(np.ascontiguousarray(_cumulated(terms, ranks).T), ranks)
    return np.asarray(np.diagonal(sums).copy())
