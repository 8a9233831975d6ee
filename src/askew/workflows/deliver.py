"""Deliver: fit, test, save the adapter and write its report, all from two datasets or one folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from askew._atomic import writing_file
from askew.adapters import Adapter
from askew.adapters.adapter import Similarity
from askew.data import Dataset, Finding, Qrels, split_queries
from askew.data import merge_duplicates as merged
from askew.errors import LabelError, MatchError, OutputError, ParameterError, counted
from askew.estimators import Mining
from askew.formats import list_splits, read_dataset, read_split, refuse_foreign, save_adapter
from askew.protocols import Progress
from askew.report import FitSummary, Systems, render_html, render_json, render_markdown
from askew.workflows.assess import MEASURES, depth_for
from askew.workflows.fit import Fit, Traffic, fit
from askew.workflows.off_domain import TOLERANCE
from askew.workflows.summarise import summarise
from askew.workflows.trial import InService, Trial, in_service, try_out

__all__ = ["Delivery", "check_file", "check_places", "deliver", "read_splits", "write_up"]

# What the ending of a report's name asks for.
_RENDERINGS = {".html": render_html, ".htm": render_html, ".md": render_markdown, ".json": render_json}


@dataclass(frozen=True, eq=False)
class Delivery:
    """What a delivered fit left behind.

    Attributes:
        fit: adapter, choice and findings.
        trial: what test queries say; empty without any.
        summary: what the report renders.
        adapter_path: the artefact.
        report_path: the report, if one was written.
    """

    fit: Fit
    trial: Trial
    summary: FitSummary
    adapter_path: Path
    report_path: Path | None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        nearest, trial, lead = self.fit.nearest, self.trial.to_json(), self.fit.choice.geometry()
        if nearest is not None:
            trial["nearest_past_query"] = {**nearest.to_json(), "tests": trial["nearest_past_query"] or []}
        return {
            "verdict": self.fit.choice.verdict.to_json(),
            "chosen": self.fit.choice.chosen.to_json(),
            "geometry": None if lead is None else lead.to_json(),
            "also": [found.to_json() for found in self.fit.elsewhere],
            "learning_curve": None if self.fit.curve is None else self.fit.curve.to_json(),
            **trial,
            "mined": dict(self.fit.mined),
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
    merge_duplicates: bool = False,
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
        merge_duplicates: give every copy of a judged document its judgements.
        seed: of the hash.

    Raises:
        InputError: see `askew.formats.read_dataset`.
        ParameterError: more labels than labelled queries, or fewer than one.
    """
    whole = read_dataset(folder, split=split, encoder=encoder, document_encoder=document_encoder, bad_rows=bad_rows)
    names = list_splits(folder)
    used = split or ("train" if "train" in names else names[0])
    if test_split is None and used != "test" and "test" in names:
        test_split = "test"
    train, test = whole, None
    findings: tuple[Finding, ...] = ()
    if test_split is not None:
        train, test, findings = _apart(whole, _with(whole, test_split, read_split(folder, test_split)))
    if merge_duplicates:
        train, told = merged(train)
        findings += told
        if test is not None:
            test, told = merged(test)
            findings += tuple(replace(one, code=f"test-{one.code}", message=_of_test(one)) for one in told)
    if labels is None:
        return train, test, findings
    if labels > len(train.labelled):
        raise ParameterError(
            f"{counted(labels, 'label was', 'labels were')} asked for, and "
            f"{counted(len(train.labelled), 'query', 'queries')} of the split {used!r} can teach",
            where=folder,
            remedy="Ask for fewer labels, or leave --labels (labels=...) out to use them all",
        )
    taken, left = split_queries(train.labelled, labels=labels, seed=seed)
    if test is None and left:
        chosen = set(taken)
        test = train.only(query for query in train.qrels.queries if query not in chosen)
    return train.only(taken), test, findings


def _of_test(finding: Finding) -> str:
    return f"among the test queries, {finding.message}"


