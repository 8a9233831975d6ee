"""The form of a fit, its rank and how many of its rows are untied, chosen by held-out separation.

Of r rows, s have a projection for each side: none in a shared fit, all in a dual one, some in a partly shared one
(`partial`). A comparison of shared and dual at a guessed rank can be a comparison of guesses; the joint choice has
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from askew._checks import is_number, listed
from askew.errors import ParameterError
from askew.geometry.halving import compact, deal_folds, jackknife_covariance, side_by_side, spectra_of
from askew.geometry.noise import noise_limit
from askew.geometry.partial import nearest_partial
from askew.geometry.risk import partial_dimension
from askew.geometry.rows import RelevanceRows
from askew.geometry.selection import reduction
from askew.geometry.separation import Separation
from askew.geometry.spectra import Spectra, check_ranks
from askew.geometry.splits import Units
from askew.linalg import FloatArray
from askew.linalg.fixed import BoolArray, Float64Array, IntArray

__all__ = ["Family", "Form", "FormChoice", "choose_form", "partial_fits"]

Family = Literal["shared", "partly shared", "dual"]

# Descents may end early, and parts that cancel are held back more than the nearest matrix needs. Together they moved
# held-out separations of sentence embeddings by less than a hundredth, for a tenth of the time. Of shared and dual fits
# a pull changes the scale alone.
_STOP, _PULL = 1e-5, 1e-3
# Of a separation: what the factorisations behind it leave in its last digits.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Form:
    """The rank of a fit and how many of its rows are untied.

    Attributes:
        rank: r.
        untied: s: 0 for shared, r for dual.
        dimension: how many parameters such matrices have.

    >>> Form(8, 2, 200).family
    'partly shared'
    """

    rank: int
    untied: int
    dimension: int

    @property
    def family(self) -> Family:
        """By name."""
        if self.untied == 0:
            return "shared"
        return "dual" if self.untied == self.rank else "partly shared"


@dataclass(frozen=True, eq=False)
class FormChoice:
    """The form of the best cross-fitted separation, and all that were tried.

    Attributes:
        forms: J forms, the smaller first.
        values: (folds, J) held-out separation of their fits.
        chosen: the best by the mean over folds, the smaller of equals.
        whole: the best of the shared and the dual ones, at any rank.
        partial: the best of the partly shared ones; None if there were none.
        held: the rank that the moment of what is outside a fold has at most.
        standard_error: of `lead`, over queries; None if it was not estimated.
        groups: that it was estimated by leaving out; None likewise.
        wanted: whether an error was asked for: without one, queries were too few.
    """

    forms: tuple[Form, ...]
    values: Float64Array
    chosen: Form
    whole: Form
    partial: Form | None
    held: int
    standard_error: float | None = None
    groups: int | None = None
    wanted: bool = False

    def separation(self, form: Form) -> float:
        """The mean over folds of one of the forms."""
        return float(self.values[:, self.forms.index(form)].mean())

    @property
    def lead(self) -> float | None:
        """Separation of the best partly shared form less that of the best other one; None without any.

        0 where they differ by rounding alone, and above 0 where partial sharing is chosen. The best of many is favoured
        by chance, by more than the error says: a lead of one or two errors is no evidence.
        """
        if self.partial is None:
            return None
        first, second = self.separation(self.partial), self.separation(self.whole)
        return 0.0 if first >= _equal_to(second) and second >= _equal_to(first) else first - second

    @property
    def inside_noise(self) -> bool:
        """Whether the lead, either way, is less than `noise_limit` standard errors, or queries were too few for one."""
        if self.standard_error is None:
            return self.wanted and self.lead is not None
        return abs(self.lead or 0.0) < noise_limit(self.groups) * self.standard_error

    @property
    def reason(self) -> str:
        """A clause."""
        if self.partial is None or self.lead is None:
            return "no partly shared fit was tried"
        partial = f"the best partly shared fit ({self.partial.untied} of {self.partial.rank} rows untied)"
        whole = f"{self.whole.family} at rank {self.whole.rank}"
        reduced = reduction(max(self.partial.rank, self.whole.rank), self.held)
        if self.lead == 0:
            return f"{partial} and {whole} are equal: the smaller is taken{reduced}"
        error = "" if self.standard_error is None else f" ± {self.standard_error:.2g}"
        leads = f"{'leads' if self.lead > 0 else 'trails'} by {abs(self.lead):.2g}"
        noise = "too few queries for an error" if self.standard_error is None else "inside the noise"
        return f"{partial} {leads}{error} against {whole}{', ' + noise if self.inside_noise else ''}{reduced}"


def choose_form(
    rows: RelevanceRows,
    *,
    ranks: Sequence[int],
    fractions: Sequence[float] = (),
    whitened: bool = True,
    documents: FloatArray | None = None,
    folds: int = 5,
    groups: int | None = 20,
    by_document: bool = False,
    seed: int = 0,
    workers: int = 1,
) -> FormChoice:
    """Choose rank and untied directions together, by the mean of held-out separation over folds.

    Shared and dual are tried at every rank, and partly shared fits where asked for. Of equals, but for rounding, the
    form of fewer dimensions is chosen.

    The error of the lead is that of a paired mean over groups of queries, the fits taken as they are.

    Args:
        rows: n rows of the moment.
        ranks: K ranks to try.
        fractions: shares of r rows to untie, between 0 and 1; s is rounded, and left out where it is 0 or r.
        whitened: whether the rows are.
        documents: (m, p) for the spread in raw coordinates.
        folds: by query.
        groups: that queries are dealt into for the error; None for no error.
        by_document: folds that share no document.
        seed: of the hashes.
        workers: folds that run side by side; no result depends on it.

    Raises:
        DimensionError: the sides, or the documents, differ in dimension.
        ParameterError: an argument is out of range.
        LabelError: fewer than four queries.

    >>> rng = np.random.default_rng(0)
    >>> signal = rng.normal(size=(300, 2)) @ np.eye(2, 6)
    >>> x, z = signal + rng.normal(size=(300, 6)), signal + rng.normal(size=(300, 6))
    >>> rows = RelevanceRows(tuple(map(str, range(300))), x, z)
    >>> found = choose_form(rows, ranks=[1, 2, 4], fractions=[0.5]).chosen
    >>> found.rank, found.untied, found.family
    (2, 0, 'shared')
    """
    units = Units(rows, by_document=by_document)
    check_ranks(ranks, rows.shape)
    forms = _forms(rows.shape[0], ranks, fractions)
    group, fold = deal_folds(units, folds=folds, groups=groups, seed=seed)
    small = compact(rows) if documents is None else rows
    order = sorted(set(ranks))
    measure = Separation(small, order, whitened=whitened, documents=documents)

    def work(number: int) -> tuple[IntArray, Float64Array]:
        kept, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        return held, _scores(small, measure, order, forms, kept, held)

    scores = np.zeros((len(rows), len(forms)))
    for held, found in side_by_side(work, range(int(fold.max()) + 1), workers):
        scores[held] = found
    return _choice(forms, scores, group, fold, wanted=groups is not None)


def partial_fits(
    rows: RelevanceRows, kept: IntArray, spectra: Spectra, *, rank: int, untied: Sequence[int]
) -> Iterator[tuple[Float64Array, Float64Array]]:
    """Partly shared fits of the moment of some rows, for rising s, each from the one before: pairs of (r, p).

    The moment is first restricted to the span of its r leading singular vectors on either side and of the r leading
    eigenvectors of its symmetric part, at most 3r directions, in which the shared and the dual fit lie. What a fit
    between them could gain outside of it is left: on moments of sentence embeddings, of 8 directions or 32, under a
    hundredth of the error.

    Args:
        rows: n rows (p dimensions).
        kept: those to fit.
        spectra: of their moment, for at least r directions.
        rank: r.
        untied: s, ascending, from 0 to r.
    """
    leading = np.hstack([spectra.left[:, :rank], spectra.right[:, :rank], spectra.vectors[:, :rank]])
    if not leading.shape[1]:  # a moment that is zero
        yield from ((np.zeros((rank, len(leading))),) * 2 for _ in untied)
        return
    basis = np.linalg.qr(leading)[0]
    core = (rows.queries[kept] @ basis).T @ (rows.differences[kept] @ basis) / len(kept)
    found = nearest_partial(core, rank, untied=0, signed=rows.signed)
    for count in untied:
        found = nearest_partial(
            core, rank, untied=count, starts=0, pull=_PULL, near=[found], signed=rows.signed, tolerance=_STOP
        )
        yield found.query @ basis.T, found.document @ basis.T


def _forms(dim: int, ranks: Sequence[int], fractions: Sequence[float]) -> tuple[Form, ...]:
    """All forms to try, the smaller first; of one dimension the one with fewer untied rows."""
    shares = listed(fractions)
    if len(shares) != np.size(fractions) or not all(is_number(part) and 0 < part < 1 for part in shares):
        raise ParameterError(
            f"the shares {shares or fractions} to untie are not all between 0 and 1",
            where="fractions",
            remedy="Give such as 0.25, 0.5, 0.75, or none; shared and dual are tried anyway",
        )
    tried = {(rank, round(part * rank)) for rank in ranks for part in (0.0, *shares, 1.0)}
    forms = [Form(rank, untied, int(partial_dimension(dim, rank, untied=untied))) for rank, untied in tried]
    return tuple(sorted(forms, key=lambda form: (form.dimension, form.untied, form.rank)))


def _scores(
    rows: RelevanceRows,
    measure: Separation,
    ranks: Sequence[int],
    forms: Sequence[Form],
    kept: IntArray,
    held: IntArray,
) -> Float64Array:
    """(h, J) each held-out margin over the spread of the fit, for every form."""
    spectra = spectra_of(rows, kept, largest=min(ranks[-1], rows.shape[0]))
    dual, shared = measure.margins(spectra, kept, held)
    found = {}
    for place, rank in enumerate(ranks):
        found[rank, 0], found[rank, rank] = shared[:, place], dual[:, place]
        between = sorted(form.untied for form in forms if form.rank == rank and form.family == "partly shared")
        fits = partial_fits(rows, kept, spectra, rank=rank, untied=between)
        for untied, (query, document) in zip(between, fits, strict=True):
            found[rank, untied] = measure.margins_of(query, document, kept, held)
    return np.stack([found[form.rank, form.untied] for form in forms], axis=1)


def _choice(
    forms: tuple[Form, ...], scores: Float64Array, group: IntArray | None, fold: IntArray, *, wanted: bool
) -> FormChoice:
    """The record, from (n, J) scores of rows."""
    values = _by_fold(scores, fold)
    means = values.mean(axis=0)
    apart = np.array([form.family == "partly shared" for form in forms])
    whole = _first_best(means, ~apart)
    partial = _first_best(means, apart) if apart.any() else None
    error = None
    if partial is not None and group is not None:
        lead = scores[:, [partial]] - scores[:, [whole]]
        without = [
            _by_fold(lead[group != place], fold[group != place]).mean(axis=0) for place in range(int(group.max()) + 1)
        ]
        error = float(np.sqrt(jackknife_covariance(np.stack(without))[0, 0]))
    return FormChoice(
        forms=forms,
        values=values,
        chosen=forms[_first_best(means, np.ones(len(forms), dtype=bool))],
        whole=forms[whole],
        partial=None if partial is None else forms[partial],
        held=int(len(fold) - np.bincount(fold).max()),
        standard_error=error,
        groups=None if error is None or group is None else int(group.max()) + 1,
        wanted=wanted,
    )


def _by_fold(scores: Float64Array, fold: IntArray) -> Float64Array:
    """(folds, J) means."""
    return np.stack([scores[fold == number].mean(axis=0) for number in range(int(fold.max()) + 1)])


def _first_best(means: Float64Array, allowed: BoolArray) -> int:
    """The first of the largest; equal but for rounding is equal: at full support all forms can be one operator."""
    return int(np.argmax(allowed & (means >= _equal_to(float(means[allowed].max())))))


def _equal_to(mean: float) -> float:
    """The least mean that equals another but for rounding."""
    return mean - _ROUNDING * abs(mean)
