"""Qrels, Run and Dataset: what is kept, what is refused, one tie rule, what is missing is listed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.data import Dataset, EmbeddingSet, Qrels, Run
from askew.errors import InputError, LabelError, MatchError

GRADES: list[tuple[Any, float]] = [
    (1, 1.0),
    (0.5, 0.5),
    (-2, -2.0),
    (np.int8(3), 3.0),
    (np.float32(0.5), 0.5),
    ("2", 2.0),
    (True, 1.0),
    (Fraction(1, 4), 0.25),
]
NO_GRADES: list[Any] = [float("nan"), float("inf"), -float("inf"), "x", "nan", None, [1], 1j, 10**400]


@pytest.mark.parametrize("grades", ["abc", [("q", "d", 1)], {"q": ["d"]}, {"q": "d"}, None, 3])
def test_what_is_no_dict_of_dicts_is_refused(grades: Any) -> None:
    with pytest.raises(LabelError, match="dict of dicts"):
        Qrels(grades)


@pytest.mark.parametrize(("value", "grade"), GRADES)
def test_grades_become_floats(value: Any, grade: float) -> None:
    assert Qrels({"q": {"d": value}})["q"]["d"] == grade


@pytest.mark.parametrize("value", NO_GRADES)
def test_what_is_no_grade_is_refused_by_place(value: Any) -> None:
    with pytest.raises(LabelError, match="document 'd' for query '7'"):
        Qrels({7: {"d": value}})


def test_positives_are_above_zero_and_queries_without_judgements_go() -> None:
    qrels = Qrels({"q": {"a": 2, "b": 0, "c": -1, "d": 0.1}, "empty": {}, "bad": {"a": 0}})
    assert qrels.positives("q") == {"a": 2.0, "d": 0.1}
    assert qrels.positives("bad") == qrels.positives("nowhere") == {}
    assert qrels.queries == ("q", "bad")
    assert (len(qrels), qrels.judgements, qrels.documents()) == (2, 5, {"a", "b", "c", "d"})
    assert "empty" not in qrels


def test_ids_that_become_one_are_refused() -> None:
    with pytest.raises(LabelError, match="queries"):
        Qrels({1: {"a": 1}, "1": {"b": 1}})
    with pytest.raises(LabelError, match="documents of query 'q'"):
        Qrels({"q": {1: 1, "1": 0}})
    assert Qrels({1: {"a": 1}, "1": {}}) == Qrels({"1": {"a": 1}})


def test_qrels_do_not_change() -> None:
    given = {"q": {"d": 1.0}}
    qrels = Qrels(given)
    given["q"]["d"] = 5.0
    given["q2"] = {"d": 1.0}
    assert qrels == Qrels({"q": {"d": 1.0}})
    with pytest.raises(TypeError):
        qrels.grades["q"]["d"] = 3.0  # type: ignore[index]  # that it is refused is the test


QRELS = st.dictionaries(
    st.text("abcé", min_size=1, max_size=3),
    st.dictionaries(st.text("xyz", min_size=1, max_size=2), st.sampled_from([-1, 0, 1, 2, 0.5]), max_size=5),
    max_size=5,
)


@given(QRELS, st.sets(st.text("xyz", min_size=1, max_size=2)))
def test_selections_keep_what_they_say(grades: dict[str, dict[str, float]], documents: set[str]) -> None:
    qrels = Qrels(grades)
    pairs = {(q, d): g for q, judged in grades.items() for d, g in judged.items()}

    def flat(held: Qrels) -> dict[tuple[str, str], float]:
        return {(q, d): g for q in held.queries for d, g in held[q].items()}

    assert flat(qrels) == pairs
    assert flat(qrels.without_documents(documents)) == {key: g for key, g in pairs.items() if key[1] not in documents}
    assert flat(qrels.where(lambda _q, _d, g: g > 0)) == {key: g for key, g in pairs.items() if g > 0}
    assert qrels.only(reversed(qrels.queries)).queries == qrels.queries[::-1]
    with pytest.raises(LabelError, match="'nowhere'"):
        qrels.only(["nowhere"])


SCORES = st.dictionaries(
    st.text(min_size=1, max_size=3), st.sampled_from([0.0, -0.0, 1.0, -1.0, 1.0 + 2**-52, float("inf"), -float("inf")])
)


@given(SCORES, st.randoms())
def test_a_run_is_ordered_by_score_then_id(scores: dict[str, float], random: Any) -> None:
    shuffled = list(scores.items())
    random.shuffle(shuffled)
    run = Run({"q": dict(shuffled)})
    expected = sorted(scores, key=lambda name: (-scores[name], name))
    assert run.documents("q") == tuple(expected)
    assert run.scores("q").tolist() == [scores[name] for name in expected]


def test_a_run_keeps_queries_with_nothing_found() -> None:
    run = Run({1: {}, "q": {"d": 1}}, name="mine")
    assert run.queries == ("1", "q")
    assert (len(run), run.documents("1"), run.scores("1").tolist(), run.documents("x")) == (2, (), [], ())
    assert "1" in run
    assert [(query, documents) for query, documents, _ in run.items()] == [("1", ()), ("q", ("d",))]


@pytest.mark.parametrize(("value", "named"), [(float("nan"), "NaN"), (np.nan, "NaN"), ("x", "'x'"), (None, "None")])
def test_what_is_no_score_is_refused_by_place(value: Any, named: str) -> None:
    with pytest.raises(InputError, match=f"document 'd' for query 'q' is {named}"):
        Run({"q": {"d": value}})


def test_run_ids_that_become_one_are_refused() -> None:
    for scores in ({1: {"a": 1}, "1": {"b": 1}}, {"1": {1: 1, "1": 0}}):
        with pytest.raises(InputError, match="'1'"):
            Run(scores)


def test_rows_of_a_search_become_a_run() -> None:
    run = Run.from_rows(["p", "q"], ["a", "b"], np.array([[1, 0], [0, 1]]), np.array([[2.0, 1.0], [1.0, 1.0]]))
    assert [run.documents(query) for query in run.queries] == [("b", "a"), ("a", "b")]


def task(**changes: Any) -> Dataset:
    parts: dict[str, Any] = {
        "queries": EmbeddingSet(["q1", "q2", "q3", "q4"], np.eye(4)),
        "documents": EmbeddingSet(["a", "b"], np.eye(4)[:2]),
        "qrels": Qrels({"q2": {"a": 1, "z": 1}, "q1": {"b": 1}, "gone": {"a": 1}, "q3": {"y": 1}, "q4": {"a": 0}}),
    }
    return Dataset(**{**parts, **changes})


def test_a_dataset_lists_what_is_missing_and_what_can_teach() -> None:
    dataset = task()
    assert dataset.missing_queries == ("gone",)
    assert dataset.missing_documents == ("y", "z")
    assert dataset.labelled == ("q2", "q1")
    assert dataset.only(["q3", "q1"]).labelled == ("q1",)
    with pytest.raises(LabelError, match="'q9'"):
        dataset.only(["q9"])


def test_int_ids_meet_their_texts() -> None:
    dataset = task(
        queries=EmbeddingSet([1], np.eye(1)), documents=EmbeddingSet([2], np.eye(1)), qrels=Qrels({"1": {2: 1}})
    )
    assert dataset.labelled == ("1",)


@pytest.mark.parametrize(
    ("qrels", "named"),
    [
        (Qrels({"x": {"a": 1}}), r"none of the 1 judged queries \('x'\).*'q1', 'q2', 'q3' and 1 more"),
        (Qrels({"q1": {"x": 1, "w": 1}}), r"none of the 2 judged documents \('w', 'x'\).*'a', 'b'"),
        (Qrels({}), "none of the 0 judged queries"),
    ],
)
def test_nothing_in_common_is_an_error_with_both_sides(qrels: Qrels, named: str) -> None:
    with pytest.raises(MatchError, match=named):
        task(qrels=qrels)
