"""Align: a linear map from one encoder's space to another's, from documents that both have embedded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from askew._checks import is_number
from askew.data import EmbeddingSet
from askew.errors import DimensionError, InputError, ParameterError
from askew.estimators.evidence import standard_error
from askew.estimators.pairs import PairMoments, Pairs
from askew.estimators.ridge_path import ROUNDING, RidgePath, ridge_map
from askew.linalg import one_thread, row_dots, row_norms, svd
from askew.linalg.fixed import BoolArray, Float32Array, Float64Array, FloatArray
from askew.operators import Dense, Identity, Stacked, Zero
from askew.protocols import Progress

__all__ = [
    "ALIGN_STRENGTHS",
    "BETA",
    "CENTRE",
    "Alignment",
    "Method",
    "align",
    "check_method",
    "fused",
    "own_alone",
]

Method = Literal["ridge", "procrustes"]

#: Two strengths a decade. Second moments of unit rows have the trace 1, so the last one is nearly all pull.
ALIGN_STRENGTHS: tuple[float, ...] = tuple(float(f"{10 ** (power / 2):.3g}") for power in range(-12, 1))
#: What the second encoder counts for in a fusion without labels: safe on every set it was tried on.
BETA = 0.25
#: How much of the intercept a map leaves out: it keeps no less of what documents find, and finds more for queries.
CENTRE = 0.25

# Without documents to judge by: a pull that a few documents stand, and that thousands hardly feel.
_UNJUDGED = 0.01
# A larger pull is taken that keeps less by no more than so many standard errors.
_CAUTION = 0.5
# Held-out documents that ask, those that they ask among, and how many of these count: what retention is told by.
_ASKED, _AMONG, _DEPTH = 200, 2000, 10


@dataclass(frozen=True, eq=False)
class Alignment:
    """A map of query vectors to where the documents are, x ↦ mapᵀx, learned from documents alone.

    Attributes:
        map: (d_query, d_document) float64, scaled once so that the mapped documents have the mean square norm 1.
        judged: (d_query, d_document) the same without the documents held out, by which it is judged.
        method: ``"ridge"`` or ``"procrustes"``.
        centred: how much of the intercept is left out, from 0 to 1.
        strength: λ; None for an orthogonal map.
        cosine: mean cosine of a held-out document's mapped vector and its own; None where none was held out.
        explained: R², the share of the held-out vectors' energy that the best multiple of the map explains.
        documents: n.
        held_out: ids of the documents held out.
        copies: documents that are copies of one of the n.
        query_encoder: name, if known.
        document_encoder: name, if known.
    """

    map: Float64Array
    judged: Float64Array
    method: Method
    centred: float
    strength: float | None
    cosine: float | None
    explained: float | None
    documents: int
    held_out: tuple[str, ...]
    copies: int
    query_encoder: str | None
    document_encoder: str | None

    @property
    def term(self) -> Dense:
        """The map as a prior, in float32."""
        return Dense(self.map.astype(np.float32))

    def to_json(self) -> dict[str, Any]:
        """As plain values, without the matrices."""
        plain = {name: value for name, value in self.__dict__.items() if name not in ("map", "judged", "held_out")}
        return {**plain, "held_out": len(self.held_out), "d_query": len(self.map), "d_document": self.map.shape[1]}


def align(
    source: EmbeddingSet,
    target: EmbeddingSet,
    *,
    method: Method = "ridge",
    centre: float = CENTRE,
    strengths: Sequence[float] = ALIGN_STRENGTHS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Alignment:
    """Learn where a query encoder's vectors lie in a document encoder's space.

    With unit rows x_i, y_i of the n documents that both have embedded, of means μ and ν, and sums about them
    S = Σ (x_i - μ)(x_i - μ)ᵀ and C = Σ (x_i - μ)(y_i - ν)ᵀ, Σ ‖Aᵀx_i + b - y_i‖² + λ n ‖A‖²_F is least for
    A₁ = (S + nλI)⁻¹C and the intercept b = ν - A₁ᵀμ. A linear map has no place for b. Without one, ridge regression
    reads it off the vector itself, by the w that makes wᵀx nearly 1 for documents:

        A₀ = (S + nλI + nμμᵀ)⁻¹(C + nμνᵀ) = A₁ + wbᵀ          w = n(S + nλI)⁻¹μ / (1 + nμᵀ(S + nλI)⁻¹μ)

    Queries are no documents, and for them wᵀx is off. What is learned is A₁ + (1 - centre) wbᵀ: 0 is the ridge
    regression A₀, 1 leaves the intercept out. An orthogonal map minimises the sum of squares over AᵀA = I: A = UVᵀ
    of the decomposition UΣVᵀ = C + (1 - centre) nμνᵀ (Procrustes).

    A tenth of the documents, by a hash of their ids, is held out and chooses λ: they stand for queries, and what counts
    is how many of the ten documents that their own target vectors find their mapped ones find too (at most 200 ask,
    among at most 2,000 that the map has learned from). The largest λ within half a standard error of the best is taken,
    as queries lie farther from the documents than these do. Only λ up to the one that explains most of the held-out
    vectors are tried: ranking wants less pull, as near documents differ where vectors vary little. Moments are sums,
    gathered in one pass over the rows (held-out rows are read again, for cosines), and every λ comes from one
    decomposition. The map that is returned is learned from all.

    Args:
        source: documents by the encoder of queries, (·, d_query).
        target: documents by the encoder of documents, (·, d_document); only ids in both count.
        method: ``"ridge"``, or ``"procrustes"`` for an orthogonal map.
        centre: how much of the intercept to leave out, from 0 (second moments) to 1 (covariances).
        strengths: the λ to try, positive. Below 1e-12 a pull is lost in the rounding, and axes along which the rows
            do not vary count for nothing.
        seed: of the hash.
        progress: called with the passes done and to do.

    Raises:
        MatchError: no document is in both.
        EmbeddingError: every common document has a zero vector.
        DimensionError: an orthogonal map between unequal dimensions.
        ParameterError: no such method, a strength that is not a positive number, or `centre` is not within 0 and 1.
        InputError: nothing is left to align: the two sides do not vary together.

    Source: ridge after Hoerl and Kennard, 1970; Procrustes after Schönemann, "A generalized solution of the
    orthogonal Procrustes problem", Psychometrika 31, 1966; A₀ from A₁ by Sherman and Morrison's formula, 1950.

    >>> x = np.random.default_rng(0).normal(size=(200, 4))
    >>> turned = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    >>> found = align(EmbeddingSet(range(200), x), EmbeddingSet(range(200), x @ turned))
    >>> bool(np.abs(found.map - turned).max() < 1e-4)
    True
    """
    check_method(method, source.dim, target.dim, strengths, centre)
    pairs = Pairs.build(source, target, seed=seed)
    with one_thread():
        known, held = pairs.moments()
        _tell(progress, 1)
        whole = known if held.count == 0 else known + held
        for one in (known, whole):
            _check_related(one, centre)
        if method == "ridge":
            strength, judged = _learned(pairs, known, held, sorted(strengths), centre)
            final = ridge_map(whole, strength, centre) if held.count else judged
        else:
            strength, judged, final = None, _orthogonal(known, centre), _orthogonal(whole, centre)
        judged, final = _scaled(judged, known), _scaled(final, whole)
        cosine = _cosine(pairs, judged) if held.count else None
        _tell(progress, 2)
    explained = _explained(judged, held) if held.count else None
    names = source.encoder, target.encoder
    held_ids, count = pairs.held_ids, len(pairs)
    return Alignment(
        final, judged, method, float(centre), strength, cosine, explained, count, held_ids, pairs.copies, *names
    )


def check_method(
    method: str,
    d_query: int,
    d_document: int,
    strengths: Sequence[float] = ALIGN_STRENGTHS,
    centre: float = CENTRE,
) -> None:
    """Raise ParameterError or DimensionError unless a map of such a kind exists between two dimensions."""
    if method not in ("ridge", "procrustes"):
        raise ParameterError(f"there is no method {method!r}", where="method", remedy="Say ridge or procrustes")
    if method == "procrustes" and d_query != d_document:
        raise DimensionError(
            f"an orthogonal map was asked for, from {d_query} dimensions of the query encoder to {d_document} of the "
            "document encoder",
            where="method",
            remedy="Use the ridge method, which maps between any dimensions",
        )
    if not strengths or not all(0 < strength < np.inf for strength in strengths):
        raise ParameterError(
            f"the strengths {tuple(strengths)} are not all positive numbers",
            where="strengths",
            remedy="Give numbers between 1e-6 and 1",
        )
    if not is_number(centre) or not 0 <= centre <= 1:
        raise ParameterError(
            f"{centre!r} of the intercept was to be left out",
            where="centre",
            remedy="Give a number from 0, which keeps it, to 1, which leaves it out",
        )


def fused(alignment: Alignment, beta: float = BETA) -> Stacked:
    """The prior [I; βA] of a query that both encoders have embedded: its own vector, and the other's, mapped.

    Args:
        alignment: A, from the second encoder to the documents' own.
        beta: β, what the second encoder counts for beside the first.

    Raises:
        ParameterError: β is not a positive number.
    """
    if not 0 < beta < np.inf:
        raise ParameterError(f"β is {beta}", where="beta", remedy="Give a positive number, such as 0.25")
    return Stacked((Identity(alignment.map.shape[1]), Dense((beta * alignment.map).astype(np.float32))))


def own_alone(alignment: Alignment) -> Stacked:
    """The prior [I; 0] of such a query: the documents' own encoder, the other one ignored."""
    d_query, d_document = alignment.map.shape
    return Stacked((Identity(d_document), Zero(d_query, d_document)))


