"""The negation task: what it says of itself holds, and its measures are the library's."""

from __future__ import annotations

import numpy as np
import pytest

from askew.data import Qrels
from askew.estimators.tokens_ragged import Ragged
from askew.evaluation import evaluate
from askew.late import BooleanIndex, search
from askew.reproduce.negation import BENCHMARKS, Size, measures, negation
from askew.reproduce.negation_task import ATTRIBUTES, NOT, Benchmark, benchmark, training


def sets(documents: Ragged) -> list[set[int]]:
    return [set(part.tolist()) for part in np.split(documents.values, documents.offsets[1:-1])]


def said(queries: Ragged, row: int) -> tuple[set[int], int]:
    """Wanted and unwanted, read back from the tokens."""
    tokens = queries.values[queries.offsets[row] : queries.offsets[row + 1]].tolist()
    place = tokens.index(NOT)
    return {*tokens[:place], *tokens[place + 2 :]}, tokens[place + 1]


def test_training_material_is_as_the_paper_says() -> None:
    made = training(300, seed=2)
    held = sets(made.documents)
    assert len(held) == 600
    assert {len(one) for one in held} <= set(range(4, 13))
    wanted = [said(made.queries, row)[0] for row in range(300)]
    assert {len(one) for one in wanted} == {1, 2, 3, 4}
    for row in range(300):
        terms, unwanted = said(made.queries, row)
        assert terms <= held[row]
        assert unwanted not in held[row]
        assert terms | {unwanted} <= held[300 + row]
    rows, places = np.arange(20), np.arange(0, 600, 7)
    truth = [
        [wanted[row] <= held[place] and said(made.queries, row)[1] not in held[place] for place in places.tolist()]
        for row in rows.tolist()
    ]
    np.testing.assert_array_equal(made.known(rows, places), truth)


@pytest.fixture(scope="module", params=BENCHMARKS)
def task(request: pytest.FixtureRequest) -> Benchmark:
    return benchmark(request.param, 8, 120, seed=9)


def test_relevance_is_the_boolean_rule(task: Benchmark) -> None:
    held = sets(task.documents)
    first = ATTRIBUTES if task.name == "different vocabulary" else 0
    assert all(first <= term < first + ATTRIBUTES for one in held for term in one)
    for row in range(8):
        wanted, unwanted = said(task.queries, row)
        assert bool(wanted) is (task.name != "negation only")
        truth = [wanted <= one and unwanted not in one for one in held]
        np.testing.assert_array_equal(task.relevant[row], truth)
        assert truth[row]


def test_measures_are_those_of_the_library_and_the_oracle_is_perfect(task: Benchmark) -> None:
    index = BooleanIndex(task.terms, terms=map(str, range(2 * ATTRIBUTES)))
    qrels = Qrels({f"q{row}": {f"d{one}": 1 for one in np.flatnonzero(held)} for row, held in enumerate(task.relevant)})
    perfect = index.search(task.boolean, k=120)
    assert measures(perfect, task)["nDCG@10"].min() == 1.0
    tokens, _ = index.tokens(task.boolean)
    unsigned = search(type(tokens)(tokens.ids, tokens.tokens, tokens.offsets), index.documents, k=120)
    for run in (perfect, unsigned):
        truth = evaluate(run, qrels, ["nDCG@10", "AP@1000"])
        for name, values in measures(run, task).items():
            np.testing.assert_allclose(values, truth.per_query(name), rtol=1e-12)


def test_the_random_line_is_what_random_rankings_score(task: Benchmark) -> None:
    rng = np.random.default_rng(0)
    gains = 1 / np.log2(np.arange(2, 12))
    drawn = []
    for held in task.relevant:
        best = gains[: held.sum()].sum()
        drawn.append(np.mean([gains @ held[rng.permutation(120)[:10]] / best for _ in range(2000)]))
    np.testing.assert_allclose(task.random_ndcg(), drawn, atol=0.03)


def test_a_small_run_is_whole() -> None:
    pytest.importorskip("torch")
    size = Size(train=64, steps=2, queries=4, documents=30, seeds=1, arms=False, rates=(1e-3,))
    study = negation(size=size)
    assert [table.title for table in study.tables][:2] == [
        "nDCG@10, trained with in-batch negatives",
        "nDCG@10, trained with near misses too",
    ]
    first = study.tables[0]
    assert [row[:3] for row in first.rows] == [
        ["in-domain", 0.982, 0.997],
        ["different vocabulary", 0.597, 1.0],
        ["negation only", 0.008, 0.788],
    ]
    assert all(row[list(first.head).index("Boolean oracle")] == 1.0 for row in first.rows)
