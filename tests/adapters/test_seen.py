"""What an adapter has learned from: known by hash, told apart, the same whatever the order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.adapters import Seen
from askew.data import stable_hash
from askew.errors import InputError

IDS = st.sets(st.text(min_size=1, max_size=3), max_size=12)


@given(queries=IDS, positives=IDS, negatives=IDS, asked=IDS)
def test_ids_are_told_apart_as_sets_would(
    queries: set[str], positives: set[str], negatives: set[str], asked: set[str]
) -> None:
    seen = Seen.of(queries=queries, positives=positives, negatives=negatives)
    assert {query for query in asked if seen.knows_query(query)} == asked & queries
    positive, negative, never = seen.split_documents(asked)
    assert positive == asked & positives
    assert negative == (asked & negatives) - positives
    assert never == asked - positives - negatives


def test_hashes_are_those_of_the_ids_in_ascending_order() -> None:
    names = [f"d{row}" for row in range(20)]
    seen = Seen.of(queries=names[::-1], positives=[*names, *names], negatives=[])
    assert seen.queries.tolist() == sorted(stable_hash(name) for name in names)
    assert seen.queries.tobytes() == seen.positives.tobytes()
    assert seen.negatives.shape == (0,)
    assert {part.dtype.name for part in (seen.queries, seen.positives, seen.negatives)} == {"uint64"}


FEW = np.array([3, 5], dtype=np.uint64)


@pytest.mark.parametrize(
    "positives",
    [FEW[::-1], np.array([3, 3], dtype=np.uint64), FEW.astype(np.int64), FEW.astype(float), FEW[:, None]],
    ids=["descending", "twice", "signed", "float", "two axes"],
)
def test_arrays_that_are_no_hashes_are_refused(positives: Any) -> None:
    with pytest.raises(InputError, match="seen positives"):
        Seen(FEW, positives, FEW[:0])


def test_a_document_is_of_one_kind() -> None:
    with pytest.raises(InputError, match="both relevant and only a negative"):
        Seen(FEW, FEW, FEW[1:])
