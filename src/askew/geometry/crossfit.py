"""Shared or dual by held-out folds: operator loss, separation, and any ranking score that the caller brings.

Each fits both families on the queries outside a fold and looks at them on the queries of the fold. What
they look at differs, and so does what they are good for:

* operator loss ‖M₋ₖ‖² - 2⟨M₋ₖ, Cₖ⟩, which is ‖M₋ₖ - Cₖ‖² but for what both families share: operator risk;
* separation ⟨M₋ₖ, Cₖ⟩ / ‖M₋ₖ‖, the mean margin over the spread of scores, blind to scale as ranking is
  (CARS, theorem 4; arXiv 2609.32488);
* a held-out ranking score itself, such as nDCG, query by query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from askew.errors import DimensionError, EmbeddingError, ParameterError
from askew.geometry.halving import compact, deal_folds, jackknife_covariance, side_by_side, spectra_of
from askew.geometry.noise import beyond_rounding
from askew.geometry.rows import RelevanceRows
from askew.geometry.selection import Fallback, Selection, Target, decide, interval_of, reduction
from askew.geometry.separation import Separation, mean_margins
from askew.geometry.spectra import Spectra, check_ranks, check_whole_ranks
from askew.geometry.splits import Units
from askew.linalg import FloatArray
from askew.linalg.fixed import Float64Array, IntArray
from askew.operators import Factored

__all__ = ["HeldOutScores", "closed_form_scores", "fold_loss", "fold_separation", "held_out_ranking"]

#: From rows to fit on and rows held out (h,) to the scores of shared and dual: two (h, K).
HeldOutScores = Callable[[IntArray, IntArray], tuple[Float64Array, Float64Array]]

# From spectra of the training part, its rows and the held-out rows to dual's lead: (K,).
_Statistic = Callable[[Spectra, IntArray, IntArray], Float64Array]


class _Design(NamedTuple):
    """How a selector folds, and what it says of itself."""

    target: Target
    name: str
    ranks: Sequence[int]
    folds: int
    groups: int | None
    by_document: bool
    fallback: Fallback
    seed: int
    workers: int


def fold_loss(
    rows: RelevanceRows,
    *,
    ranks: Sequence[int],
    folds: int = 5,
    groups: int | None = 20,
    by_document: bool = False,
    fallback: Fallback = "shared",
    seed: int = 0,
    workers: int = 1,
) -> tuple[Selection, ...]:
    """Choose by K-fold operator loss: the mean of L_shared - L_dual, L = ‖M₋ₖ‖² - 2⟨M₋ₖ, Cₖ⟩.

    It estimates the same risk as CARS at (K - 1)/K of the labels in place of one half.

    Args:
        rows: n rows of the moment in the coordinates to be judged.
        ranks: one selection each.
        folds: K, by query.
        groups: of the delete-a-group jackknife, whose every group is refitted without; None for no error.
        by_document: folds that share no document.
        fallback: ``"shared"`` or ``"none"`` inside the noise, and where queries are too few for the error (fewer than
            two a fold).
        seed: of the hashes.
        workers: folds that run side by side; no result depends on it.

    Raises:
        DimensionError: the sides differ in dimension.
        ParameterError: an argument is out of range.
        LabelError: fewer than four queries.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 3))
    >>> fold_loss(RelevanceRows(tuple(map(str, range(200))), x, x), ranks=[2])[0].choice
    'shared'
    """
    units = Units(rows, by_document=by_document)
    check_ranks(ranks, rows.shape)
    small = compact(rows)

    def lead(spectra: Spectra, _: IntArray, held: IntArray) -> Float64Array:
        dual, shared = spectra.norms(ranks)
        dual_mean, shared_mean = mean_margins(spectra, small, held, ranks)
        size = shared + dual + 2 * (np.abs(shared_mean) + np.abs(dual_mean))
        return beyond_rounding((shared - 2 * shared_mean) - (dual - 2 * dual_mean), size)

    design = _Design("operator risk", "operator loss", ranks, folds, groups, by_document, fallback, seed, workers)
    return _by_folds(small, units, lead, design)


def fold_separation(
    rows: RelevanceRows,
    *,
    ranks: Sequence[int],
    whitened: bool = True,
    documents: FloatArray | None = None,
    folds: int = 5,
    groups: int | None = 20,
    by_document: bool = False,
    fallback: Fallback = "shared",
    seed: int = 0,
    workers: int = 1,
) -> tuple[Selection, ...]:
    """Choose by K-fold separation: the mean of Sep_dual - Sep_shared, Sep = ⟨M₋ₖ, Cₖ⟩ / spread(M₋ₖ).

    The spread is the standard deviation of the scores of negatives. In whitened coordinates it is ‖M‖; in raw
    ones √tr(Wᵀ Σx W Σy), with Σx = E xxᵀ of the queries that the fold was fitted on. A family that is zero
    separates nothing: 0.

    Args:
        rows: n rows of the moment.
        ranks: one selection each.
        whitened: whether the rows are.
        documents: (m, p) raw documents for Σy, such as negatives or a sample of the corpus; by default the
            differences of the training queries stand for them. Only for raw coordinates.
        folds: K, by query; 5 leans to shared a little, 40 does as CARS does near its boundary.
        groups: as in `fold_loss`, and so are the rest.
        by_document: folds that share no document.
        fallback: ``"shared"`` or ``"none"``.
        seed: of the hashes.
        workers: folds that run side by side.

    Raises:
        DimensionError: the sides, or the documents, differ in dimension.
        ParameterError: an argument is out of range, or documents are given for whitened rows.
        LabelError: fewer than four queries.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2))
    >>> turned = x @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> fold_separation(RelevanceRows(tuple(map(str, range(200))), x, turned), ranks=[2])[0].choice
    'dual'
    """
    units = Units(rows, by_document=by_document)
    check_ranks(ranks, rows.shape)
    small = compact(rows) if documents is None else rows
    measure = Separation(small, ranks, whitened=whitened, documents=documents)

    def lead(spectra: Spectra, kept: IntArray, held: IntArray) -> Float64Array:
        dual, shared = measure.of(spectra, kept, held)
        return beyond_rounding(dual - shared, np.abs(dual) + np.abs(shared))

    design = _Design("ranking", "separation", ranks, folds, groups, by_document, fallback, seed, workers)
    return _by_folds(small, units, lead, design)


def held_out_ranking(
    rows: RelevanceRows,
    scores: HeldOutScores,
    *,
    ranks: Sequence[int],
    folds: int = 5,
    groups: int | None = 20,
    by_document: bool = False,
    fallback: Fallback = "shared",
    seed: int = 0,
    workers: int = 1,
) -> tuple[Selection, ...]:
    """Choose by a held-out ranking score: the mean over queries of dual's less shared's.

    The error is that of a paired mean over groups of queries, the fits taken as they are.

    Args:
        rows: n rows; their ids (and documents) decide what may be parted.
        scores: ``scores(training, held_out)``: fit both families, at every rank, on some rows, and score
            the held-out ones: two (h, K), shared and dual, larger is better. Called from several threads.
            `closed_form_scores` makes one from a score of an operator.
        ranks: K ranks, one selection each.
        folds: K, by query.
        groups: that queries are dealt into for the error; None for no error.
        by_document: folds that share no document.
        fallback: ``"shared"`` or ``"none"``.
        seed: of the hashes.
        workers: folds that run side by side.

    Raises:
        ParameterError: an argument is out of range.
        LabelError: fewer than four queries.
        DimensionError: `scores` gave another shape.
        EmbeddingError: `scores` gave NaN or an infinity.

    >>> rows = RelevanceRows(tuple(map(str, range(40))), np.arange(40.0)[:, None] + 1, np.ones((40, 1)))
    >>> def scores(training, held_out):  # a fit that gains on every query but a few
    ...     return np.zeros((len(held_out), 1)), np.where(held_out % 10 == 0, -0.1, 0.2)[:, None]
    >>> found = held_out_ranking(rows, scores, ranks=[1])[0]
    >>> found.choice, round(found.score, 3)
    ('dual', 0.17)
    """
    check_whole_ranks(ranks)
    design = _Design("ranking", "held-out ranking", ranks, folds, groups, by_document, fallback, seed, workers)
    units = Units(rows, by_document=by_document)
    group, fold = _dealt(units, design)

    def lead(number: int) -> tuple[IntArray, Float64Array]:
        held = np.flatnonzero(fold == number)
        shared, dual = scores(np.flatnonzero(fold != number), held)
        return held, _checked(dual, len(held), len(ranks)) - _checked(shared, len(held), len(ranks))

    leads = np.zeros((len(rows), len(ranks)))
    for held, found in side_by_side(lead, range(int(fold.max()) + 1), workers):
        leads[held] = found
    values = np.stack([leads[fold == number].mean(axis=0) for number in range(int(fold.max()) + 1)])
    without = None if group is None else np.stack([leads[group != place].mean(axis=0) for place in np.unique(group)])
    return _selections(leads.mean(axis=0), values, without, fold, len(units), design)


def closed_form_scores(
    rows: RelevanceRows, score: Callable[[Factored, IntArray], Float64Array], *, ranks: Sequence[int]
) -> HeldOutScores:
    """Held-out scores of both families' closed-form fits, P_g,r of the training rows' moment.

    Args:
        rows: n rows of the moment.
        score: ``score(operator, held_out)``: how well an operator ranks for the queries of some rows (h,):
            (h,), larger is better. Whitening and a prior are for the caller to put back.
        ranks: K ranks.

    >>> rows = RelevanceRows(tuple("abcdef"), np.eye(6), np.eye(6))
    >>> scores = closed_form_scores(rows, lambda operator, held: np.ones(len(held)), ranks=[1, 2])
    >>> [part.shape for part in scores(np.arange(4), np.arange(4, 6))]
    [(2, 2), (2, 2)]
    """
    check_ranks(ranks, rows.shape)

    def scores(training: IntArray, held: IntArray) -> tuple[Float64Array, Float64Array]:
        spectra = spectra_of(rows, training, largest=max(ranks))
        shared = np.stack([score(spectra.shared(rank), held) for rank in ranks], axis=1)
        return shared, np.stack([score(spectra.dual(rank), held) for rank in ranks], axis=1)

    return scores


def _by_folds(small: RelevanceRows, units: Units, lead: _Statistic, design: _Design) -> tuple[Selection, ...]:
    """Selections from a statistic of a training part and a fold."""
    group, fold = _dealt(units, design)
    largest = min(max(design.ranks), small.shape[0])
    work = partial(_fold, small, lead, largest, group, fold)
    found = side_by_side(work, range(int(fold.max()) + 1), design.workers)
    values = np.stack([whole for whole, _ in found])
    without = None if group is None else np.mean([rest for _, rest in found], axis=0)
    return _selections(values.mean(axis=0), values, without, fold, len(units), design)


def _fold(
    rows: RelevanceRows, lead: _Statistic, largest: int, group: IntArray | None, fold: IntArray, number: int
) -> tuple[Float64Array, Float64Array]:
    """Dual's lead in one fold: (K,), and with each group left out of training or of the fold: (G, K)."""

    def spectra(kept: IntArray) -> Spectra:
        return spectra_of(rows, kept, largest=largest)

    kept, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
    whole = spectra(kept)
    value = lead(whole, kept, held)
    if group is None:
        return value, np.empty((0, len(value)))
    without = []
    for place in range(int(group.max()) + 1):
        rest = kept[group[kept] != place]
        left = held[group[held] != place]
        without.append(lead(whole if len(rest) == len(kept) else spectra(rest), rest, left))
    return value, np.stack(without)


