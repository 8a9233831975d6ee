"""The body of an endpoint's answer: what OpenAI's embeddings interface sends, read with suspicion."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from askew.errors import counted

__all__ = ["BadReplyError", "Reply", "read_reply"]


class BadReplyError(Exception):
    """An answer that cannot be used, and may be another when asked for again."""


class Reply(NamedTuple):
    """An answer that was read.

    Attributes:
        vectors: (b, d) float32 in the order of the texts; not finite where the endpoint said so.
        model: what it says made them, if it says so.
        tokens: as it counts them; 0 if it does not.
    """

    vectors: npt.NDArray[np.float32]
    model: str | None
    tokens: int


def read_reply(body: bytes, count: int) -> Reply:
    """Read the answer to a request for `count` vectors: lists of numbers, or base64 of float32, in any order.

    Raises:
        BadReplyError: it is cut short, no JSON, or not `count` vectors of one dimension.

    >>> body = b'{"data": [{"index": 1, "embedding": [3, 4]}, {"index": 0, "embedding": "AACAPwAAAEA="}]}'
    >>> read_reply(body, 2).vectors.tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    try:
        said = json.loads(body)
    except ValueError as error:  # no JSON, no UTF-8, or a number of too many digits
        raise BadReplyError(f"its answer is cut short or no JSON ({error})") from error
    items = said.get("data") if isinstance(said, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise BadReplyError("its answer holds no list of embeddings")
    if len(items) != count:
        raise BadReplyError(f"it gave {counted(len(items), 'vector')} for {counted(count, 'text')}")
    rows = [_vector(item.get("embedding")) for item in _in_order(items)]
    if len({len(row) for row in rows}) > 1:
        raise BadReplyError("it gave vectors of several dimensions in one answer")
    model = said.get("model")
    return Reply(np.stack(rows), model if isinstance(model, str) and model else None, _tokens(said.get("usage")))


def _in_order(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By their ``index``; as they come if none has one."""
    places = [item.get("index") for item in items]
    if all(place is None for place in places):
        return items
    ordered = dict(zip(places, items, strict=True)) if all(isinstance(place, int) for place in places) else {}
    if set(ordered) != set(range(len(items))):
        raise BadReplyError("the indices of its vectors are not those of the texts")
    return [ordered[place] for place in range(len(items))]


def _vector(value: object) -> npt.NDArray[np.float32]:
    try:
        if isinstance(value, str):
            row = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32)
        else:
            # null is how some endpoints spell NaN; float64 first, so that what is no number raises.
            with np.errstate(over="ignore"):
                row = np.asarray(value, dtype=np.float64).astype(np.float32)
    except (binascii.Error, TypeError, ValueError) as error:
        raise BadReplyError(f"a vector in its answer cannot be read ({error})") from error
    if row.ndim != 1 or not len(row):
        raise BadReplyError("a vector in its answer is empty, or no list of numbers")
    return row


def _tokens(usage: object) -> int:
    told = usage if isinstance(usage, dict) else {}
    counts = [told.get(name) for name in ("prompt_tokens", "total_tokens")]
    return next((count for count in counts if isinstance(count, int)), 0)
