"""Twins: found by text and by vector, told, and judged alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from askew.data import Dataset, EmbeddingSet, Qrels, find_twins, merge_duplicates, near_duplicate_pairs

# a and b are copies by vector, c stands alone, e and f are zero vectors.
IDS = ("a", "b", "c", "d", "e", "f")
MATRIX = np.array([[1, 0, 0], [2, 1e-3, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=np.float64)
DOCUMENTS = EmbeddingSet(IDS, MATRIX)
ALL = set(IDS)


def groups(texts: dict[str, str], judged: str = "abcdef", documents: EmbeddingSet | None = DOCUMENTS) -> Any:
    return find_twins(documents, texts, judged, corpus=ALL).groups


def test_vectors_make_twins_where_a_text_is_missing() -> None:
    assert groups({}) == (("a", "b"),)
    assert groups({"a": "one"}) == (("a", "b"),)
    assert groups({"a": "one", "b": " "}) == (("a", "b"),)  # a blank text says nothing
    assert groups({}, judged="b") == (("a", "b"),)
    assert groups({}, judged="cd") == ()  # neither copy is judged: nothing hangs on it


def test_texts_go_before_vectors() -> None:
    found = find_twins(DOCUMENTS, {"a": "with", "b": "without"}, "abc", corpus=ALL)
    assert (found.groups, found.alike) == ((), (("a", "b"),))
    (finding,) = found.findings(Qrels({"q": {"a": 1}}), ALL)
    assert (finding.code, finding.level, finding.count, finding.examples) == ("alike-documents", "note", 1, ("a b",))


def test_the_same_text_makes_twins_whatever_the_vectors_and_white_space() -> None:
    assert groups({"d": "one\n two ", "c": "one two", "e": "", "f": ""}) == (("a", "b"), ("c", "d"))
    assert groups({"d": "one", "c": "One"}) == (("a", "b"),)
    assert groups({"c": "x", "d": "x"}, documents=None) == (("c", "d"),)


def test_twins_of_twins_are_one_group() -> None:
    assert groups({"b": "x", "c": "x", "d": "x"}) == (("a", "b", "c", "d"),)


def test_a_text_of_a_document_that_is_nowhere_else_counts_for_nothing() -> None:
    assert find_twins(None, {"x": "t", "a": "t"}, [], corpus={"a"}).groups == ()
    assert find_twins(None, {"x": "t", "a": "t"}, ["x"], corpus={"a"}).groups == (("a", "x"),)


def test_judgements_spread_to_twins_in_the_corpus_alone() -> None:
    twins = find_twins(None, {"a": "t", "b": "t", "x": "t", "c": "u", "d": "u"}, ["x"], corpus=set("abcd"))
    qrels = Qrels({"q1": {"a": 1, "c": 0}, "q2": {"x": 2, "a": 1}, "q3": {"d": -1}})
    spread = twins.spread(qrels, set("abcd"))
    assert spread == Qrels(
        {"q1": {"a": 1, "b": 1, "c": 0, "d": 0}, "q2": {"x": 2, "a": 2, "b": 2}, "q3": {"d": -1, "c": -1}}
    )
    assert spread.queries == qrels.queries
    assert twins.spread(spread, set("abcd")) == spread
    assert sorted(twins.changes(qrels, set("abcd")), key=str) == [
        ("q1", "b", None, 1.0),
        ("q1", "d", None, 0.0),
        ("q2", "a", 1.0, 2.0),
        ("q2", "b", None, 2.0),
        ("q3", "c", None, -1.0),
    ]


def test_findings_count_what_is_lacking_and_what_contradicts() -> None:
    twins = find_twins(None, {"a": "t", "b": "t"}, [], corpus=ALL)
    found = {finding.code: finding for finding in twins.findings(Qrels({"q": {"a": 1}, "r": {"a": 0, "b": 1}}), ALL)}
    assert {code: (finding.level, finding.count, finding.examples) for code, finding in found.items()} == {
        "duplicate-documents": ("note", 1, ("b",)),
        "half-judged-duplicates": ("warning", 1, ("q b",)),
        "contradicting-duplicates": ("warning", 1, ("r a",)),
    }
    assert twins.findings(Qrels({"q": {"a": 1, "b": 1}}), ALL)[1:] == ()
    assert find_twins(None, {}, [], corpus=ALL).findings(Qrels({"q": {"a": 1}}), ALL) == ()


def test_merging_leaves_corpus_and_other_judgements_alone() -> None:
    data = Dataset(EmbeddingSet(["q"], MATRIX[:1]), DOCUMENTS, Qrels({"q": {"a": 3, "c": 1, "gone": 1}}))
    merged, (finding,) = merge_duplicates(data)
    assert merged.documents is data.documents
    assert merged.qrels == Qrels({"q": {"a": 3, "b": 3, "c": 1, "gone": 1}})
    assert (finding.code, finding.count, finding.examples) == ("merged-duplicates", 1, ("q b",))
    again, nothing = merge_duplicates(merged)
    assert (again, nothing) == (merged, ())


@given(st.integers(0, 300), st.integers(1, 40), st.sampled_from([1, 4000, 2**27]), st.integers(0, 10))
def test_pairs_are_those_of_a_slow_search_for_every_budget(seed: int, count: int, budget: int, wanted: int) -> None:
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 1, size=count)
    matrix = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.choice([0.0, 1e-3, 50.0], size=(count, 1))
    rows = np.sort(rng.permutation(count)[:wanted])
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit = matrix / np.where(norms > 0, norms, 1)
    slow = [[i, j] for i in rows.tolist() for j in range(count) if i != j and unit[i] @ unit[j] >= 0.999]
    assert near_duplicate_pairs(EmbeddingSet(range(count), matrix), rows, budget=budget).tolist() == slow


@pytest.mark.parametrize("threads", [1, 2])
def test_pairs_at_the_limit_are_decided_the_same_whatever_the_threads(threads: int) -> None:
    cosine = 0.999 + np.linspace(-2e-8, 2e-8, 40)
    rng = np.random.default_rng(0)
    base = np.linalg.qr(rng.normal(size=(80, 80)))[0]
    matrix = np.vstack([base[:40], cosine[:, None] * base[:40] + np.sqrt(1 - cosine[:, None] ** 2) * base[40:]])
    with threadpool_limits(threads):
        found = near_duplicate_pairs(EmbeddingSet(range(80), matrix), np.arange(40))
    assert found.tolist() == [[row, row + 40] for row in range(40) if cosine[row] >= 0.999]
