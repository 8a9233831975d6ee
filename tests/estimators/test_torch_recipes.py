from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from askew.adapters import Adapter  # noqa: E402
from askew.data import Dataset, EmbeddingSet, Qrels  # noqa: E402
from askew.errors import DimensionError, LabelError, MatchError, ParameterError  # noqa: E402
from askew.estimators import align  # noqa: E402
from askew.estimators.examples import EraNegatives, GradedDraw  # noqa: E402
from askew.estimators.layers import Layers  # noqa: E402
from askew.estimators.lessons import Lessons  # noqa: E402
from askew.estimators.torch_loop import Plan, train  # noqa: E402
from askew.estimators.torch_recipes import (  # noqa: E402
    ABLATIONS,
    ADAPT,
    ALIGN,
    CHROMA,
    LAT,
    LLAMAINDEX,
    SEARCH_ADAPTOR,
    align_by_descent,
    aligned_first,
    document_pairs,
    era,
)
from askew.operators import BilinearOperator  # noqa: E402

D_QUERY, D_DOCUMENT, COUNT = 12, 8, 120


def sides(seed: int = 0, d_query: int = D_QUERY) -> tuple[EmbeddingSet, EmbeddingSet]:
    """One latent space seen by two encoders, the second one's turned."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(COUNT, D_DOCUMENT))
    other = latent @ rng.normal(size=(D_DOCUMENT, d_query)) if d_query != D_DOCUMENT else latent
    return EmbeddingSet(range(COUNT), other), EmbeddingSet(range(COUNT), latent)


def task(d_query: int = D_QUERY) -> Dataset:
    asked, told = sides(d_query=d_query)
    noise = np.random.default_rng(1).normal(size=asked.matrix.shape)
    queries = EmbeddingSet(range(COUNT), asked.matrix + 0.3 * noise)
    return Dataset(queries, told, Qrels({row: {row: 2, (row + 1) % COUNT: 1} for row in range(COUNT)}))


def parts(data: Dataset) -> tuple[Lessons, Lessons]:
    names = data.labelled
    return Lessons.of_dataset(data, names[:80]), Lessons.of_dataset(data, names[80:100])


QUICK = replace(ADAPT, epochs=6, rate=1e-3)


def cosine_of(layers: Layers, asked: EmbeddingSet, told: EmbeddingSet) -> float:
    pairs = document_pairs(asked, told)
    mapped = layers(pairs.queries)
    return float(np.mean(np.sum(mapped * pairs.documents, axis=1) / np.linalg.norm(mapped, axis=1)))


def test_alignment_by_descent_gets_near_the_closed_form_and_not_past_it() -> None:
    asked, told = sides()
    trained = cosine_of(align_by_descent(asked, told, replace(ALIGN, epochs=400, batch=16)), asked, told)
    closed = align(asked, told).map.T.astype(np.float32)
    best = cosine_of(Layers((closed,), (None,)), asked, told)
    assert 0.97 < trained <= best + 0.02


@pytest.mark.parametrize("plan", [QUICK, *(replace(plan, epochs=4) for plan in ABLATIONS.values())])
def test_every_ablation_of_era_starts_at_its_alignment(plan: Plan) -> None:
    asked, told = sides()
    first = align_by_descent(asked, told, replace(aligned_first(plan), epochs=20))
    lessons, held = parts(task())
    found = era(first, lessons, held, plan)
    assert found.shape == (D_QUERY, D_DOCUMENT)
    assert len(found.weights) == plan.layers
    assert (found.offsets[0] is None) == (not plan.bias)
    assert max(np.abs(one - other).max() for one, other in zip(found.weights, first.weights, strict=True)) < 0.1


@pytest.mark.parametrize(
    "plan", [LLAMAINDEX, CHROMA, LAT, SEARCH_ADAPTOR, QUICK], ids=["llamaindex", "chroma", "lat", "adaptor", "era"]
)
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(plan: Plan) -> None:
    lessons, held = parts(task(D_DOCUMENT))
    short = replace(plan, epochs=2, shuffle=True, batch=16, warm_up=None, judge="")
    first, again, other = (train(lessons, short, seed=seed, held=held)[0] for seed in (0, 0, 1))
    assert all(np.array_equal(one, two) for one, two in zip(first.weights, again.weights, strict=True))
    assert not all(np.array_equal(one, two) for one, two in zip(first.weights, other.weights, strict=True))


def test_the_caller_s_torch_settings_come_back() -> None:
    lessons, held = parts(task(D_DOCUMENT))
    before = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), torch.initial_seed()
    train(lessons, replace(LAT, epochs=1), held=held)
    assert (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), torch.initial_seed()) == before


def test_divergence_says_at_which_step_and_returns_nothing() -> None:
    lessons, _ = parts(task(D_DOCUMENT))
    with pytest.raises(ParameterError, match=r"training diverged: .* at step \d+ \(epoch \d+\), at the rate 1e\+30"):
        train(lessons, replace(CHROMA, rate=1e30, epochs=9))


def test_a_last_step_into_nan_is_caught_too() -> None:
    lessons, _ = parts(task(D_DOCUMENT))
    with pytest.raises(ParameterError, match="a weight is not finite at step 1"):
        train(lessons, replace(CHROMA, rate=1e39, epochs=1, batch=10_000))


def test_early_stopping_restores_the_best_map() -> None:
    lessons, held = parts(task(D_DOCUMENT))
    wild = replace(LAT, rate=3.0, epochs=8, patience=8)  # every step is worse than none
    (found,) = train(lessons, wild, held=held)
    assert np.array_equal(found.weights[0], np.eye(D_DOCUMENT, dtype=np.float32))


def test_a_map_without_offset_is_an_operator_with_the_same_scores() -> None:
    asked, told = sides()
    lessons, held = parts(task())
    plan = replace(QUICK, bias=False)
    found = era(align_by_descent(asked, told, aligned_first(plan)), lessons, held, plan)
    adapter = Adapter(BilinearOperator(found.term()))
    np.testing.assert_allclose(adapter.apply(lessons.queries), found(lessons.queries), atol=1e-5)


def test_an_offset_is_refused_or_dropped_never_forgotten() -> None:
    layers = Layers((np.eye(2, dtype=np.float32),), (np.ones(2, dtype=np.float32),))
    with pytest.raises(ParameterError, match="has an offset"):
        layers.term()
    assert layers.term(offset="drop").to_dense().tolist() == np.eye(2).tolist()
    two = Layers((np.eye(2, dtype=np.float32),) * 2, (None, None))
    with pytest.raises(ParameterError, match="two layers"):
        two.term()
    with pytest.raises(DimensionError, match="do not fit"):
        Layers((np.ones((3, 2), dtype=np.float32), np.ones((3, 2), dtype=np.float32)), (None, None))


def test_search_adaptor_maps_both_sides_and_starts_at_the_identity() -> None:
    lessons, held = parts(task(D_DOCUMENT))
    start = train(lessons, replace(SEARCH_ADAPTOR, rate=1e-12, epochs=1), held=held)[0]
    np.testing.assert_allclose(start(lessons.documents), lessons.documents, atol=1e-6)
    near, far = (
        train(lessons, replace(SEARCH_ADAPTOR, epochs=10, recovery=weight, judge=""))[0] for weight in (100.0, 0.0)
    )
    moved = [float(np.abs(one(lessons.queries) - lessons.queries).mean()) for one in (near, far)]
    assert moved[0] < moved[1]  # the recovery term keeps vectors where they were


def test_graded_draws_prefer_documents_of_a_lower_grade() -> None:
    lessons, _ = parts(task())
    drawn = GradedDraw(3)(lessons, np.random.default_rng(0))
    best = lessons.pair_grade == 2
    assert drawn.gap is not None
    lower = lessons.pair_row[(lessons.pair_query == 0) & (lessons.pair_grade == 1)]
    assert drawn.negative[np.flatnonzero(best)[0], 0] == lower[0]
    assert drawn.gap[np.flatnonzero(best)[0]].tolist() == [1.0, 2.0, 2.0]


@pytest.mark.parametrize("policy", ["margin", "top", "random"])
def test_era_s_negatives_are_never_judged_and_the_hardest_is_there(policy: str) -> None:
    lessons, _ = parts(task())
    asked, told = sides()
    taught = lessons.taught_by(Layers((align(asked, told).map.T.astype(np.float32),), (None,)))
    drawn = EraNegatives(policy, count=4)(taught, np.random.default_rng(0))  # type: ignore[arg-type]  # of three names
    assert drawn.negative.shape == (len(lessons), 4)
    assert not lessons.closed[drawn.query[:, None], drawn.negative].any()
    scores = np.where(lessons.closed, -np.inf, taught.asked @ lessons.documents.T)
    if policy == "margin":
        own = (taught.asked @ lessons.documents.T)[drawn.query, drawn.positive]
        scores = np.where(scores < (own - 0.05 * np.abs(own))[:, None], scores, -np.inf)
    if policy != "random":
        assert np.array_equal(drawn.negative[:, 0], scores.argmax(axis=1))


def test_the_margin_stands_below_a_score_that_is_negative() -> None:
    queries = EmbeddingSet("q", np.array([[1.0, 0.0]]))
    documents = EmbeddingSet("abc", np.array([[-0.6, 0.8], [-0.59, 0.81], [-1.0, 0.0]]))
    lessons = Lessons.of_dataset(Dataset(queries, documents, Qrels({"q": {"a": 1}})), ["q"])
    drawn = EraNegatives(count=1)(lessons, np.random.default_rng(0))
    assert drawn.negative.tolist() == [[2]]


def test_what_cannot_be_trained_on_is_refused() -> None:
    lessons, held = parts(task())
    with pytest.raises(LabelError, match="held-out"):
        train(lessons, ADAPT)
    with pytest.raises(ParameterError, match="no identity between"):
        train(lessons, LLAMAINDEX)
    with pytest.raises(ParameterError, match="no device 'nonsense'"):
        era(None, lessons, held, QUICK, device="nonsense")
    with pytest.raises(ParameterError, match="map to start at"):
        era(Layers((np.eye(3, dtype=np.float32),), (None,)), lessons, held, QUICK)
    with pytest.raises(MatchError, match="both encoders"):
        document_pairs(EmbeddingSet("a", np.eye(1)), EmbeddingSet("b", np.eye(1)))
    with pytest.raises(ParameterError, match="positive numbers"):
        replace(ADAPT, rate=0.0)
    with pytest.raises(ParameterError, match="policy"):
        EraNegatives("hard")  # type: ignore[arg-type]
    data = task()
    with pytest.raises(LabelError, match="no relevant document"):
        Lessons.of_dataset(data, [])
    everything = Dataset(data.queries, data.documents, Qrels({"0": dict.fromkeys(data.documents.ids, 1)}))
    with pytest.raises(LabelError, match="no document left"):
        EraNegatives()(Lessons.of_dataset(everything, ["0"]), np.random.default_rng(0))
