"""Canonical correlations of queries and their mean relevant documents, whitened by one pooled covariance.

    W = (½(Σx + Σy) + ρ·tr/d·I)^(-1/2)        W Σxy W = U S Vᵀ        Δ = W U_r S_r V_rᵀ W

* ``cca``: the classical form. Both sides are centred and projected onto r canonical directions, cosine.
* ``cca-tuned``: a residual on the query side, x ↦ x + w Δᵀ(x - μ)/‖Δ‖₂, so that w is a share of the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from askew.linalg import one_thread, svd, symmetric_eigen
from lessons import Lessons
from measure import Deployed, Float64Array, affine
from tuning import Recipe, Settings


@dataclass(frozen=True, eq=False)
class _Canonical:
    """Means of both sides, the whitening map, and the decomposition of the whitened cross-covariance."""

    query_mean: Float64Array
    document_mean: Float64Array
    whitening: Float64Array
    left: Float64Array
    values: Float64Array
    right: Float64Array

    @classmethod
    def of(cls, lessons: Lessons, ridge: float) -> _Canonical:
        queries, positives = lessons.labels.queries, lessons.labels.mean_positives()
        means = queries.mean(axis=0), positives.mean(axis=0)
        queries, positives = queries - means[0], positives - means[1]
        with one_thread():
            pooled = (queries.T @ queries + positives.T @ positives) / (2 * len(queries))
            values, vectors = symmetric_eigen(pooled)
            roots = np.sqrt(np.maximum(values, 0.0) + ridge * values.mean())
            whitening = (vectors / roots) @ vectors.T
            left, singular, right = svd(whitening @ (queries.T @ positives / len(queries)) @ whitening)
        return cls(*means, whitening, left, singular, right)


@dataclass(frozen=True)
class Projection:
    """Both sides on `rank` canonical directions."""

    rank: int = 64
    ridge: float = 0.1

    def points(self) -> Sequence[Settings]:
        return ({"rank": self.rank, "ridge": self.ridge},)

    def train(self, lessons: Lessons, seed: int) -> Sequence[Deployed]:
        del seed
        found = _Canonical.of(lessons, self.ridge)
        roots = np.sqrt(found.values[: self.rank])
        query, document = (found.whitening @ side[:, : self.rank] * roots for side in (found.left, found.right))
        return [
            Deployed(
                affine(query, -found.query_mean @ query), documents=affine(document, -found.document_mean @ document)
            )
        ]


@dataclass(frozen=True)
class Residual:
    """The identity and a share of the whitened cross-covariance, for every rank and weight at one ridge."""

    ridge: float
    ranks: tuple[int, ...] = (8, 32, 128)
    weights: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0)

    def points(self) -> Sequence[Settings]:
        pairs = product(self.ranks, self.weights)
        return [{"ridge": self.ridge, "rank": rank, "weight": weight} for rank, weight in pairs]

    def train(self, lessons: Lessons, seed: int) -> Sequence[Deployed]:
        del seed
        found = _Canonical.of(lessons, self.ridge)
        maps = []
        for rank in self.ranks:
            inner = (found.left[:, :rank] * found.values[:rank]) @ found.right[:, :rank].T
            delta = found.whitening @ inner @ found.whitening
            delta /= np.linalg.norm(delta, 2)
            for weight in self.weights:
                matrix = np.eye(len(delta)) + weight * delta
                maps.append(Deployed(affine(matrix, -weight * (found.query_mean @ delta))))
        return maps


RECIPES = {
    "cca": Recipe((Projection(),)),
    "cca-tuned": Recipe(tuple(Residual(ridge) for ridge in (0.03, 0.3, 3.0)), may_keep=True),
}
