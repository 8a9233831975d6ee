"""Which system is recommended, from made-up scores; and how much of a ranking is kept, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askew.data import Run
from askew.evaluation import Evaluation, compare
from askew.workflows.advise import advise, too_few
from askew.workflows.retention import Kept, Standing, overlap
from askew.workflows.two_encoders import ALIGNED, COSTS, FUSED, OLD, REINDEXED

NAMES = ("new", "old")


def standings(count: int = 200, **means: float) -> list[Standing]:
    """Systems of these means, with the same noise but for a little of each one's own."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=count) / 10
    systems = {"old": OLD, "aligned": ALIGNED, "fused": FUSED, "own_index": REINDEXED}
    queries = tuple(f"q{row}" for row in range(count))
    own = {name: rng.normal(size=count) / 50 for name in means}
    held = {
        systems[name]: Evaluation(name, queries, {"nDCG@10": mean + noise + own[name] - own[name].mean()})
        for name, mean in means.items()
    }
    return [
        Standing(
            system,
            COSTS[system],
            found,
            compare(held[OLD], found, "nDCG@10") if OLD in held and system != OLD else None,
        )
        for system, found in held.items()
    ]


@pytest.mark.parametrize(
    ("means", "system", "sure", "says"),
    [
        ({"old": 0.5, "aligned": 0.3, "fused": 0.5}, OLD, True, "against old's own queries, clearly below; both fused"),
        ({"old": 0.5, "aligned": 0.3, "fused": 0.4}, OLD, True, "Keep embedding queries with old"),
        ({"old": 0.5, "aligned": 0.3}, OLD, True, "Keep embedding queries with old"),
        ({"old": 0.5, "aligned": 0.3, "fused": 0.55}, FUSED, True, "Embed each query with both"),
        ({"old": 0.5, "aligned": 0.5, "fused": 0.55}, FUSED, True, "Embed each query with both"),
        ({"old": 0.5, "aligned": 0.6, "fused": 0.55}, ALIGNED, True, "new aligned to old's index is at +0.1"),
        ({"old": 0.5, "aligned": 0.6, "fused": 0.6}, ALIGNED, True, "both fused are at +0.1"),
        ({"old": 0.5, "aligned": 0.6, "fused": 0.7}, FUSED, True, "Embed each query with both"),
        ({"old": 0.5, "aligned": 0.501, "fused": 0.5}, ALIGNED, False, "let cost decide"),
        ({"old": 0.5, "aligned": 0.499, "fused": 0.5}, OLD, False, "let cost decide"),
        ({"old": 0.5, "aligned": 0.3, "own_index": 0.7}, OLD, True, ": a linear map does not carry that over. Keep"),
        ({"old": 0.5, "aligned": 0.501, "own_index": 0.7}, ALIGNED, False, "an index of new's own would be at +0.2"),
        ({"old": 0.5, "aligned": 0.3, "own_index": 0.3}, OLD, True, "nDCG@10, so it is not for the map. Keep"),
        (
            {"old": 0.5, "aligned": 0.3, "own_index": 0.4},
            OLD,
            True,
            "nDCG@10: a linear map does not carry that over. Keep",
        ),
    ],
)
def test_judged_queries_decide(means: Any, system: str, sure: bool, says: str) -> None:
    advice = advise(standings(**means), [], NAMES, index=5000)
    assert (advice.system, advice.sure) == (system, sure)
    assert says in advice.reason


@pytest.mark.parametrize(("of_old", "system"), [(0.85, ALIGNED), (0.75, OLD), (None, OLD)])
def test_without_queries_by_the_old_encoder_documents_decide(of_old: float | None, system: str) -> None:
    """However well the new one does: nothing tells what the old one would do."""
    kept = [] if of_old is None else [Kept(ALIGNED, "held-out documents", 100, 5000, 0.9, of_old)]
    advice = advise(standings(aligned=0.3, own_index=0.6), kept, NAMES, index=5000)
    assert (advice.system, advice.sure) == (system, False)
    assert "50% of what new reaches on an index of its own" in advice.reason
    assert "there are no queries by old to compare it with" in advice.reason


def test_few_queries_are_never_sure() -> None:
    advice = advise(standings(20, old=0.5, aligned=0.3, fused=0.5), [], NAMES, index=5000)
    assert (advice.system, advice.sure) == (OLD, False)
    assert "20 judged queries are too few" in advice.reason


@pytest.mark.parametrize(
    ("of_new", "of_old", "system"), [(0.3, 0.4, OLD), (0.2, 0.9, ALIGNED), (0.99, 0.79, OLD), (0.2, 0.8, ALIGNED)]
)
def test_without_judgements_the_overlap_is_a_guess(of_new: float, of_old: float, system: str) -> None:
    kept = [
        Kept(OLD, "held-out documents", 100, 1000, 0.3, 1.0),
        Kept(ALIGNED, "held-out documents", 100, 1000, of_new, of_old),
        Kept(ALIGNED, "queries", 100, 5000, 1.0, 1.0),
    ]
    advice = advise([], kept, NAMES, index=5000)
    assert (advice.system, advice.sure) == (system, False)
    assert "this is a guess" in advice.reason


@pytest.mark.parametrize(
    ("asked", "among", "index", "says"),
    [
        (100, 999, 5000, "999 of 5,000 documents are embedded by both encoders"),
        (100, 299, 300, "299 of 300 documents are embedded by both encoders"),
        (19, 1000, 1000, "19 held-out documents are too few"),
        (20, 300, 300, ""),
        (20, 1000, 10**6, ""),
    ],
)
def test_few_documents_are_no_ground_for_a_guess(asked: int, among: int, index: int, says: str) -> None:
    """However much is kept: among few documents chance keeps it."""
    kept = Kept(ALIGNED, "held-out documents", asked, among, 1.0, 1.0)
    assert says in too_few(kept, index)
    assert bool(says) is bool(too_few(kept, index))
    advice = advise([], [kept], NAMES, index=index)
    assert (advice.system, says in advice.reason) == (OLD if says else ALIGNED, True)


def test_nothing_at_all_keeps_what_there_is() -> None:
    assert advise([], [], NAMES, index=5000).system == OLD


def test_overlap_by_hand() -> None:
    one = Run({"a": {"x": 3, "y": 2, "z": 1}, "b": {"x": 1}, "only here": {"x": 1}, "c": {}})
    two = Run({"a": {"z": 3, "x": 2, "y": 1}, "b": {"y": 1, "x": 0}, "c": {"x": 1}})
    assert overlap(one, two, depth=2).tolist() == [0.5, 1.0, 0.0]
    assert overlap(one, one).tolist() == [1.0, 1.0, 1.0, 0.0]
