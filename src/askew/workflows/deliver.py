"""Deliver: fit, test, save the adapter and write its report, all from two datasets or one folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from askew._atomic import writing_file
from askew.adapters.adapter import Similarity
from askew.data import Dataset, Finding, split_queries
from askew.errors import LabelError
from askew.evaluation import Comparison
from askew.formats import list_splits, read_dataset, read_split, save_adapter
from askew.protocols import Progress
from askew.report import FitSummary, render_html
from askew.workflows.assess import MEASURES, Assessment, assess
from askew.workflows.fit import Fit, fit
from askew.workflows.summarise import summarise

__all__ = ["Delivery", "deliver", "read_splits"]


@dataclass(frozen=True, eq=False)
class Delivery:
    """What a delivered fit left behind.

    Attributes:
        fit: adapter, choice and findings.
        tests: on test queries, all documents first, then the unseen ones; empty without a test split.
        summary: what the report renders.
        adapter_path: the artefact.
        report_path: the HTML report, if one was written.
    """

    fit: Fit
    tests: tuple[tuple[str, Assessment], ...]
    summary: FitSummary
    adapter_path: Path
    report_path: Path | None

    @property
    def comparisons(self) -> tuple[tuple[str, Comparison], ...]:
        """Which documents, and a comparison over them; the chosen candidate, whatever the verdict."""
        return tuple((subset, comparison) for subset, test in self.tests for comparison in test.comparisons)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        verdict = self.fit.choice.verdict
        return {
            "verdict": verdict.to_json(),
            "chosen": {"estimator": self.fit.choice.chosen.estimator, "strength": self.fit.choice.chosen.strength},
            "tests": [{"documents": subset, **comparison.to_json()} for subset, comparison in self.comparisons],
            "adapter": str(self.adapter_path),
            "report": None if self.report_path is None else str(self.report_path),
            "findings": [finding.to_json() for finding in self.fit.findings],
        }


def read_splits(
    folder: str | PathLike[str],
    *,
    split: str | None = None,
    test_split: str | None = None,
    labels: int | None = None,
    encoder: str | None = None,
    document_encoder: str | None = None,
    bad_rows: Literal["raise", "drop"] = "raise",
    seed: int = 0,
) -> tuple[Dataset, Dataset | None, tuple[Finding, ...]]:
    """Training and test queries of a folder, never a query in both.

    The test split is the one named, else ``test`` where there is one beside the training split, else
    the queries that `labels` leaves over, else none.

    Args:
        folder: see `askew.formats.read_dataset`.
        split: where the labels are.
        test_split: where the test queries are.
        labels: take this many labelled queries, by a hash of their ids; all by default.
        encoder: of queries and documents.
        document_encoder: of documents, if another.
        bad_rows: ``"raise"`` or ``"drop"``.
        seed: of the hash.

    Raises:
        InputError: see `askew.formats.read_dataset`.
        ParameterError: more labels than labelled queries, or fewer than one.
    """
    whole = read_dataset(folder, split=split, encoder=encoder, document_encoder=document_encoder, bad_rows=bad_rows)
    used = split or ("train" if "train" in (names := list_splits(folder)) else names[0])
    if test_split is None and used != "test" and "test" in list_splits(folder):
        test_split = "test"
    train, rest = whole, None
    if labels is not None:
        taken, left = split_queries(whole.labelled, labels=labels, seed=seed)
        train, rest = whole.only(taken), whole.only(left) if left else None
    if test_split is None:
        return train, rest, ()
    return _apart(train, replace(whole, qrels=read_split(folder, test_split)))


def _apart(train: Dataset, test: Dataset) -> tuple[Dataset, Dataset, tuple[Finding, ...]]:
    """Take test queries out of training."""
    both = [query for query in train.qrels.queries if query in test.qrels]
    if not both:
        return train, test, ()
    kept = [query for query in train.qrels.queries if query not in test.qrels]
    if not kept:
        raise LabelError(
            "every training query is a test query too",
            where=train.name,
            remedy="Name another --split or --test-split",
        )
    finding = Finding(
        "train-test-overlap",
        "warning",
        f"{len(both):,} queries are in both splits; they were taken out of training",
        len(both),
        tuple(both[:5]),
    )
    return train.only(kept), test, (finding,)


def deliver(
    train: Dataset,
    test: Dataset | None,
    output: str | PathLike[str],
    *,
    report: str | PathLike[str] | None = None,
    similarity: Similarity = "dot",
    measures: Sequence[str] = MEASURES,
    folds: int = 5,
    threshold: float = 1.0,
    seed: int = 0,
    findings: Sequence[Finding] = (),
    command: str = "askew.fit",
    progress: Progress | None = None,
) -> Delivery:
    """Fit on one dataset, test on another, save the artefact, and write the report.

    The test split never changes what is saved.

    Args:
        train: labels and corpus.
        test: judged queries over the same corpus, or None.
        output: folder of the artefact.
        report: the HTML file, or None for no report.
        similarity: ``"dot"`` or ``"cosine"``.
        measures: names that ir-measures knows; the first one leads.
        folds: number of two-way folds.
        threshold: standard errors that the cross-fitted gain has to exceed.
        seed: of the folds' hash and of the resampling.
        findings: what reading the data found already.
        command: how to get this again, for the report.
        progress: called with the fits done and to do.

    Raises:
        AskewError: as `fit`, `assess` and the writers do.
    """
    fitted = fit(
        train, similarity=similarity, folds=folds, threshold=threshold, seed=seed, progress=progress
    )
    fitted = replace(fitted, findings=(*findings, *fitted.findings))
    tests = _tests(train, test, fitted, measures, seed)
    summary = summarise(fitted, train, test, tests, seed=seed, command=command)
    adapter_path = save_adapter(fitted.adapter, output)
    report_path = None
    if report is not None:
        report_path = Path(report)
        with writing_file(report_path) as temporary:
            temporary.write_text(render_html(summary), encoding="utf-8")
    return Delivery(fitted, tests, summary, adapter_path, report_path)


def _tests(
    train: Dataset, test: Dataset | None, fitted: Fit, measures: Sequence[str], seed: int
) -> tuple[tuple[str, Assessment], ...]:
    if test is None:
        return ()
    seen = {document for query in train.labelled for document in train.qrels.positives(query)}
    parts = (
        ("all", assess(test, fitted.candidate, measures=measures, seed=seed)),
        ("unseen", assess(test, fitted.candidate, measures=measures[:1], without=seen, seed=seed)),
    )
    return tuple((subset, found) for subset, found in parts if found is not None)
