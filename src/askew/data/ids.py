"""One form for ids: str."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from askew.errors import EmbeddingError, MatchError, name_some

__all__ = ["as_id", "as_ids", "rows_of", "stable_hash", "stable_hashes", "tie_rank"]


def as_id(value: object) -> str:
    """The string form of an id: text as it is, integers (numpy's too) in decimal, UTF-8 bytes decoded.

    Raises:
        EmbeddingError: the value is none of these, or is an empty string.

    >>> as_id(7), as_id(np.int64(7)), as_id(np.str_("é")), as_id(b"x")
    ('7', '7', 'é', 'x')
    """
    if isinstance(value, bytes):
        try:
            value = value.decode("utf-8")
        except UnicodeDecodeError:
            raise EmbeddingError(f"the id {value!r} is not UTF-8", remedy="Give ids as text") from None
    if isinstance(value, str):
        text = str(value)
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        text = str(int(value))
    else:
        raise EmbeddingError(f"an id is a {type(value).__name__} ({value!r})", remedy="Give ids as strings or integers")
    if not text:
        raise EmbeddingError("an id is empty", remedy="Give every row an id")
    return text


def as_ids(values: Iterable[object]) -> tuple[str, ...]:
    """`as_id` of each value.

    Raises:
        EmbeddingError: the values cannot be iterated over, or one of them is no id.
    """
    try:
        listed = list(values)
    except TypeError:
        raise EmbeddingError(f"the ids are a {type(values).__name__}", remedy="Give a list of ids") from None
    kinds = set(map(type, listed))
    if kinds <= {int}:
        return tuple(map(str, listed))
    if kinds <= {str} and all(listed):
        return tuple(map(str, listed))
    return tuple(as_id(value) for value in listed)


def tie_rank(ids: Sequence[str]) -> npt.NDArray[np.int64]:
    """The place of each id in ascending code-point order: (n,) int64.

    >>> tie_rank(["b", "a", "c"]).tolist()
    [1, 0, 2]
    """
    rank = np.empty(len(ids), dtype=np.int64)
    rank[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return rank


def rows_of(names: Iterable[str], rows: Mapping[str, int], *, lacking: str, where: object) -> npt.NDArray[np.int64]:
    """(k,) the rows of k ids, in their order.

    Args:
        names: k ids.
        rows: id → row.
        lacking: what is said of ids that are not there, as in "have no embedding".
        where: what to call the place in a message.

    Raises:
        MatchError: some id is not there.

    >>> rows_of(["b", "a"], {"a": 0, "b": 1}, lacking="have no embedding", where="docs").tolist()
    [1, 0]
    """
    wanted = list(names)
    missing = [name for name in wanted if name not in rows]
    if missing:
        raise MatchError(
            f"{len(missing):,} of {len(wanted):,} ids {lacking}: {name_some(missing)}",
            where=where,
            remedy="Embed them, or leave them out",
        )
    return np.array([rows[name] for name in wanted], dtype=np.int64)


def stable_hash(text: str, salt: str = "") -> int:
    """A 64-bit hash that is the same in every process, version and machine.

    >>> stable_hash("q1") == stable_hash("q1") != stable_hash("q1", "other")
    True
    """
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=salt.encode("utf-8")[:64])
    return int.from_bytes(digest.digest(), "big")


def stable_hashes(texts: Iterable[str], salt: str = "") -> npt.NDArray[np.uint64]:
    """(n,) `stable_hash` of each text, and faster for many.

    >>> stable_hashes(["q1", "q2"]).tolist() == [stable_hash("q1"), stable_hash("q2")]
    True
    """
    keyed = hashlib.blake2b(digest_size=8, key=salt.encode("utf-8")[:64])
    digests = []
    for text in texts:
        one = keyed.copy()
        one.update(text.encode("utf-8", "surrogatepass"))
        digests.append(one.digest())
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)
