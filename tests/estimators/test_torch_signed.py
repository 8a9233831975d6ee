"""Signed late interaction, learned: scores against exact search, resuming bit for bit, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from askew.adapters import Canaries  # noqa: E402
from askew.data import TokenEmbeddings  # noqa: E402
from askew.errors import InputError, LabelError, ParameterError  # noqa: E402
from askew.estimators.signed_lessons import Ordinary, SignedLessons, pairs_known  # noqa: E402
from askew.estimators.snapshots import Snapshot  # noqa: E402
from askew.estimators.tokens_ragged import Ragged  # noqa: E402
from askew.estimators.torch_signed import Encoded, SignedHead, SignedModel, Spoken, signed_scores  # noqa: E402
from askew.estimators.torch_signed_encoders import StateEncoder  # noqa: E402
from askew.estimators.torch_signed_loss import SignedPlan, moved  # noqa: E402
from askew.estimators.torch_signed_training import train_signed  # noqa: E402
from askew.formats import SignedArtefact, read_checkpoint, write_checkpoint  # noqa: E402
from askew.late import maxsim  # noqa: E402


class Dropping(torch.nn.Module):  # type: ignore[misc,name-defined]
    """A tuned map that drops out units, so that training draws from torch's generator."""

    width = dim = 6

    def __init__(self) -> None:
        super().__init__()
        self.map = torch.nn.Linear(6, 6, bias=False)
        torch.nn.init.eye_(self.map.weight)
        self.drop = torch.nn.Dropout(0.3)

    def forward(self, tokens: Any, mask: Any, side: str) -> Spoken:
        states = tokens.float()
        return Spoken(torch.nn.functional.normalize(self.map(self.drop(states)), dim=-1), states, mask)


def texts(rng: np.random.Generator, count: int, most: int = 4, width: int = 6) -> Ragged:
    return Ragged.of_lists(
        [rng.normal(size=(rng.integers(1, most + 1), width)).astype(np.float32) for _ in range(count)]
    )


def lessons(count: int = 24, negatives: int = 1) -> SignedLessons:
    rng = np.random.default_rng(3)
    rows = np.arange(count)
    wrong = rng.integers(count, 2 * count, (count, negatives))
    return SignedLessons(texts(rng, count), texts(rng, 2 * count), rows, rows, wrong)


def model(encoder: Any = None, **options: Any) -> SignedModel:
    return SignedModel(StateEncoder(6) if encoder is None else encoder, hidden=8, **options)


PLAN = SignedPlan(rate=1e-2, encoder_rate=1e-2, epochs=9, batch=5, judge_every=7)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), signed=st.booleans())
def test_scores_are_those_of_exact_search(seed: int, signed: bool) -> None:
    rng = np.random.default_rng(seed)
    made = model()
    if signed:
        heads: list[Any] = [made.query_head, made.document_head]
        for head in heads:
            torch.nn.init.normal_(head.outer.weight, generator=torch.Generator().manual_seed(seed))
    asked, told = texts(rng, 3), texts(rng, 5)
    with torch.no_grad():
        sides = [
            made(*map(torch.from_numpy, side.batch(np.arange(len(side)))), name)
            for side, name in ((asked, "query"), (told, "document"))
        ]
        found = signed_scores(*sides).numpy()
    exact = maxsim(made.encode(asked, "query"), made.encode(told, "document"))
    np.testing.assert_allclose(found, exact, atol=2e-6)


@pytest.mark.parametrize(("bounded", "hidden"), [(True, 8), (False, 8), (True, 0)])
def test_a_saved_head_weighs_stored_tokens_as_the_model_does(bounded: bool, hidden: int) -> None:
    made = SignedModel(StateEncoder(6), hidden=hidden, bounded=bounded)
    made_heads: list[tuple[Any, int]] = [(made.query_head, 1), (made.document_head, 2)]
    for one, seed in made_heads:
        torch.nn.init.normal_(one.outer.weight, generator=torch.Generator().manual_seed(seed))
    canaries = Canaries((), np.empty((0, 6), dtype=np.float32), ())
    saved = SignedArtefact("both", "vectors", 6, hidden, bounded, made.head_weights(), "tiny", canaries)
    sides: tuple[Any, Any] = ("query", "document")
    for side in sides:
        tokens = made.encode(texts(np.random.default_rng(4), 5), side)
        head = saved.head(side)
        assert head is not None
        weights = head.weigh(TokenEmbeddings(tokens.ids, tokens.tokens, tokens.offsets)).weights
        assert weights is not None
        assert tokens.weights is not None
        np.testing.assert_allclose(weights, tokens.weights, atol=1e-5)
        twice = head.weigh(tokens).weights
        assert twice is not None
        np.testing.assert_allclose(twice, weights * tokens.weights)
    assert replace(saved, gates="query").head("document") is None


