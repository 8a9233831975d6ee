"""Checkpoints: whole or refused, and the last good one is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.errors import FormatError, OutputError
from askew.estimators.snapshots import Snapshot
from askew.formats import last_checkpoint, read_checkpoint, write_checkpoint


def snapshot(step: int) -> Snapshot:
    tensors: dict[str, Any] = {
        "own.w": np.arange(6, dtype=np.float32).reshape(2, 3) * step,
        "random.cpu": np.arange(9, dtype=np.uint8),
    }
    return Snapshot(tensors, {"step": step, "best": None, "history": [[1, 0.1 + 0.2, None]]})


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    path = write_checkpoint(snapshot(3), tmp_path / "new")
    found = read_checkpoint(path)
    assert found.facts == snapshot(3).facts
    for name, array in snapshot(3).tensors.items():
        assert found.tensors[name].dtype == array.dtype
        np.testing.assert_array_equal(found.tensors[name], array)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_cut_short_or_changed_anywhere_is_refused_and_the_one_before_used(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("run")
    write_checkpoint(snapshot(5), folder)
    path = write_checkpoint(snapshot(10), folder)
    payload = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(payload) - 1))
    if data.draw(st.booleans()):
        del payload[place:]
    else:
        payload[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(payload)
    found = last_checkpoint(folder)
    assert found is not None
    if found[1]:
        assert found[0].step == 5
        assert [one.where for one in found[1]] == [str(path)]
    else:  # a byte of the header that says nothing, such as a blank
        assert found[0].facts == snapshot(10).facts
        assert {name: array.tobytes() for name, array in found[0].tensors.items()} == {
            name: array.tobytes() for name, array in snapshot(10).tensors.items()
        }


def test_the_last_two_are_kept_and_later_ones_are_not_touched(tmp_path: Path) -> None:
    for step in (1, 2, 3, 9, 4):
        write_checkpoint(snapshot(step), tmp_path)
    assert sorted(item.name for item in tmp_path.iterdir()) == [f"step-{step:09d}.safetensors" for step in (3, 4, 9)]


def test_none_and_none_good(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path / "nowhere") is None
    write_checkpoint(snapshot(1), tmp_path).write_bytes(b"")
    with pytest.raises(FormatError, match="cut short"):
        last_checkpoint(tmp_path)
    with pytest.raises(FormatError, match="nowhere"):
        read_checkpoint(tmp_path / "nowhere")


def test_facts_that_json_cannot_hold_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="plain values"):
        write_checkpoint(Snapshot({}, {"step": 1, "best": float("nan")}), tmp_path)
    assert not list(tmp_path.iterdir())
