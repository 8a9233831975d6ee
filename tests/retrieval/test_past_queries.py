"""Past queries: the nearest by cosine, their answers by grade, and the base's ranking after them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.data import EmbeddingSet, tie_rank
from askew.errors import DimensionError
from askew.retrieval import PastQueries, put_first


def random_past(seed: int, *, count: int = 12, documents: int = 20, dim: int = 3) -> PastQueries:
    """Queries with none to four answers each, of few grades, so that many are equal."""
    rng = np.random.default_rng(seed)
    answers = [np.sort(rng.permutation(documents)[: rng.integers(0, 5)]) for _ in range(count)]
    return PastQueries(
        rng.integers(-1, 2, size=(count, dim)).astype(float),
        tie_rank([f"q{rng.integers(1000)}-{row}" for row in range(count)]),
        np.append(0, np.cumsum([len(held) for held in answers])),
        np.concatenate(answers),
        rng.integers(1, 3, size=sum(map(len, answers))).astype(float),
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_is_what_a_loop_finds(seed: int) -> None:
    past = random_past(seed)
    queries = np.random.default_rng(seed + 100).integers(-1, 2, size=(9, 3)).astype(float)
    rows, cosine = past.nearest(queries)
    for query, row, value in zip(queries, rows.tolist(), cosine.tolist(), strict=True):
        lengths = np.linalg.norm(past.vectors, axis=1) * np.linalg.norm(query)
        cosines = np.divide(past.vectors @ query, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
        best = [place for place in range(len(cosines)) if cosines[place] > cosines.max() - 1e-9]
        assert row == min(best, key=lambda place: past.tie_rank[place])
        assert value == pytest.approx(cosines.max())


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_answers_stand_by_grade_then_score_then_id(seed: int, cosine: bool) -> None:
    rng = np.random.default_rng(seed)
    past = random_past(seed)
    documents = EmbeddingSet([f"d{name}" for name in rng.permutation(20)], rng.integers(-2, 3, size=(20, 2)) * 0.5)
    nearest = np.append(rng.integers(0, 12, size=10), -1)
    searched = rng.integers(-1, 2, size=(11, 2)).astype(float)
    found = past.answers(nearest, searched, documents, cosine=cosine)
    assert found[-1].tolist() == [-1] * found.shape[1]
    for row, query, line in zip(nearest[:-1].tolist(), searched, found, strict=False):
        own = slice(past.starts[row], past.starts[row + 1])
        grades = dict(zip(past.rows[own].tolist(), past.grades[own].tolist(), strict=True))
        lengths = np.linalg.norm(documents.matrix, axis=1) if cosine else np.ones(20)
        scores = np.divide(documents.matrix @ query, lengths, out=np.zeros(20), where=lengths > 0).round(9)
        expected = sorted(grades, key=lambda name: (-grades[name], -scores[name], documents.ids[name]))
        assert line[line >= 0].tolist() == expected


@given(
    ranked=st.lists(st.permutations(list(range(6))), min_size=1, max_size=4),
    first=st.lists(st.lists(st.integers(0, 9), unique=True, max_size=4), min_size=4, max_size=4),
)
def test_first_comes_first_and_nothing_twice(ranked: list[list[int]], first: list[list[int]]) -> None:
    width = max(map(len, first), default=0)
    padded = np.array([held + [-1] * (width - len(held)) for held in first[: len(ranked)]], dtype=np.int64)
    found = put_first(np.array(ranked), padded.reshape(len(ranked), width))
    for old, new, line in zip(ranked, first, found.tolist(), strict=False):
        assert line == list(dict.fromkeys([*new, *old]))[:6]


def test_empty_ranks_stay_empty() -> None:
    assert put_first(np.array([[3, -1, -1]]), np.array([[5, -1]])).tolist() == [[5, 3, -1]]
    assert put_first(np.array([[3, -1]]), np.empty((1, 0), dtype=np.int64)).tolist() == [[3, -1]]


def test_some_are_the_same_as_the_whole_without_the_others() -> None:
    past = random_past(0)
    kept = np.arange(12) % 3 > 0
    part = past.only(kept)
    for place, row in enumerate(np.flatnonzero(kept).tolist()):
        for name in ("rows", "grades"):
            held = getattr(past, name)[past.starts[row] : past.starts[row + 1]]
            assert getattr(part, name)[part.starts[place] : part.starts[place + 1]].tolist() == held.tolist()
    assert part.vectors.tobytes() == past.vectors[kept].tobytes()


def test_no_past_is_nobody() -> None:
    past = random_past(0).only(np.zeros(12, dtype=bool))
    rows, cosine = past.nearest(np.ones((2, 3)))
    assert (rows.tolist(), cosine.tolist()) == ([-1, -1], [0.0, 0.0])
    assert past.answers(rows, np.ones((2, 2)), EmbeddingSet("ab", np.eye(2))).shape == (2, 0)


def test_arrays_that_do_not_fit_are_refused() -> None:
    one, two = np.zeros(1, dtype=np.int64), np.array([0, 1])
    for arrays in ((one, one, one, one * 1.0), (one, two, one, np.ones(2)), (two, two, one, np.ones(1))):
        with pytest.raises(DimensionError, match="1 past queries have"):
            PastQueries(np.ones((1, 2)), *arrays)