@pytest.mark.parametrize("bounded", [True, False])
def test_training_starts_from_plain_maxsim(bounded: bool) -> None:
    rng = np.random.default_rng(0)
    asked, told = texts(rng, 4), texts(rng, 6)
    plain, signed = model(gates="none"), model(gates="both", bounded=bounded)
    scores = [maxsim(one.encode(asked, "query"), one.encode(told, "document")) for one in (plain, signed)]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-6)
    assert plain.encode(asked, "query").weights is None


def test_padding_is_no_candidate_of_a_maximum() -> None:
    one = Encoded(torch.ones(1, 1, 2), torch.ones(1, 1), torch.ones(1, 1, dtype=torch.bool))
    padded = Encoded(-torch.ones(1, 2, 2), torch.ones(1, 2), torch.tensor([[True, False]]))
    padded.vectors[0, 1] = 100.0
    assert signed_scores(one, padded).item() == -2.0


def test_a_head_learns_which_tokens_exclude() -> None:
    """A query token whose last feature is on must not be met; a document that meets it is the negative."""
    rng = np.random.default_rng(1)
    count, axes = 100, np.eye(8, dtype=np.float32)
    asked, good, bad = [], [], []
    for _ in range(count):
        wanted, unwanted, other = rng.permutation(6)[:3]
        asked.append(np.stack([axes[wanted], axes[unwanted] + 0.2 * axes[7]]))
        good.append(axes[[wanted, other]])
        bad.append(axes[[wanted, unwanted]])
    rows = np.arange(count)
    given_ = SignedLessons(Ragged.of_lists(asked), Ragged.of_lists([*good, *bad]), rows, rows, (rows + count)[:, None])
    made = SignedModel(StateEncoder(8), gates="query")
    train_signed(made, given_, replace(PLAN, epochs=15, batch=10))
    weights = made.encode(given_.queries, "query").weights
    assert weights is not None
    assert weights[0::2].min() > 0.2
    assert weights[1::2].max() < -0.2


def test_a_frozen_encoder_stays_as_it_is_and_a_tuned_one_moves() -> None:
    for tuned in (False, True):
        made = model(Dropping(), tuned=tuned)
        before = made.encoder.map.weight.detach().clone()
        train_signed(made, lessons(), PLAN)
        assert torch.equal(before, made.encoder.map.weight) is not tuned


def ordinary(encoder: Any = None) -> Ordinary:
    """Texts to leave as they are; with an encoder, what it makes of them now."""
    rng = np.random.default_rng(8)
    asked, told = texts(rng, 40), texts(rng, 40)
    if encoder is None:
        return Ordinary(asked, told)
    encoder.eval()
    with torch.no_grad():
        made = [
            Ragged(encoder(torch.from_numpy(side.values), None, "query").vectors.numpy(), side.offsets)
            for side in (asked, told)
        ]
    return Ordinary(asked, told, *made)


def test_ordinary_texts_stay_as_they_are() -> None:
    """As far as the pull is strong: weights near +1, and a tuned encoder's vectors where they were."""
    far: dict[float, list[float]] = {}
    for pull in (0.0, 0.1, 100.0):
        made = model(Dropping(), tuned=True)
        calm = ordinary(made.encoder)
        train_signed(made, replace(lessons(), ordinary=calm), replace(PLAN, pull=pull, epochs=12))
        found = made.encode(calm.documents, "document")
        assert found.weights is not None
        assert calm.document_vectors is not None
        cosines = np.sum(found.tokens * calm.document_vectors.values, axis=1)
        far[pull] = [float(np.abs(found.weights - 1).mean()), float(1 - cosines.mean())]
    assert far[0.0][0] > 2 * far[100.0][0]
    assert far[0.0][1] > 2 * far[100.0][1]
    assert far[100.0][0] < 0.05
    assert far[0.1][0] < far[0.0][0]


