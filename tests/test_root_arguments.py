"""The root's functions refuse things of another kind with an error of ours that says what to give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import askew
from askew.errors import AskewError

ROWS: Any = askew.EmbeddingSet(["a", "b"], np.eye(2))
QRELS: Any = askew.Qrels({"a": {"a": 1}})
RUN: Any = askew.Run({"a": {"a": 1.0}})
ADAPTER: Any = askew.Adapter(askew.BilinearOperator.identity(2))


def _named(odd: Any) -> Any:
    """None is no adapter; its name is no adapter either, and often given for one."""
    return "adapter" if odd is None else odd


WRONG: dict[str, Callable[[Any], object]] = {
    "search: queries": lambda odd: askew.search(odd, ROWS),
    "search: documents": lambda odd: askew.search(ROWS, odd),
    "search: adapter": lambda odd: askew.search(ROWS, ROWS, adapter=_named(odd)),
    "search: k": lambda odd: askew.search(ROWS, ROWS, k=odd),
    "fit: dataset": askew.fit,
    "evaluate: run": lambda odd: askew.evaluate(odd, QRELS),
    "evaluate: qrels": lambda odd: askew.evaluate(RUN, odd),
    "evaluate: measures": lambda odd: askew.evaluate(RUN, QRELS, odd),
    "save: adapter": lambda odd: askew.save(odd, "place"),
    "save: path": lambda odd: askew.save(ADAPTER, odd),
    "load: path": askew.load,
    "read_dataset: folder": askew.read_dataset,
}


@pytest.mark.parametrize("odd", [None, 1.5, True, {"a": 1}, np.eye(2)], ids=["None", "1.5", "True", "dict", "array"])
@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_a_thing_of_another_kind_is_refused(
    call: Callable[[Any], object], odd: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AskewError, match=r"Give|Ask|there is no|not a measure"):
        call(odd)
    assert list(tmp_path.iterdir()) == []


def test_numpy_s_whole_numbers_are_as_good() -> None:
    one: Any = np.int64(1)
    assert len(askew.search(ROWS, ROWS, k=one).documents("a")) == 1
