"""Fit: from a dataset with labels to an adapter and a verdict."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from askew._version import __version__
from askew.adapters import Adapter, Canaries, Provenance, Seen
from askew.adapters.adapter import Similarity, check_similarity
from askew.data import Dataset, Finding, TwoWayFolds, examine
from askew.errors import LabelError, ParameterError
from askew.estimators import Choice, Estimator, Labels, Mining, Ridge, Setting, Softmax, choose, has_shared
from askew.estimators.choose import RankScore, check_threshold
from askew.estimators.evidence import Regime
from askew.estimators.paths import is_whole
from askew.linalg.fixed import Float64Array
from askew.operators import BilinearOperator, Dense, Identity, Term, Zero
from askew.protocols import Progress
from askew.workflows.assess import base_of
from askew.workflows.footing import check_labelled, priors_of, rank_score
from askew.workflows.learning import GainCurve, gain_curve
from askew.workflows.mining_report import report_mining
from askew.workflows.nearest import NearestPast, choose_nearest, outdone, worth_remembering
from askew.workflows.off_domain import TOLERANCE, OffDomain, check_elsewhere, check_tolerance, look_elsewhere
from askew.workflows.scale import check_scale, scale_of_base

__all__ = ["NEGATIVES", "Fit", "Traffic", "fit"]

Traffic = Literal["fresh", "recurring"] | float

#: Negatives mined a query: what a fit uses, less those that folds take away.
NEGATIVES = 16
# Parts of the labels that one point of a learning curve is the mean of: all queries judge each.
_REPEATS = 1


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit gives.

    Attributes:
        adapter: what to ship: adapted, or the base itself if the verdict is to keep it.
        candidate: the adapter that the chooser picked, before the verdict.
        choice: what was tried and how it scored, with the verdict.
        findings: what is odd about the data.
        nearest: the baseline of recurring traffic; None where all traffic is fresh.
        mined: how negatives were mined, as plain values; see `mining_report`.
        curve: the gain by number of labels; None where it was not asked for, or there are too few.
        elsewhere: what the candidate does to other datasets.
    """

    adapter: Adapter
    candidate: Adapter
    choice: Choice
    findings: tuple[Finding, ...]
    nearest: NearestPast | None = None
    mined: Mapping[str, Any] = field(default_factory=dict)
    curve: GainCurve | None = None
    elsewhere: tuple[OffDomain, ...] = ()


