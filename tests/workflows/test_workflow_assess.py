"""Base against adapted on judged queries, residual scores among them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from askew.adapters import Adapter, Seen
from askew.data import Dataset, EmbeddingSet, Qrels
from askew.operators import BilinearOperator, Dense, Identity
from askew.workflows import fit
from askew.workflows.assess import (
    CLASSES,
    DEPTH,
    MEASURES,
    assess,
    assess_parts,
    base_of,
    remembered,
    search_judged,
    trained_on,
)

pytestmark = pytest.mark.usefixtures("few_candidates")

# Two axes: the base ranks a, b, c for "x", an adapter that swaps the axes ranks c, b, a.
SWAP = Adapter(BilinearOperator(Identity(2), Dense(np.array([[-1.0, 1.0], [1.0, -1.0]]))))


def plane(grades: dict[str, dict[str, float]], *, queries: tuple[str, ...] = ("x",)) -> Dataset:
    documents = EmbeddingSet(["a", "b", "c"], np.array([[1.0, 0.0], [0.6, 0.3], [0.0, 1.0]]))
    asked = EmbeddingSet(queries, np.tile([[1.0, 0.1]], (len(queries), 1)))
    return Dataset(asked, documents, Qrels(grades))


def test_base_and_adapted_are_told_apart() -> None:
    found = assess(plane({"x": {"c": 1}}), SWAP, measures=["RR", "P@1"])
    assert found is not None
    assert found.base_run.documents("x") == ("a", "b", "c")
    assert found.adapted_run.documents("x") == ("c", "b", "a")
    assert (found.base_run.name, found.adapted_run.name) == ("base", "adapted")
    reciprocal, first = found.comparisons
    assert (reciprocal.measure, reciprocal.base_mean, reciprocal.other_mean) == ("RR", 1 / 3, 1.0)
    assert (first.measure, first.difference, first.wins) == ("P@1", 1.0, 1)
    assert found.base.mean("RR") == 1 / 3


def test_what_is_left_out_leaves_run_judgements_and_ideal() -> None:
    task = plane({"x": {"c": 1, "a": 1}, "y": {"c": 1}}, queries=("x", "y"))
    found = assess(task, SWAP, measures=["nDCG@10", "R@100"], without=["c"])
    assert found is not None
    assert found.adapted.queries == ("x",)  # y has nothing left to find
    assert found.adapted_run.documents("x") == ("b", "a")
    assert found.base.mean("nDCG@10") == 1.0
    assert found.adapted.mean("nDCG@10") == pytest.approx(1 / np.log2(3))
    assert found.adapted.mean("R@100") == 1.0


@pytest.mark.parametrize(
    "grades",
    [
        {"x": {"c": 1}},
        {"x": {"c": 1, "b": 0}},
        {"x": {"c": 1}, "not embedded": {"a": 1}},
        {"x": {"c": 1, "not in the corpus": 1}},
    ],
    ids=["nothing judged", "nothing relevant", "nobody to ask", "nothing to find"],
)
def test_nothing_to_count_is_no_error(grades: dict[str, dict[str, float]]) -> None:
    assert assess(plane(grades), SWAP, without=["c"]) is None


def test_what_no_corpus_holds_stays_in_the_residual_ideal() -> None:
    found = assess(plane({"x": {"c": 1, "b": 1, "elsewhere": 1}}), SWAP, measures=["R@100"], without=["c"])
    assert found is not None
    assert found.base.mean("R@100") == 0.5


def test_judged_queries_without_embedding_count_as_zero() -> None:
    found = assess(plane({"x": {"c": 1}, "lost": {"a": 1}}), SWAP, measures=["RR"])
    assert found is not None
    assert found.adapted.missing == ("lost",)
    assert found.adapted.mean("RR") == 0.5


def test_the_base_is_the_prior_bit_for_bit(train: Dataset) -> None:
    candidate = fit(train).candidate
    base = base_of(candidate)
    assert base.is_base
    assert base.provenance is candidate.provenance
    rows = train.queries.matrix
    assert base.apply(rows) is rows
    plain = search_judged(train, None, name="plain")
    through = search_judged(train, base, name="base")
    for query in plain.queries:
        assert through.documents(query) == plain.documents(query)
        assert through.scores(query).tobytes() == plain.scores(query).tobytes()


def test_only_judged_queries_are_searched_with(whole: Dataset, test: Dataset) -> None:
    run = search_judged(test, None, name="some")
    assert run.queries == test.qrels.queries
    assert len(run) < len(whole.queries)
    assert {len(run.documents(query)) for query in run.queries} == {DEPTH}


def test_an_assessment_does_not_change_the_dataset(test: Dataset) -> None:
    before = test.qrels
    assess(test, base_of(SWAP_16), without=["d60"])
    assert test.qrels is before


SWAP_16 = Adapter(BilinearOperator.identity(16))


def test_the_default_measures_lead_with_ndcg(test: Dataset) -> None:
    found = assess(test, SWAP_16)
    assert found is not None
    assert tuple(row.measure for row in found.comparisons) == MEASURES
    assert all(row.difference == row.low == row.high == 0 for row in found.comparisons)


def test_the_seed_moves_the_interval_alone(test: Dataset, train: Dataset) -> None:
    candidate = fit(train).candidate
    first, again, other = (assess(test, candidate, seed=seed) for seed in (0, 0, 1))
    assert first is not None
    assert again is not None
    assert other is not None
    assert first.comparisons == again.comparisons
    assert first.comparisons != other.comparisons
    for one, two in zip(first.comparisons, other.comparisons, strict=True):
        assert replace(one, low=0, high=0, p_value=0) == replace(two, low=0, high=0, p_value=0)


def many(seed: int = 0) -> tuple[Dataset, Adapter, Seen]:
    """8 queries with up to six of 30 relevant documents, graded; a random map; a random past."""
    rng = np.random.default_rng(seed)
    documents = EmbeddingSet([f"d{row}" for row in range(30)], rng.normal(size=(30, 5)))
    queries = EmbeddingSet([f"q{row}" for row in range(8)], rng.normal(size=(8, 5)))
    grades = {
        f"q{row}": {f"d{name}": int(rng.integers(0, 4)) for name in rng.permutation(30)[: 1 + row % 6]}
        for row in range(8)
    }
    seen = Seen.of(queries=["q1"], positives=[f"d{row}" for row in range(10)], negatives=["d11", "d12", "d13", "d1"])
    task = Dataset(queries, documents, Qrels({query: {**held, "d3": 1, "d20": 2} for query, held in grades.items()}))
    return task, Adapter(BilinearOperator(Identity(5), Dense(rng.normal(size=(5, 5))))), seen


def ndcg_by_hand(ranking: list[str], gains: dict[str, float], k: int = 10) -> float:
    best = sorted(gains.values(), reverse=True)
    ideal = sum(gain / np.log2(place + 2) for place, gain in enumerate(best[:k]))
    return float(sum(gains.get(name, 0) / np.log2(place + 2) for place, name in enumerate(ranking[:k])) / ideal)


@pytest.mark.parametrize("seed", range(3))
def test_classes_are_what_a_slow_count_gives(seed: int) -> None:
    task, adapter, seen = many(seed)
    kinds = [{f"d{row}" for row in range(10)}, {"d11", "d12", "d13"}]
    kinds.append(set(task.documents.ids) - kinds[0] - kinds[1])
    parts = dict(assess_parts(task, adapter, seen))
    for name, members in zip(CLASSES, kinds, strict=True):
        expected: dict[str, tuple[float, float]] = {}
        for query in task.qrels.queries:
            relevant = task.qrels.positives(query)
            gains = {document: grade for document, grade in relevant.items() if document in members}
            if gains:
                pair: list[Any] = []
                vector = task.queries.matrix[task.queries.row(query)]
                for asked in (vector, adapter.apply(vector)):
                    scores = task.documents.matrix @ asked
                    ranked = [task.documents.ids[row] for row in np.argsort(-scores)]
                    pair.append(ndcg_by_hand([d for d in ranked if d not in relevant or d in members], gains))
                expected[query] = (pair[0], pair[1])
        if not expected:
            assert name not in parts
            continue
        found = parts[name]
        assert found.base.queries == tuple(expected)
        np.testing.assert_allclose(found.base.per_query("nDCG@10"), [pair[0] for pair in expected.values()])
        np.testing.assert_allclose(found.adapted.per_query("nDCG@10"), [pair[1] for pair in expected.values()])


def test_the_parts_stand_in_one_order_with_their_measures() -> None:
    task, adapter, seen = many()
    parts = assess_parts(task, adapter, seen, measures=["RR", "R@20"])
    assert [name for name, _ in parts] == ["all", "unseen", *CLASSES]
    assert [[row.measure for row in found.comparisons] for _, found in parts] == [["RR", "R@20"]] * 2 + [["RR"]] * 3
    whole, unseen = parts[0][1], parts[1][1]
    expected = assess(task, adapter, measures=["RR", "R@20"])
    apart = assess(task, adapter, measures=["RR", "R@20"], without=[f"d{row}" for row in range(10)])
    assert expected is not None
    assert apart is not None
    assert whole.comparisons == expected.comparisons
    assert unseen.comparisons == apart.comparisons
    assert len(unseen.adapted_run.documents("q0")) == 20


def test_all_is_cut_to_the_depth_that_was_asked_for() -> None:
    rng = np.random.default_rng(0)
    documents = EmbeddingSet(range(150), rng.normal(size=(150, 4)))
    task = Dataset(EmbeddingSet(["q"], rng.normal(size=(1, 4))), documents, Qrels({"q": dict.fromkeys(range(60), 1)}))
    seen = Seen.of(queries=[], positives=["0"], negatives=[])
    whole = assess_parts(task, Adapter(BilinearOperator.identity(4)), seen, measures=["AP"])[0][1]
    alone = assess(task, Adapter(BilinearOperator.identity(4)), measures=["AP"])
    assert alone is not None
    assert len(whole.base_run.documents("q")) == len(alone.base_run.documents("q")) == DEPTH
    assert whole.comparisons == alone.comparisons


def test_what_nobody_noted_is_not_told_apart() -> None:
    task, adapter, _ = many()
    assert [name for name, _ in assess_parts(task, adapter, None)] == ["all"]


def test_a_past_elsewhere_leaves_everything_unseen() -> None:
    task, adapter, _ = many()
    elsewhere = Seen.of(queries=["x"], positives=["y"], negatives=["z"])
    parts = dict(assess_parts(task, adapter, elsewhere))
    assert list(parts) == ["all", "unseen", "never seen"]
    assert parts["all"].comparisons == parts["unseen"].comparisons
    assert parts["never seen"].comparisons == parts["all"].comparisons[:1]


def test_training_queries_among_the_judged_are_told() -> None:
    task, adapter, seen = many()
    (found,) = trained_on(task, seen)
    assert (found.code, found.level, found.count, found.examples) == ("trained-queries", "warning", 1, ("q1",))
    assert found.message.startswith("1 of the 8 judged queries was a training query of the adapter: there it shows")
    assert trained_on(task.only(["q0"]), seen) == trained_on(task, None) == ()
    fitted = replace(adapter, provenance=replace(adapter.provenance, seen=seen))
    assert remembered(fitted) is seen
    assert remembered(base_of(fitted)) is None


def test_a_fit_notes_what_it_has_seen(train: Dataset) -> None:
    seen = fit(train).candidate.provenance.seen
    assert seen is not None
    assert all(seen.knows_query(query) for query in train.labelled)
    positive, negative, never = seen.split_documents(train.documents.ids)
    assert positive == {document for query in train.labelled for document in train.qrels.positives(query)}
    assert negative
    assert len(positive) + len(negative) + len(never) == len(train.documents)
