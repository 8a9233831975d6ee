"""How far a target is from the shared and from the dual family: at every rank, from one factorisation.

Source: "When Does Dense Retrieval Need Asymmetric Geometry?" (arXiv 2609.32488), Theorem 1, equation (1),
Theorem 4 and the rotation example.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from askew._checks import as_numbers, check_count, is_number
from askew.errors import ParameterError
from askew.geometry._stacks import checked, energy, skew_part, symmetric_part
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["Approximation", "approximation_errors", "rotated_target", "rotation_gap"]


@dataclass(frozen=True, eq=False)
class Approximation:
    """Squared distances of a target M* from the families, and the separations that they reach.

    A stack of targets (...) and ranks of shape R give (..., *R) numbers.

    Attributes:
        ranks: R.
        skew: (..., *R) ‖K‖²_F of the skew part K, the same at every rank.
        negative: (..., *R) squares of the negative eigenvalues of the symmetric part, the same at every rank.
        discarded: (..., *R) squares of the positive eigenvalues beyond the first r.
        dual: (..., *R) squares of the singular values beyond the first r: the distance from the dual family.
        kept_shared: (..., *R) Σ η² over the at most r largest positive eigenvalues.
        kept_dual: (..., *R) Σ σ² over the r largest singular values.
    """

    ranks: IntArray
    skew: Float64Array
    negative: Float64Array
    discarded: Float64Array
    dual: Float64Array
    kept_shared: Float64Array
    kept_dual: Float64Array

    @property
    def shared(self) -> Float64Array:
        """Equation (1): skew energy + negative eigenvalues + discarded positive ones."""
        return self.skew + self.negative + self.discarded

    @property
    def gap(self) -> Float64Array:
        """What sharing costs, shared - dual, never below 0; as the difference of what is kept, so it rounds least."""
        return np.maximum(self.kept_dual - self.kept_shared, 0.0)

    @property
    def separation_dual(self) -> Float64Array:
        """Sep_d = sup ⟨M, M*⟩ over dual M of norm 1; for a whitened moment, the largest mean margin of unit scores."""
        return np.sqrt(self.kept_dual)

    @property
    def separation_shared(self) -> Float64Array:
        """Sep_s, the same over shared M; its positive part, 0, where no eigenvalue is positive."""
        return np.sqrt(self.kept_shared)


def approximation_errors(matrix: npt.ArrayLike, ranks: npt.ArrayLike) -> Approximation:
    """Distances and separations of a target at one rank or at many, from one factorisation.

    ‖M*‖² = Sep² + distance² in either family, as both are cones; so shared - dual = Sep_d² - Sep_s².

    Args:
        matrix: M*, (..., p, p).
        ranks: r, one or an array of any shape R, each at least 1.

    Raises:
        DimensionError: M* is no square matrix.
        InputError: M* is not finite.
        ParameterError: a rank is below 1.

    >>> found = approximation_errors([[3.0, 1.0], [-1.0, -2.0]], [1, 2])
    >>> found.shared.tolist(), found.dual.round(6).tolist()
    ([6.0, 6.0], [1.90983, 0.0])
    """
    target, wanted = checked(matrix, square=True), _checked_ranks(ranks)
    values = np.linalg.eigvalsh(symmetric_part(target))[..., ::-1]
    singular = np.square(np.linalg.svd(target, compute_uv=False))
    positive = np.square(np.maximum(values, 0.0))
    everywhere = (*target.shape[:-2], *wanted.shape)
    spread = (..., *(None,) * wanted.ndim)
    return Approximation(
        ranks=wanted,
        skew=np.broadcast_to(energy(skew_part(target))[spread], everywhere),
        negative=np.broadcast_to(np.sum(np.square(np.minimum(values, 0.0)), axis=-1)[spread], everywhere),
        discarded=_sums_after(positive, wanted),
        dual=_sums_after(singular, wanted),
        kept_shared=_sums_of_first(positive, wanted),
        kept_dual=_sums_of_first(singular, wanted),
    )


def rotated_target(dim: int, angle: float, *, strengths: Sequence[float] = (1.0,)) -> Float64Array:
    """The paper's rotation example: in each plane, queries look one way and documents another.

    T = Σ_j ρ_j u_j v_jᵀ, with v_j at an angle θ to u_j in a plane of its own.

    Args:
        dim: p, at least two for each plane.
        angle: θ in radians.
        strengths: ρ, one a plane.

    Returns:
        (p, p).

    Raises:
        ParameterError: there is no room for the planes, or an argument is no finite number.

    >>> rotated_target(2, np.pi / 2, strengths=(1.7,)).round(6).tolist()
    [[0.0, 1.7], [0.0, 0.0]]
    """
    sizes = _checked_strengths(strengths)
    planes = np.arange(len(sizes))
    if not is_number(angle) or not np.isfinite(angle):
        raise ParameterError(f"the angle is {angle!r}", where="angle", remedy="Give radians")
    check_count(dim, "dimensions", least=1, where="dim")
    if dim < 2 * len(planes):
        raise ParameterError(f"{len(planes)} planes do not fit into {dim} dimensions", where="dim")
    target = np.zeros((dim, dim))
    target[2 * planes, 2 * planes] = sizes * np.cos(angle)
    target[2 * planes, 2 * planes + 1] = sizes * np.sin(angle)
    return target


def rotation_gap(angle: npt.ArrayLike, *, strengths: Sequence[float] = (1.0,)) -> Float64Array:
    """The gap of the rotation example at rank r = number of planes: Σ_j ρ_j² (1 - cos⁴(θ/2)).

    Args:
        angle: θ in radians, of any shape.
        strengths: ρ, one a plane.

    Returns:
        Of the angle's shape.

    Raises:
        ParameterError: an angle or a strength is no finite number.

    >>> rotation_gap(np.radians([0.0, 90.0, 180.0])).round(12).tolist()
    [0.0, 0.75, 1.0]
    """
    half = as_numbers(angle, "angle") / 2
    if not np.all(np.isfinite(half)):
        raise ParameterError("an angle is not finite", where="angle", remedy="Give radians")
    # 1 - cos⁴ = sin² (1 + cos²), which does not cancel at small angles.
    return np.asarray(np.sum(np.square(_checked_strengths(strengths))) * np.sin(half) ** 2 * (1 + np.cos(half) ** 2))


def _checked_strengths(strengths: Sequence[float]) -> Float64Array:
    sizes = as_numbers(strengths, "strengths")
    if sizes.ndim != 1 or not np.all(np.isfinite(sizes)):
        raise ParameterError(
            f"the strengths {strengths!r} are no list of finite numbers", where="strengths", remedy="Give one a plane"
        )
    return sizes


def _checked_ranks(ranks: npt.ArrayLike) -> IntArray:
    wanted = as_numbers(ranks, "ranks")
    if not np.all((wanted >= 1) & (wanted == np.floor(wanted)) & (wanted < 2**31)):
        raise ParameterError(f"the ranks {wanted.tolist()} are not all whole numbers from 1 on", where="ranks")
    return wanted.astype(np.int64)


def _sums_of_first(squares: Float64Array, counts: IntArray) -> Float64Array:
    """(..., *R): the sum of the first r of the last axis, for each r."""
    return np.asarray(np.cumsum(squares, axis=-1)[..., np.minimum(counts, squares.shape[-1]) - 1])


def _sums_after(squares: Float64Array, counts: IntArray) -> Float64Array:
    """(..., *R): the sum of all but the first r, added from the smallest, so that no large ones are taken away."""
    ends = np.zeros((*squares.shape[:-1], 1))
    tails = np.concatenate([np.cumsum(squares[..., ::-1], axis=-1)[..., ::-1], ends], axis=-1)
    return np.asarray(tails[..., np.minimum(counts, squares.shape[-1])])