def fit(
    dataset: Dataset,
    *,
    priors: Mapping[str, Term] | None = None,
    similarity: Similarity = "dot",
    traffic: Traffic = "fresh",
    estimators: Sequence[Estimator] | None = None,
    ranks: Sequence[int] = (),
    mining: Mining | None = None,
    folds: int = 5,
    threshold: float | None = 1.0,
    curve: bool = False,
    keep_scale: bool = False,
    also: Sequence[Dataset] = (),
    tolerance: float = TOLERANCE,
    seed: int = 0,
    progress: Progress | None = None,
) -> Fit:
    """Fit an adapter to the labels of a dataset, choose its strength, and judge whether it pays.

    The prior is the identity if queries and documents come from one encoder, and zero otherwise, unless others are
    given, such as an alignment of two encoders: the first is then the base, and which is best is chosen with the rest.
    Everything is chosen by cross-fitted nDCG@100 on the labelled queries alone, and judged by nDCG@10
    on them: for fresh traffic over two-way folds that hold out queries and their relevant documents
    together, for recurring traffic over folds of queries with all documents in place. The adapter that
    ships is fitted on all labels; if the nested cross-fitted gain does not exceed `threshold` standard
    errors, the base ships instead.

    Args:
        dataset: embeddings of n queries and m documents, and judgements.
        priors: name → M0; the first is the base. Negatives are mined under it.
        similarity: ``"dot"`` or ``"cosine"``, as the index scores.
        traffic: ``"fresh"`` (documents that no label has named), ``"recurring"`` (traffic comes back to
            the documents of past labels), or the share of recurring traffic as a number from 0 to 1.
        estimators: what to try; by default ridge and softmax regression to the prior, each in the dual
            family and, where it exists, the shared one; over an alignment, as over any dense prior, softmax
            regression alone.
        ranks: bounds on the rank of the correction that these defaults try beside none.
        mining: how negatives are chosen; by default 16 a query under a margin of 0.95.
        folds: number of folds, at least 3: nested fits leave out two.
        threshold: standard errors; None where nothing in use is at stake, so that what is chosen ships.
        curve: measure the gain by number of labels too, with the family chosen: about a quarter more work. The
            command does, unless it is told not to.
        keep_scale: scale adapted queries so that dot products have the base's size, for thresholds in use.
        also: datasets that the adapter is not made for, such as general queries, by the same encoders. The base is
            kept if the mean nDCG@10 of one falls by more than is tolerated.
        tolerance: the loss that is.
        seed: salt of the hashes; nothing else is random.
        progress: called with the fits done and the fits to do; a curve counts its own, from 1 again.

    Raises:
        LabelError: no labelled query can teach.
        ParameterError: an argument is outside its range.
        DimensionError: a prior does not map queries to documents.

    >>> from askew.data import EmbeddingSet, Qrels
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(40, 8))
    >>> turned = x @ np.linalg.qr(rng.normal(size=(8, 8)))[0]
    >>> qrels = Qrels({i: {i: 1} for i in range(40)})
    >>> task = Dataset(EmbeddingSet(range(40), x), EmbeddingSet(range(40), turned), qrels)
    >>> fit(task).choice.verdict.decision
    'adapt'
    """
    check_similarity(similarity)
    check_threshold(threshold)
    check_labelled(dataset)
    priors = priors_of(dataset, priors)
    prior = next(iter(priors.values()))
    if keep_scale:
        check_scale(similarity, prior)
    check_tolerance(tolerance)
    for other in also:
        check_elsewhere(dataset, other)
    share = _recurring(traffic)
    _check_ranks(dataset, ranks)
    mining = mining or Mining(count=NEGATIVES)
    labels = Labels.build(
        dataset,
        TwoWayFolds.build(dataset, count=folds, seed=seed),
        prior=prior,
        similarity=similarity,
        mining=mining,
        seed=seed,
    )
    tried = (
        tuple(estimators)
        if estimators is not None
        else _default_estimators(
            next((one for one in priors.values() if not has_shared(one)), prior), tuple(dict.fromkeys(ranks))
        )
    )
    scoring = rank_score(dataset, labels.query_ids, similarity=similarity)
    workers = os.cpu_count() or 1
    choice = choose(
        labels,
        priors=priors,
        estimators=tried,
        rank_score=scoring,
        traffic=share,
        threshold=threshold,
        workers=workers,
        progress=progress,
    )
    grown = _grown(labels, priors, tried, scoring, choice, seed, workers, progress) if curve else None
    known = priors[choice.chosen.prior]
    delta = _final(labels, known, tried, choice)
    settings = {"seed": seed, "folds": folds, "similarity": similarity, "traffic": share, "mining": mining.__dict__}
    candidate = Adapter(
        BilinearOperator(known, delta),
        similarity,
        _provenance(dataset, labels, priors, choice, settings),
        base=None if known is prior else prior,
    )
    if keep_scale:
        candidate = replace(candidate, scale=scale_of_base(dataset, candidate))
    remembered = worth_remembering(choice)
    elsewhere = look_elsewhere(candidate, also, tolerance=tolerance, seed=seed)
    choice = _weighing(choice, elsewhere)
    candidate = replace(candidate, provenance=_provenance(dataset, labels, priors, choice, settings))
    nearest = choose_nearest(dataset, labels, prior, similarity=similarity) if share > 0 else None
    mined, told = report_mining(dataset, labels, prior, mining, similarity=similarity, seed=seed)
    findings = (
        *examine(dataset, similarity=similarity),
        *_unrelated(dataset, prior),
        *told,
        *remembered,
        *(outdone(nearest, choice.verdict.gain, len(labels)) if nearest is not None and share == 1 else ()),
    )
    adapter = candidate if choice.verdict.decision == "adapt" else base_of(candidate)
    return Fit(adapter, candidate, choice, findings, nearest, mined, grown, elsewhere)


def _check_ranks(dataset: Dataset, ranks: Sequence[int]) -> None:
    most = min(dataset.queries.dim, dataset.documents.dim)
    wrong = [rank for rank in ranks if is_whole(rank) and rank >= most]
    if wrong:
        raise ParameterError(
            f"a correction of {most} dimensions cannot be bounded by rank {wrong[0]}",
            where="ranks",
            remedy=f"Give ranks below {most}",
        )


def _recurring(traffic: Traffic) -> float:
    """The share of recurring traffic."""
    number = isinstance(traffic, int | float) and not isinstance(traffic, bool)
    share = {"fresh": 0.0, "recurring": 1.0}.get(str(traffic)) if not number else float(traffic)
    if share is None or not 0 <= share <= 1:
        raise ParameterError(
            f"the traffic is {traffic!r}", where="traffic", remedy="Say fresh, recurring, or a share from 0 to 1"
        )
    return share


def _default_estimators(prior: Term, ranks: tuple[int, ...]) -> tuple[Estimator, ...]:
    bounds = (None, *ranks)
    if isinstance(prior, Dense):  # over an alignment it beats ridge regression: decision 0017
        return (Softmax(ranks=bounds),)
    dual: tuple[Estimator, ...] = (Ridge(ranks=bounds), Softmax(ranks=bounds))
    return (*dual, Ridge("shared", ranks=bounds), Softmax("shared", ranks=bounds)) if has_shared(prior) else dual