def _dealt(units: Units, design: _Design) -> tuple[IntArray | None, IntArray]:
    """The group and the fold of each row."""
    if design.fallback not in ("shared", "none"):
        raise ParameterError(
            f"there is no fallback {design.fallback!r} here", where="fallback", remedy="Say shared or none"
        )
    return deal_folds(units, folds=design.folds, groups=design.groups, seed=design.seed)


def _checked(scores: Float64Array, rows: int, ranks: int) -> Float64Array:
    """Scores that the caller's function gave, or the error that says what is wrong with them."""
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != (rows, ranks):
        raise DimensionError(
            f"held-out scores of shape {found.shape} came back for {rows} queries and {ranks} ranks", where="scores"
        )
    if not np.all(np.isfinite(found)):
        raise EmbeddingError("a held-out score is NaN or infinite", where="scores")
    return found


def _selections(
    scores: Float64Array,
    values: Float64Array,
    without: Float64Array | None,
    fold: IntArray,
    queries: int,
    design: _Design,
) -> tuple[Selection, ...]:
    """One selection a rank, from scores (K,), by fold (folds, K) and with groups left out (G, K)."""
    least = int(len(fold) - np.bincount(fold).max())
    groups = None if without is None else len(without)
    found = []
    for place, rank in enumerate(design.ranks):
        score = float(scores[place])
        error = None if without is None else float(np.sqrt(jackknife_covariance(without[:, [place]])[0, 0]))
        choice, weight, inside, fell, reason = decide(
            score, error, fallback=design.fallback, groups=groups, wanted=design.groups is not None
        )
        found.append(
            Selection(
                choice=choice,
                target=design.target,
                method=f"{design.name}, {len(values)} folds",
                rank=rank,
                held_rank=min(rank, least),
                score=score,
                standard_error=error,
                interval=interval_of(score, error, groups),
                values=values[:, place],
                queries=queries,
                weight=weight,
                inside_noise=inside,
                fell_back=fell,
                reason=reason + reduction(rank, least),
                groups=groups,
            )
        )
    return tuple(found)
