"""Score: measures of the base, of an adapter against its base, or of a run, on a folder's judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

from askew.adapters import Adapter
from askew.adapters.adapter import Similarity
from askew.data import Finding, Run, examine
from askew.errors import ParameterError
from askew.evaluation import Comparison, Evaluation, evaluate
from askew.formats import list_splits, load_adapter, read_dataset
from askew.operators import BilinearOperator
from askew.workflows.assess import MEASURES, assess, search_judged

__all__ = ["Score", "score"]


@dataclass(frozen=True, eq=False)
class Score:
    """What was measured.

    Attributes:
        split: on whose judgements.
        evaluation: of the adapter, the run, or the base.
        comparisons: the adapter against its base, a measure each; empty otherwise.
        findings: what is odd about the data.
    """

    split: str
    evaluation: Evaluation
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values, every query included."""
        return {
            "split": self.split,
            **self.evaluation.to_json(),
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
            "findings": [finding.to_json() for finding in self.findings],
        }


def score(
    folder: str | PathLike[str],
    *,
    adapter: str | PathLike[str] | None = None,
    run: Run | None = None,
    split: str | None = None,
    encoder: str | None = None,
    document_encoder: str | None = None,
    measures: Sequence[str] = MEASURES,
    similarity: Similarity | None = None,
    bad_rows: Literal["raise", "drop"] = "raise",
    seed: int = 0,
) -> Score:
    """Measure on a folder's judgements.

    Args:
        folder: see `askew.formats.read_dataset`.
        adapter: an artefact to compare with its base.
        run: a run to evaluate instead of searching.
        split: whose judgements; ``test`` by default where there is one.
        encoder: of queries and documents.
        document_encoder: of documents, if another.
        measures: names that ir-measures knows.
        similarity: of the base, or instead of the adapter's own.
        bad_rows: ``"raise"`` or ``"drop"``.
        seed: of the resampling.

    Raises:
        AskewError: as the reader, `assess` and `evaluate` do.
        ParameterError: both an adapter and a run are given.
    """
    if adapter is not None and run is not None:
        raise ParameterError("both an adapter and a run are given", remedy="Evaluate one at a time")
    if split is None and "test" in list_splits(folder):
        split = "test"
    dataset = read_dataset(
        folder, split=split, encoder=encoder, document_encoder=document_encoder, bad_rows=bad_rows, texts=False
    )
    name = split or list_splits(folder)[0]
    if run is not None:
        return Score(name, evaluate(run, dataset.qrels, measures), (), examine(dataset, similarity=similarity or "dot"))
    held = load_adapter(adapter) if adapter is not None else Adapter(BilinearOperator.identity(dataset.queries.dim))
    if similarity is not None:
        held = Adapter(held.operator, similarity, held.provenance)
    findings = examine(dataset, similarity=held.similarity)
    if adapter is None:
        return Score(name, evaluate(search_judged(dataset, held, name="base"), dataset.qrels, measures), (), findings)
    found = assess(dataset, held, measures=measures, seed=seed)
    assert found is not None  # noqa: S101 - only `without` can leave nothing to count
    return Score(name, found.adapted, found.comparisons, findings)