def _unrelated(dataset: Dataset, prior: Term) -> tuple[Finding, ...]:
    """Two encoders without an alignment have no base: say so."""
    if not isinstance(prior, Zero):
        return ()
    names = [held.encoder or "unnamed encoder" for held in (dataset.queries, dataset.documents)]
    return (
        Finding(
            "no-base",
            "warning",
            f"queries ({names[0]}, {dataset.queries.dim} dimensions) and documents ({names[1]}, "
            f"{dataset.documents.dim}) come from two encoders, so there is no base: it scores every document 0, "
            "and an adapter that keeps it cannot search",
            1,
            remedy="Use one encoder for both sides, or embed documents with the query encoder too, and start from a "
            "map between the two: --query-encoder and --document-encoder of 'askew fit', or 'askew align' without "
            "labels",
        ),
    )


def _leading(estimators: Sequence[Estimator], choice: Choice) -> tuple[str, Estimator]:
    """From which prior what was chosen; where that is a prior alone, what came next to it."""
    bounds = choice.bounds()
    rows = [row for row, candidate in enumerate(choice.candidates) if candidate.estimator is not None]
    best = (
        choice.chosen if choice.chosen.estimator else choice.candidates[max(rows, key=lambda row: float(bounds[row]))]
    )
    return best.prior, next(one for one in estimators if (one.name, one.family) == (best.estimator, best.family))


def _grown(
    labels: Labels,
    priors: Mapping[str, Term],
    estimators: Sequence[Estimator],
    scoring: RankScore,
    choice: Choice,
    seed: int,
    workers: int,
    progress: Progress | None,
) -> GainCurve | None:
    """The learning curve of what leads; None where nothing was measured, or labels are too few for one."""
    if not choice.verdict.queries or not estimators:
        return None
    name, leading = _leading(estimators, choice)
    with suppress(LabelError):
        return gain_curve(
            labels,
            prior=priors[name],
            base=next(iter(priors.values())),
            estimators=[leading],
            rank_score=scoring,
            traffic=choice.traffic,
            threshold=choice.verdict.threshold or 0.0,
            repeats=_REPEATS,
            whole=_of(name, leading, choice),
            decision=choice.verdict.decision,
            seed=seed,
            workers=workers,
            progress=progress,
        )
    return None


def _weighing(choice: Choice, elsewhere: Sequence[OffDomain]) -> Choice:
    """The choice with the verdict that other datasets leave of it: a loss that nobody tolerates keeps the base."""
    lost = [found for found in elsewhere if found.exceeded]
    if choice.verdict.decision == "keep" or not lost:
        return choice
    reason = f"{choice.verdict.reason}, but {'; '.join(found.reason for found in lost)}"
    return replace(choice, verdict=replace(choice.verdict, decision="keep", reason=reason))


def _of(prior: str, estimator: Estimator, choice: Choice) -> dict[Regime, Float64Array]:
    """Regime → (2, C, n) what the base and an estimator's settings, from one prior, scored."""
    kind = prior, estimator.name, estimator.family
    rows = [0, *(row for row, one in enumerate(choice.candidates) if (one.prior, one.estimator, one.family) == kind)]
    return {record.regime: np.stack([record.scores[rows], record.steady[rows]]) for record in choice.evidence}


def _final(labels: Labels, prior: Term, estimators: Sequence[Estimator], choice: Choice) -> Term | None:
    """Δ of the chosen candidate, fitted on all labels."""
    chosen = choice.chosen
    for estimator in estimators:
        if chosen.strength is not None and (estimator.name, estimator.family) == (chosen.estimator, chosen.family):
            return estimator.path(labels, prior).at(Setting(chosen.strength, chosen.rank))
    return None


def _provenance(
    dataset: Dataset, labels: Labels, priors: Mapping[str, Term], choice: Choice, settings: dict[str, Any]
) -> Provenance:
    digest = hashlib.sha256(repr((labels.query_ids, settings, choice.chosen)).encode())
    for array in (labels.queries, labels.pair_query, labels.pair_item, labels.pair_weight, labels.items):
        digest.update(np.ascontiguousarray(array).tobytes())
    for known in priors.values():
        if not isinstance(known, Identity | Zero):
            digest.update(known.to_dense().tobytes())
    return Provenance(
        query_encoder=dataset.queries.encoder,
        document_encoder=dataset.documents.encoder,
        query_canaries=Canaries.pick(dataset.queries.take(labels.query_ids), dataset.query_texts),
        document_canaries=Canaries.pick(dataset.documents, dataset.document_texts),
        fingerprint=digest.hexdigest()[:16],
        record={
            "askew": __version__,
            "dataset": dataset.name,
            "labels": len(labels),
            "documents": len(dataset.documents),
            **settings,
            **choice.to_json(),
        },
        seen=Seen.of(
            queries=labels.query_ids,
            positives=(dataset.documents.ids[row] for row in labels.seen_rows),
            negatives=(dataset.documents.ids[row] for row in labels.item_row),
        ),
    )
