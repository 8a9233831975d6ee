"""The two sums of the half-split rule, over random halves and with each group of queries left out.

With V_I = P_d,r(C_I) - P_s,r(C_I) on two disjoint halves of n queries,

    a = ⟨V₁, V₂⟩           E a = ‖Δ‖²      the signal: what dual would gain if it were known exactly
    b = ¼ ‖V₁ - V₂‖²       E b = tr Σ / n  the price: what estimating it from n queries costs

(CARS, section 5; arXiv 2609.32488). The rule compares them, a shrinkage weighs them, a plan
extrapolates b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import scipy.linalg

from askew._checks import check_count, check_progress, check_seed
from askew.geometry.noise import beyond_rounding
from askew.geometry.rows import RelevanceRows
from askew.geometry.spectra import Spectra, check_ranks, inner_products
from askew.geometry.splits import FEWEST_UNITS, Units, half_splits, halves_of_groups
from askew.linalg import one_thread
from askew.linalg.fixed import BoolArray, Float64Array, IntArray
from askew.protocols import Progress

__all__ = [
    "HalfSums",
    "compact",
    "deal_folds",
    "half_sums",
    "jackknife_covariance",
    "side_by_side",
    "spectra_of",
    "usable_groups",
]

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class HalfSums:
    """What half-splits measured, at K ranks.

    Attributes:
        ranks: K ranks.
        held: (K,) the rank that the moment of a half has at most, where that is less than asked.
        queries: n queries that can be told apart.
        signal: (L, K) ⟨V₁, V₂⟩ a split.
        price: (L, K) ¼‖V₁ - V₂‖² a split.
        without: (G, 2, K) means of both over splits by group, each with a group of queries left out; None
            if no error was asked for.
    """

    ranks: tuple[int, ...]
    held: tuple[int, ...]
    queries: int
    signal: Float64Array
    price: Float64Array
    without: Float64Array | None

    @property
    def groups(self) -> int | None:
        """G; None without."""
        return None if self.without is None else len(self.without)

    def covariance(self, place: int) -> Float64Array | None:
        """(2, 2) covariance of the means of signal and price at one rank; None without groups.

        A jackknife counts the part of a statistic that is quadratic in the noise twice (Efron and Stein,
        *The jackknife estimate of variance*, 1981). With δ² = a and tr Σ / n = b, and noise alike in k
        directions, ⟨V₁, V₂⟩ has a linear part of variance 4ab/k and a quadratic one of 2b²/k, of which the
        jackknife makes 4b²/k: so it is scaled by (2a + b) / (2a + 2b), from 1/2 without a signal to 1.
        """
        if self.without is None:
            return None
        signal, price = max(float(self.signal[:, place].mean()), 0.0), float(self.price[:, place].mean())
        scale = (2 * signal + price) / (2 * (signal + price)) if signal + price > 0 else 1.0
        return scale * jackknife_covariance(self.without[:, :, place])


def half_sums(
    rows: RelevanceRows,
    *,
    ranks: Sequence[int],
    splits: int = 20,
    groups: int | None = 20,
    by_document: bool = False,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> HalfSums:
    """Measure signal and price at every rank from one factorisation a half.

    Args:
        rows: n rows, whitened or not, of one dimension p on both sides.
        ranks: K ranks.
        splits: L random halves.
        groups: queries are dealt into so many groups (fewer where there are fewer queries), and each is
            left out of L further splits, made of whole groups, for the error: about 10 times the work. None
            for no error.
        by_document: keep documents apart, not queries alone.
        seed: of the hashes.
        workers: splits that run side by side, each with one BLAS thread; no result depends on it.
        progress: called with the splits done and to do.

    Raises:
        DimensionError: the sides differ in dimension.
        ParameterError: a rank is not between 1 and p, or another argument is out of range.
        LabelError: there are fewer than four queries, or they cannot be halved.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2))
    >>> turned = x @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> sums = half_sums(RelevanceRows(tuple(map(str, range(200))), x, turned), ranks=[2], groups=None)
    >>> sums.signal.shape, bool(sums.signal.mean() > sums.price.mean())
    ((20, 1), True)
    """
    units = Units(rows, by_document=by_document)
    check_ranks(ranks, rows.shape)
    check_seed(seed)
    check_progress(progress)
    count = None if groups is None else usable_groups(units, groups)
    halves = half_splits(units, splits, seed=seed)
    with one_thread():
        halver = _Halver(compact(rows), tuple(ranks))
    jobs: list[Callable[[], Float64Array]] = [partial(halver.split, half) for half in halves]
    if count is not None:
        group = units.deal(count, f"group-{seed}")
        jobs += [partial(halver.split_without, group, half) for half in halves_of_groups(count, splits, seed=seed)]
    found = side_by_side(_call, jobs, workers, progress)
    sums = np.stack(found[:splits])
    least = min(int(min(half.sum(), len(half) - half.sum())) for half in halves)
    return HalfSums(
        tuple(ranks),
        tuple(min(rank, least) for rank in ranks),
        len(units),
        sums[:, 0],
        sums[:, 1],
        None if count is None else np.mean(found[splits:], axis=0),
    )


def usable_groups(units: Units, groups: int) -> int:
    """The number of groups that there are queries for.

    Raises:
        ParameterError: fewer than four are asked for.
    """
    check_count(groups, "groups", least=FEWEST_UNITS, where="groups", remedy="Ask for 20, or None")
    return min(groups, len(units))


def deal_folds(units: Units, *, folds: int, groups: int | None, seed: int) -> tuple[IntArray | None, IntArray]:
    """The group of each row (None for no error) and its fold, folds being made of whole groups.

    With fewer than two groups a fold, a group left out would leave a fold empty: there is no error then.

    Raises:
        ParameterError: fewer than two folds or four groups are asked for, or the seed is no whole number from 0 on.
    """
    check_count(folds, "folds", least=2, where="folds")
    check_seed(seed)
    count = min(folds, len(units))
    used = 0 if groups is None else usable_groups(units, groups)
    if used < 2 * count:
        return None, units.deal(count, f"fold-{seed}")
    group = units.deal(used, f"group-{seed}")
    return group, group % count


def compact(rows: RelevanceRows) -> RelevanceRows:
    """The same rows in an orthonormal basis of all of them, where that is smaller; no inner product changes."""
    if 2 * len(rows) >= rows.shape[0]:
        return rows
    with one_thread():
        factor = scipy.linalg.qr(np.vstack([rows.queries, rows.differences]).T, mode="r", check_finite=False)[0]
    narrow = np.asarray(factor[: 2 * len(rows)].T, dtype=np.float64)
    return RelevanceRows(rows.ids, narrow[: len(rows)], narrow[len(rows) :], rows.documents, rows.signed)


def spectra_of(rows: RelevanceRows, kept: IntArray | BoolArray, *, largest: int) -> Spectra:
    """Spectra of the moment of some rows."""
    return Spectra.of_rows(rows.queries[kept], rows.differences[kept], largest=largest, signed=rows.signed)


def jackknife_covariance(without: Float64Array) -> Float64Array:
    """(G - 1)/G Σ (θ₋g - θ̄)(θ₋g - θ̄)ᵀ of values with each of G groups left out (Quenouille; Tukey, 1958).

    Args:
        without: (G, q) θ₋g.

    >>> jackknife_covariance(np.array([[1.0], [3.0]])).tolist()
    [[1.0]]
    """
    centred = without - without.mean(axis=0)
    return np.asarray((len(without) - 1) / len(without) * (centred.T @ centred))


def side_by_side(
    work: Callable[[Item], Result], items: Iterable[Item], workers: int, progress: Progress | None = None
) -> list[Result]:
    """Results in the order of the items, from threads of one BLAS thread each.

    Two threads inside one factorisation of these sizes cost more than they gain.

    Raises:
        ParameterError: there are no workers.
    """
    check_count(workers, "workers", least=1, where="workers")
    wanted = list(items)
    found: list[Result] = []
    with one_thread(), ThreadPoolExecutor(workers) as pool:
        for result in pool.map(work, wanted):
            found.append(result)
            if progress is not None:
                progress(len(found), len(wanted))
    return found


def _call(job: Callable[[], Result]) -> Result:
    return job()


class _Halver:
    """Spectra of parts of the rows, by the cheapest way to their moments.

    Few rows stay in factors. Many make a p × p sum, and then the other half's is the whole less this one,
    and a half without a group is the half's less the group's.
    """

    def __init__(self, rows: RelevanceRows, ranks: tuple[int, ...]) -> None:
        self.rows, self.ranks = rows, ranks
        self.largest = min(max(ranks), rows.shape[0])  # compact rows may have fewer dimensions than a rank
        self.dense = len(rows) >= rows.shape[0]
        self.whole = self.total(np.ones(len(rows), dtype=bool)) if self.dense else np.empty((0, 0))

    def total(self, kept: BoolArray) -> Float64Array:
        """Σ x zᵀ over some rows: (p, p)."""
        return np.asarray(self.rows.queries[kept].T @ self.rows.differences[kept])

    def spectra(self, total: Float64Array, kept: BoolArray) -> Spectra:
        """Of the mean over some rows, whose sum is `total` where sums are made at all."""
        if self.dense:
            return Spectra.of(total / int(kept.sum()), largest=self.largest, signed=self.rows.signed)
        return spectra_of(self.rows, kept, largest=self.largest)

    def halves(self, half: IntArray) -> tuple[tuple[Float64Array, Spectra], ...]:
        """The sum and the spectra of both halves."""
        first = self.total(half == 0) if self.dense else self.whole
        totals = (first, self.whole - first)
        return tuple((total, self.spectra(total, half == side)) for side, total in enumerate(totals))

    def split(self, half: IntArray) -> Float64Array:
        """(2, K) signal and price of one split."""
        (_, first), (_, second) = self.halves(half)
        return _sums(first, _energy(first, self.ranks), second, _energy(second, self.ranks), self.ranks)

    def split_without(self, group: IntArray, half: IntArray) -> Float64Array:
        """(G, 2, K) signal and price of one split by groups, with each group left out of its half."""
        side = half[group]
        whole = self.halves(side)
        energies = [_energy(spectra, self.ranks) for _, spectra in whole]
        found = []
        for left_out, own in enumerate(half.tolist()):
            gone = group == left_out
            total = whole[own][0] - self.total(gone) if self.dense else self.whole
            rest = self.spectra(total, (side == own) & ~gone)
            other = whole[1 - own][1]
            found.append(_sums(rest, _energy(rest, self.ranks), other, energies[1 - own], self.ranks))
        return np.stack(found)


def _sums(
    first: Spectra, energy: Float64Array, second: Spectra, other: Float64Array, ranks: tuple[int, ...]
) -> Float64Array:
    """(2, K) ⟨V₁, V₂⟩ and ¼‖V₁ - V₂‖²."""
    size = np.sqrt(
        first.norms(ranks)[0] * second.norms(ranks)[0]
    )  # of the dual parts, whose shared ones are taken away
    shared = beyond_rounding(inner_products(first, second, ranks).contrast(), size)
    return np.stack([shared, np.maximum(energy + other - 2 * shared, 0.0) / 4])


def _energy(spectra: Spectra, ranks: tuple[int, ...]) -> Float64Array:
    """‖V‖² at every rank: (K,)."""
    dual, shared = spectra.norms(ranks)
    return beyond_rounding(dual + shared - 2 * _own_product(spectra, ranks), dual)


def _own_product(spectra: Spectra, ranks: tuple[int, ...]) -> Float64Array:
    """⟨P_d,r, P_s,r⟩ of one moment."""
    alone = Spectra(spectra.left, spectra.values, spectra.right, spectra.vectors[:, :0], spectra.eigenvalues[:0])
    other = Spectra(spectra.left[:, :0], spectra.values[:0], spectra.right[:, :0], spectra.vectors, spectra.eigenvalues)
    return inner_products(alone, other, ranks).dual_shared
