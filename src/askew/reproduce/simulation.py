"""The Gaussian model that Figures 3A and 3B are about: queries and documents whose planes are turned apart.

    z ~ N(0, I_r)    x = Uz + e    y = (cos θ U + sin θ W)z + e'    [U W] orthonormal, e, e' ~ N(0, I_p)

A geometry is fitted in closed form, as the nearest matrix of its family to the moment XᵀY/n, and judged by nDCG@10
of one relevant document among independent ones. The paper trains by descent; what it trains with is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askew.geometry import RelevanceRows, approximation_errors, cars, nearest_dual, nearest_shared
from askew.linalg.fixed import Float64Array
from askew.protocols import Progress

__all__ = ["ANGLES", "DIM", "NEGATIVES", "PAIRS", "RANK", "SPLITS", "TESTED", "Cell", "distance_to_shared", "simulate"]

DIM, RANK, NEGATIVES, TESTED, SPLITS = 32, 8, 299, 1000, 20
ANGLES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
PAIRS = (32, 64, 128, 256, 512, 1024, 2048, 4096)


@dataclass(frozen=True)
class Cell:
    """One fit of both geometries.

    Attributes:
        angle: θ, in radians.
        pairs: n.
        seed: of the draw; the same pairs, tests and noise for every angle and n.
        dual: nDCG@10 of dual.
        shared: nDCG@10 of shared.
        loss_gap: ‖P_s - M‖² - ‖P_d - M‖² over ‖M‖², against the population's moment: above 0 where dual is nearer.
        asymmetry: ‖P_d - P_s‖² of the moment itself, with its noise in it.
        cars: the half-split score; None where it was not asked for.
    """

    angle: float
    pairs: int
    seed: int
    dual: float
    shared: float
    loss_gap: float
    asymmetry: float
    cars: float | None

    @property
    def gain(self) -> float:
        """NDCG@10 of dual less that of shared."""
        return self.dual - self.shared


@dataclass(frozen=True, eq=False)
class _Draw:
    """Everything that does not depend on the angle."""

    near: Float64Array  # U, (p, r)
    far: Float64Array  # W, (p, r)
    train: tuple[Float64Array, Float64Array, Float64Array]  # z, e, e'
    test: tuple[Float64Array, Float64Array, Float64Array]
    others: tuple[Float64Array, Float64Array]  # z and e' of the negatives, (tests, negatives, ...)

    @classmethod
    def of(cls, seed: int, most: int) -> _Draw:
        generator = np.random.default_rng(seed)
        basis = np.linalg.qr(generator.normal(size=(DIM, 2 * RANK)))[0]

        def rows(*shape: int) -> tuple[Float64Array, Float64Array, Float64Array]:
            return tuple(generator.normal(size=(*shape, width)) for width in (RANK, DIM, DIM))  # type: ignore[return-value]

        train, test = rows(most), rows(TESTED)
        others = generator.normal(size=(TESTED, NEGATIVES, RANK)), generator.normal(size=(TESTED, NEGATIVES, DIM))
        return cls(basis[:, :RANK], basis[:, RANK:], train, test, others)

    def turned(self, angle: float) -> Float64Array:
        """(p, r) the documents' plane."""
        return np.asarray(np.cos(angle) * self.near + np.sin(angle) * self.far)


def simulate(
    *,
    angles: Sequence[float] = ANGLES,
    pairs: Sequence[int] = PAIRS,
    seeds: Sequence[int] = (0, 1, 2, 3, 4),
    select: bool = True,
    progress: Progress | None = None,
) -> tuple[Cell, ...]:
    """Fit both geometries at every angle, number of pairs and seed.

    Args:
        angles: θ, in radians.
        pairs: n, nested: a smaller n takes the first pairs of a larger one.
        seeds: of the draws.
        select: whether to score each cell by the half-split rule too.
        progress: called with the draws done and to do.
    """
    cells: list[Cell] = []
    for place, seed in enumerate(seeds):
        drawn = _Draw.of(seed, max(pairs))
        for angle in angles:
            cells += _at_angle(drawn, angle, pairs, seed, select)
        if progress is not None:
            progress(place + 1, len(seeds))
    return tuple(cells)


def _at_angle(drawn: _Draw, angle: float, pairs: Sequence[int], seed: int, select: bool) -> list[Cell]:
    plane = drawn.turned(angle)
    population = drawn.near @ plane.T
    queries, documents = _views(drawn.near, plane, drawn.train)
    tested, relevant = _views(drawn.near, plane, drawn.test)
    others = drawn.others[0] @ plane.T + drawn.others[1]
    cells = []
    for count in pairs:
        x, y = queries[:count], documents[:count]
        fits = [nearest(x.T @ y / count, RANK).to_dense() for nearest in (nearest_dual, nearest_shared)]
        dual, shared = (_ndcg(tested @ fit, relevant, others) for fit in fits)
        off = [float(np.sum(np.square(fit - population))) for fit in fits]
        gap = (off[1] - off[0]) / float(np.sum(np.square(population)))
        apart = float(np.sum(np.square(fits[0] - fits[1])))
        cells.append(Cell(angle, count, seed, dual, shared, gap, apart, _score(x, y, seed) if select else None))
    return cells


def _views(
    near: Float64Array, plane: Float64Array, drawn: tuple[Float64Array, Float64Array, Float64Array]
) -> tuple[Float64Array, Float64Array]:
    latent, query_noise, document_noise = drawn
    return latent @ near.T + query_noise, latent @ plane.T + document_noise


def _score(queries: Float64Array, documents: Float64Array, seed: int) -> float:
    rows = RelevanceRows(tuple(map(str, range(len(queries)))), queries, documents)
    (found,) = cars(rows, ranks=[RANK], splits=SPLITS, groups=None, seed=seed)
    return found.score


def _ndcg(adapted: Float64Array, relevant: Float64Array, others: Float64Array) -> float:
    """Mean nDCG@10 of one relevant document each among others; a tie counts against it."""
    own = np.sum(adapted * relevant, axis=1)
    ahead = np.sum(np.einsum("tp,tnp->tn", adapted, others) >= own[:, None], axis=1)
    return float(np.mean(np.where(ahead < 10, 1 / np.log2(ahead + 2), 0.0)))


def distance_to_shared(angle: float) -> float:
    """‖M - P_s(M)‖_F of the population's moment at an angle, from the nearest positive semi-definite matrix.

    >>> distance_to_shared(0.0) < 1e-7, round(distance_to_shared(np.pi / 2), 3)  # √8 · √¾
    (True, 2.449)
    """
    basis = np.eye(DIM)[:, : 2 * RANK]
    plane = np.cos(angle) * basis[:, :RANK] + np.sin(angle) * basis[:, RANK:]
    return float(np.sqrt(max(0.0, float(approximation_errors(basis[:, :RANK] @ plane.T, DIM).shared))))