def _learned(
    pairs: Pairs, known: PairMoments, held: PairMoments, strengths: Sequence[float], centre: float
) -> tuple[float, Float64Array]:
    """λ, and its map of the documents that are not held out."""
    if held.count and len(strengths) > 1:
        path = RidgePath.of(known, centre)
        strength = _chosen(pairs, path, held, strengths)
        return strength, path.at(strength)
    strength = min(strengths, key=lambda one: abs(np.log(one / _UNJUDGED)))
    return strength, ridge_map(known, strength, centre)


def _chosen(pairs: Pairs, path: RidgePath, held: PairMoments, strengths: Sequence[float]) -> float:
    """The largest of ascending λ that keeps as much of what held-out documents find as the best, but for the noise."""
    explained = _explained_by(path, held, strengths)
    most = max(range(len(strengths)), key=lambda place: (explained[place], place))
    kept = _kept(pairs, path, strengths[: most + 1])
    lost = kept[np.argmax(kept.sum(axis=1))] - kept
    return strengths[int(np.flatnonzero([gap.mean() <= _CAUTION * standard_error(gap) for gap in lost])[-1])]


def _explained_by(path: RidgePath, held: PairMoments, strengths: Sequence[float]) -> list[float]:
    """√R² of every map at its best scale on held-out documents, but for a factor, from their sums alone."""
    cross, source = path.axes.T @ held.cross, path.axes.T @ held.source @ path.axes
    overlap, energy = np.sum(path.loadings * cross, axis=1), source * (path.loadings @ path.loadings.T)
    found = []
    for strength in strengths:
        weight, reader, intercept = path.parts(strength)
        read = source @ reader
        size = weight @ energy @ weight + 2 * (weight * read) @ (path.loadings @ intercept)
        size += (reader @ read) * (intercept @ intercept)
        found.append(float(weight @ overlap + reader @ cross @ intercept) / float(np.sqrt(size)) if size > 0 else 0.0)
    return found


