"""Between shared and dual: M = P₁ᵀP₁ + A₂ᵀB₂, where s of r rows are a projection for each side.

s = 0 is the shared family, s = r the dual one; in between the nearest matrix has no closed form, and for many
targets there is none: the set is not closed. (u bᵀ + a uᵀ is the limit of n u uᵀ - n (u - a/n)(u - b/n)ᵀ, which
has r = 2 and s = 1, and it is in the family itself only by accident.) Factors then grow without end while the
error still falls a little. So what is minimised here is the error and a very weak pull,

    ‖M* - P₁ᵀP₁ - A₂ᵀB₂‖² + pull · (‖P₁ᵀP₁‖² + ‖A₂ᵀB₂‖²),

which always has a minimum. Where the error itself has one, the pull adds the order of pull² to it. The loss is a
polynomial of degree four in the factors: a few exact block steps (eigenvalues for P₁, singular values for A₂ and
B₂) from each of a few starts, then L-BFGS on all blocks at once, which gets in some hundred steps where block
steps alone are still on their way after thousands. Every result is a member of the family, and no worse than the
nearest shared matrix of rank r; that it is the best one is likely, not certain.

The two ends are those of "When Does Dense Retrieval Need Asymmetric Geometry?" (arXiv 2609.32488), theorem 1; the
dimensions of what is between them are in `risk`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from askew._checks import check_count, is_number
from askew.errors import DimensionError, ParameterError
from askew.geometry._stacks import checked, checked_rank, energy, skew_part
from askew.geometry.families import Nearest, nearest_dual, nearest_shared, nearest_symmetric, padded
from askew.linalg import factored_svd, one_thread, svd
from askew.linalg.fixed import Float64Array

__all__ = ["PULL", "TOLERANCE", "nearest_partial", "nearest_untied"]

#: With M* scaled to norm 1: it holds the parts to some tens of M*'s norm where nothing else does, and adds about
#: 1e-9 to the error where the error has a minimum of its own.
PULL = 1e-6

#: Where a descent ends: rounding.
TOLERANCE = 1e-15

_SWEEPS = 5  # block steps a start: they settle which directions are meant; L-BFGS does the rest
_STEPS = 2_000
_EQUAL = 1e-9  # errors that differ by less, with M* of norm 1, differ by the pull or by rounding
_NOISE = 0.5  # of the target's norm: what is added to it to find another start


def nearest_partial(
    matrix: npt.ArrayLike,
    rank: int,
    *,
    untied: int,
    starts: int = 4,
    pull: float = PULL,
    near: Sequence[Nearest] = (),
    signed: bool = False,
    tolerance: float = TOLERANCE,
) -> Nearest:
    """The nearest P₁ᵀP₁ + A₂ᵀB₂ that was found, with s of r rows untied, wherever they are needed most.

    Exact for s = 0 (shared, or symmetric if signed) and s = r (dual).

    Args:
        matrix: M*, (p, p).
        rank: r, at least 1.
        untied: s, from 0 to r.
        starts: descents to try: from the nearest shared matrix, from the nearest of rank s, and from such of
            targets with fixed noise added; 0 to start from `near` alone.
        pull: how strongly large parts that cancel are held back; 0 for the error alone.
        near: results of at most this rank and this many untied rows, to start from as well: the error is then
            no larger than theirs.
        signed: let tied rows carry signs, Σ ± p pᵀ in place of P₁ᵀP₁, as a correction of a positive prior may. A
            descent keeps the signs that block steps gave it, so the best ones may take more starts.
        tolerance: a descent ends where a step lowers the loss by less than this share of ‖M*‖².

    Returns:
        Tied rows first, then untied ones, each by size.

    Raises:
        DimensionError: M* is no square matrix.
        InputError: M* is not finite.
        ParameterError: a number is out of range.

    >>> turned = np.array([[4.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    >>> [nearest_partial(turned, 2, untied=s).error.round(6).item() for s in (0, 1, 2)]
    [3.0, 0.0, 0.0]
    """
    target = _one_square(matrix)
    problem = _Problem.of(target, rank, untied, pull=pull, signed=signed, tolerance=tolerance)
    return _nearest(problem, target, starts, near)


def nearest_untied(
    matrix: npt.ArrayLike,
    rank: int,
    *,
    subspace: npt.ArrayLike,
    starts: int = 4,
    pull: float = PULL,
    near: Sequence[Nearest] = (),
) -> Nearest:
    """The nearest P₁ᵀP₁ + A₂ᵀB₂ that was found, where the tied rows do not see a given subspace W: P₁ W = 0.

    Whatever a score makes of W is then left to the s = dim W untied rows. Every shared matrix of rank r is of this
    kind for any W, and what is of this kind for W is so for every W' that holds W. At a shared matrix S these have
    s(2p - s - 1)/2 dimensions more than the shared family: the skew matrices that touch S·W. (Untying the
    subspace that suits best costs s(r - s) more.)

    Args:
        matrix: M*, (p, p).
        rank: r, at least 1.
        subspace: W, (p, s) with independent columns, s from 0 to r.
        starts: see `nearest_partial`.
        pull: see `nearest_partial`.
        near: see `nearest_partial`; of subspaces within this one.

    Raises:
        DimensionError: M* is no square matrix, or W is not (p, s).
        InputError: M* or W is not finite.
        ParameterError: a number is out of range, or W's columns are dependent.

    >>> turned = np.array([[4.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    >>> [nearest_untied(turned, 2, subspace=np.eye(3)[:, [j]]).error.round(6).item() for j in (0, 1)]
    [3.0, 0.0]
    """
    target = _one_square(matrix)
    given = np.asarray(subspace)
    if given.ndim != 2 or len(given) != len(target):
        raise DimensionError(
            f"the subspace has shape {given.shape}, and the matrix {target.shape}",
            remedy="Give one column of the matrix's height for each direction to untie",
        )
    if given.shape[1] == 0:
        return nearest_shared(target, rank)
    directions = checked(given, name="subspace")
    left, values, _ = svd(directions)
    if given.shape[1] > len(target) or values[-1] <= len(target) * np.finfo(np.float64).eps * values[0]:
        raise ParameterError("the columns are dependent", where="subspace", remedy="Give independent directions")
    problem = _Problem.of(target, rank, given.shape[1], pull=pull, avoided=left)
    return _nearest(problem, target, starts, near)


class _Point(NamedTuple):
    """P₁ (a, p), A₂ (s, p), B₂ (s, p), and the signs (a,) of P₁'s rows, all 1 unless they may differ."""

    tied: Float64Array
    query: Float64Array
    document: Float64Array
    signs: Float64Array

    def dense(self) -> Float64Array:
        """(p, p)."""
        return np.asarray(self.tied.T @ (self.signs[:, None] * self.tied) + self.query.T @ self.document)

    def flattened(self) -> Float64Array:
        """What a descent moves: all but the signs."""
        return np.concatenate([self.tied.ravel(), self.query.ravel(), self.document.ravel()])


@dataclass(frozen=True, eq=False)
class _Problem:
    """A target of norm 1 (or 0), and the shape of what is to come near it.

    Attributes:
        target: (p, p).
        tied: a = r - s.
        untied: s.
        pull: the weight of the parts' energy.
        avoided: (p, s) orthonormal, what tied rows may not see; None for nothing.
        signed: whether tied rows may have signs.
        tolerance: where a descent ends.
    """

    target: Float64Array
    tied: int
    untied: int
    pull: float
    avoided: Float64Array | None
    signed: bool
    tolerance: float

    @classmethod
    def of(
        cls,
        target: Float64Array,
        rank: int,
        untied: int,
        *,
        pull: float,
        avoided: Float64Array | None = None,
        signed: bool = False,
        tolerance: float = TOLERANCE,
    ) -> _Problem:
        rows = checked_rank(rank)
        if not is_number(untied) or not 0 <= untied <= rows or int(untied) != untied:
            raise ParameterError(
                f"{untied!r} rows of {rows} were to be untied", where="untied", remedy=f"Give 0 to {rows}"
            )
        if not is_number(pull) or not 0 <= pull < 1:
            raise ParameterError(f"the pull is {pull!r}", where="pull", remedy="Give a number from 0 to below 1")
        if not is_number(tolerance) or not 0 < tolerance < 1:
            raise ParameterError(
                f"the tolerance is {tolerance!r}", where="tolerance", remedy="Give a number between 0 and 1"
            )
        size = float(np.sqrt(energy(target)))
        scaled = target / size if size > 0 else target
        return cls(scaled, rows - int(untied), int(untied), pull, avoided, signed, tolerance)

    def error(self, point: _Point) -> float:
        return float(energy(self.target - point.dense()))

    def nearest_tied(self, target: Float64Array, rank: int) -> Nearest:
        """The end of the family where nothing is untied."""
        return nearest_symmetric(target, rank) if self.signed else nearest_shared(target, rank)

    def blind(self, rows: Float64Array) -> Float64Array:
        """Rows, or their gradients, without what they may not see."""
        return rows if self.avoided is None else rows - (rows @ self.avoided) @ self.avoided.T

    def sweep(self, point: _Point) -> _Point:
        """Each block at its best in turn; the error never rises."""
        rest = self.target - point.query.T @ point.document
        seen = self.blind(self.blind(rest).T).T
        shared = self.nearest_tied(seen, self.tied)
        tied, signs = self.blind(shared.query), _signs(shared)
        found = nearest_dual(self.target - tied.T @ (signs[:, None] * tied), self.untied)
        return _Point(tied, found.query, found.document, signs)

    def loss(self, flat: Float64Array, signs: Float64Array) -> tuple[float, Float64Array]:
        """The error and the pull, and their gradient."""
        tied, query, document, _ = point = self.unflattened(flat, signs)
        rest = self.target - point.dense()
        both = np.outer(signs, signs) * (tied @ tied.T)
        grams = query @ query.T, document @ document.T
        parts = np.sum(both * (tied @ tied.T)) + np.sum(grams[0] * grams[1])
        slope = _Point(
            self.blind(-2 * (signs[:, None] * tied) @ (rest + rest.T) + 4 * self.pull * both @ tied),
            -2 * document @ rest.T + 2 * self.pull * grams[1] @ query,
            -2 * query @ rest + 2 * self.pull * grams[0] @ document,
            signs,
        )
        return float(energy(rest) + self.pull * parts), slope.flattened()

    def unflattened(self, flat: Float64Array, signs: Float64Array) -> _Point:
        rows = flat.reshape(self.tied + 2 * self.untied, len(self.target))
        tied, query, document = np.split(rows, [self.tied, self.tied + self.untied])
        return _Point(tied, query, document, signs)

    def starts(self, count: int, near: Sequence[Nearest]) -> Iterator[_Point]:
        """Where descents begin: members of the family, the shared one and those given among them."""
        shared = [self.nearest_tied(self.target, self.tied + self.untied)] if count else []
        for known in (*shared, *near):
            yield self._taken_over(known)
        rng = np.random.default_rng(0)  # of no consequence but that every run tries the same
        for place in range(count - 1):
            noise = rng.normal(size=self.target.shape) * (_NOISE / len(self.target) if place else 0.0)
            found = nearest_dual(self.target + noise, self.untied)
            nothing = np.zeros((self.tied, len(self.target)))
            yield self.sweep(_Point(nothing, found.query, found.document, np.ones(self.tied)))

    def _taken_over(self, known: Nearest) -> _Point:
        """A member of a smaller family, with its tied rows turned so that those to keep tied come last."""
        shared, others, signs = known.query[: known.tied], known.query[known.tied :], _signs(known)
        moved = max(len(shared) - self.tied, 0)
        if len(shared) + len(others) > self.tied + self.untied or moved + len(others) > self.untied:
            raise ParameterError(
                f"a result of rank {len(known.query)} with {len(others)} rows untied is not of the family",
                where="near",
                remedy=f"Give results of rank {self.tied + self.untied} or less, with {self.untied} or fewer untied",
            )
        if not self.signed and np.any(signs < 0):
            raise ParameterError("a result has negative signs", where="near", remedy="Say signed=True")
        shared, signs = self._turned(shared, signs)
        query = np.concatenate([shared[:moved], others])
        document = np.concatenate([signs[:moved, None] * shared[:moved], known.document[known.tied :]])
        tied = self.blind(padded(shared[moved:], self.tied))
        kept = np.concatenate([signs[moved:], np.ones(self.tied - len(signs[moved:]))])
        return _Point(tied, padded(query, self.untied), padded(document, self.untied), kept)

    def _turned(self, rows: Float64Array, signs: Float64Array) -> tuple[Float64Array, Float64Array]:
        """P turned to O P, the same PᵀP: rows that see what is avoided first, or those of the most skew energy."""
        if self.avoided is not None:  # never signed
            turn = scipy.linalg.qr(rows @ self.avoided)[0]
            return np.asarray(turn.T @ rows), signs
        skewness = np.sum(np.square(rows @ skew_part(self.target)), axis=1)
        order = np.argsort(-skewness, kind="stable")
        return rows[order], signs[order]


def _nearest(problem: _Problem, target: Float64Array, starts: int, near: Sequence[Nearest]) -> Nearest:
    remedy = "Give 1 or more, or 0 and a result in `near`"
    check_count(starts, "starts", least=0 if near else 1, where="starts", remedy=remedy)
    rank = problem.tied + problem.untied
    if problem.untied == 0:
        return problem.nearest_tied(target, rank)
    if problem.tied == 0:
        return nearest_dual(target, rank)
    scale = float(np.sqrt(energy(target)))
    scaled = [_scaled(known, 1 / scale if scale > 0 else 0.0) for known in near]
    with one_thread():  # a last bit that differs can end a descent elsewhere
        tried = [
            (problem.error(point), done, point)
            for start in problem.starts(int(starts), scaled)
            for point, done in _descent(problem, start)
        ]
    least, _, best = min(tried, key=lambda one: one[0])
    settled = any(done and error <= least + _EQUAL for error, done, _ in tried)
    return _record(best, target, scale, settled=settled)


def _descent(problem: _Problem, start: _Point) -> Iterator[tuple[_Point, bool]]:
    """The start, what block steps make of it, and what L-BFGS makes of that; each with whether it is a minimum."""
    import scipy.optimize  # noqa: PLC0415 - slow to import, and only what is between the ends needs it

    yield start, False
    point = start
    for _ in range(_SWEEPS):
        point = problem.sweep(point)
    yield point, False
    found = scipy.optimize.minimize(
        problem.loss,
        point.flattened(),
        args=(point.signs,),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _STEPS, "maxfun": 2 * _STEPS, "maxcor": 30, "ftol": problem.tolerance, "gtol": 1e-9},
    )
    yield problem.unflattened(found.x, point.signs), bool(found.success)


def _record(point: _Point, target: Float64Array, scale: float, *, settled: bool) -> Nearest:
    """The result in its own scale, each part by size and with fixed signs."""
    root = np.sqrt(scale)
    shared = _by_size(point.tied, point.signs)
    left, values, right = factored_svd(point.query.T, point.document.T)
    roots = np.sqrt(values)
    query = root * np.concatenate([shared.query, padded((left * roots).T, len(point.query))])
    document = root * np.concatenate([shared.document, padded((right * roots).T, len(point.query))])
    return Nearest(query, document, energy(target - query.T @ document), len(point.tied), settled)


def _by_size(rows: Float64Array, signs: Float64Array) -> Nearest:
    """The same PᵀDP of orthogonal rows, the largest first."""
    left, values, right = svd(rows.T)
    if np.all(signs > 0):
        tied = padded((left * values).T, len(rows))
        return Nearest(tied, tied, np.zeros(()), len(rows))
    turned = values[:, None] * right.T
    inner = nearest_symmetric((turned * signs) @ turned.T, len(rows))
    return Nearest(inner.query @ left.T, inner.document @ left.T, np.zeros(()), len(rows))


def _signs(known: Nearest) -> Float64Array:
    """(a,) 1 or -1 of each tied row."""
    return np.where(np.sum(known.query[: known.tied] * known.document[: known.tied], axis=1) < 0, -1.0, 1.0)


def _one_square(matrix: npt.ArrayLike) -> Float64Array:
    target = checked(matrix, square=True)
    if target.ndim != 2:
        raise DimensionError(f"a stack of shape {target.shape} was given", remedy="Give one matrix at a time")
    return target


def _scaled(known: Nearest, factor: float) -> Nearest:
    root = np.sqrt(factor)
    return Nearest(known.query * root, known.document * root, known.error * factor**2, known.tied)
