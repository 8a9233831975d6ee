"""How much a family can fit noise: the empirical Rademacher complexity of both, and the ceiling they share.

    Q = (1/n) Σ ε_i x_i (y_i⁺ - y_i⁻)ᵀ,  ε_i = ±1
    dual     B · E ‖Q_r‖_F                    Q_r: the r largest singular values
    shared   B · E (Σ η_j²)^½                 η: the at most r largest positive eigenvalues of sym Q
    ceiling  B R / √n                         R: the largest ‖x_i‖ ‖y_i⁺ - y_i⁻‖

Both are below one ceiling, so that no bound of this kind can tell the families apart: that is the point of
proposition 1 in "When Does Dense Retrieval Need Asymmetric Geometry?" (arXiv 2609.32488).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg

from askew._checks import check_count, is_number
from askew.errors import DimensionError, ParameterError
from askew.geometry._stacks import checked, checked_rank
from askew.geometry.approximation import approximation_errors
from askew.linalg import row_norms
from askew.linalg.fixed import Float64Array

__all__ = ["Complexity", "rademacher"]

_ENTRIES = 2**20  # of the matrices that are factorised at a time


@dataclass(frozen=True)
class Complexity:
    """Rademacher complexities of margins x ↦ xᵀM(y⁺ - y⁻) over a family's matrices of norm at most B.

    For a loss of Lipschitz constant L multiply all by L.

    Attributes:
        dual: mean over the draws.
        shared: mean over the draws.
        dual_error: standard error of that mean; 0 where every sign was tried.
        shared_error: standard error of that mean.
        ceiling: BR/√n.
    """

    dual: float
    shared: float
    dual_error: float
    shared_error: float
    ceiling: float


def rademacher(
    queries: npt.ArrayLike,
    differences: npt.ArrayLike,
    *,
    rank: int,
    generator: np.random.Generator,
    bound: float = 1.0,
    draws: int = 256,
) -> Complexity:
    """Complexities of both families for given data, as means over draws of the signs.

    If there are no more than `draws` sign vectors, each is taken once and the numbers are exact.

    Args:
        queries: x, (n, p).
        differences: y⁺ - y⁻, (n, p).
        rank: r, at least 1.
        generator: of the signs.
        bound: B, above 0.
        draws: how many signs to try, at least 2.

    Raises:
        DimensionError: the two are not of one shape.
        InputError: a vector is not finite.
        ParameterError: a number is out of range.

    >>> found = rademacher([[1.0, 0.0]], [[0.0, 2.0]], rank=1, generator=np.random.default_rng(0))
    >>> found.dual, found.shared, found.ceiling
    (2.0, 1.0, 2.0)
    """
    left, right = checked(queries, name="matrix of queries"), checked(differences, name="matrix of differences")
    if left.ndim != 2 or left.shape != right.shape:
        raise DimensionError(f"queries have shape {left.shape} and differences {right.shape}")
    if not is_number(bound) or not 0 < bound < np.inf:
        raise ParameterError(f"the bound on the norm is {bound!r}", where="bound", remedy="Give a positive number")
    if not isinstance(generator, np.random.Generator):
        raise ParameterError(f"the generator is {generator!r}", where="generator", remedy="Give a numpy Generator")
    check_count(draws, "draws", least=2, where="draws")
    reach = float(np.max(row_norms(left) * row_norms(right)))
    narrow = _narrowed(left, right)
    signs = _signs(len(left), int(draws), generator, width=narrow[0].shape[1])
    found = _separations(*narrow, checked_rank(rank), signs)
    exact = _all_signs(len(left), int(draws))
    spread = np.zeros(2) if exact else found.std(axis=1, ddof=1) / np.sqrt(found.shape[1])
    dual, shared = bound * found.mean(axis=1)
    dual_error, shared_error = bound * spread
    ceiling = bound * reach / float(np.sqrt(len(left)))
    return Complexity(float(dual), float(shared), float(dual_error), float(shared_error), ceiling)


def _separations(left: Float64Array, right: Float64Array, rank: int, signs: Iterator[Float64Array]) -> Float64Array:
    """(2, draws): ‖Q_r‖ and its shared counterpart for each vector of signs."""
    found: list[Float64Array] = []
    for block in signs:
        moments = np.stack([(left * one[:, None]).T @ right for one in block]) / len(left)
        kept = approximation_errors(moments, rank)
        found.append(np.stack([kept.separation_dual, kept.separation_shared]))
    return np.concatenate(found, axis=1)


def _signs(count: int, draws: int, generator: np.random.Generator, *, width: int) -> Iterator[Float64Array]:
    """(block, n) of ±1, all of them or as many as asked for."""
    total = 2**count if _all_signs(count, draws) else draws
    rows = max(1, _ENTRIES // max(count, width**2))
    for start in range(0, total, rows):
        held = min(rows, total - start)
        if _all_signs(count, draws):
            bits = (np.arange(start, start + held)[:, None] >> np.arange(count)) & 1
        else:
            bits = generator.integers(0, 2, size=(held, count))
        yield np.asarray(2 * bits - 1, dtype=np.float64)


def _all_signs(count: int, draws: int) -> bool:
    return count < 63 and 2**count <= draws


def _narrowed(left: Float64Array, right: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Both in an orthonormal basis of the span of all rows, where that has fewer dimensions: every Q lives in it."""
    if 2 * len(left) >= left.shape[1]:
        return left, right
    basis = scipy.linalg.qr(np.concatenate([left, right]).T, mode="economic")[0]
    return left @ basis, right @ basis
