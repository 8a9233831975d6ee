"""What counts as noise: so many standard errors, and what rounding alone leaves of a difference."""

from __future__ import annotations

import numpy as np
import scipy.special

from askew.linalg.fixed import Float64Array

__all__ = ["NOISE_LIMIT", "beyond_rounding", "chance_above_zero", "noise_limit"]

#: Standard errors either side of a mean over many units: a nominal 90% interval, and what counts as noise.
NOISE_LIMIT = 1.645

_LEVEL = 0.95  # of one side
# Of what a difference is of: a factorisation leaves some hundreds of roundings.
_ROUNDING = 1e-12


def noise_limit(groups: int | None) -> float:
    """The same for an error from groups left out in turn: Student's t with a degree of freedom less than groups.

    With few groups the error itself is uncertain. Coverage of the score of CARS at nominal 90%, with and without, in
    simulations of 200 draws (`benchmarks/cars_coverage.py --small`; means over 0, 0.6 and up to 10 queries 1 rad):

        queries                4      6     10     20     40 (20 groups)
        1.645 for all         .81    .81    .86    .88    .90
        t                     .89    .88    .89    .90    .93

    Args:
        groups: G; None for `NOISE_LIMIT`, as for many.

    >>> [round(noise_limit(groups), 3) for groups in (4, 20, None)]
    [2.353, 1.729, 1.645]
    """
    return NOISE_LIMIT if groups is None else float(scipy.special.stdtrit(groups - 1, _LEVEL))


def chance_above_zero(score: float, error: float, groups: int | None) -> float:
    """The chance that a repetition of a score is above 0, by the same distribution; one half of a tie.

    >>> chance_above_zero(0.0, 0.0, 20), round(chance_above_zero(1.729, 1.0, 20), 3)
    (0.5, 0.95)
    """
    if error == 0:
        return float(np.sign(score) + 1) / 2
    return float(scipy.special.stdtr(np.inf if groups is None else groups - 1, score / error))


def beyond_rounding(difference: Float64Array, size: Float64Array) -> Float64Array:
    """Differences, and 0 where one is no more than the rounding of what it is of.

    Where both families fit the same operator, the sign of the last bit would choose between them.

    Args:
        difference: (...) numbers.
        size: (...) the size of what they were subtracted from.

    >>> beyond_rounding(np.array([1e-16, 1e-3]), np.ones(2)).tolist()
    [0.0, 0.001]
    """
    return np.where(np.abs(difference) > _ROUNDING * size, difference, 0.0)