def test_what_moved_is_what_the_plan_pulls_at() -> None:
    """By hand: mean squares of weights less 1 and one less mean cosines, over the texts of both sides."""
    made, calm = model(Dropping(), tuned=True), ordinary()
    shift = Ragged(np.roll(np.eye(6, dtype=np.float32), 1, axis=0), np.arange(7))
    eye = Ragged(np.eye(6, dtype=np.float32), np.arange(7))
    made.eval()
    draw = np.random.default_rng(0)
    assert moved(made, calm, PLAN, draw, "cpu").item() == 0.0
    assert moved(made, Ordinary(eye, eye, eye, shift), PLAN, draw, "cpu").item() == pytest.approx(1.0)
    heads: list[Any] = [made.query_head, made.document_head]
    for head, offset in zip(heads, (-2.0, -4.0), strict=True):
        torch.nn.init.constant_(head.outer.bias, offset)
    away = [np.tanh(2 + offset) / np.tanh(2) - 1 for offset in (-2.0, -4.0)]
    assert moved(made, calm, PLAN, draw, "cpu").item() == pytest.approx(away[0] ** 2 + away[1] ** 2, rel=1e-5)


def test_a_run_with_ordinary_texts_resumes_to_the_same_bits(tmp_path: Path) -> None:
    calm, plan = ordinary(), replace(PLAN, pull=3.0)
    kept: list[Snapshot] = []
    whole = model()
    train_signed(whole, replace(lessons(), ordinary=calm), plan, seed=5, keep=kept.append)
    path = write_checkpoint(kept[1], tmp_path)
    again = model()
    train_signed(again, replace(lessons(), ordinary=calm), plan, seed=5, resume=read_checkpoint(path))
    for name, part in whole.state_dict().items():
        assert torch.equal(part, again.state_dict()[name]), name
    with pytest.raises(ParameterError, match="another run"):
        train_signed(model(), lessons(), plan, seed=5, resume=read_checkpoint(path))


@pytest.mark.parametrize("judged", [False, True])
def test_a_run_resumed_gives_the_same_bits(tmp_path: Path, judged: bool) -> None:
    judge = (lambda found: -found.encoder.map.weight.square().sum().item()) if judged else None
    kept: list[Snapshot] = []
    whole = model(Dropping(), tuned=True)
    first = train_signed(whole, lessons(), PLAN, seed=5, judge=judge, keep=kept.append)
    assert len(kept) > 3
    for place in (0, 2):
        path = write_checkpoint(kept[place], tmp_path)
        again = model(Dropping(), tuned=True)
        rest: list[Snapshot] = []
        second = train_signed(
            again, lessons(), PLAN, seed=5, judge=judge, resume=read_checkpoint(path), keep=rest.append
        )
        assert second.history == first.history
        assert (second.steps, second.best_step, second.best) == (first.steps, first.best_step, first.best)
        for name, part in whole.state_dict().items():
            assert torch.equal(part, again.state_dict()[name]), name
        for one, other in zip(kept[place + 1 :], rest, strict=True):
            assert {name: array.tobytes() for name, array in one.tensors.items()} == {
                name: array.tobytes() for name, array in other.tensors.items()
            }


@pytest.mark.parametrize(
    "change",
    [
        lambda: (model(Dropping(), tuned=True), lessons(), PLAN, 6),
        lambda: (model(Dropping(), tuned=True), lessons(), replace(PLAN, rate=0.02), 5),
        lambda: (model(Dropping(), tuned=True), lessons(25), PLAN, 5),
        lambda: (model(Dropping(), tuned=True, seed=1), lessons(), PLAN, 5),
        lambda: (model(Dropping(), tuned=True), replace(lessons(), source="other texts"), PLAN, 5),
    ],
    ids=["seed", "plan", "lessons", "start", "texts"],
)
def test_a_checkpoint_of_another_run_is_refused(change: Callable[[], tuple[Any, ...]]) -> None:
    kept: list[Snapshot] = []
    train_signed(model(Dropping(), tuned=True), lessons(), PLAN, seed=5, keep=kept.append)
    made, given_, plan, seed = change()
    with pytest.raises(ParameterError, match="another run"):
        train_signed(made, given_, plan, seed=seed, resume=kept[0])


def test_early_stop_keeps_the_best_weights() -> None:
    made = model()
    values = iter([0.5, 0.1, 0.7, 0.2, 0.2, 0.2])
    seen: list[dict[str, Any]] = []

    def judge(one: SignedModel) -> float:
        seen.append(one.head_weights())
        return next(values)

    found = train_signed(made, lessons(), replace(PLAN, patience=3), judge=judge)
    assert (found.best, found.best_step, found.steps) == (0.7, 14, 35)
    assert all(np.array_equal(part, seen[2][name]) for name, part in made.head_weights().items())


