"""The one plain summary of a fit that every report is a rendering of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from askew.errors import FormatError, ParameterError
from askew.report._plain import Record, build, encode
from askew.report.cases import QueryCase, QueryGain
from askew.report.systems import SearchSystem, Systems

__all__ = [
    "Candidate",
    "Chosen",
    "Comparison",
    "Drift",
    "DriftRow",
    "FitSummary",
    "Geometry",
    "HealthFinding",
    "Learning",
    "LearningPoint",
    "OperatorFacts",
    "Reproduction",
    "Verdict",
]

_SCHEMA = "askew-report/1"


@dataclass(frozen=True, kw_only=True)
class Verdict(Record):
    """What the training queries say, from nested cross-fitting.

    Attributes:
        decision: ``"adapt"`` or ``"keep"`` (the base).
        sentence: the reason, as one or two sentences of prose.
        gain: the nested cross-fitted mean gain over the base; None where there were too few labels for one.
        standard_error: its standard error, over queries.
        threshold: the gain that had to be exceeded, in the unit of `gain`.
        traffic: the share of traffic that comes back to labelled documents, which the gain was measured for.
    """

    decision: Literal["adapt", "keep"]
    sentence: str
    gain: float | None = None
    standard_error: float | None = None
    threshold: float | None = None
    traffic: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Chosen(Record):
    """The settings that cross-fitting chose, whether or not the verdict ships them.

    Attributes:
        estimator: its name, as in ``"softmax, dual"``.
        strength: the pull towards the prior; None for the prior itself.
        rank: the rank of the correction; None if it is not bounded.
    """

    estimator: str
    strength: float | None = None
    rank: int | None = None


@dataclass(frozen=True, kw_only=True)
class Candidate(Record):
    """One point of the path that cross-fitting walked.

    Attributes:
        name: the estimator and family; candidates of one name form one line of the picture.
        strength: the pull towards the prior; None for "keep the prior".
        mean: the cross-fitted mean of the summary's measure.
        standard_error: of that mean's gain over the first, over queries.
        chosen: whether this is the one.
        bound: what the choice went by, larger is better; None where that is the mean.
    """

    name: str
    strength: float | None
    mean: float
    standard_error: float
    chosen: bool = False
    bound: float | None = None


@dataclass(frozen=True, kw_only=True)
class Geometry(Record):
    """Whether queries and documents ranked better by a geometry each than by a shared one.

    Attributes:
        choice: ``"dual"`` or ``"shared"``, whichever leads; ``"either"`` inside the noise.
        sentence: the evidence in prose.
        shared: the best candidate of one geometry.
        dual: the best of two.
        lead: the cross-fitted mean of dual less that of shared.
        standard_error: of the lead, over queries.
    """

    choice: Literal["shared", "dual", "either"]
    sentence: str
    shared: str
    dual: str
    lead: float
    standard_error: float


@dataclass(frozen=True, kw_only=True)
class LearningPoint(Record):
    """The gain at one number of labels, with a nominal 95% interval; measured, or forecast."""

    labels: float
    gain: float
    low: float
    high: float
    measured: bool


@dataclass(frozen=True, kw_only=True)
class Learning(Record):
    """What adapting gains by the number of labels.

    Attributes:
        sentence: what the curve says, in prose.
        labels: how many there are.
        points: ascending; the measured ones, then the forecast from the last of them on.
        pays_from: labels from which a verdict is expected to say adapt; None if that is not in sight.
        twice: what twice as many labels are expected to add to the gain; None if that was not asked.
    """

    sentence: str
    labels: float
    points: tuple[LearningPoint, ...]
    pays_from: float | None = None
    twice: LearningPoint | None = None

    @property
    def rows(self) -> tuple[LearningPoint, ...]:
        """The points of a table: a forecast for the labels that there are says again what was measured."""
        return tuple(point for point in self.points if point.measured or point.labels > self.labels)


@dataclass(frozen=True, kw_only=True)
class DriftRow(Record):
    """The scores that one share of the results lies at or above, before and after."""

    share: float
    base: float
    adapted: float


@dataclass(frozen=True, kw_only=True)
class Drift(Record):
    """How the scale of scores moves, for whoever has a threshold in use.

    Attributes:
        depth: results a query that are counted, the first ones.
        queries: how many queries they are from.
        rows: by share, ascending.
    """

    depth: int
    queries: int
    rows: tuple[DriftRow, ...]


@dataclass(frozen=True, kw_only=True)
class Comparison(Record):
    """Base against adapted, or one other system against another, by one measure, paired by query.

    Attributes:
        measure: its name, as in ``"nDCG@10"``.
        base: the mean of the base, or of another `reference`.
        adapted: the mean of the chosen correction, also where the verdict does not ship it, or of another
            `system`.
        difference: adapted − base.
        low: the lower bound of the difference.
        high: its upper bound.
        confidence: of the interval, as in 0.95.
        p_value: of the paired test, if one was made.
        wins: queries that the correction helps.
        losses: queries that it hurts.
        ties: the others.
        headroom: the best value that could be reached, minus `base`.
        n: the number of queries.
        subset: which queries and documents, as in ``"unseen documents"``.
        system: what `adapted` is the mean of.
        reference: what `base` is the mean of.
    """

    measure: str
    base: float
    adapted: float
    difference: float
    low: float
    high: float
    confidence: float
    p_value: float | None
    wins: int
    losses: int
    ties: int
    headroom: float
    n: int
    subset: str = "all"
    system: str = "adapted"
    reference: str = "base"

    @property
    def label(self) -> str:
        """The subset, and the systems where they are not base and adapted."""
        if (self.system, self.reference) == ("adapted", "base"):
            return self.subset
        return f"{self.subset}: {self.system} against {self.reference}"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.confidence < 1:
            raise ParameterError(f"{self.confidence} is not in (0, 1)", where="Comparison.confidence")
        if self.low > self.high:
            raise ParameterError(f"the bounds {self.low} and {self.high} are crossed", where="Comparison.low")


@dataclass(frozen=True, kw_only=True)
class HealthFinding(Record):
    """Something about the data that the reader should know, and what to do about it."""

    level: Literal["note", "warning"]
    message: str
    remedy: str | None = None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OperatorFacts(Record):
    """The learned correction Δ in numbers.

    Attributes:
        singular_values: the leading ones, largest first.
        symmetric_share: the share of ‖Δ‖² in its symmetric part; None if Δ is not square.
        skew_share: the share of ‖Δ‖² in its skew part; None if Δ is not square.
    """

    singular_values: tuple[float, ...]
    symmetric_share: float | None = None
    skew_share: float | None = None


@dataclass(frozen=True, kw_only=True)
class Reproduction(Record):
    """How to get the same result again, and where things are.

    Attributes:
        command: the command line.
        seed: if there was one.
        fingerprint: of the data.
        adapter: the folder of the adapter that was written; "" if none was.
        data: the folder that the labels were read from; "" if there is none.
    """

    command: str
    seed: int | None = None
    fingerprint: str = ""
    adapter: str = ""
    data: str = ""


@dataclass(frozen=True, kw_only=True)
class FitSummary(Record):
    """All that a report says, as plain values. HTML, Markdown and JSON are renderings of it.

    Attributes:
        title: the report's heading.
        askew_version: the version that made it.
        dataset: the task's name.
        query_encoder: what embedded the queries.
        document_encoder: what embedded the documents.
        query_dim: the queries' dimension.
        document_dim: the documents' dimension.
        documents: how many documents were searched.
        training_labels: how many judged queries were fitted on.
        test_queries: how many queries were held out; None without a test split.
        similarity: ``"cosine"`` or ``"dot"``.
        verdict: adapt or keep, with its reason.
        chosen: the settings.
        reproduction: the command line, seed and fingerprint.
        measure: what cross-fitting scored by.
        candidates: the path of strengths, "keep the prior" among them.
        chosen_by: what each candidate's `bound` is, in words; "" if the choice went by the mean.
        geometry: one geometry or two; None where only one family was tried.
        learning: the gain by number of labels; None where it was not measured.
        drift: scores before and after, on the test queries; None without any.
        comparisons: on the test split, the leading one first; empty without one.
        elsewhere: on other datasets, named by their `subset`.
        per_query: every compared query, by the first comparison's measure (`measure` without one).
        helped: the queries with the largest gains, largest first; a page shows ten.
        hurt: the queries with the largest losses, largest first; a page shows ten.
        findings: about the data's health.
        operator: about the correction; None if nothing was fitted.
        systems: every way to search the index that was fitted, if two encoders were at hand.
    """

    title: str
    askew_version: str
    dataset: str
    query_encoder: str
    document_encoder: str
    query_dim: int
    document_dim: int
    documents: int
    training_labels: int
    test_queries: int | None
    similarity: str
    verdict: Verdict
    chosen: Chosen
    reproduction: Reproduction
    measure: str = "nDCG@10"
    candidates: tuple[Candidate, ...] = ()
    chosen_by: str = ""
    geometry: Geometry | None = None
    learning: Learning | None = None
    drift: Drift | None = None
    comparisons: tuple[Comparison, ...] = ()
    elsewhere: tuple[Comparison, ...] = ()
    per_query: tuple[QueryGain, ...] = ()
    helped: tuple[QueryCase, ...] = ()
    hurt: tuple[QueryCase, ...] = ()
    findings: tuple[HealthFinding, ...] = ()
    operator: OperatorFacts | None = None
    systems: Systems | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum(candidate.chosen for candidate in self.candidates) > 1:
            raise ParameterError("more than one candidate is marked as chosen", where="FitSummary.candidates")

    @property
    def tried(self) -> bool:
        """Whether any correction was tried; without one, adapted is the base, and no difference says anything."""
        return bool(self.candidates) or self.operator is not None

    @property
    def level(self) -> float | None:
        """One standard error below the best mean: candidates at or above it are level with the best; None for none."""
        if not self.candidates:
            return None
        best = max(self.candidates, key=lambda candidate: candidate.mean)
        return best.mean - best.standard_error

    @property
    def written(self) -> SearchSystem | None:
        """The system that was written, where several were fitted."""
        return next((row for row in self.systems.rows if row.written), None) if self.systems else None

    @property
    def compared_by(self) -> str:
        """The measure of `per_query`: the first comparison's, or cross-fitting's without one."""
        return self.comparisons[0].measure if self.comparisons else self.measure

    def to_json(self) -> dict[str, Any]:
        """As plain values, under a schema name."""
        return {"schema": _SCHEMA, **encode(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FitSummary:
        """The summary that `to_json` wrote.

        Raises:
            FormatError: another schema, or a field that is missing, unknown or of the wrong type.
        """
        schema = data.get("schema")
        if schema != _SCHEMA:
            raise FormatError(f"expected the schema {_SCHEMA!r}, got {schema!r}", where="summary.schema")
        return build(cls, {key: value for key, value in data.items() if key != "schema"}, where="summary")
