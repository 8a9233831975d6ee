from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askew.adapters import Adapter, Provenance
from askew.data import EmbeddingSet, side_by_side
from askew.errors import DimensionError, EmbeddingError, EncoderMismatchError, MatchError, ParameterError
from askew.operators import BilinearOperator, Dense, Identity, Stacked

RNG = np.random.default_rng(0)
OWN = EmbeddingSet(["a", "b", "c"], RNG.normal(size=(3, 4)), encoder="old")
OTHER = EmbeddingSet(["c", "x", "b", "a"], RNG.normal(size=(4, 6)).astype(np.float32), encoder="new")
BLOCK = RNG.normal(size=(6, 4))
FUSED = Adapter(BilinearOperator(Stacked((Identity(4), Dense(BLOCK)))))


def unit(rows: Any) -> Any:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def test_rows_meet_by_id_and_each_side_has_norm_1() -> None:
    both = side_by_side(OWN, OTHER)
    assert (both.ids, both.encoder, both.dtype.name) == (("a", "b", "c"), "old+new", "float32")
    np.testing.assert_allclose(both.matrix[:, :4], unit(OWN.matrix), rtol=1e-6)
    np.testing.assert_allclose(both.matrix[:, 4:], unit(OTHER.matrix[[3, 2, 0]]), rtol=1e-6)
    assert side_by_side(OWN, EmbeddingSet(["c", "b", "a"], np.eye(3))).encoder is None


def test_a_zero_vector_leaves_the_query_to_the_other_encoder() -> None:
    both = side_by_side(EmbeddingSet("ab", np.array([[0.0, 0.0], [2.0, 0.0]])), EmbeddingSet("ab", np.eye(2)))
    assert both.matrix.tolist() == [[0, 0, 1, 0], [1, 0, 0, 1]]


def test_a_query_that_one_encoder_lacks_is_named() -> None:
    with pytest.raises(MatchError, match="1 of 4 queries are not embedded by old: 'x'"):
        side_by_side(OTHER, OWN)


def test_an_adapter_takes_both_vectors() -> None:
    expected = FUSED.apply(side_by_side(OWN, OTHER))
    np.testing.assert_allclose(expected.matrix, unit(OWN.matrix) + unit(OTHER.matrix[[3, 2, 0]]) @ BLOCK, atol=1e-5)
    assert FUSED.apply(OWN, OTHER).matrix.tobytes() == expected.matrix.tobytes()
    other = OTHER.matrix[[3, 2, 0]]
    np.testing.assert_array_equal(FUSED.apply(OWN.matrix, other), expected.matrix)
    np.testing.assert_array_equal(FUSED.apply(OWN.matrix[1], other[1]), expected.matrix[1])


def test_vectors_that_are_not_of_the_same_queries_are_refused() -> None:
    with pytest.raises(EmbeddingError, match=r"\(3, 4\) and \(4, 6\) are not the same"):
        FUSED.apply(OWN.matrix, OTHER.matrix)
    with pytest.raises(EmbeddingError, match="one side has ids"):
        FUSED.apply(OWN, OTHER.matrix)  # type: ignore[call-overload]
    with pytest.raises(DimensionError, match="4 dimensions, the adapter takes 10"):
        FUSED.apply(OWN)


def test_another_base_has_the_operator_s_shape() -> None:
    with pytest.raises(DimensionError, match="the base is"):
        Adapter(BilinearOperator.identity(3), base=Identity(4))
    assert not Adapter(BilinearOperator.identity(3), base=Dense(np.eye(3))).is_base


def test_one_of_two_encoders_that_has_changed_is_found() -> None:
    from askew.adapters import Canaries

    both = side_by_side(OWN, OTHER)
    held = Adapter(FUSED.operator, provenance=Provenance("old+new", "old", Canaries.pick(both, {})))
    held.check_queries(both)
    changed = side_by_side(OWN, EmbeddingSet(OTHER.ids, OTHER.matrix + 1, encoder="new"))
    with pytest.raises(EncoderMismatchError, match="has changed"):
        held.check_queries(changed)
    swapped = side_by_side(OWN, EmbeddingSet(OTHER.ids, OTHER.matrix, encoder="newer"))
    with pytest.raises(EncoderMismatchError, match=r"'old\+newer', the adapter was fitted on 'old\+new'"):
        held.check_queries(swapped)


def test_a_query_that_is_bad_in_either_file_leaves_both() -> None:
    bad = OWN.matrix.copy()
    bad[0, 0] = np.nan
    worse = OTHER.matrix.copy()
    worse[[1, 2], 3] = np.inf  # x, which is no query here, and b
    both = side_by_side(EmbeddingSet(OWN.ids, bad, bad_rows="drop"), EmbeddingSet(OTHER.ids, worse, bad_rows="drop"))
    assert (both.ids, both.dropped) == (("c",), ("a", "b"))


def test_the_wrong_order_is_refused_by_widths_and_the_right_one_is_named() -> None:
    named = Adapter(FUSED.operator, provenance=Provenance("old+new", "old"))
    right = r"'old' \(4 dimensions\) and those of 'new' \(6 dimensions\), side by side.*queries of 'old' first"
    plain = [EmbeddingSet(one.ids, one.matrix) for one in (OTHER.take(OWN.ids), OWN)]
    for first, second in (plain, [one.matrix for one in plain]):
        with pytest.raises(DimensionError, match=right):
            named.apply(first, second)  # type: ignore[arg-type]
    with pytest.raises(DimensionError, match=r"4 dimensions, the adapter takes 10: those of 'old'.*--second-queries"):
        named.apply(OWN)
    with pytest.raises(DimensionError, match="the first encoder \\(4 dimensions\\)"):
        FUSED.apply(*plain)


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ("new", None, "first query vectors come from the encoder 'new'"),
        (None, "old", "second query vectors come from the encoder 'old'"),
        ("new", "old", "first query vectors"),
    ],
)
def test_one_name_is_enough_to_refuse_the_wrong_order(first: str | None, second: str | None, says: str) -> None:
    same = Adapter(BilinearOperator(Stacked((Identity(4), Dense(BLOCK[:4])))), provenance=Provenance("old+new", "old"))
    sides = [EmbeddingSet(OWN.ids, OWN.matrix, encoder=name) for name in (first, second)]
    with pytest.raises(EncoderMismatchError, match=says):
        same.apply(*sides)
    same.apply(OWN, EmbeddingSet(OWN.ids, OWN.matrix))


def test_names_with_several_pluses_are_parted_by_the_documents_encoder() -> None:
    from askew.adapters.pair import Pair

    prior = FUSED.operator.prior
    assert [Pair.of(prior, Provenance("a+b+c", own)).names for own in ("a", "a+b", None)] == [  # type: ignore[union-attr]
        ("a", "b+c"),
        ("a+b", "c"),
        (None, None),
    ]
    assert Pair.of(Identity(4), Provenance("a+b", "a+b")) is None


def test_a_second_encoder_for_an_adapter_of_one_is_refused() -> None:
    for provenance in (Provenance(), Provenance("old", "old")):
        with pytest.raises(ParameterError, match=r"the adapter takes those of one.*Leave the second ones out"):
            Adapter(BilinearOperator.identity(4), provenance=provenance).apply(OWN, OTHER)
