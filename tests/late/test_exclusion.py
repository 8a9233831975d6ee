"""Wanted and unwanted parts: exact in search and rerank, told token by token; and demotion by a stated rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.data import Run, TokenEmbeddings
from askew.errors import DimensionError, InputError, MatchError, ParameterError
from askew.late import MaxSimScorer, demote, excluding, explain, maxsim, search
from askew.retrieval import rerank


def tokens(rng: Any, names: list[str], *, least: int = 1, weights: bool = False, dim: int = 4) -> TokenEmbeddings:
    lengths = rng.integers(least, 5, len(names))
    rows = rng.standard_normal((lengths.sum(), dim))
    held = rng.uniform(0.1, 2, lengths.sum()) if weights else None
    return TokenEmbeddings(names, rows, np.concatenate([[0], np.cumsum(lengths)]), weights=held)


@given(st.integers(0, 10_000), st.floats(0.1, 4), st.booleans(), st.booleans())
def test_scores_are_the_wanted_part_less_the_unwanted_one(
    seed: int, weight: float, weighted: bool, signed_documents: bool
) -> None:
    rng = np.random.default_rng(seed)
    wanted = tokens(rng, ["p", "q", "r"], weights=weighted)
    unwanted = tokens(rng, ["r", "p"], least=0, weights=weighted)
    documents = tokens(rng, [f"d{i}" for i in range(6)], weights=signed_documents)
    plain = maxsim(wanted, documents)
    expected = plain.copy()
    held = np.ones(len(wanted.tokens)) if wanted.weights is None else wanted.weights
    sizes = np.add.reduceat(held, wanted.offsets[:-1])
    for row, name in ((0, "p"), (2, "r")):
        part = unwanted.take([name])
        if len(part.tokens):
            size = part.weights.sum() if part.weights is not None else len(part.tokens)
            expected[row] -= weight * sizes[row] / size * maxsim(part, documents)[0]
    asked = excluding(wanted, unwanted, weight=weight)
    found = maxsim(asked, documents)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert (found[1] == plain[1]).all(), "a query without an unwanted part keeps its bits"
    run = search(asked, documents, k=6)
    first = Run({name: dict.fromkeys(documents.ids, 0.0) for name in asked.ids})
    again = rerank(first, MaxSimScorer(asked, documents))
    for row, name in enumerate(asked.ids):
        assert run.documents(name) == again.documents(name)
        assert run.scores(name).tolist() == again.scores(name).tolist() == sorted(found[row].tolist(), reverse=True)


@given(st.integers(0, 10_000))
def test_two_unwanted_parts_count_alike_and_their_order_does_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wanted, one, other, documents = (tokens(rng, names) for names in (["q"], ["q"], ["q"], ["a", "b", "c"]))
    found = maxsim(excluding(excluding(wanted, one), other), documents)
    np.testing.assert_allclose(found, maxsim(excluding(excluding(wanted, other), one), documents), atol=1e-12)
    parts = [0.5 * len(wanted.tokens) * maxsim(part, documents, mean=True) for part in (one, other)]
    np.testing.assert_allclose(found, maxsim(wanted, documents) - parts[0] - parts[1], atol=1e-12)


def test_explain_says_which_token_excluded() -> None:
    wanted = TokenEmbeddings(["q"], np.eye(4)[:2], [0, 2])  # open, source
    unwanted = TokenEmbeddings(["q"], np.eye(4)[2:3], [0, 1])  # google
    documents = TokenEmbeddings(["clean", "both"], np.eye(4)[[0, 1, 0, 1, 2]], [0, 2, 5])
    asked = excluding(wanted, unwanted)
    assert search(asked, documents).documents("q") == ("clean", "both")
    against = [match for match in explain(asked, documents, "q", "both") if match.query_weight < 0]
    assert [(m.query_token, m.document_token, m.similarity, m.contribution) for m in against] == [(2, 2, 1.0, -1.0)]
    assert sum(match.contribution for match in explain(asked, documents, "q", "both")) == 1.0


def test_parts_that_cannot_be_used() -> None:
    wanted = TokenEmbeddings(["q"], np.eye(2), [0, 2])
    with pytest.raises(InputError, match="query 'q': its wanted and its unwanted part are the same"):
        excluding(wanted, TokenEmbeddings(["q"], np.eye(2), [0, 2]))
    with pytest.raises(MatchError, match="1 unwanted part belongs to no query: 'x'"):
        excluding(wanted, TokenEmbeddings(["x"], np.eye(2)[:1], [0, 1]))
    with pytest.raises(DimensionError, match="2 dimensions and unwanted ones 3"):
        excluding(wanted, TokenEmbeddings(["q"], np.eye(3)[:1], [0, 1]))
    with pytest.raises(InputError, match="its unwanted part has no token of positive weight"):
        excluding(wanted, TokenEmbeddings(["q"], np.eye(2)[:1], [0, 1], weights=[0]))
    for weight in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ParameterError, match="the weight is"):
            excluding(wanted, TokenEmbeddings(["q"], np.eye(2)[:1], [0, 1]), weight=weight)
    assert excluding(wanted, TokenEmbeddings(["q"], np.empty((0, 2)), [0, 0])) is wanted


@given(st.integers(0, 10_000), st.floats(-1, 2), st.integers(1, 8), st.one_of(st.none(), st.integers(1, 3)))
def test_demotion_follows_its_rule(seed: int, deviations: float, depth: int, most: int | None) -> None:
    rng = np.random.default_rng(seed)
    names = [f"d{i}" for i in range(8)]
    documents, unwanted = tokens(rng, names, least=0), tokens(rng, ["q"])
    before = Run({"q": dict(zip(names, rng.integers(0, 4, 8).astype(float), strict=True)), "other": {"d0": 1.0}})
    told = demote(before, unwanted, documents, depth=depth, deviations=deviations, most=most)
    short = before.documents("q")[:depth]
    held = {name: float(maxsim(unwanted, documents.take([name]))[0, 0]) for name in short}
    values = np.array([value for value in held.values() if np.isfinite(value)])
    out = [name for name in short if len(values) and held[name] > values.mean() + deviations * values.std()]
    down = sorted(out, key=lambda name: (-held[name], name))[:most]
    assert told.moved.get("q", ()) == tuple(down)
    order = before.documents("q")
    stay, moved = [name for name in order if name not in down], [name for name in order if name in down]
    assert told.run.documents("q") == (*stay, *moved)
    assert told.run.documents("other") == ("d0",)


def test_demotion_refuses_what_it_cannot_do() -> None:
    run = Run({"q": {"a": 1.0, "b": float("-inf")}})
    documents, part = TokenEmbeddings(["a"], np.eye(2)[:1], [0, 1]), TokenEmbeddings(["q"], np.eye(2)[:1], [0, 1])
    with pytest.raises(MatchError, match="'b'"):
        demote(run, part, documents)
    assert demote(run, part, documents, depth=1, deviations=-1).run.documents("q") == ("a", "b")
    for name, value in (("depth", 0), ("most", 0), ("deviations", float("nan"))):
        with pytest.raises(ParameterError, match=f"{name} is"):
            demote(run, part, documents, **{name: value})  # type: ignore[arg-type]
