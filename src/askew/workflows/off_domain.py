"""Off-domain: what an adapter does to queries that it was not made for, such as general ones over another corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from askew.adapters import Adapter, Canaries, Provenance
from askew.data import Dataset
from askew.errors import DimensionError, LabelError, ParameterError, counted
from askew.evaluation import Comparison
from askew.operators import BilinearOperator, Zero
from askew.workflows.assess import assess
from askew.workflows.recognise import recognising

__all__ = ["TOLERANCE", "OffDomain", "check_elsewhere", "check_tolerance", "look_elsewhere"]

#: What a mean may fall by on other data before the base is kept, in the unit of the first measure.
TOLERANCE = 0.01


@dataclass(frozen=True, eq=False)
class OffDomain:
    """Base against adapted on another dataset.

    Attributes:
        dataset: its name.
        comparisons: one a measure; the first one decides.
        tolerance: what its mean may fall by.
    """

    dataset: str
    comparisons: tuple[Comparison, ...]
    tolerance: float

    @property
    def exceeded(self) -> bool:
        """Whether the mean falls by more than is tolerated."""
        return self.comparisons[0].difference < -self.tolerance

    @property
    def reason(self) -> str:
        """A sentence."""
        row = self.comparisons[0]
        found = f"{row.difference:+.4f} [{row.low:+.4f}, {row.high:+.4f}] {row.measure}"
        found += f" on {counted(row.n, 'query', 'queries')}"
        verb = "more than" if self.exceeded else "within"
        return f"on {self.dataset} the change is {found}, {verb} the loss of {self.tolerance:g} that is tolerated"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "dataset": self.dataset,
            "tolerance": self.tolerance,
            "exceeded": self.exceeded,
            "tests": [row.to_json() for row in self.comparisons],
        }


def check_tolerance(tolerance: float) -> None:
    """Raise ParameterError unless it is a finite number of 0 or more."""
    if not 0 <= tolerance < float("inf"):
        raise ParameterError(
            f"the tolerated loss is {tolerance}", where="tolerance", remedy="Give a finite number, 0 or more"
        )


def check_elsewhere(dataset: Dataset, other: Dataset) -> None:
    """Refuse, before a fit, a dataset that what is fitted could not be compared on.

    Args:
        dataset: what will be fitted on.
        other: what the result will be compared on.

    Raises:
        DimensionError: vectors of another dimension.
        EncoderMismatchError: vectors of another encoder.
        LabelError: it has no judged query that can be counted.
    """
    for side, own, theirs in (
        ("query", dataset.queries, other.queries),
        ("document", dataset.documents, other.documents),
    ):
        if own.dim != theirs.dim:
            raise DimensionError(
                f"its {side} vectors have {theirs.dim} dimensions, those of {dataset.name} {own.dim}",
                where=other.name,
                remedy="Embed both with the same encoder",
            )
    ours = Provenance(
        query_encoder=dataset.queries.encoder,
        document_encoder=dataset.documents.encoder,
        query_canaries=Canaries.pick(dataset.queries, dataset.query_texts),
        document_canaries=Canaries.pick(dataset.documents, dataset.document_texts),
    )
    recognising(Adapter(BilinearOperator(Zero(dataset.queries.dim, dataset.documents.dim)), provenance=ours), other)
    if not other.labelled:
        raise LabelError(
            "no judged query has both an embedding and a relevant document in the corpus",
            where=other.name,
            remedy="Check the ids, or leave this dataset out",
        )


def look_elsewhere(
    adapter: Adapter,
    datasets: Sequence[Dataset],
    *,
    tolerance: float = TOLERANCE,
    seed: int = 0,
) -> tuple[OffDomain, ...]:
    """Compare an adapter with its base on datasets that it was not fitted on.

    Args:
        adapter: what may ship.
        datasets: judged queries over corpora of their own, by the same encoders.
        tolerance: what the mean of the first measure may fall by.
        seed: of the resampling.

    Raises:
        DimensionError: vectors of another dimension.
        EncoderMismatchError: vectors of another encoder.
        ParameterError: the tolerance is out of range.
    """
    check_tolerance(tolerance)
    found = []
    for dataset in datasets:
        assessed = assess(dataset, recognising(adapter, dataset), seed=seed)
        if assessed is not None:
            found.append(OffDomain(dataset.name, assessed.comparisons, tolerance))
    return tuple(found)
