"""Align: two encoders of one folder, what the map between them keeps, and whether to use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from askew.adapters import Adapter
from askew.adapters.adapter import Similarity, check_similarity
from askew.data import Finding
from askew.errors import ParameterError
from askew.estimators import Alignment, align
from askew.estimators.align import BETA, CENTRE, Method, check_method
from askew.estimators.evidence import standard_error
from askew.formats import save_adapter
from askew.protocols import Progress
from askew.workflows.advise import Advice, advise
from askew.workflows.aligned_findings import aligned_findings
from askew.workflows.assess import MEASURES, depth_for
from askew.workflows.deliver import check_places
from askew.workflows.gate import Gate, gate
from askew.workflows.retention import Kept, Standing, retention, standings
from askew.workflows.two_encoders import ALIGNED, FUSED, OLD, TwoEncoders, prior_adapter, read_two

__all__ = ["Aligned", "align_encoders", "align_folder", "migrate_folder", "write_system"]


@dataclass(frozen=True, eq=False)
class Aligned:
    """What aligning two encoders gives.

    Attributes:
        alignment: the map, and how well it was learned.
        names: of the query encoder and the document encoder.
        kept: of both encoders' rankings, on held-out documents and on real queries.
        standings: of every system, on judged queries; empty without any.
        split: whose judgements.
        advice: which system to use.
        adapters: system → adapter without labels.
        findings: what is odd about the data.
        index: documents that are searched.
    """

    alignment: Alignment
    names: tuple[str, str]
    kept: tuple[Kept, ...]
    standings: tuple[Standing, ...]
    split: str | None
    advice: Advice
    adapters: Mapping[str, Adapter]
    findings: tuple[Finding, ...]
    index: int

    @property
    def retained(self) -> float | None:
        """The aligned system's share of the document encoder's own quality; None where that is not known."""
        means = {one.system: one.mean for one in self.standings}
        if ALIGNED not in means or means.get(OLD, 0.0) <= 0:
            return None
        return means[ALIGNED] / means[OLD]

    @property
    def retained_error(self) -> float | None:
        """The standard error of that share over queries, to first order."""
        if self.retained is None:
            return None
        by = {one.system: np.asarray(next(iter(one.evaluation.values.values()))) for one in self.standings}
        return standard_error(by[ALIGNED] - self.retained * by[OLD]) / float(by[OLD].mean())

    @property
    def retained_interval(self) -> tuple[float, float] | None:
        """Of that share, 95% over queries."""
        if self.retained is None or self.retained_error is None:
            return None
        return self.retained - 1.96 * self.retained_error, self.retained + 1.96 * self.retained_error

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "query_encoder": self.names[0],
            "document_encoder": self.names[1],
            "alignment": self.alignment.to_json(),
            "kept": [one.to_json() for one in self.kept],
            "split": self.split,
            "systems": [one.to_json() for one in self.standings],
            "retained": self.retained,
            "retained_interval": self.retained_interval,
            "recommendation": self.advice.to_json(),
            "findings": [finding.to_json() for finding in self.findings],
        }


def align_folder(
    folder: str | PathLike[str],
    output: str | PathLike[str] | None = None,
    *,
    query_encoder: str,
    document_encoder: str,
    split: str | None = None,
    fused: bool = False,
    bad_rows: Literal["raise", "drop"] = "raise",
    **options: Any,
) -> Aligned:
    """Align two encoders of a folder, and write the adapter that needs no label.

    Args:
        folder: documents by both encoders; queries and judgements as far as there are any.
        output: folder of the artefact, or None to write none.
        query_encoder: the encoder of queries.
        document_encoder: the encoder of the index.
        split: whose judgements.
        fused: write the adapter that takes both encoders' query vectors.
        bad_rows: ``"raise"`` or ``"drop"``.
        options: as `align_encoders` takes them.

    Raises:
        AskewError: as `read_two`, `align_encoders` and the writer do.
        ParameterError: a fusion is to be written, and there are no queries by both encoders.
    """
    if output is not None:
        check_places(Path(output), None)
    task = read_two(
        folder,
        query_encoder=query_encoder,
        document_encoder=document_encoder,
        split=split,
        bad_rows=bad_rows,
        texts=True,
    )
    found = align_encoders(task, **options)
    if output is not None:
        write_system(found, output, FUSED if fused else ALIGNED)
    return found


def migrate_folder(
    folder: str | PathLike[str],
    output: str | PathLike[str] | None = None,
    *,
    least_retention: float | None = None,
    least_overlap: float | None = None,
    **options: Any,
) -> tuple[Aligned, Gate]:
    """Align a new query encoder to an old index, and write the adapter if enough is kept.

    Args:
        folder: as for `align_folder`.
        output: folder of the artefact, or None to write none.
        least_retention: see `gate`.
        least_overlap: see `gate`.
        options: as `align_folder` takes them.

    Raises:
        AskewError: as `align_folder` and `gate` do.
    """
    if output is not None:
        check_places(Path(output), None)
    found = align_folder(folder, **options)
    gated = gate(found, least_retention=least_retention, least_overlap=least_overlap)
    if output is not None and gated.passed:
        write_system(found, output, ALIGNED)
    return found, gated


def write_system(found: Aligned, output: str | PathLike[str], system: str) -> None:
    """Write the adapter of a system.

    Raises:
        ParameterError: there is none, as there are no queries by both encoders.
        OutputError: it cannot be written.
    """
    if system not in found.adapters:
        raise ParameterError(
            f"there are no queries by both {found.names[0]!r} and {found.names[1]!r} to fuse",
            where="fused",
            remedy="Embed the queries with both encoders",
        )
    save_adapter(found.adapters[system], output)


def align_encoders(
    task: TwoEncoders,
    *,
    method: Method = "ridge",
    centre: float = CENTRE,
    beta: float = BETA,
    measures: Sequence[str] = MEASURES,
    similarity: Similarity = "dot",
    seed: int = 0,
    progress: Progress | None = None,
) -> Aligned:
    """Align two encoders, measure what that keeps, and say which system to use.

    Args:
        task: documents by both; queries and judgements as far as there are any.
        method: ``"ridge"`` or ``"procrustes"``; see `askew.estimators.align`.
        centre: how much of the intercept the map leaves out, from 0 to 1.
        beta: what the second encoder counts for in the fusion.
        measures: names that ir-measures knows; the first one leads.
        similarity: ``"dot"`` or ``"cosine"``, as the index scores.
        seed: of hashes and resampling.
        progress: called with the steps done and to do.

    Raises:
        AskewError: as `askew.estimators.align` does, or there is no such measure or similarity.
    """
    check_similarity(similarity)
    check_method(method, task.documents.dim, task.index.dim, centre=centre)
    depth_for(measures)  # an unknown one is refused now, not after the work
    step = _Steps(progress, 4)
    alignment = align(task.documents, task.index, method=method, centre=centre, seed=seed)
    step()
    adapters = _adapters(task, alignment, beta, similarity, judged=False)
    kept = retention(
        task,
        alignment.held_out,
        judged=_adapters(task, alignment, beta, similarity, judged=True),
        final=adapters,
        similarity=similarity,
    )
    step()
    found = standings(task, adapters, measures=measures, similarity=similarity, seed=seed)
    step()
    advice = advise(found, kept, task.names, index=len(task.index), unjudged=task.unjudged, seed=seed)
    step()
    findings = aligned_findings(task, alignment, kept)
    return Aligned(alignment, task.names, kept, found, task.split, advice, adapters, findings, len(task.index))


class _Steps:
    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._done, self._total = progress, 0, total

    def __call__(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


def _adapters(
    task: TwoEncoders, alignment: Alignment, beta: float, similarity: Similarity, *, judged: bool
) -> dict[str, Adapter]:
    found = {
        system: prior_adapter(task, alignment, system, beta=beta, similarity=similarity, judged=judged)
        for system in (ALIGNED, FUSED)
        # Held-out documents are embedded by both, so that a fusion of queries can be judged without queries.
        if judged or system == ALIGNED or task.asked(FUSED) is not None
    }
    return {system: adapter for system, adapter in found.items() if adapter is not None}
