"""Operator risk of both families as labels grow: measured on held-out folds, from nested parts of a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askew._checks import check_count, check_seed, is_whole, listed
from askew.data.ids import stable_hashes
from askew.errors import LabelError, ParameterError
from askew.geometry.halving import compact, side_by_side, spectra_of
from askew.geometry.rows import RelevanceRows
from askew.geometry.separation import mean_margins
from askew.geometry.spectra import check_ranks
from askew.geometry.splits import FEWEST_UNITS, Units
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["RiskCurve", "queries_for_curve", "risk_curve"]


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """‖M - C‖² - ‖C‖² of both families, held out, against the number of rows fitted on.

    The term that families share, ‖C‖², is left out because the data give it only with noise: 0 is the risk of
    no operator at all, and what is above 0 is worse than that.

    Attributes:
        counts: (S,) mean number of rows that a fit had, ascending.
        ranks: K ranks.
        shared: (S, K) risk of the shared fit.
        dual: (S, K) risk of the dual fit.
    """

    counts: Float64Array
    ranks: tuple[int, ...]
    shared: Float64Array
    dual: Float64Array

    @property
    def best(self) -> tuple[Float64Array, Float64Array]:
        """(K,) shared and dual risk with the most rows."""
        return self.shared[-1], self.dual[-1]

    def crossing(self, place: int) -> float | None:
        """The number of rows from which on dual has the smaller risk, at one rank.

        Between two counts it is read off a line in log n; None if dual does not lead at the end, or leads
        from the first count on.

        >>> ramp = np.array([[0.0], [1.0], [2.0]])
        >>> round(RiskCurve(np.array([10.0, 20.0, 40.0]), (1,), ramp, np.ones((3, 1))).crossing(0), 9)
        20.0
        """
        lead = self.shared[:, place] - self.dual[:, place]
        behind = np.flatnonzero(lead <= 0)
        if not behind.size or behind[-1] == len(lead) - 1:
            return None
        before = int(behind[-1])
        share = -lead[before] / (lead[before + 1] - lead[before])
        low, high = np.log(self.counts[before : before + 2])
        return float(np.exp(low + share * (high - low)))


def risk_curve(
    rows: RelevanceRows,
    *,
    ranks: Sequence[int],
    parts: Sequence[int] = (8, 4, 2, 1),
    folds: int = 5,
    by_document: bool = False,
    seed: int = 0,
    workers: int = 1,
) -> RiskCurve:
    """Measure how the risk of both families falls as rows are added.

    What is outside a fold is cut, in an order by hash, into 8, 4, 2 and 1 parts. Both families are fitted on
    every part and judged by ‖M‖² - 2⟨M, Cₖ⟩ on the fold. So parts are nested, all rows serve every count, and
    all counts are judged on the same rows.

    Args:
        rows: n rows of the moment in the coordinates to be judged.
        ranks: K ranks.
        parts: numbers of parts, in any order; those that would leave a part fewer than four rows are left out.
        folds: by query.
        by_document: folds that share no document.
        seed: of the hashes.
        workers: folds that run side by side; no result depends on it.

    Raises:
        DimensionError: the sides differ in dimension.
        ParameterError: an argument is out of range.
        LabelError: fewer than four queries, or too few outside a fold.

    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(300, 2))
    >>> turned = z @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 4 * rng.normal(size=(300, 2))
    >>> found = risk_curve(RelevanceRows(tuple(map(str, range(300))), z, turned), ranks=[2])
    >>> found.counts.tolist(), bool(found.dual[-1, 0] < found.shared[-1, 0])
    ([30.0, 60.0, 120.0, 240.0], True)
    """
    units = Units(rows, by_document=by_document)
    check_ranks(ranks, rows.shape)
    check_count(folds, "folds", least=2, where="folds")
    check_seed(seed)
    cuts = sorted(_checked_parts(parts), reverse=True)  # counts ascend
    fold = units.deal(min(folds, len(units)), f"fold-{seed}")
    order = np.argsort(stable_hashes((units.names[unit] for unit in units.of_row), f"nested-{seed}"), kind="stable")
    least = int(len(fold) - np.bincount(fold).max())
    usable = [count for count in cuts if least // count >= FEWEST_UNITS]
    if not usable:
        needed = queries_for_curve(folds, cuts[-1])
        raise LabelError(
            f"{least} rows are left outside a fold, which is too few to fit on",
            remedy=f"Label at least {needed} different queries" if len(units) < needed else "Label more queries",
        )
    small = compact(rows)
    largest = min(max(ranks), small.shape[0])

    def work(number: int) -> Float64Array:
        held, outside = np.flatnonzero(fold == number), order[fold[order] != number]
        return np.stack([_risks(small, outside, held, count, ranks, largest) for count in usable])

    found = np.mean(side_by_side(work, range(int(fold.max()) + 1), workers), axis=0)
    outside = len(fold) * (1 - 1 / (int(fold.max()) + 1))
    return RiskCurve(outside / np.array(usable), tuple(ranks), found[:, 0], found[:, 1])


def queries_for_curve(folds: int, parts: int = 1) -> int:
    """The fewest queries of one row each that leave four a part outside every fold.

    >>> [queries_for_curve(folds) for folds in (2, 3, 5, 10)]
    [8, 6, 5, 5]
    """
    check_count(folds, "folds", least=2, where="folds")
    count = FEWEST_UNITS
    while count - -(-count // min(folds, count)) < FEWEST_UNITS * parts:
        count += 1
    return count


def _checked_parts(parts: Sequence[int]) -> set[int]:
    """The different numbers of parts."""
    found = listed(parts)
    if not found or not all(is_whole(count) and count >= 1 for count in found):
        raise ParameterError(
            f"the numbers of parts {found or parts} are not all whole and positive",
            where="parts",
            remedy="Ask for (8, 4, 2, 1)",
        )
    return set(found)


def _risks(
    rows: RelevanceRows, outside: IntArray, held: IntArray, count: int, ranks: Sequence[int], largest: int
) -> Float64Array:
    """(2, K) the mean risk of shared and dual over `count` parts of the rows outside a fold."""
    total = np.zeros((2, len(ranks)))
    for part in np.array_split(outside, count):
        spectra = spectra_of(rows, part, largest=largest)
        dual, shared = spectra.norms(ranks)
        dual_mean, shared_mean = mean_margins(spectra, rows, held, ranks)
        total += np.stack([shared - 2 * shared_mean, dual - 2 * dual_mean])
    return total / count
