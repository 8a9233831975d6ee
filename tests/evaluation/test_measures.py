"""evaluate: names, denominators, the tie rule, and nDCG against ir-measures and a slow twin."""

from __future__ import annotations

import json
import math
from random import Random
from typing import Any

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.data import Qrels, Run
from askew.errors import DimensionError, LabelError, MatchError, ParameterError
from askew.evaluation import Evaluation, evaluate
from askew.evaluation._library import parse

Table = dict[Any, dict[Any, float]]
DOCUMENTS = [f"d{number:02}" for number in range(14)]
QUERIES = ["q1", "q2", "q3"]
# Whole and half scores: ties happen.
SCORES = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-4, 4).map(lambda value: value / 2))


def tables(values: st.SearchStrategy[float]) -> st.SearchStrategy[Table]:
    judged = st.dictionaries(st.sampled_from(DOCUMENTS), values, min_size=1)
    return st.fixed_dictionaries(dict.fromkeys(QUERIES, judged))


RUNS = st.fixed_dictionaries(dict.fromkeys(QUERIES, SCORES))
WHOLE = tables(st.integers(-2, 5))
FLOATS = tables(st.floats(-1, 5).filter(lambda value: value <= 0 or value > 1e-6))
TIGHT = settings(max_examples=40, deadline=None)


def theirs(name: str, run: Run, grades: Table) -> list[float]:
    """ir-measures itself, given whole grades, our order and no empty ranking (Judged divides by its length)."""
    ranks = {query: {doc: len(docs) - i for i, doc in enumerate(docs)} for query, docs, _ in run.items() if docs}
    whole = {query: {doc: max(int(grade), 0) for doc, grade in judged.items()} for query, judged in grades.items()}
    metrics = ir_measures.iter_calc([ir_measures.parse_measure(name)], whole, ranks)
    found = {metric.query_id: metric.value for metric in metrics}
    return [found[query] for query in grades]


def slow_ndcg(documents: tuple[str, ...], judged: dict[str, float], k: int) -> float:
    """nDCG by the book."""
    reached = sum(max(judged.get(doc, 0), 0) / math.log2(rank + 2) for rank, doc in enumerate(documents[:k]))
    ideal = sorted((max(grade, 0) for grade in judged.values()), reverse=True)[:k]
    best = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(ideal))
    return reached / best if best > 0 else 0.0


@TIGHT
@given(RUNS, WHOLE, st.sampled_from(["nDCG", "nDCG@1", "nDCG@3", "nDCG@10", "nDCG(judged_only=True)@3"]))
def test_ndcg_is_theirs_on_whole_grades(scores: Table, grades: Table, name: str) -> None:
    run = Run(scores)
    ours = evaluate(run, Qrels(grades), name).per_query(name)
    np.testing.assert_allclose(ours, theirs(name, run, grades), rtol=0, atol=1e-12)


@TIGHT
@given(RUNS, WHOLE)
def test_ndcg_with_a_table_of_gains_is_theirs(scores: Table, grades: Table) -> None:
    name = "nDCG(gains={1: 7, 2: 0, 3: 1})@5"
    run = Run(scores)
    ours = evaluate(run, Qrels(grades), name).per_query(name)
    np.testing.assert_allclose(ours, theirs(name, run, grades), rtol=0, atol=1e-12)


NAMES = ["R@3", "R(rel=2)@5", "P@3", "P(rel=3)@5", "AP", "AP@4", "RR", "RR@2", "RR(rel=2)@3", "Success@2", "Judged@4"]


@TIGHT
@given(RUNS, WHOLE)
def test_the_other_measures_are_theirs(scores: Table, grades: Table) -> None:
    run = Run(scores)
    evaluation = evaluate(run, Qrels(grades), [*NAMES, "Rprec", "SetF", "NumRet", "Bpref", "IPrec@0.5"])
    for name in evaluation.values:
        expected = [value if math.isfinite(value) else 0.0 for value in theirs(name, run, grades)]
        np.testing.assert_allclose(evaluation.per_query(name), expected, rtol=0, atol=1e-12, err_msg=name)


@TIGHT
@given(RUNS, FLOATS, st.integers(1, 12))
def test_float_ndcg_is_the_slow_one(scores: Table, grades: Table, k: int) -> None:
    run, name = Run(scores), f"nDCG@{k}"
    expected = [slow_ndcg(run.documents(query), judged, k) for query, judged in grades.items()]
    ours = evaluate(run, Qrels(grades), name).per_query(name)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12)
    assert np.all((ours >= 0) & (ours <= 1))


