"""The one conclusion from a correction's shape."""

from __future__ import annotations

import pytest

from askew.report.glossary import spread_words


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0] * 8, "The task asks for many small changes: 4 of the 8 shown hold half of the change."),
        ([5.0] + [1.0] * 7, "The task asks for a few directions: 1 of the 8 shown holds half of the change."),
        ([0.0, 0.0], ""),
        ([], ""),
    ],
)
def test_half_of_the_change_is_counted(values: list[float], words: str) -> None:
    assert spread_words(values) == words