def _kept(pairs: Pairs, path: RidgePath, strengths: Sequence[float]) -> Float64Array:
    """(S, n) for every map and held-out document: how many are near its own vector and near its mapped one."""
    asked, among = pairs.sample(_ASKED, held_out=True), pairs.sample(_AMONG, held_out=False)
    documents, depth = _narrow(pairs.told(among)).T, min(_DEPTH, len(among))
    turned, near = _narrow(pairs.asked(asked) @ path.axes), _nearest(_narrow(pairs.told(asked)) @ documents, depth)
    found = np.empty((len(strengths), len(asked)))
    for place, strength in enumerate(strengths):
        mapped = turned @ _narrow(path.along_axes(*path.parts(strength)))
        found[place] = np.sum(near & _nearest(mapped @ documents, depth), axis=1)
    return found


def _nearest(scores: FloatArray, depth: int) -> BoolArray:
    """(n, m) the best of each row, and those that equal the last of them."""
    return np.asarray(scores >= np.partition(scores, -depth, axis=1)[:, -depth, None])


def _narrow(rows: Float64Array) -> Float32Array:
    return rows.astype(np.float32)


def _orthogonal(moments: PairMoments, centre: float) -> Float64Array:
    about, means = moments.centred, np.outer(moments.source_mean, moments.target_mean)
    left, _, right = svd(about.cross + (1 - centre) * moments.count * means)
    return np.asarray(left @ right.T)


def _check_related(moments: PairMoments, centre: float) -> None:
    """Raise InputError where both A₁ and the intercept's part are rounding."""
    means = np.linalg.norm(moments.source_mean) * np.linalg.norm(moments.target_mean)
    told = np.linalg.norm(moments.centred.cross) / max(moments.count, 1), (1 - centre) * means
    if max(told) <= ROUNDING:
        raise _unrelated()


def _unrelated() -> InputError:
    return InputError(
        "nothing of one encoder's vectors tells of the other's",
        remedy="Check that both embedded the same documents under the same ids, or leave less of the intercept out",
    )


def _scaled(mapped: Float64Array, known: PairMoments) -> Float64Array:
    """The map that gives the rows it was learned from the mean square norm 1."""
    size = float(np.sum(mapped * (known.source @ mapped)))
    if not size > 0:  # no axis is above the rounding
        raise _unrelated()
    return np.asarray(mapped * np.sqrt(known.count / size))


def _cosine(pairs: Pairs, judged: Float64Array) -> float:
    """The mean cosine of what a map makes of held-out documents and their own vectors."""
    found = []
    for x, y in pairs.held_blocks():
        mapped = x @ judged
        sizes = row_norms(mapped)
        found.append(row_dots(mapped, y) / np.where(sizes > 0, sizes, 1.0))
    return float(np.concatenate(found).mean())


def _explained(mapped: Float64Array, held: PairMoments) -> float:
    """R² of the best multiple of a map."""
    overlap, size = float(np.sum(mapped * held.cross)), float(np.sum(mapped * (held.source @ mapped)))
    return max(overlap, 0.0) ** 2 / (size * held.target) if size * held.target > 0 else 0.0


def _tell(progress: Progress | None, done: int) -> None:
    if progress is not None:
        progress(done, 2)