@TIGHT
@given(RUNS, FLOATS, st.integers(-40, 40))
def test_ndcg_knows_no_unit(scores: Table, grades: Table, power: int) -> None:
    scaled = {query: {doc: grade * 2.0**power for doc, grade in judged.items()} for query, judged in grades.items()}
    run = Run(scores)
    one, other = (evaluate(run, Qrels(table), "nDCG@5").per_query("nDCG@5") for table in (grades, scaled))
    assert one.tolist() == other.tolist()


@TIGHT
@given(FLOATS, st.integers(1, 14))
def test_a_perfect_ranking_scores_exactly_1(grades: Table, k: int) -> None:
    run = Run(grades)
    values = evaluate(run, Qrels(grades), f"nDCG@{k}").per_query(f"nDCG@{k}")
    assert values.tolist() == [float(max(judged.values()) > 0) for judged in grades.values()]


@TIGHT
@given(RUNS, FLOATS)
def test_fractional_grades_are_binary_to_the_rest(scores: Table, grades: Table) -> None:
    binary = {query: {doc: int(grade > 0) for doc, grade in judged.items()} for query, judged in grades.items()}
    at_least_2 = {query: {doc: int(grade >= 2) for doc, grade in judged.items()} for query, judged in grades.items()}
    run = Run(scores)
    for name in ("R@3", "P@3", "RR@5", "AP", "Success@2"):
        plain = evaluate(run, Qrels(binary), name).per_query(name)
        assert evaluate(run, Qrels(grades), name).per_query(name).tolist() == plain.tolist()
    high = evaluate(run, Qrels(grades), "P(rel=2)@3").per_query("P(rel=2)@3")
    assert high.tolist() == evaluate(run, Qrels(at_least_2), "P@3").per_query("P@3").tolist()


@TIGHT
@given(RUNS, FLOATS, st.randoms(use_true_random=False))
def test_orders_of_input_do_not_matter(scores: Table, grades: Table, random: Random) -> None:
    def shuffled(table: Table) -> Table:
        queries = random.sample(list(table), len(table))
        return {query: dict(random.sample(list(table[query].items()), len(table[query]))) for query in queries}

    one = evaluate(Run(scores), Qrels(grades), ["nDCG@5", "R@5"])
    other = evaluate(Run(shuffled(scores)), Qrels(shuffled(grades)), ["nDCG@5", "R@5"])
    for name in one.values:
        assert one.mean(name) == other.mean(name)
        by_query = dict(zip(other.queries, other.per_query(name), strict=True))
        assert [by_query[query] for query in one.queries] == one.per_query(name).tolist()


def test_a_constant_scorer_obeys_the_tie_rule() -> None:
    run = Run({"q": dict.fromkeys("zabcdefghi", 0.5)})
    evaluation = evaluate(run, Qrels({"q": {"z": 1}}), ["RR", "nDCG@10", "Success@9"])
    assert evaluation.mean("RR") == pytest.approx(0.1)
    assert evaluation.mean("nDCG@10") == pytest.approx(1 / math.log2(11))
    assert evaluation.mean("Success@9") == 0


def test_hand_computed() -> None:
    run = Run({"q": {"a": 3, "b": 2, "c": 1}})
    evaluation = evaluate(run, Qrels({"q": {"b": 0.5, "c": 2, "far": 1}}))
    ideal = 2 + 1 / math.log2(3) + 0.5 / 2
    assert evaluation.mean("nDCG@10") == pytest.approx((0.5 / math.log2(3) + 2 / 2) / ideal, abs=1e-15)
    assert evaluation.mean("R@100") == pytest.approx(2 / 3)


def test_exponential_gain() -> None:
    run = Run({"q": {"a": 2, "b": 1}})
    name = "nDCG(dcg='exp-log2')@10"
    expected = (1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3))
    assert evaluate(run, Qrels({"q": {"a": 1, "b": 3}}), name).mean(name) == pytest.approx(expected, abs=1e-14)
    with pytest.raises(LabelError, match="out of range"):
        evaluate(run, Qrels({"q": {"a": 5000}}), name)


@pytest.mark.parametrize("grade", [1e308, 5e-324, 1e-310])
def test_extreme_grades_stay_numbers(grade: float) -> None:
    run = Run({"q": {"x": 3, "a": 2, "b": 1}})
    same = evaluate(run, Qrels({"q": {"a": 1, "b": 1}}), ["nDCG@10", "R@10"])
    evaluation = evaluate(run, Qrels({"q": {"a": grade, "b": grade}}), ["nDCG@10", "R@10"])
    assert evaluation.mean("nDCG@10") == same.mean("nDCG@10")
    assert evaluation.mean("R@10") == 1