def _with(whole: Dataset, split: str, qrels: Qrels) -> Dataset:
    try:
        return replace(whole, qrels=qrels)
    except MatchError as error:
        raise MatchError(error.problem, where=f"{whole.name}, split {split!r}", remedy=error.remedy) from None


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
        counted(
            len(both),
            "query is in both splits; it was taken out of training",
            "queries are in both splits; they were taken out of training",
        ),
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
    against: str | PathLike[str] | None = None,
    similarity: Similarity = "dot",
    traffic: Traffic = "fresh",
    measures: Sequence[str] = MEASURES,
    ranks: Sequence[int] = (),
    mining: Mining | None = None,
    folds: int = 5,
    threshold: float | None = 1.0,
    curve: bool = True,
    keep_scale: bool = False,
    also: Sequence[Dataset] = (),
    tolerance: float = TOLERANCE,
    seed: int = 0,
    findings: Sequence[Finding] = (),
    command: str = "askew.fit",
    data: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Delivery:
    """Fit on one dataset, test on another, save the artefact, and write the report.

    The test split never changes what is saved.

    Args:
        train: labels and corpus.
        test: judged queries over the same corpus, or None.
        output: folder of the artefact.
        report: the file, HTML, Markdown or JSON by its ending (.html, .md, .json); None for no report.
        against: the artefact in service, to compare the new candidate with; `output` may replace it.
        similarity: ``"dot"`` or ``"cosine"``.
        traffic: ``"fresh"``, ``"recurring"`` or the share of recurring traffic; see `fit`.
        measures: names that ir-measures knows; the first one leads.
        ranks: bounds on the rank of the correction to try, beside none.
        mining: how negatives are chosen; see `fit`.
        folds: number of two-way folds.
        threshold: standard errors that the cross-fitted gain has to exceed; None where nothing in use is at stake.
        curve: measure the gain by number of labels for the report.
        keep_scale: keep the base's scale of scores; see `fit`.
        also: datasets that the adapter is not made for; see `fit`.
        tolerance: the loss on these that is tolerated.
        seed: of the folds' hash and of the resampling.
        findings: what reading the data found already.
        command: how to get this again, for the report.
        data: the folder that `train` was read from, for the commands that the report advises.
        progress: called with the fits done and to do.

    Raises:
        AskewError: as `fit`, `assess` and the writers do.
        OutputError: the adapter or the report cannot be written; found before the fit, where that can be.
        ParameterError: there is no such measure, the report would lie in the adapter's folder or has another
            ending, or there is no test split to compare with `against` on.
        ArtefactError: the artefact in service cannot be loaded, or was made for other vectors.
        LabelError: it was fitted on all test queries.
    """
    output, report = Path(output), None if report is None else Path(report)
    check_places(output, report)
    depth_for(measures)  # an unknown one is refused now, not after the fit
    old = None if against is None else in_service(against, train, test)
    fitted = fit(
        train,
        similarity=similarity,
        traffic=traffic,
        ranks=ranks,
        mining=mining,
        folds=folds,
        threshold=threshold,
        curve=curve,
        keep_scale=keep_scale,
        also=also,
        tolerance=tolerance,
        seed=seed,
        progress=progress,
    )
    return write_up(
        fitted,
        train,
        test,
        output,
        report=report,
        against=old,
        measures=measures,
        seed=seed,
        findings=findings,
        command=command,
        data=data,
    )


