"""Any function from texts to vectors, as an encoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy.typing as npt

from askew.encoders.base import SerialEncoder

__all__ = ["CallableEncoder"]

_Function: TypeAlias = Callable[[list[str]], npt.ArrayLike]


class CallableEncoder(SerialEncoder):
    """A function of a list of texts that gives one row a text.

    Its name is all that a cache knows of it: give another name to what gives other vectors.

    Args:
        function: takes up to `batch` texts and gives (b, d) numbers.
        name: what the encoder is called.
        batch: texts a call.
        query_prompt: goes before every query.
        document_prompt: goes before every document.

    Raises:
        ParameterError: `batch` is below 1, or the name is blank.

    >>> lengths = CallableEncoder(lambda texts: [[len(text), 1] for text in texts], name="lengths", query_prompt="q: ")
    >>> lengths.encode(["newt", "toad"], kind="query").tolist(), lengths.dim
    ([[7.0, 1.0], [7.0, 1.0]], 2)
    """

    def __init__(
        self, function: _Function, *, name: str, batch: int = 64, query_prompt: str = "", document_prompt: str = ""
    ) -> None:
        super().__init__(name, batch=batch, query_prompt=query_prompt, document_prompt=document_prompt)
        self._function = function

    @property
    def signature(self) -> Mapping[str, Any]:
        """Its name."""
        return {"encoder": "callable", "name": self.name}

    def _embed(self, texts: list[str], prompt: str) -> npt.ArrayLike:
        return self._function([prompt + text for text in texts])
