"""BilinearOperator: s(x, y) = xᵀ (M0 + Δ) y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

from askew.errors import DimensionError, ParameterError
from askew.linalg import SVD, FloatArray, factored_svd, matmul, row_dots, svd
from askew.linalg.fixed import Float64Array
from askew.operators.terms import Dense, Factored, Identity, Term, Zero, product

__all__ = ["BilinearOperator", "Projections"]


class Projections(NamedTuple):
    """Two maps into r dimensions with s(x, y) ≈ (query · x)ᵀ (document · y).

    Attributes:
        query: (r, d_query).
        document: (r, d_document).
    """

    query: Float64Array
    document: Float64Array


@dataclass(frozen=True, eq=False)
class BilinearOperator:
    """M = M0 + Δ, of shape (d_query, d_document).

    Nothing here multiplies factors out unless asked to by `to_dense` or `fold`; facts of an operator
    in factors are found from the factors, in O(d r²).

    Args:
        prior: M0, what is known without labels.
        delta: Δ, what labels add; None for nothing.

    Raises:
        DimensionError: the two have different shapes.

    >>> m = BilinearOperator(Identity(2), Factored(np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])))
    >>> m.score(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [[1.0, 1.0]]
    """

    prior: Term
    delta: Term | None = None

    def __post_init__(self) -> None:
        if self.delta is not None and self.delta.shape != self.prior.shape:
            raise DimensionError(f"the prior is {self.prior.shape} and the correction {self.delta.shape}")

    @classmethod
    def identity(cls, dim: int) -> BilinearOperator:
        """M = I: the base itself."""
        return cls(Identity(dim))

    @property
    def shape(self) -> tuple[int, int]:
        """(d_query, d_document)."""
        return self.prior.shape

    @property
    def T(self) -> BilinearOperator:  # noqa: N802 - the name numpy gave it
        """The operator with the sides exchanged: s.T(y, x) = s(x, y)."""
        return BilinearOperator(self.prior.T, None if self.delta is None else self.delta.T)

    @property
    def correction(self) -> BilinearOperator:
        """Δ alone, as an operator over a zero prior."""
        return BilinearOperator(Zero(*self.shape), self.delta)

    def query_side(self, queries: FloatArray) -> FloatArray:
        """Adapted queries Mᵀx as rows: (n, d_query) → (n, d_document).

        With M = I the input itself comes back, bit for bit. Otherwise float64, the same for every
        batch and thread count.

        Raises:
            DimensionError: the rows do not have d_query entries.
        """
        _check_width(queries, self.shape[0], "queries")
        known = self.prior.left_apply(queries)
        return known if self.delta is None else known + self.delta.left_apply(queries)

    def document_side(self, documents: FloatArray) -> FloatArray:
        """Adapted documents M y as rows: (m, d_document) → (m, d_query).

        Raises:
            DimensionError: the rows do not have d_document entries.
        """
        _check_width(documents, self.shape[1], "documents")
        return self.T.query_side(documents)

    def score(self, queries: FloatArray, documents: FloatArray) -> Float64Array:
        """All pairs: (n, d_query) and (m, d_document) → (n, m) float64."""
        _check_width(documents, self.shape[1], "documents")
        return matmul(self.query_side(queries), documents.T)

    def score_pairs(self, queries: FloatArray, documents: FloatArray) -> Float64Array:
        """Row i with row i: two (n, ·) matrices → (n,) float64."""
        _check_width(documents, self.shape[1], "documents")
        if len(queries) != len(documents):
            raise DimensionError(f"there are {len(queries)} queries and {len(documents)} documents to pair")
        return row_dots(self.query_side(queries), documents)

    def __matmul__(self, other: BilinearOperator) -> BilinearOperator:
        """Compose two operators: prior M0 N0, correction Δ_M N0 + M Δ_N; factors stay factors.

        Raises:
            DimensionError: the inner dimensions differ.
        """
        if self.shape[1] != other.shape[0]:
            raise DimensionError(f"operators of shapes {self.shape} and {other.shape} cannot be composed")
        parts: list[Term] = []
        if self.delta is not None:
            parts.append(product(self.delta, other.prior))
        if other.delta is not None:
            parts.append(product(self.prior, other.delta))
        if self.delta is not None and other.delta is not None:
            parts.append(product(self.delta, other.delta))
        return BilinearOperator(product(self.prior, other.prior), _sum(parts))

    def to_dense(self) -> Float64Array:
        """M as a matrix: (d_query, d_document) float64."""
        dense = self.prior.to_dense()
        return dense if self.delta is None else dense + self.delta.to_dense()

    def fold(self) -> Float64Array:
        """The one matrix to ship: adapted queries are `queries` times it, documents stay untouched."""
        return self.to_dense()

    def singular_values(self) -> Float64Array:
        """Singular values of M, descending; (r,) for zero plus factors, min(shape) of them otherwise."""
        return self._svd().values

    def compress(self, rank: int) -> Projections:
        """The best two rank-r projections of M (Eckart and Young, 1936): A = Σ^½Uᵀ, B = Σ^½Vᵀ.

        Args:
            rank: r, at least 1; more than min(shape) gives rows of zeros.

        Raises:
            ParameterError: rank is below 1.

        >>> BilinearOperator(Dense(np.diag([4.0, 1.0]))).compress(1).query.tolist()
        [[2.0, 0.0]]
        """
        if rank < 1:
            raise ParameterError(f"a projection to {rank} dimensions was asked for", where="rank")
        left, values, right = self._svd()
        held = min(rank, len(values))
        root = np.sqrt(values[:held])
        query, document = np.zeros((rank, self.shape[0])), np.zeros((rank, self.shape[1]))
        query[:held], document[:held] = (left[:, :held] * root).T, (right[:, :held] * root).T
        return Projections(query, document)

    def rank(self, *, tolerance: float = 1e-6) -> int:
        """The number of singular values above `tolerance` times the largest."""
        if self.shape[0] != self.shape[1]:
            return _count_above(self.singular_values(), tolerance)
        core, scale, rest = self._core()
        return _count_above(np.append(svd(core).values, np.full(rest, scale)), tolerance)

    def symmetric_energy(self) -> float:
        """‖(M + Mᵀ)/2‖²_F.

        Raises:
            DimensionError: M is not square.
        """
        core, scale, rest = self._core()
        return float(np.sum(np.square(_symmetric(core)))) + rest * scale**2

    def skew_energy(self) -> float:
        """‖(M - Mᵀ)/2‖²_F: how far the two sides are from one geometry.

        Raises:
            DimensionError: M is not square.
        """
        core, _, _ = self._core()
        return float(np.sum(np.square(core - core.T))) / 4

    def is_symmetric(self, *, tolerance: float = 1e-6) -> bool:
        """Whether the skew part is below `tolerance` of M in norm; False if M is not square."""
        if self.shape[0] != self.shape[1]:
            return False
        skew, symmetric = self.skew_energy(), self.symmetric_energy()
        return skew <= tolerance**2 * (skew + symmetric)

    def is_psd(self, *, tolerance: float = 1e-6) -> bool:
        """Whether M is symmetric with no eigenvalue below -`tolerance` times the largest in size.

        Only such an operator is one shared projection, M = PᵀP.
        """
        if not self.is_symmetric(tolerance=tolerance):
            return False
        core, scale, rest = self._core()
        values = np.append(scipy.linalg.eigvalsh(_symmetric(core)), np.full(rest, scale))
        return bool(values.min(initial=0.0) >= -tolerance * np.abs(values).max(initial=0.0))

    def _svd(self) -> SVD:
        if isinstance(self.prior, Zero) and isinstance(self.delta, Factored):
            return factored_svd(self.delta.left, self.delta.right)
        return svd(self.to_dense())

    def _core(self) -> tuple[Float64Array, float, int]:
        """M in an orthonormal basis that parts it in two: diag(core, scale · I).

        The basis of core spans the factors' columns, at most 2r of them; in all other directions M
        is its prior. A dense M is all core.

        Returns:
            core: (c, c).
            scale: 1 for an identity, 0 for zero.
            rest: d - c, the size of the second part.

        Raises:
            DimensionError: M is not square.
        """
        dim, columns = self.shape
        if dim != columns:
            raise DimensionError(f"an operator of shape {self.shape} has no symmetric part")
        factors = isinstance(self.delta, Factored) or self.delta is None
        if not isinstance(self.prior, Identity | Zero) or not factors:
            return self.to_dense(), 0.0, 0
        scale = 1.0 if isinstance(self.prior, Identity) else 0.0
        if not isinstance(self.delta, Factored) or self.delta.rank == 0:
            return np.zeros((0, 0)), scale, dim
        left, right = self.delta.left.astype(np.float64), self.delta.right.astype(np.float64)
        basis = scipy.linalg.qr(np.hstack([left, right]), mode="economic")[0]
        core = scale * np.eye(basis.shape[1]) + (basis.T @ left) @ (right.T @ basis)
        return core, scale, dim - basis.shape[1]


def _sum(parts: list[Term]) -> Term | None:
    """Add terms; factored ones are joined side by side."""
    terms = [part for part in parts if not isinstance(part, Zero)]
    if not terms:
        return None
    if len(terms) == 1:
        return terms[0]
    factored = [part for part in terms if isinstance(part, Factored)]
    if len(factored) == len(terms):
        return Factored(np.hstack([part.left for part in factored]), np.hstack([part.right for part in factored]))
    return Dense(np.sum([part.to_dense() for part in terms], axis=0))


def _symmetric(matrix: Float64Array) -> Float64Array:
    return (matrix + matrix.T) / 2


def _count_above(values: Float64Array, tolerance: float) -> int:
    return int(np.sum(values > tolerance * values.max(initial=0.0)))


def _check_width(rows: FloatArray, dim: int, what: str) -> None:
    if rows.ndim != 2 or rows.shape[1] != dim:
        raise DimensionError(
            f"{what} of shape {rows.shape} were given to an operator that takes {dim} dimensions",
            remedy="Use the embeddings of the encoder it was made for, as a matrix of one row an item",
        )
