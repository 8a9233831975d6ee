"""L-BFGS for a convex loss with a quadratic pull: an optimum a strength, each from the one before."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from askew.linalg.fixed import Float32Array

__all__ = ["Loss", "optima"]

Loss = Callable[[Float32Array], tuple[float, Float32Array]]
_Pairs = deque[tuple[Float32Array, Float32Array]]

# Relative decrease of the objective at which to stop: development nDCG is within 0.002 of that at 1e-6.
_TOLERANCE = 1e-4
_MOST_STEPS = 200
# Steps whose curvature is remembered.
_MEMORY = 10
# Share of the decrease that the slope promises, for a step to be taken (Armijo).
_ENOUGH = 1e-4
_MOST_HALVINGS = 20


def optima(loss: Loss, pulls: Iterable[float], start: Float32Array) -> Iterator[Float32Array]:
    """Minimise loss(Δ) + λ‖Δ‖² for each λ in turn.

    What is remembered of the loss' curvature serves the next λ too: it changes the Hessian by a
    multiple of the identity, so each remembered change of slope by that multiple of its step. With
    the pull the objective is strictly convex, so curvature along every step is positive and a
    backtracking search is enough.

    Args:
        loss: value and slope of a convex function of a matrix, in float32.
        pulls: λ > 0, descending for the fewest steps.
        start: Δ to begin with.

    Source: Liu and Nocedal, "On the limited memory BFGS method for large scale optimization",
    Mathematical Programming 45, 1989.

    >>> towards = np.array([[3.0]], dtype=np.float32)
    >>> def loss(at):
    ...     return float(np.sum((at - towards) ** 2)), 2 * (at - towards)
    >>> [round(float(found[0, 0]), 4) for found in optima(loss, [2.0, 0.5], np.zeros((1, 1), dtype=np.float32))]
    [1.0, 2.0]
    """
    point, pairs, last = start, _Pairs(maxlen=_MEMORY), 0.0
    for pull in pulls:
        for step, change in pairs:
            change[...] += np.float32(2 * (pull - last)) * step
        point, last = _descend(loss, pull, point, pairs), pull
        yield point


def _descend(loss: Loss, pull: float, point: Float32Array, pairs: _Pairs) -> Float32Array:
    def objective(at: Float32Array) -> tuple[float, Float32Array]:
        value, slope = loss(at)
        return value + pull * _dot(at, at), slope + np.float32(2 * pull) * at

    value, slope = objective(point)
    for _ in range(_MOST_STEPS):
        steep = _dot(slope, slope)
        if not steep > 0:
            break
        # Without a memory: as if the pull were all there is, and no further than to a loss of 0 (Polyak's step).
        direction = _direction(slope, pairs) if pairs else np.float32(-min(1 / (2 * pull), value / steep)) * slope
        found = _search(objective, point, value, direction, slope)
        if found is None and not pairs:
            break
        if found is None:  # what is remembered was rounding
            pairs.clear()
            continue
        step, lower, turned = found
        change, gained, enough = turned - slope, value - lower, _TOLERANCE * max(abs(lower), 1.0)
        point, value, slope = point + step, lower, turned
        if gained <= enough:
            break
        # Curvature along a step is 2λ‖step‖² at least; steps that gain nothing tell of rounding.
        if _dot(step, change) > pull * _dot(step, step):
            pairs.append((step, change))
    return point


def _direction(slope: Float32Array, pairs: _Pairs) -> Float32Array:
    """Minus the inverse Hessian that the pairs tell of, times the slope: the two loops."""
    direction = -slope
    shares = []
    for step, change in reversed(pairs):
        shares.append(_dot(step, direction) / _dot(step, change))
        direction -= np.float32(shares[-1]) * change
    step, change = pairs[-1]
    direction *= np.float32(_dot(step, change) / _dot(change, change))
    for (step, change), share in zip(pairs, reversed(shares), strict=True):
        direction += np.float32(share - _dot(change, direction) / _dot(step, change)) * step
    return direction


def _search(
    objective: Loss, point: Float32Array, value: float, direction: Float32Array, slope: Float32Array
) -> tuple[Float32Array, float, Float32Array] | None:
    """A step that lowers the objective enough, the value and slope there; None if there is none."""
    promised, size = _dot(slope, direction), 1.0
    if not promised < 0:
        return None
    for _ in range(_MOST_HALVINGS):
        step = np.float32(size) * direction
        reached, turned = objective(point + step)
        if reached <= value + _ENOUGH * size * promised:
            return step, reached, turned
        # The lowest point of the parabola through what is known, kept within sight.
        lowest = -promised * size**2 / (2 * (reached - value - promised * size))
        size = min(max(0.1 * size, lowest), 0.5 * size)  # in this order a NaN is passed over
    return None


def _dot(left: Float32Array, right: Float32Array) -> float:
    return float(np.vdot(left, right))
