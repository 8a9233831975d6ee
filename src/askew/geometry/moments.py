"""Second moments of queries, documents and their relevance, as states that blocks of rows add to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from askew._blocks import DEFAULT_BUDGET, blocks, rows_within
from askew._checks import as_numbers
from askew.errors import DimensionError, LabelError, ParameterError
from askew.geometry.rows import as_rows, check_rows
from askew.linalg.fixed import Float64Array, FloatArray

__all__ = ["Covariance", "Moments"]


@dataclass(frozen=True, eq=False)
class Covariance:
    """What rows have added up to: mean, scatter about it, and what Ledoit and Wolf's shrinkage needs.

    States of disjoint blocks add up to the state of the whole (Chan, Golub and LeVeque, 1983, here with
    the third and fourth moment of the norm), about the mean, so that nothing cancels.

    Attributes:
        count: n rows.
        mean: (d,) m; zeros for no rows.
        scatter: (d, d) Σ (x - m)(x - m)ᵀ.
        cubic: (d,) Σ ‖x - m‖² (x - m).
        quartic: Σ ‖x - m‖⁴.

    >>> whole = Covariance.of(np.array([[1.0], [2.0], [6.0]]))
    >>> parts = Covariance.of(np.array([[1.0]])) + Covariance.of(np.array([[2.0], [6.0]]))
    >>> float(whole.matrix[0, 0]), bool(np.allclose(parts.scatter, whole.scatter))
    (4.666666666666667, True)
    """

    count: int
    mean: Float64Array
    scatter: Float64Array
    cubic: Float64Array
    quartic: float

    @classmethod
    def empty(cls, dim: int) -> Covariance:
        """The state of no rows."""
        return cls(0, np.zeros(dim), np.zeros((dim, dim)), np.zeros(dim), 0.0)

    @classmethod
    def of(cls, rows: FloatArray, *, budget: int = DEFAULT_BUDGET) -> Covariance:
        """The state of some rows, in blocks; float64 whatever they are.

        Args:
            rows: (n, d) of any float type, memory-mapped or not.
            budget: bytes of scratch.

        Raises:
            EmbeddingError: they are no finite float matrix.
        """
        check_rows(rows, "rows")
        count, width = rows.shape
        step = rows_within(budget, 24 * max(1, width), least=min(count, 16) or 1)
        found = (_state(as_rows(rows[part], "rows")) for part in blocks(count, step))
        return reduce(Covariance.__add__, found, cls.empty(width))

    def __add__(self, other: Covariance) -> Covariance:
        """The state of both sets of rows.

        Raises:
            DimensionError: the rows differ in width.
        """
        if len(self.mean) != len(other.mean):
            raise DimensionError(f"rows of {len(self.mean)} and of {len(other.mean)} entries cannot be added up")
        if not self.count or not other.count:
            return self if self.count else other
        count = self.count + other.count
        mean = self.mean + (other.mean - self.mean) * (other.count / count)
        first, second = self._about(mean), other._about(mean)
        return Covariance(
            count,
            mean,
            first.scatter + second.scatter,
            first.cubic + second.cubic,
            first.quartic + second.quartic,
        )

    @property
    def matrix(self) -> Float64Array:
        """Σ (x - m)(x - m)ᵀ / n: (d, d), zeros for no rows."""
        return self.scatter / max(1, self.count)

    @property
    def second(self) -> Float64Array:
        """Σ x xᵀ / n, about zero: (d, d)."""
        return np.asarray(self.matrix + np.outer(self.mean, self.mean))

    def sampling_noise(self) -> float:
        """An estimate of E ‖S - Σ‖²_F, how far the covariance of n rows lies from the true one.

        (1/n)((1/n) Σ ‖x - m‖⁴ - ‖S‖²): the numerator of Ledoit and Wolf (2004, lemma 3.4), who bound
        it by the distance from the target.
        """
        if not self.count:
            return 0.0
        noise = (self.quartic / self.count - float(np.sum(np.square(self.matrix)))) / self.count
        return max(0.0, noise)

    def _about(self, mean: Float64Array) -> Covariance:
        """The same sums, taken about another centre."""
        step = self.mean - mean
        size, total, turned = float(step @ step), float(np.trace(self.scatter)), self.scatter @ step
        cubic = self.cubic + total * step + 2 * turned + self.count * size * step
        quartic = self.quartic + 4 * float(step @ turned) + self.count * size**2
        quartic += 4 * float(step @ self.cubic) + 2 * size * total
        return Covariance(self.count, mean, self.scatter + self.count * np.outer(step, step), cubic, quartic)


@dataclass(frozen=True, eq=False)
class Moments:
    """All that a geometry is decided from, as one state: blocks, shards and machines add theirs up.

    Attributes:
        queries: covariance of the queries x.
        documents: covariance of documents y.
        cross: (d_query, d_document) Σ w x zᵀ.
        weight: Σ w.

    >>> x, z = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0, 1.0], [0.0, 1.0]])
    >>> both = Moments.of(x[:1], z[:1]) + Moments.of(x[1:], z[1:])
    >>> both.relevance.tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """

    queries: Covariance
    documents: Covariance
    cross: Float64Array
    weight: float

    @classmethod
    def empty(cls, d_query: int, d_document: int) -> Moments:
        """The state of nothing."""
        return cls(Covariance.empty(d_query), Covariance.empty(d_document), np.zeros((d_query, d_document)), 0.0)

    @classmethod
    def of(
        cls,
        queries: FloatArray,
        differences: FloatArray,
        *,
        weights: FloatArray | None = None,
        documents: FloatArray | None = None,
        budget: int = DEFAULT_BUDGET,
    ) -> Moments:
        """The state of a block of queries, and of documents seen beside them.

        Args:
            queries: (n, d_query) rows x, of any float type.
            differences: (n, d_document) rows z = ȳ⁺ - ȳ⁻.
            weights: (n,) of the rows in the relevance moment; 1 by default.
            documents: (m, d_document) documents for Σy, such as a sample of the corpus; none by default.
            budget: bytes of scratch.

        Raises:
            EmbeddingError: a matrix is no finite float matrix.
            DimensionError: the numbers of rows differ.
            ParameterError: a weight is no finite number, or below 0.
        """
        check_rows(queries, "queries")
        check_rows(differences, "differences")
        count, width = queries.shape
        if len(differences) != count:
            raise DimensionError(f"there are {count} queries and {len(differences)} differences", where="moments")
        scale = np.ones(count) if weights is None else _checked_weights(weights, count)
        cross = np.zeros((width, differences.shape[1]))
        step = rows_within(budget, 16 * max(1, width + differences.shape[1]), least=min(count, 16) or 1)
        for part in blocks(count, step):
            weighed = as_rows(queries[part], "queries") * scale[part, None]
            cross += weighed.T @ as_rows(differences[part], "differences")
        side = Covariance.empty(differences.shape[1]) if documents is None else Covariance.of(documents, budget=budget)
        return cls(Covariance.of(queries, budget=budget), side, cross, float(scale.sum()))

    @classmethod
    def merge(cls, states: Iterable[Moments]) -> Moments:
        """The sum of at least one state.

        Raises:
            LabelError: there is none.

        >>> Moments.merge([Moments.of(np.eye(2), np.eye(2))] * 3).weight
        6.0
        """
        found = list(states)
        if not found:
            raise LabelError("there are no moments to merge", remedy="Give the states of at least one block")
        return reduce(cls.__add__, found)

    def with_documents(self, documents: FloatArray, *, budget: int = DEFAULT_BUDGET) -> Moments:
        """The same, and a block of documents more."""
        return replace(self, documents=self.documents + Covariance.of(documents, budget=budget))

    def __add__(self, other: Moments) -> Moments:
        """The state of both blocks; the order matters to rounding alone.

        Raises:
            DimensionError: the shapes differ.
        """
        if self.cross.shape != other.cross.shape:
            raise DimensionError(f"moments of shapes {self.cross.shape} and {other.cross.shape} cannot be added up")
        return Moments(
            self.queries + other.queries,
            self.documents + other.documents,
            self.cross + other.cross,
            self.weight + other.weight,
        )

    @property
    def relevance(self) -> Float64Array:
        """C = Σ w x zᵀ / Σ w: (d_query, d_document).

        Raises:
            LabelError: no query was added, or all weigh nothing.
        """
        if not self.weight > 0:
            raise LabelError("no query was added to the moments", remedy="Add judged queries")
        return self.cross / self.weight


def _checked_weights(weights: FloatArray, count: int) -> Float64Array:
    found = as_numbers(weights, "weights")
    if found.shape != (count,):
        raise DimensionError(f"there are {count} queries and weights of shape {found.shape}", where="weights")
    if not np.all((found >= 0) & (found < np.inf)):
        raise ParameterError("a weight is not a finite number from 0 on", where="weights", remedy="Give 0 or more")
    return found


def _state(rows: Float64Array) -> Covariance:
    mean = rows.mean(axis=0)
    centred = rows - mean
    sizes = np.einsum("ij,ij->i", centred, centred)
    return Covariance(len(rows), mean, centred.T @ centred, centred.T @ sizes, float(sizes @ sizes))