def write_up(
    fitted: Fit,
    train: Dataset,
    test: Dataset | None,
    output: str | PathLike[str],
    *,
    report: str | PathLike[str] | None = None,
    against: InService | None = None,
    measures: Sequence[str] = MEASURES,
    seed: int = 0,
    findings: Sequence[Finding] = (),
    command: str = "askew.fit",
    data: str | PathLike[str] | None = None,
    systems: Systems | None = None,
) -> Delivery:
    """Try a fit out on test queries, save its artefact, and write its report.

    Args:
        fitted: what was fitted.
        train: on what.
        test: judged queries over the same corpus, or None.
        output: folder of the artefact.
        report: the HTML file, or None for no report.
        against: the adapter in service; see `in_service`.
        measures: names that ir-measures knows; the first one leads.
        seed: of the resampling.
        findings: what was found before the fit.
        command: how to get this again, for the report.
        data: the folder that `train` was read from, for the commands that the report advises.
        systems: how this fit stands among others, for the report.

    Raises:
        AskewError: as `assess` and the writers do.
    """
    output, report = Path(output), None if report is None else Path(report)
    trial = try_out(fitted, test, against=against, measures=measures, seed=seed)
    fitted = replace(fitted, findings=(*findings, *fitted.findings, *trial.findings))
    summary = summarise(
        fitted,
        train,
        test,
        trial,
        seed=seed,
        command=command,
        adapter=str(output),
        data="" if data is None else str(data),
        systems=systems,
    )
    _write(fitted.adapter, output, summary, report)
    return Delivery(fitted, trial, summary, output, report)


def check_places(output: Path, report: Path | None) -> None:
    """Refuse what cannot be written to before time is spent on what should go there.

    Args:
        output: folder of the artefact.
        report: the report's file, or None for no report.

    Raises:
        OutputError: something else stands at one of them, or its folder cannot be written to.
        ParameterError: the output has no name, the report would lie in it, or its ending is of no rendering.
    """
    whole = output.absolute()
    if output.name in ("", ".."):
        raise ParameterError(
            "it is no place for an adapter", where=output, remedy="Name a folder of its own, such as 'adapter'"
        )
    if report is not None and whole in (report.absolute(), *report.absolute().parents):
        raise ParameterError(
            "the report would lie in the adapter's folder, which holds the adapter alone",
            where=report,
            remedy=f"Name another file, such as {output.name}.html beside it",
        )
    if os.path.lexists(output) and not os.path.isdir(output):  # noqa: PTH112 - False for a name too long, no error
        raise OutputError("a file stands where a folder should go", where=output, remedy="Name another folder")
    _check_above(output)
    if report is not None:
        check_file(report)
        _rendering(report)
    if os.path.isdir(output):  # noqa: PTH112 - the same
        refuse_foreign(output)


def _rendering(report: Path) -> Callable[[FitSummary], str]:
    """What renders a report, by the ending of its name."""
    ending = report.suffix.lower()
    if ending not in _RENDERINGS:
        raise ParameterError(
            f"no report is written as {report.suffix or 'a name without an ending'}",
            where=report,
            remedy="End its name in .html, .md or .json",
        )
    return _RENDERINGS[ending]


def check_file(path: Path) -> None:
    """Refuse a place that no file can be written to before time is spent on what should go there.

    Raises:
        OutputError: a folder stands there, or its folder cannot be written to.
    """
    if os.path.isdir(path):  # noqa: PTH112 - False for a name too long, no error
        raise OutputError("a folder stands where a file should go", where=path, remedy="Name another file")
    _check_above(path)


def _check_above(path: Path) -> None:
    """The nearest folder above that is there already: the rest of the way will be made."""
    above = next(folder for folder in path.absolute().parents if os.path.lexists(folder))
    problem = "" if above.is_dir() else "is not a folder"
    if not problem:
        try:
            with tempfile.TemporaryFile(dir=above):  # what permissions say is not all: a file system may refuse
                pass
        except OSError:
            problem = "is forbidden to write to"
    if problem:
        raise OutputError(f"it cannot be written: {above} {problem}", where=path, remedy="Name another place")


def _write(adapter: Adapter, output: Path, summary: FitSummary, report: Path | None) -> None:
    """Both or, unless the machine fails between two renames, none."""
    if report is None:
        save_adapter(adapter, output)
        return
    with writing_file(report) as temporary:
        temporary.write_text(_rendering(report)(summary), encoding="utf-8")
        save_adapter(adapter, output)
