"""The sets of the exclusion study follow their stated rules, recomputed here the slow way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.data import Qrels
from askew.errors import LabelError
from askew.formats import read_split, read_texts
from askew.reproduce.exclusion import split_negation, without_terms

CRANFIELD = Path(__file__).resolve().parents[3] / "shared" / "data" / "cranfield"


def holding(documents: Mapping[str, str], term: str) -> set[str]:
    return {name for name, text in documents.items() if re.search(rf"(?<![a-z]){term}(?![a-z])", text.lower())}


@pytest.mark.skipif(not CRANFIELD.is_dir(), reason="cranfield is not here")
def test_cranfield_without_a_word() -> None:
    queries, documents = read_texts(CRANFIELD / "queries.jsonl"), read_texts(CRANFIELD / "corpus.jsonl")
    qrels = read_split(CRANFIELD, "test")
    made = without_terms(queries, documents, qrels)
    assert len({case.query for case in made}) == len(made) > 100
    for case in made[::10]:
        positives = qrels.positives(case.query)
        held = holding(documents, case.term)
        assert case.excluded == held
        assert set(case.relevant) == set(positives) & set(documents) - held
        assert all(case.relevant[name] == positives[name] for name in case.relevant)
        assert len(case.relevant) >= 2 <= len(held & set(positives))
        assert 0.01 * len(documents) <= len(held) <= 0.1 * len(documents)
        assert case.term not in queries[case.query].lower().split()


def test_queries_without_such_a_word_are_left_out() -> None:
    documents = {str(place): "newts" if place < 2 else "frogs" for place in range(40)}
    qrels = Qrels({"p": {"0": 1, "1": 1, "5": 1, "6": 1}, "q": {"0": 1, "5": 1}, "r": {"0": 1, "1": 1, "5": 1, "6": 1}})
    (only,) = without_terms({"p": "animals", "q": "animals", "r": "newts"}, documents, qrels)
    assert (only.query, only.term) == ("p", "newts")
    with pytest.raises(LabelError, match="no query has a word"):
        without_terms({"q": "newts"}, documents, Qrels({"q": {"0": 1}}))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Tools that do not mention Google", ("Tools that do", "mention Google")),
        ("It wasn't cheap, but it worked.", ("It was, but it worked.", "cheap")),
        ("Hotels without a pool", ("Hotels", "a pool")),
        ("Is it true that he never won? No.", ("Is it true that he? No.", "won")),
        ("Nothing", None),
        ("Notable knots", None),
        ("Was it so? No.", None),
    ],
)
def test_the_negated_part_is_split_off_or_nothing_is(text: str, parts: tuple[str, str] | None) -> None:
    assert split_negation(text) == parts


@given(st.text(alphabet="not ,.'abw", max_size=30))
def test_no_word_is_invented(text: str) -> None:
    found = split_negation(text)
    if found is not None:
        wanted, unwanted = found
        assert unwanted in text
        assert sorted(re.findall(r"\w", wanted + unwanted)) <= sorted(re.findall(r"\w", text))
        assert len(wanted) + len(unwanted) < len(text)