def test_the_start_is_kept_where_nothing_is_better() -> None:
    made = model()
    before = made.head_weights()
    found = train_signed(made, lessons(), PLAN, judge=lambda _: 0.0)
    assert found.best_step == 0
    assert all(np.array_equal(part, before[name]) for name, part in made.head_weights().items())


def test_divergence_says_the_step_and_leaves_everything_as_it_was() -> None:
    made = model(Dropping(), tuned=True)
    before = {name: part.clone() for name, part in made.state_dict().items()}
    kept: list[Snapshot] = []
    calls = iter(range(100))
    forward = made.encoder.forward

    def breaking(*given_: Any) -> Spoken:
        found = forward(*given_)
        return Spoken(found[0] * (torch.nan if next(calls) >= 20 else 1.0), *found[1:])

    made.encoder.forward = breaking
    with pytest.raises(ParameterError, match="at step 10 "):
        train_signed(made, lessons(), PLAN, keep=kept.append)
    assert [one.step for one in kept] == [7]
    assert all(torch.equal(part, before[name]) for name, part in made.state_dict().items())


def test_the_callers_generator_and_threads_are_left_alone() -> None:
    made = model(Dropping(), tuned=True)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    train_signed(made, lessons(), PLAN)
    assert torch.equal(before, torch.get_rng_state())
    assert threads == torch.get_num_threads()


def test_known_relevant_documents_are_nobodys_negatives() -> None:
    """Query 0 is relevant to document 1 too: what document 1 looks like must not touch query 0's loss."""
    rng = np.random.default_rng(0)
    asked, told = texts(rng, 2), texts(rng, 3)
    known = pairs_known(np.array([0, 0, 1]), np.array([0, 1, 2]), 3)
    rows = np.array([0, 1])
    weights = []
    for scale in (1.0, -1.0):
        changed = Ragged(told.values.copy(), told.offsets)
        changed.values[told.offsets[1] : told.offsets[2]] *= scale
        # Query 1 has document 1 as a negative; only query 0 is trained on.
        made = model(gates="query")
        given_ = SignedLessons(asked, changed, rows[:1], np.array([0]), np.array([[2, 1]]), known)
        given_ = replace(given_, negatives=np.array([[2]]))
        train_signed(made, given_, replace(PLAN, batch=2))
        weights.append(made.head_weights()["query_head.outer.weight"])
    np.testing.assert_array_equal(weights[0], weights[1])


def test_what_cannot_be_learned_from_is_refused() -> None:
    rng = np.random.default_rng(0)
    asked, told, rows = texts(rng, 3), texts(rng, 3), np.arange(3)
    with pytest.raises(LabelError, match="same one document"):
        SignedLessons(asked, told, rows, np.zeros(3, dtype=np.int64), np.empty((3, 0), dtype=np.int64))
    with pytest.raises(LabelError, match="not there"):
        SignedLessons(asked, told, rows, rows + 1, np.empty((3, 0), dtype=np.int64))
    with pytest.raises(LabelError, match="0 queries"):
        SignedLessons(asked, told, rows[:0], rows[:0], np.empty((0, 1), dtype=np.int64))
    with pytest.raises(ParameterError, match="nothing is to be learned"):
        train_signed(model(gates="none"), lessons(), PLAN)
    with pytest.raises(InputError, match="1 text has no token, the first in row 1"):
        Ragged.of_lists([[1], [], [2]])
    with pytest.raises(ParameterError, match="no device"):
        train_signed(model(), lessons(), PLAN, device="nowhere")
    with pytest.raises(ParameterError, match="not those of such heads"):
        model().put_head_weights(model(bounded=False, gates="query").head_weights())
    with pytest.raises(ParameterError, match="positive sizes"):
        SignedHead(0)


def test_texts_over_the_limit_are_cut_and_counted() -> None:
    held = Ragged.of_lists([[1, 2, 3], [4], [5, 6]], limit=2)
    assert held.cut == 1
    tokens, mask = held.batch(np.array([2, 0, 1]))
    assert tokens.tolist() == [[5, 6], [1, 2], [4, 0]]
    assert mask.tolist() == [[True, True], [True, True], [True, False]]
    assert held.take(np.array([0])).lengths.tolist() == [2]
