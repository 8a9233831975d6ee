"""Alignment against a slow oracle, by identities, and by what must not change it."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest

from askew.data import EmbeddingSet
from askew.errors import DimensionError, EmbeddingError, InputError, MatchError, ParameterError
from askew.estimators import align, fused
from askew.estimators.align import own_alone
from askew.estimators.pairs import PairMoments, Pairs
from askew.estimators.ridge_path import RidgePath
from askew.linalg.fixed import Float64Array

SHAPES = {"wide": (200, 5, 9), "tall": (200, 9, 5), "square": (150, 6, 6), "n < d": (7, 12, 10), "one": (1, 4, 3)}


def unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def views(count: int, d_query: int, d_document: int, *, noise: float = 0.3, seed: int = 0) -> tuple[Any, Any]:
    """Two views of one latent."""
    rng = np.random.default_rng([count, d_query, d_document, seed])
    latent = rng.normal(size=(count, 4))
    first, second = (latent @ rng.normal(size=(4, dim)) for dim in (d_query, d_document))
    return first + noise * rng.normal(size=first.shape), second + noise * rng.normal(size=second.shape)


def sets(x: Any, y: Any) -> tuple[EmbeddingSet, EmbeddingSet]:
    return EmbeddingSet(range(len(x)), x, encoder="asked"), EmbeddingSet(range(len(y)), y, encoder="told")


def by_rows(x: Any, y: Any, strength: float) -> Float64Array:
    """Ridge by least squares over rows that the pull is written out as."""
    count, width = x.shape
    pulled = np.vstack([x, np.sqrt(strength * count) * np.eye(width)])
    return np.asarray(np.linalg.lstsq(pulled, np.vstack([y, np.zeros((width, y.shape[1]))]), rcond=None)[0])


def scaled(mapped: Any, x: Any) -> Any:
    return mapped / np.sqrt(np.square(x @ mapped).sum(axis=1).mean())


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("strength", [1e-4, 0.1])
@pytest.mark.parametrize("centre", [0.0, 0.25, 1.0])
def test_the_map_is_that_of_least_squares(shape: tuple[int, int, int], strength: float, centre: float) -> None:
    """Between two: without any mean, and about the means."""
    x, y = views(*shape)
    if centre == 1 and len(x) == 1:
        with pytest.raises(InputError, match="leave less of the intercept out"):
            align(*sets(x, y), strengths=[strength], centre=centre)
        return
    found = align(*sets(x, y), strengths=[strength], centre=centre)
    rows = unit(x), unit(y)
    plain = by_rows(rows[0], rows[1], strength)
    about = by_rows(rows[0] - rows[0].mean(axis=0), rows[1] - rows[1].mean(axis=0), strength)
    slow = (1 - centre) * plain + centre * about
    np.testing.assert_allclose(found.map, scaled(slow, rows[0]), atol=1e-8)
    assert found.centred == centre
    assert found.map.shape == (found.term.shape) == shape[1:]
    assert (found.documents, found.query_encoder, found.document_encoder) == (len(x), "asked", "told")


@pytest.mark.parametrize("shape", [(12, 40, 8), (200, 40, 8)], ids=["n < d", "rank-deficient"])
@pytest.mark.parametrize("strengths", [(1e-12,), (1e-13,), (1e-30,), (1e-300, 1e-30)])
def test_a_pull_that_is_lost_in_the_rounding_gives_the_pseudo_inverse(
    shape: tuple[int, int, int], strengths: tuple[float, ...]
) -> None:
    x, y = views(*shape)
    x[:, 6:] = x[:, :6] @ np.random.default_rng(0).normal(size=(6, 34))
    rows = unit(x), unit(y)
    for centre in (0, 1):
        left, right = (side - centre * side.mean(axis=0) for side in rows)
        slow = np.linalg.lstsq(left, right, rcond=1e-9)[0]
        found = align(*sets(x, y), strengths=strengths, centre=centre)
        np.testing.assert_allclose(found.map, scaled(slow, rows[0]), atol=1e-6)


@pytest.mark.parametrize("strength", [1e-30, 1e-3, 1.0])
def test_one_decomposition_serves_every_strength(strength: float) -> None:
    x, y = (unit(side) for side in views(80, 6, 4))
    path = RidgePath.of(PairMoments.of(x, y), 0)
    np.testing.assert_allclose(path.at(strength), by_rows(x, y, strength), atol=1e-10)


def test_the_intercept_is_read_off_the_vector() -> None:
    """Documents that share a direction, and nothing else: it is all of a plain map and none of a centred one."""
    y = np.random.default_rng(0).normal(size=(3000, 3)) + 5 * np.eye(3)[0]
    x = np.random.default_rng(1).normal(size=(3000, 4)) + 5 * np.eye(4)[1]
    plain, part, none = (RidgePath.of(PairMoments.of(unit(x), unit(y)), centre).at(1e-3) for centre in (0, 0.25, 1))
    assert np.linalg.norm((unit(x) @ plain).mean(axis=0) - unit(y).mean(axis=0)) < 0.02
    assert np.linalg.norm(none) < 0.1 * np.linalg.norm(plain)
    np.testing.assert_allclose(part, 0.75 * plain + 0.25 * none, atol=1e-12)


@pytest.mark.parametrize("centre", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_strength_keeps_what_held_out_documents_find(seed: int, centre: float) -> None:
    """By reading the rows one by one."""
    x, y = views(300, 20, 8, noise=2.0, seed=seed)
    strengths = (1e-5, 1e-3, 1e-2, 0.1, 1.0)
    held = Pairs.build(*sets(x, y)).held_out
    assert 10 <= held.sum() <= 50
    rows = unit(x), unit(y)
    known, told = (side[~held] for side in rows)

    def mapped(strength: float) -> Any:
        about = by_rows(known - known.mean(axis=0), told - told.mean(axis=0), strength)
        return rows[0][held] @ ((1 - centre) * by_rows(known, told, strength) + centre * about)

    def explained(strength: float) -> float:
        return float(np.sum(mapped(strength) * rows[1][held]) ** 2 / np.sum(mapped(strength) ** 2) / held.sum())

    def kept(strength: float) -> list[int]:
        near = [
            {place for place, _ in sorted(enumerate(scores), key=lambda one: -one[1])[:10]}
            for asked in (mapped(strength), rows[1][held])
            for scores in (asked @ rows[1][~held].T).tolist()
        ]
        half = len(near) // 2
        return [len(one & other) for one, other in zip(near[:half], near[half:], strict=True)]

    found = align(*sets(x, y), strengths=strengths, centre=centre)
    least_pull = [strength for strength in strengths if strength <= max(strengths, key=explained)]
    best = max(least_pull, key=lambda strength: sum(kept(strength)))

    def lost(strength: float) -> Any:
        return np.array(kept(best)) - np.array(kept(strength))

    within = [one for one in least_pull if lost(one).mean() <= lost(one).std(ddof=1) / np.sqrt(held.sum()) / 2]
    assert found.strength == max(within)
    assert found.explained == pytest.approx(explained(found.strength))
    judged = rows[0][held] @ found.judged
    cosines = np.sum(judged * rows[1][held], axis=1) / np.linalg.norm(judged, axis=1)
    assert found.cosine == pytest.approx(cosines.mean())
    assert len(found.held_out) == held.sum()


def test_where_every_document_is_near_the_one_that_explains_most_is_taken() -> None:
    x, y = views(11, 6, 4, noise=1.0)
    seed, held = next(
        (seed, held) for seed in range(50) for held in [Pairs.build(*sets(x, y), seed=seed).held_out] if held.any()
    )
    rows, strengths = (unit(x), unit(y)), (1e-3, 0.1, 1.0)
    assert len(x) - held.sum() <= 10

    def explained(strength: float) -> float:
        mapped = rows[0][held] @ by_rows(rows[0][~held], rows[1][~held], strength)
        return float(np.sum(mapped * rows[1][held]) / np.linalg.norm(mapped))

    found = align(*sets(x, y), strengths=strengths, centre=0, seed=seed)
    assert found.strength == max(strengths, key=explained)


@pytest.mark.parametrize("method", ["ridge", "procrustes"])
def test_equal_encoders_give_the_identity(method: Any) -> None:
    x, _ = views(100, 6, 6, noise=1.0)
    found = align(*sets(x, x), method=method, strengths=[1e-12])
    np.testing.assert_allclose(found.map, np.eye(6), atol=1e-8)
    assert found.cosine == pytest.approx(1.0)
    assert found.explained == pytest.approx(1.0)


@pytest.mark.parametrize("centre", [0.0, 0.25, 1.0])
def test_procrustes_is_orthogonal_and_the_nearest(centre: float) -> None:
    x, y = (unit(side) for side in views(100, 6, 6))
    found = align(*sets(x, y), method="procrustes", centre=centre)
    assert found.strength is None
    np.testing.assert_allclose(found.map.T @ found.map, np.eye(6), atol=1e-12)
    means = [side.mean(axis=0) for side in (x, y)]

    def off(turn: Any) -> float:
        about = [side - mean for side, mean in zip((x, y), means, strict=True)]
        squares = np.square(about[0] @ turn - about[1]).sum()
        return float(squares + (1 - centre) * 100 * np.square(means[0] @ turn - means[1]).sum())

    others = [np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0] for seed in range(20)]
    assert all(off(other) >= off(found.map) for other in others)


def test_sums_of_parts_are_those_of_the_whole() -> None:
    x, y = views(500, 7, 5)
    whole = PairMoments.of(x, y)
    parts = [PairMoments.of(x[part], y[part]) for part in np.array_split(np.arange(500), 7)]
    merged = reduce(lambda one, two: one + two, parts)
    for name in ("count", "source_sum", "target_sum", "source", "cross", "target"):
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-12, atol=1e-10)
    about = PairMoments.of(x - x.mean(axis=0), y - y.mean(axis=0))
    for name in ("source", "cross", "target"):
        np.testing.assert_allclose(getattr(merged.centred, name), getattr(about, name), rtol=1e-10, atol=1e-9)


def test_the_size_of_blocks_moves_rounding_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = views(300, 7, 5)
    whole = align(*sets(x, y))
    monkeypatch.setattr("askew.estimators.pairs._ROWS", 7)
    parts = align(*sets(x, y))
    assert parts.strength == whole.strength
    np.testing.assert_allclose(parts.map, whole.map, rtol=1e-9, atol=1e-12)


def test_norms_order_and_extra_documents_change_nothing() -> None:
    x, y = views(200, 7, 5)
    plain = align(*sets(x, y))
    order = np.random.default_rng(0).permutation(200)
    more = EmbeddingSet([*order, "extra"], np.vstack([(x * np.arange(1, 201)[:, None])[order], np.ones((1, 7))]))
    again = align(more, EmbeddingSet([*range(200), "other"], np.vstack([y, np.ones((1, 5))])))
    np.testing.assert_allclose(again.map, plain.map, atol=1e-9)
    assert again.documents == 200


def test_zero_vectors_and_copies_count_for_nothing() -> None:
    x, y = views(200, 7, 5)
    plain = align(*sets(x, y), strengths=[0.01])
    copies = np.vstack([x, x[:50], np.zeros((3, 7)), x[:2]]), np.vstack([y, y[:50], y[:3], np.zeros((2, 5))])
    again = align(*sets(*copies), strengths=[0.01])
    np.testing.assert_array_equal(again.map, plain.map)
    assert (again.documents, again.copies) == (200, 50)
    assert Pairs.build(*sets(*copies)).left_out == 5


def test_float16_is_summed_in_float64() -> None:
    x, y = (side.astype(np.float16) for side in views(3000, 7, 5))
    found = align(*sets(x, y), strengths=[0.01])
    wide = align(*sets(x.astype(np.float64), y.astype(np.float64)), strengths=[0.01])
    np.testing.assert_allclose(found.map, wide.map, rtol=1e-12)


def test_fusion_adds_the_mapped_vector_to_the_own_one() -> None:
    x, y = views(100, 7, 5)
    found = align(*sets(x, y))
    both = np.hstack([y, x])
    np.testing.assert_allclose(fused(found, 0.5).left_apply(both), y + 0.5 * x @ found.map, atol=1e-6)
    np.testing.assert_array_equal(own_alone(found).left_apply(both), y)
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ParameterError, match="β"):
            fused(found, wrong)


def test_what_cannot_be_aligned_is_refused() -> None:
    x, y = views(30, 7, 5)
    with pytest.raises(MatchError, match=r"no document is embedded by both .*'a'.* by asked.*'0', '1'"):
        align(EmbeddingSet("a", x[:1], encoder="asked"), EmbeddingSet(range(30), y))
    with pytest.raises(MatchError, match=r"both encoders: 'a' by asked, none by the document encoder"):
        align(EmbeddingSet("a", x[:1], encoder="asked"), EmbeddingSet([], y[:0]))
    with pytest.raises(DimensionError, match=r"orthogonal map was asked for, from 7 .* to 5"):
        align(*sets(x, y), method="procrustes")
    with pytest.raises(EmbeddingError, match="30 common documents has a zero vector"):
        align(*sets(np.zeros_like(x), y))
    with pytest.raises(InputError, match="nothing of one encoder"):
        align(*sets(np.eye(30) + 1, np.ones((30, 3))), centre=1)
    with pytest.raises(InputError, match="nothing of one encoder"):
        align(*sets(np.vstack([np.eye(3), -np.eye(3)]), np.ones((6, 2))))
    with pytest.raises(ParameterError, match="no method"):
        align(*sets(x, y), method="other")  # type: ignore[arg-type]
    with pytest.raises(DimensionError, match="2 rows are paired with 3"):
        PairMoments.of(x[:2], y[:3])
    for share in (-0.1, 1.5, np.nan, "half", None):
        with pytest.raises(ParameterError, match="of the intercept"):
            align(*sets(x, y), centre=share)  # type: ignore[arg-type]
    for wrong in ([], [0.0], [np.nan]):
        with pytest.raises(ParameterError, match="strengths"):
            align(*sets(x, y), strengths=wrong)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_only_equal_rows_are_copies(dtype: Any) -> None:
    """All rows of {-1, 0, 1}⁵: they differ in a few high bits, and no two are taken for copies."""
    rows = np.array(np.meshgrid(*[[-1, 0, 1]] * 5)).reshape(5, -1).T.astype(dtype)
    rows = rows[np.any(rows != 0, axis=1)]
    x, y = sets(rows, np.roll(rows, 1, axis=1))
    assert Pairs.build(x, y).copies == 0
    twice = sets(np.vstack([rows, rows[:7]]), np.vstack([np.roll(rows, 1, axis=1), np.roll(rows, 1, axis=1)[:7]]))
    assert Pairs.build(*twice).copies == 7
