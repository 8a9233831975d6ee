"""Base against adapted on judged queries, residual scores among them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from askew.adapters import Adapter
from askew.data import Dataset, EmbeddingSet, Qrels
from askew.operators import BilinearOperator, Dense, Identity
from askew.workflows import fit
from askew.workflows.assess import DEPTH, MEASURES, assess, base_of, search_judged

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