def test_denominators_and_lists() -> None:
    qrels = Qrels({"hit": {"a": 1}, "absent": {"a": 1}, "empty": {"a": 1}, "no-relevant": {"a": 0}})
    run = Run({"extra": {"a": 1}, "no-relevant": {"a": 1}, "hit": {"a": 1}, "empty": {}}, name="mine")
    evaluation = evaluate(run, qrels, ["nDCG@10", "R@100", "RR@10", "Judged@10"])
    assert (evaluation.run_name, evaluation.queries) == ("mine", qrels.queries)
    assert (evaluation.missing, evaluation.unjudged) == (("absent",), ("extra",))
    assert evaluation.per_query("nDCG@10").tolist() == [1, 0, 0, 0]
    assert [evaluation.mean(name) for name in evaluation.values] == [0.25, 0.25, 0.25, 0.5]


def test_no_query_ranked_at_all() -> None:
    assert evaluate(Run({"q": {}}), Qrels({"q": {"a": 1}}), ["R@5", "nDCG"]).values["nDCG"].tolist() == [0]


def test_names_have_many_spellings() -> None:
    evaluation = evaluate(
        Run({"q": {"a": 1}}), Qrels({"q": {"a": 1}}), ["NDCG(cutoff=10)", "nDCG@10", " Recall@5", "MRR"]
    )
    assert list(evaluation.values) == ["nDCG@10", "R@5", "RR"]
    assert evaluation.mean("NDCG@10") == evaluation.mean("Recall@5") == evaluation.mean("MRR") == 1
    for name in ("P@1", "nonsense"):
        with pytest.raises(ParameterError, match=r"It has nDCG@10, R@5, RR\."):
            evaluation.mean(name)


UNUSABLE = [
    "", "foo", "foo@10", "nDCG@", "nDCG@x", "nDCG@-1", "nDCG@0", "nDCG@10.0", "nDCG@True", "R", "P",
    "R@0", "RR@0", "Judged@0", "nDCG@99999999999999999999", "nDCG(bar=3)@10", "nDCG(3)@10", "nDCG(**x)",
    "nDCG(judged_only=1)@10", "nDCG(dcg='ln')", "nDCG(gains={1: 'a'})", "nDCG(gains={1: 1e999})",
    "P(rel=0)@5", "P(rel=True)@5", "P(rel=0.5)@5", "P(rel=99999999999)@5", "IPrec", "IPrec@2.0",
    "IPrec@0.555", "SetF(beta=1e999)", "a; b", "import os", "nDCG@10\0", "1", "nDCG@10@10", "ERR@10",
    "RBP(rel=1)", "alpha_nDCG@10", "Compat", "Accuracy", "NumRel(rel=2)",
]  # fmt: skip


@pytest.mark.parametrize("name", UNUSABLE)
def test_unusable_measures(name: str) -> None:
    with pytest.raises(ParameterError, match=r"Examples are: nDCG@10, R@100"):
        evaluate(Run({"q": {"a": 1}}), Qrels({"q": {"a": 1}}), [name])


@settings(max_examples=80, deadline=None)
@given(st.one_of(st.text(max_size=12), st.text(alphabet="nDCGRP@()=,1.05-'{}:relcutoff ", max_size=20)))
def test_any_text_parses_or_is_refused(name: str) -> None:
    try:
        measure = parse(name)
    except ParameterError:
        return
    assert parse(str(measure)) == measure


def test_unusable_input() -> None:
    run, qrels = Run({"q": {"a": 1}}), Qrels({"q": {"a": 1}})
    with pytest.raises(ParameterError, match="no measure"):
        evaluate(run, qrels, [])
    with pytest.raises(LabelError, match="no query is judged"):
        evaluate(run, Qrels({}))
    with pytest.raises(MatchError, match="none of the 1 judged queries"):
        evaluate(Run({"other": {"a": 1}}), qrels)
    with pytest.raises(MatchError, match="none"):
        evaluate(Run({}), qrels)
    with pytest.raises(DimensionError, match="AP"):
        Evaluation("x", ("q",), {"AP": np.zeros(2)})
    with pytest.raises(LabelError, match="at least one query"):
        Evaluation("x", (), {})


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    evaluate(Run({"q": {"a": 1}}), Qrels({"q": {"a": 1}}), [*NAMES, "nDCG@10"])
    assert capfd.readouterr() == ("", "")


def test_an_evaluation_is_frozen_and_plain() -> None:
    given_values = np.array([0.5, 1.0])
    evaluation = Evaluation("x", ("q", "r"), {"AP": given_values}, missing=("r",))
    given_values[0] = 9
    assert evaluation.mean("AP") == 0.75
    with pytest.raises(ValueError, match="read-only"):
        evaluation.per_query("AP")[0] = 1
    with pytest.raises(TypeError):
        evaluation.values["P@1"] = given_values  # type: ignore[index]
    plain = json.loads(json.dumps(evaluation.to_json(), allow_nan=False))
    assert plain["means"] == {"AP": 0.75}
    assert plain["values"]["AP"] == [0.5, 1.0]
    assert (plain["n"], plain["missing"]) == (2, ["r"])
