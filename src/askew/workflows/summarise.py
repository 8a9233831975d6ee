"""Collect what a report says: one plain summary of a fit."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from askew import report
from askew._version import __version__
from askew.data import Dataset, Run
from askew.estimators import Candidate
from askew.estimators.evidence import GeometryLead
from askew.evaluation import Comparison
from askew.operators import BilinearOperator, Factored
from askew.workflows.assess import DEPTH, Assessment
from askew.workflows.fit import Fit
from askew.workflows.learning import recorded
from askew.workflows.moves import explain, largest, nearest_labels
from askew.workflows.trial import Trial

__all__ = ["summarise"]

_CHOSEN_BY = "the mean gain in nDCG@100 over the base, less half its standard error"
_FEW = 50  # test queries; fewer are printed, not judged
_CASES = 10  # queries listed as most helped, and as most hurt
_DOCUMENTS = 5  # shown for each, before and after
_TEXT = 300  # characters of a document
_SINGULAR_VALUES = 64
_DRIFT_DEPTH = 10  # results a query whose scores are compared
_SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)


def summarise(
    fitted: Fit,
    train: Dataset,
    test: Dataset | None,
    trial: Trial,
    *,
    seed: int,
    command: str,
    adapter: str = "",
    data: str = "",
    systems: report.Systems | None = None,
) -> report.FitSummary:
    """The summary that HTML, Markdown and JSON are renderings of.

    Args:
        fitted: what was fitted.
        train: on what.
        test: the test queries, if there are any.
        trial: what the test queries say.
        seed: that was used.
        command: that gets this again.
        adapter: the folder of what is written.
        data: the folder that `train` was read from, if there is one.
        systems: how this fit stands among others.
    """
    choice = fitted.choice
    # Where nothing was tried every change is 0, and says nothing.
    all_documents = trial.parts[0][1] if trial.parts and choice.verdict.queries else None
    helped, hurt = (
        _cases(all_documents, fitted, train, test) if all_documents is not None and test is not None else ((), ())
    )
    return report.FitSummary(
        title=f"Adapting {train.name}",
        askew_version=__version__,
        dataset=train.name,
        query_encoder=train.queries.encoder or "not named",
        document_encoder=train.documents.encoder or "not named",
        query_dim=train.queries.dim,
        document_dim=train.documents.dim,
        documents=len(train.documents),
        training_labels=len(train.labelled),
        test_queries=None if test is None else len(test.qrels),
        similarity=fitted.adapter.similarity,
        verdict=_verdict(fitted, trial),
        chosen=report.Chosen(estimator=_line(choice.chosen), strength=choice.chosen.strength, rank=_rank(fitted)),
        reproduction=report.Reproduction(
            command=command,
            seed=seed,
            fingerprint=fitted.adapter.provenance.fingerprint,
            adapter=adapter,
            data=data,
        ),
        candidates=_candidates(fitted),
        chosen_by=_CHOSEN_BY,
        geometry=_geometry(fitted),
        learning=None if fitted.curve is None else recorded(fitted.curve),
        drift=None if all_documents is None else _drift(all_documents),
        comparisons=tuple(_comparison(subset, found) for subset, found in (*trial.comparisons, *trial.others)),
        elsewhere=tuple(_comparison(found.dataset, row) for found in fitted.elsewhere for row in found.comparisons),
        per_query=() if all_documents is None or test is None else _per_query(all_documents, test),
        helped=helped,
        hurt=hurt,
        findings=tuple(
            report.HealthFinding(
                level=finding.level, message=finding.message, remedy=finding.remedy, examples=finding.examples
            )
            for finding in fitted.findings
        ),
        operator=_operator(fitted),
        systems=systems,
    )


def _verdict(fitted: Fit, trial: Trial) -> report.Verdict:
    verdict = fitted.choice.verdict
    measured = verdict.queries > 0
    return report.Verdict(
        decision=verdict.decision,
        sentence=f"{verdict.reason[:1].upper()}{verdict.reason[1:]}.{_test_says(fitted, trial)}",
        gain=verdict.gain if measured else None,
        standard_error=verdict.standard_error if measured else None,
        threshold=None if not measured or verdict.threshold is None else verdict.threshold * verdict.standard_error,
        traffic=verdict.traffic,
    )


def _test_says(fitted: Fit, trial: Trial) -> str:
    """A sentence: what the test split says of the verdict, on the documents that it is about; "" without one."""
    verdict = fitted.choice.verdict
    about = "unseen" if verdict.traffic < 0.5 else "all"
    found = next((row for documents, row in trial.comparisons if documents == about), None)
    if found is None or not verdict.queries:
        return ""
    where = f"the test queries and {about} documents"
    kept, gains, loses = verdict.decision == "keep", found.low > 0, found.high < 0
    if gains if kept else loses:
        return (
            f" On {where} it does {'gain' if kept else 'lose'}, {found.difference:+.4f}. The verdict rests on the "
            "labels alone, and a test never changes it: more labels would tell more."
        )
    if found.n < _FEW:
        return ""
    numbers = f"{found.difference:+.4f} ({found.confidence:.0%} interval {found.low:+.4f} to {found.high:+.4f})"
    if gains or loses:
        return f" The test confirms it: on {where} the {'gain' if gains else 'difference'} is {numbers}."
    open_ = "finds no clear gain either" if kept else "leaves it open"
    return f" The test {open_}: on {where} the difference is {numbers}."


def _candidates(fitted: Fit) -> tuple[report.Candidate, ...]:
    choice = fitted.choice
    if not choice.verdict.queries:
        return ()
    return tuple(
        report.Candidate(
            name=_line(candidate),
            strength=candidate.strength,
            mean=float(mean),
            standard_error=float(error),
            chosen=candidate == choice.chosen,
            bound=float(bound),
        )
        for candidate, mean, error, bound in zip(
            choice.candidates, choice.means(), choice.standard_errors(), choice.bounds(), strict=True
        )
    )


def _geometry(fitted: Fit) -> report.Geometry | None:
    """One geometry or two, by the candidates that are there already."""
    found = fitted.choice.geometry()
    if found is None:
        return None
    choice, told = _ranks(found)
    return report.Geometry(
        choice=choice,
        sentence=f"{told}. Both are applied to queries alone: documents stay as they are. "
        "The command askew select looks into this question by itself.",
        shared=str(found.shared),
        dual=str(found.dual),
        lead=found.lead,
        standard_error=found.standard_error,
    )


def _ranks(found: GeometryLead) -> tuple[Literal["shared", "dual", "either"], str]:
    """The family that ranks better, and a sentence without its full stop."""
    dual = f"one geometry for each side (best: {found.dual})"
    shared = f"one geometry that queries and documents share (best: {found.shared})"
    lead = f"{abs(found.lead):.4f}"
    if float(lead) == 0:
        return "either", f"{_capital(shared)} and {dual} rank alike in cross-fitted nDCG@10: either will do"
    better, other = (dual, shared) if found.lead > 0 else (shared, dual)
    error = f"standard error {found.standard_error:.4f}"
    told = f"{_capital(better)} ranks better than {other}, by {lead} in cross-fitted nDCG@10 ({error})"
    if found.inside_noise():
        return "either", f"{told}, which is inside the noise: either will do"
    return ("dual" if found.lead > 0 else "shared"), told


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _line(candidate: Candidate) -> str:
    """The line of the picture that a candidate is a point of."""
    if candidate.estimator is None:
        return "base" if candidate.prior in ("identity", "zero") else candidate.prior
    bound = "" if candidate.rank is None else f", rank {candidate.rank}"
    return f"{candidate.start}{candidate.estimator}, {candidate.family}{bound}"


def _comparison(subset: str, found: Comparison) -> report.Comparison:
    # One query bounds nothing: the interval is then all that a measure of at most 1 can do.
    widest = max(1.0, abs(found.difference))
    return report.Comparison(
        measure=found.measure,
        base=found.base_mean,
        adapted=found.other_mean,
        difference=found.difference,
        low=found.low if math.isfinite(found.low) else -widest,
        high=found.high if math.isfinite(found.high) else widest,
        confidence=found.confidence,
        p_value=found.p_value,
        wins=found.wins,
        losses=found.losses,
        ties=found.ties,
        headroom=found.headroom,
        n=found.n,
        subset=subset,
        system=found.other_name,
        reference=found.base_name,
    )


def _per_query(found: Assessment, test: Dataset) -> tuple[report.QueryGain, ...]:
    measure = found.comparisons[0].measure
    values = zip(found.base.queries, found.base.per_query(measure), found.adapted.per_query(measure), strict=True)
    return tuple(
        report.QueryGain(query_id=query, text=test.query_texts.get(query, ""), base=float(before), adapted=float(after))
        for query, before, after in values
    )


def _cases(
    found: Assessment, fitted: Fit, train: Dataset, test: Dataset
) -> tuple[tuple[report.QueryCase, ...], tuple[report.QueryCase, ...]]:
    """The queries most helped and most hurt."""
    runs = found.base_run, found.adapted_run
    helped, hurt = largest(_per_query(found, test), test, runs, most=_CASES, depth=DEPTH)
    seen = fitted.candidate.provenance.seen
    nearest = nearest_labels([query.query_id for query in helped + hurt], train, test)

    def case(query: report.QueryGain) -> report.QueryCase:
        near = nearest.get(query.query_id)
        return report.QueryCase(
            query_id=query.query_id,
            text=query.text,
            base=query.base,
            adapted=query.adapted,
            before=_top(runs[0], query.query_id, test),
            after=_top(runs[1], query.query_id, test),
            move=explain(query, test, runs, seen=seen, depth=DEPTH, nearest=near),
        )

    return tuple(map(case, helped)), tuple(map(case, hurt))


def _top(run: Run, query: str, test: Dataset) -> tuple[report.RankedDocument, ...]:
    judged = test.qrels[query]
    pairs = list(zip(run.documents(query), run.scores(query), strict=True))[:_DOCUMENTS]
    return tuple(
        report.RankedDocument(
            doc_id=name,
            text=test.document_texts.get(name, "")[:_TEXT],
            relevant=judged.get(name, 0.0) > 0,
            grade=judged.get(name),
            score=float(score),
        )
        for name, score in pairs
    )


def _drift(found: Assessment) -> report.Drift | None:
    """Quantiles of the scores of the first results, before and after."""
    queries = [query for query in found.base_run.queries if len(found.base_run.scores(query))]
    if not queries:
        return None
    before, after = (
        np.concatenate([np.asarray(run.scores(query), dtype=np.float64)[:_DRIFT_DEPTH] for query in queries])
        for run in (found.base_run, found.adapted_run)
    )
    rows = [
        report.DriftRow(
            share=share, base=float(np.quantile(before, 1 - share)), adapted=float(np.quantile(after, 1 - share))
        )
        for share in _SHARES
    ]
    return report.Drift(depth=_DRIFT_DEPTH, queries=len(queries), rows=tuple(rows))


def _rank(fitted: Fit) -> int | None:
    delta = fitted.candidate.operator.delta
    return int(delta.left.shape[1]) if isinstance(delta, Factored) else None


def _operator(fitted: Fit) -> report.OperatorFacts | None:
    if fitted.candidate.operator.delta is None:
        return None
    correction: BilinearOperator = fitted.candidate.operator.correction
    values = tuple(float(value) for value in correction.singular_values()[:_SINGULAR_VALUES])
    if correction.shape[0] != correction.shape[1]:
        return report.OperatorFacts(singular_values=values)
    symmetric, skew = correction.symmetric_energy(), correction.skew_energy()
    whole = symmetric + skew
    if not np.isfinite(whole) or whole == 0:
        return report.OperatorFacts(singular_values=values)
    return report.OperatorFacts(singular_values=values, symmetric_share=symmetric / whole, skew_share=skew / whole)
