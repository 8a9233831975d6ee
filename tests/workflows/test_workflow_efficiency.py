from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from askew.data import EmbeddingSet, Qrels
from askew.errors import ParameterError
from askew.estimators import Ridge
from askew.workflows import fit
from askew.workflows.domains import origin_of, pool, sample_documents, token_cost
from askew.workflows.efficiency import Score, efficiency, matrix, zero_shot
from askew.workflows.methods import METHODS, RECIPES, Asker, Ground, Lesson, Method
from askew.workflows.score_store import ScoreStore, print_of
from askew.workflows.two_encoders import TwoEncoders

COUNT, QUERIES, LATENT = 120, 60, 6
VIEWS = [np.random.default_rng(place).normal(size=(LATENT, width)) for place, width in enumerate((12, 9))]


def domain(name: str = "a", seed: int = 0) -> TwoEncoders:
    """Two encoders' noisy views of one latent space; each query is near its own document, and moved."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(COUNT, LATENT))
    asked = latent[:QUERIES] + 0.4 + 0.2 * rng.normal(size=(QUERIES, LATENT))

    def seen(points: npt.NDArray[np.float64], view: int, prefix: str) -> EmbeddingSet:
        rows = points @ VIEWS[view] + 0.05 * rng.normal(size=(len(points), VIEWS[view].shape[1]))
        return EmbeddingSet([f"{prefix}{row}" for row in range(len(rows))], rows, encoder=f"encoder {view}")

    qrels = Qrels({f"q{row}": {f"d{row}": 1, f"d{row + QUERIES}": 0} for row in range(QUERIES)})
    return TwoEncoders(
        name, seen(latent, 1, "d"), seen(latent, 0, "d"), seen(asked, 0, "q"), seen(asked, 1, "q"), qrels
    )


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One estimator: what is tried here is the protocol."""
    quick = partial(fit, estimators=(Ridge(strengths=(0.1,)),))
    monkeypatch.setattr("askew.workflows.methods.fit", quick)


def by_system(scores: list[Score]) -> dict[str, list[Score]]:
    found: dict[str, list[Score]] = {}
    for score in scores:
        found.setdefault(score.system, []).append(score)
    return found


def test_every_system_is_tested_on_the_same_half_at_every_share() -> None:
    told = []
    scores = by_system(efficiency(domain(), shares=(0.1, 12), progress=lambda *step: told.append(step)))
    assert set(scores) == {"zero-shot, document encoder", "zero-shot, query encoder, own index", *METHODS}
    assert all(len(score.per_query) == QUERIES // 2 for found in scores.values() for score in found)
    assert [score.labels for score in scores["align + adapt"]] == [12, 18]
    assert told[-1] == (2 * len(METHODS), 2 * len(METHODS))
    first, second = scores["align only"]
    assert first.means == second.means  # no label moves it
    assert first.means["nDCG@10"] > 0.5
    assert scores["align + adapt"][0].means["nDCG@10"] >= scores["adapt only"][0].means["nDCG@10"]
    plain = first.to_json()
    assert plain["queries"] == QUERIES // 2
    assert set(plain["means"]) == {"nDCG@10", "R@100", "AP@100"}


def test_recipes_stand_beside_them() -> None:
    pytest.importorskip("torch")
    scores = by_system(efficiency(domain(), shares=(0.2,), methods=RECIPES, documents=100))
    aligned, both = (scores[f"{name}, recipe"][0].means["nDCG@10"] for name in ("align only", "align + adapt"))
    assert both == pytest.approx(aligned, abs=0.1)
    assert scores["adapt only, recipe"][0].means["nDCG@10"] < aligned


def test_matrices_train_on_some_tasks_and_test_on_all() -> None:
    tasks = [domain("a"), domain("b", 1), domain("c", 2)]
    rows = [["a", "b"], ["c"], ["a", "b", "c"]]
    scores = matrix(tasks, rows, methods={"align + adapt": METHODS["align + adapt"]}, share=0.2)
    assert [(one.trained_on, one.tested_on) for one in scores] == [
        ("+".join(row), task.name) for row in rows for task in tasks
    ]
    assert all(one.means["nDCG@10"] > 0.5 for one in scores)  # one space: what is learned on one holds on another
    with pytest.raises(ParameterError, match=r"no tasks \['z'\]"):
        matrix(tasks, [["z"]])


def test_pooled_ids_know_their_task_and_negatives_stay_in_it() -> None:
    whole = pool([domain("a"), domain("b", 1)])
    assert len(whole.index) == 2 * COUNT
    assert origin_of("b::d1") == "b"
    ground = Ground(whole, whole.index.ids[:10], pooled=True)
    lessons = ground.lessons(["a::q0", "b::q0"])
    assert (~lessons.closed).sum(axis=1).tolist() == [COUNT - 2, COUNT - 2]
    assert lessons.closed[0, COUNT:].all()
    with pytest.raises(ParameterError, match="cannot be pooled"):
        pool([domain("a"), domain("a")])
    with pytest.raises(ParameterError, match="same two encoders"):
        pool([domain("a"), replace(domain("b"), queries=None)])


def test_unseen_documents_are_scored_apart() -> None:
    (score, _) = zero_shot(domain(), ["q1", "q2"])
    assert score.unseen == score.means["nDCG@10"]


def test_tokens_of_a_sample_and_of_the_corpus() -> None:
    task = domain()
    assert token_cost(task, ["d0"]) is None
    texts = {"documents": dict.fromkeys(task.index.ids, "one two three"), "queries": {"q0": "what"}}
    (sample,) = sample_documents([task], count=30)
    cost = token_cost(replace(task, texts=texts), sample, count=lambda text: len(text.split()))
    assert cost is not None
    assert (cost.tokens, cost.sampled_tokens, cost.query_tokens, cost.share) == (360, 90, 1, 0.25)


def test_a_run_that_was_stopped_goes_on_with_what_it_had(tmp_path: Path) -> None:
    """Scores come back as they were; a torn line, and scores on other tasks or settings, are measured again."""
    path, task, fits = tmp_path / "new" / "scores.jsonl", domain(), list[str]()

    def counted(name: str) -> Method:
        def train(lesson: Lesson) -> Asker:
            fits.append(name)
            return METHODS[name](lesson)

        return train

    methods = {name: counted(name) for name in ("align only", "adapt only")}

    def run(of: str) -> list[dict[str, Any]]:
        store = ScoreStore(path, of)
        found = efficiency(task, shares=(12,), methods=methods, seeds=(0, 1), store=store)
        found += matrix([task, domain("b", seed=1)], [["a", "b"]], share=12, methods=methods, store=store)
        return [{**score.to_json(), "per_query": score.per_query.tolist(), "seconds": None} for score in found]

    of = print_of([task], "settings")
    first = run(of)
    assert len(fits) == 6
    assert run(of) == first
    assert len(fits) == 6
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert run(of) == first
    assert len(fits) == 7, "the last line alone was measured again"
    assert run(of) == first
    assert len(fits) == 7
    for other in (print_of([task], "others"), print_of([domain(seed=2)], "settings")):
        assert other != of
        run(other)
    assert len(fits) == 19
    assert run(of) == first
    assert len(fits) == 19
