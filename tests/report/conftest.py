"""Summaries of made-up fits: a full one, one without a test split, and pieces to bend."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Literal

import pytest

from askew.report import (
    Candidate,
    Chosen,
    Comparison,
    Drift,
    DriftRow,
    FitSummary,
    Geometry,
    HealthFinding,
    Learning,
    LearningPoint,
    Move,
    NearestLabel,
    OperatorFacts,
    QueryCase,
    QueryGain,
    RankedDocument,
    Reproduction,
    SearchSystem,
    Systems,
    SystemTest,
    Verdict,
)

_TEXT = "parse a date from text with an optional zone and return it in local time or fail when empty"
_WORDS = _TEXT.split()
_STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


def make_queries(n: int, *, seed: int = 7) -> tuple[QueryGain, ...]:
    draw = random.Random(seed)
    queries = []
    for place in range(n):
        base = round(draw.random(), 4)
        adapted = base if draw.random() < 0.35 else min(1.0, max(0.0, base + draw.gauss(0.03, 0.18)))
        queries.append(QueryGain(query_id=f"q{place}", text=_text(draw, 9), base=base, adapted=adapted))
    return tuple(queries)


def make_case(query: QueryGain, *, seed: int = 3) -> QueryCase:
    draw = random.Random(seed)
    before, after = (tuple(_document(draw, place) for place in range(5)) for _ in range(2))
    return QueryCase(**_values(query), before=before, after=after, move=make_move(seed))


def make_move(seed: int) -> Move | None:
    """Every third case has no reason, every third no nearest query."""
    if seed % 3 == 2:
        return None
    near = NearestLabel(query_id=f"t{seed}", text="Parse <&> a time", cosine=0.75, shares=True)
    return Move(
        sentence=f"The relevant document d{seed} <&> rose from place beyond 100 to 2.",
        doc_id=f"d{seed}",
        before=None,
        after=2,
        depth=100,
        others=98,
        others_known=3,
        examples=("d8", "d9"),
        nearest=near if seed % 3 else None,
    )


def make_summary(n: int = 1_200, **changes: Any) -> FitSummary:
    queries = make_queries(n)
    ordered = sorted(queries, key=lambda query: -query.gain)
    values: dict[str, Any] = {
        "title": "Which function does this sentence describe?",
        "askew_version": "0.1.0",
        "dataset": "stdlib-docs",
        "query_encoder": "static-256",
        "document_encoder": "static-256",
        "query_dim": 256,
        "document_dim": 256,
        "documents": 8_412,
        "training_labels": 600,
        "test_queries": n,
        "similarity": "cosine",
        "verdict": make_verdict("adapt"),
        "chosen": Chosen(estimator="softmax, dual", strength=0.03, rank=32),
        "reproduction": Reproduction(
            command="askew fit --queries queries.npy --documents docs.npy --qrels qrels.tsv --out adapter",
            seed=0,
            fingerprint="3f9c2a71d0e4",
        ),
        "candidates": make_candidates(),
        "geometry": Geometry(
            choice="dual",
            sentence="Cross-fitted nDCG@10, the best with a map for each side <&> leads by +0.0210.",
            shared="softmax, shared, strength 0.1",
            dual="softmax, dual, strength 0.03",
            lead=0.021,
            standard_error=0.008,
        ),
        "drift": Drift(
            depth=10,
            queries=n,
            rows=tuple(
                DriftRow(share=share, base=0.7 - 0.4 * share, adapted=1.1 - 0.5 * share) for share in (0.1, 0.5, 0.9)
            ),
        ),
        "learning": Learning(
            sentence="adapting pays already: at 600 labels the gain is +0.0400 <&>",
            labels=600.0,
            points=tuple(
                LearningPoint(labels=labels, gain=gain, low=gain - 0.01, high=gain + 0.01, measured=labels <= 600)
                for labels, gain in ((75.0, 0.01), (150.0, 0.02), (300.0, 0.03), (600.0, 0.04))
            )
            + tuple(
                LearningPoint(labels=labels, gain=gain, low=gain - 0.02, high=gain + 0.02, measured=False)
                for labels, gain in ((600.0, 0.041), (1200.0, 0.048), (2400.0, 0.055))
            ),
            pays_from=600.0,
        ),
        "comparisons": make_comparisons(n),
        "per_query": queries,
        "helped": tuple(make_case(query, seed=place) for place, query in enumerate(ordered[:10])),
        "hurt": tuple(make_case(query, seed=place) for place, query in enumerate(ordered[::-1][:10])),
        "findings": (
            HealthFinding(level="note", message="600 of 600 judged queries have embeddings"),
            HealthFinding(
                level="warning",
                message="14 documents are zero vectors; they score 0 against everything",
                remedy="Check for empty texts",
                examples=("json.decoder", "os.path", "typing.Any"),
            ),
        ),
        "operator": OperatorFacts(
            singular_values=tuple(2.4 * 0.9**place for place in range(32)),
            symmetric_share=0.81,
            skew_share=0.19,
        ),
    }
    return FitSummary(**{**values, **changes})


def make_verdict(decision: Literal["adapt", "keep"]) -> Verdict:
    adapt = (
        "Cross-fitted on the training queries, the correction gains more than one standard error "
        "on documents that it has not seen as positives."
    )
    keep = (
        "The gain of the correction on unseen documents is within one standard error of nothing, "
        "so 64 labels are not enough to improve on this base."
    )
    gain, sentence = (0.0212, adapt) if decision == "adapt" else (0.0011, keep)
    return Verdict(decision=decision, sentence=sentence, gain=gain, standard_error=0.0046, threshold=0.0046)


def make_candidates() -> tuple[Candidate, ...]:
    prior = Candidate(name="base", strength=None, mean=0.3230, standard_error=0.0110)
    return (
        prior,
        *(
            Candidate(
                name=name,
                strength=strength,
                mean=0.35 + lift - 0.012 * abs(place - peak) ** 1.5,
                standard_error=0.0115,
                chosen=(name, strength) == ("softmax, dual", 0.03),
            )
            for name, lift, peak in (("softmax, dual", 0.012, 3), ("softmax, shared", 0.004, 4))
            for place, strength in enumerate(_STRENGTHS)
        ),
    )


def make_comparisons(n: int) -> tuple[Comparison, ...]:
    rows = (
        ("nDCG@10", "all", 0.3231, 0.3442, 0.0143, 0.0281),
        ("nDCG@10", "unseen", 0.31, 0.325, 0.004, 0.026),
        ("nDCG@10", "negative only", 0.34, 0.335, -0.02, 0.01),
    )
    return tuple(
        Comparison(
            measure=measure,
            base=base,
            adapted=adapted,
            difference=adapted - base,
            low=low,
            high=high,
            confidence=0.95,
            p_value=0.0004,
            wins=n // 2,
            losses=n // 4,
            ties=n - n // 2 - n // 4,
            headroom=1 - base,
            n=n,
            subset=subset,
        )
        for measure, subset, base, adapted, low, high in rows
    )


def make_systems() -> Systems:
    """Three systems, of which the second leads by more than its standard error, and a test of them."""
    rows = (
        ("document encoder", "static-256", 0.323, 0.344, None, None),
        ("aligned", "big <1>", 0.341, 0.377, 0.033, 0.009),
        ("fused", "static-256 + big <1>", 0.323, 0.381, 0.037, 0.012),
    )
    tests = (("document encoder", 0.34, 0.02), ("aligned", 0.36, 0.04), ("fused", 0.37, 0.05))
    return Systems(
        rows=tuple(
            SearchSystem(
                name=name,
                needs=needs,
                cost=f"the cost of {name}",
                decision="adapt",
                shipped=f"softmax of {name}",
                vectors=1 + (name == "fused"),
                maps=name == "aligned",
                base=base,
                ships=ships,
                lead=lead,
                standard_error=error,
                recommended=name == "aligned",
                written=name == "aligned",
            )
            for name, needs, base, ships, lead, error in rows
        ),
        sentence="Aligned is recommended <&>: it leads by +0.0330.",
        tests=tuple(
            test
            for documents, n in (("all", 300), ("unseen", 49))
            for test in (
                SystemTest(name="document encoder alone", documents=documents, n=n, mean=0.32),
                *(
                    SystemTest(
                        name=name,
                        documents=documents,
                        n=n,
                        mean=mean,
                        difference=gap,
                        low=gap - 0.015,
                        high=gap + 0.015,
                    )
                    for name, mean, gap in tests
                ),
            )
        ),
    )


@pytest.fixture(scope="session")
def several() -> FitSummary:
    """Several systems were fitted."""
    return make_summary(systems=make_systems())


@pytest.fixture(name="make_summary")
def _make_summary() -> Callable[..., FitSummary]:
    return make_summary


@pytest.fixture(scope="session")
def full() -> FitSummary:
    return make_summary()


@pytest.fixture(scope="session")
def untested() -> FitSummary:
    """Kept, and with cross-fitted evidence alone."""
    nothing: dict[str, Any] = dict.fromkeys(("comparisons", "per_query", "helped", "hurt"), ())
    return make_summary(verdict=make_verdict("keep"), test_queries=None, **nothing)


def _values(query: QueryGain) -> dict[str, Any]:
    return {"query_id": query.query_id, "text": query.text, "base": query.base, "adapted": query.adapted}


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(_WORDS, k=words)).capitalize()


def _document(draw: random.Random, place: int) -> RankedDocument:
    grade = draw.choice((None, None, 0.0, 1.0, 2.0))
    return RankedDocument(
        doc_id=f"module.{draw.choice(_WORDS)}{draw.randrange(100)}",
        text=_text(draw, 14),
        relevant=bool(grade),
        grade=grade,
        score=0.81 - 0.04 * place,
    )
