"""Moves: places, what changed places, and memory told from what was learned, on runs written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from askew.adapters import Seen
from askew.data import Dataset, EmbeddingSet, Qrels, Run
from askew.report import Move, NearestLabel, QueryGain
from askew.workflows.moves import explain, largest, nearest_labels

CORPUS = tuple("abcdefgh")


def task(qrels: dict[str, dict[str, float]], **vectors: Sequence[float]) -> Dataset:
    """Queries of the given vectors over eight documents."""
    return Dataset(
        EmbeddingSet(tuple(vectors), np.array(list(vectors.values()), dtype=float)),
        EmbeddingSet(CORPUS, np.eye(8)[:, :2] + 0.1),
        Qrels(qrels),
        query_texts={"near": "close by"},
    )


def ranked(order: str) -> Run:
    return Run({"q": {name: float(-place) for place, name in enumerate(order)}})


def moved(before: str, after: str, *, rose: bool, **changes: Any) -> Move:
    """The move of a query with the relevant document d, and of small grade h."""
    found = explain(
        QueryGain(query_id="q", text="", base=0.0 if rose else 1.0, adapted=1.0 if rose else 0.0),
        task({"q": {"d": 2, "h": 1, "nowhere": 3}}, q=(1, 0)),
        (ranked(before), ranked(after)),
        **{"seen": None, "depth": 100, "nearest": None, **changes},
    )
    assert found is not None
    return found


def near(*, shares: bool) -> NearestLabel:
    return NearestLabel(query_id="near", text="close by", cosine=0.834, shares=shares)


def test_what_rose_is_told_with_what_it_passed() -> None:
    found = moved("abcd", "badc", rose=True)  # past c alone
    assert (found.doc_id, found.before, found.after, found.others, found.examples) == ("d", 4, 3, 1, ("c",))
    assert found.sentence.startswith("The relevant document d rose from place 4 to 3, past 1 document.")


def test_what_fell_is_told_with_what_passed_it() -> None:
    found = moved("dabce", "bcead", rose=False)
    assert (found.before, found.after, found.others, found.examples) == (1, 5, 4, ("b", "c", "e"))
    assert "fell from place 1 to 5, behind 4 documents." in found.sentence


def test_what_was_not_retrieved_is_beyond_the_depth() -> None:
    rose = moved("abcefg", "dabcef", rose=True, depth=6)
    assert (rose.before, rose.after, rose.others) == (None, 1, 6)
    assert "from place beyond 6 to 1, past 6 documents" in rose.sentence
    fell = moved("dabcef", "abcefg", rose=False, depth=6)
    assert (fell.before, fell.after, fell.others) == (1, None, 6)
    assert "from place 1 to beyond 6, behind 6 documents" in fell.sentence
    assert moved("abcefgd", "dabcefg", rose=True, depth=6).before is None


def test_the_document_that_counts_most_is_told() -> None:
    assert moved("hdab", "dhab", rose=True).doc_id == "d"  # d gains what h loses, and has twice its grade
    assert moved("dhab", "dabh", rose=False).doc_id == "h"
    same = QueryGain(query_id="q", text="", base=0.0, adapted=1.0)
    held = task({"q": {"d": 1}}, q=(1, 0))
    runs = ranked("dab"), ranked("dba")
    assert explain(same, held, runs, seen=None, depth=100, nearest=None) is None


@pytest.mark.parametrize(
    ("positives", "words"),
    [
        ("", "past 3 documents. Learned from other documents"),
        ("a", "past 3 documents, 1 of which was a right answer in training."),
        ("abc", "past 3 documents, all of which were right answers in training."),
    ],
)
def test_what_it_passed_is_known_or_not(positives: str, words: str) -> None:
    seen = Seen.of(queries=(), positives=positives, negatives="c" * ("c" not in positives))
    found = moved("abcd", "dabc", rose=True, seen=seen)
    assert words in found.sentence
    assert found.others_known == len(positives)


def test_memory_is_told_from_what_was_learned() -> None:
    known = Seen.of(queries=(), positives="d", negatives=())
    passers = Seen.of(queries=(), positives="ab", negatives=())

    def because(before: str, after: str, **changes: Any) -> str:
        found = moved(before, after, rose=before.index("d") > after.index("d"), **changes)
        return found.sentence.partition(". ")[2]

    assert because("abcd", "dabc", seen=known, nearest=near(shares=True)) == (
        "Memory: the nearest training query (cosine 0.83) has a relevant document in common with this one."
    )
    assert because("abcd", "dabc", seen=known, nearest=near(shares=False)) == (
        "Memory: that document was a right answer in training, if not for the nearest training query (cosine 0.83)."
    )
    assert because("abcd", "dabc", seen=passers, nearest=near(shares=False)) == (
        "Learned from other documents, not memory: no label named that document; the nearest training query (cosine "
        "0.83) asks for others. It passed even 2 that labels named."
    )
    assert because("abcd", "dabc") == "Learned from other documents, not memory: no label named that document."
    assert because("dabc", "abcd", seen=passers) == (
        "Memory of other queries: most of what passed it are documents that labels named for other queries."
    )
    alone = moved("ad", "da", rose=True, seen=Seen.of(queries=(), positives="a", negatives=()))
    assert "past 1 document, which was a right answer in training." in alone.sentence
    assert because("dabce", "abced", seen=passers).startswith("A side effect")  # two of four are not most


def test_a_fall_has_other_reasons_than_a_rise() -> None:
    known = Seen.of(queries=(), positives="d", negatives=())
    plain = moved("dabc", "abcd", rose=False).sentence
    assert plain.endswith("most of what passed it was named by no label, nor was the document that fell.")
    fell = moved("dabc", "abcd", rose=False, seen=known).sentence
    assert fell.endswith("in spite of memory, as a label named the document that fell.")
    fell = moved("dabc", "abcd", rose=False, seen=known, nearest=near(shares=True)).sentence
    assert fell.endswith("in spite of memory, as the nearest training query (cosine 0.83) shares a right answer.")


def test_of_equal_gains_the_longest_way_comes_first() -> None:
    gains = [
        QueryGain(query_id=name, text="", base=0.0, adapted=gain) for name, gain in (("p", 1), ("q", 1), ("r", 0.5))
    ]
    gains += [
        QueryGain(query_id="s", text="", base=0.5, adapted=0.25),
        QueryGain(query_id="t", text="", base=1, adapted=1),
    ]
    held = task({name: {"d": 1} for name in "pqrst"}, **dict.fromkeys("pqrst", (1, 0)))
    before = Run(
        {
            name: {one: -float(place) for place, one in enumerate(order)}
            for name, order in (("p", "ad"), ("q", "abcd"), ("r", "abcefd"), ("s", "da"), ("t", "da"))
        }
    )
    after = Run(
        {
            name: {one: -float(place) for place, one in enumerate(order)}
            for name, order in (("p", "da"), ("q", "dabc"), ("r", "abdcef"), ("s", "ad"), ("t", "da"))
        }
    )
    helped, hurt = largest(gains, held, (before, after), most=2, depth=100)
    assert [query.query_id for query in helped] == ["q", "p"]
    assert [query.query_id for query in hurt] == ["s"]
    helped, _ = largest(gains, held, (before, after), most=1, depth=100)
    assert [query.query_id for query in helped] == ["q"]


def test_the_nearest_label_is_the_one_of_the_largest_cosine() -> None:
    train = task({"near": {"a": 1}, "far": {"b": 1}, "unjudged": {"c": 0}}, near=(9, 3), far=(1, 3), unjudged=(1, 0))
    test = task({"q": {"a": 1}, "p": {"a": 1}}, q=(1, 0), p=(0, 2))
    found = nearest_labels(["q", "p"], train, test)
    assert (found["q"].query_id, found["q"].text, found["q"].shares) == ("near", "close by", True)
    assert found["q"].cosine == pytest.approx(3 / np.sqrt(10))
    assert (found["p"].query_id, found["p"].text, found["p"].shares) == ("far", "", False)
    assert nearest_labels([], train, test) == {}
