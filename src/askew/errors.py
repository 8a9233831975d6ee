"""The tree of errors that askew raises for a user's input.

    AskewError
    ├── InputError               what was given cannot be used            exit code 3
    │   ├── FormatError          a file is not what it should be
    │   ├── EmbeddingError       a matrix or its ids are unusable
    │   ├── DimensionError       two dimensions that must agree do not
    │   ├── MatchError           ids that should meet do not
    │   └── LabelError           the judgements are too few or unusable
    ├── ParameterError           an argument is outside its range         exit code 2
    ├── ArtefactError            an adapter cannot be loaded              exit code 4
    │   └── EncoderMismatchError vectors of another encoder than its own
    ├── MissingExtraError        an optional dependency is not installed  exit code 5
    ├── OutputError              a result cannot be written               exit code 6
    └── EncoderError             an encoder gives no vectors, or bad ones exit code 7

Every error says what is wrong, where (file, line, id) and what to do. The command line prints the
message alone and leaves with the exit code of its class. A migration refused leaves with 8, and is no error.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "ArtefactError",
    "AskewError",
    "DimensionError",
    "EmbeddingError",
    "EncoderError",
    "EncoderMismatchError",
    "FormatError",
    "InputError",
    "LabelError",
    "MatchError",
    "MissingExtraError",
    "OutputError",
    "ParameterError",
    "counted",
    "name_some",
]


def name_some(ids: Iterable[str], most: int = 5) -> str:
    """The first few of some ids, quoted, and how many more there are.

    >>> name_some(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    listed = list(ids)
    shown = ", ".join(repr(str(item)) for item in listed[:most])
    rest = len(listed) - most
    return f"{shown} and {rest} more" if rest > 0 else shown


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number and what it counts, in the singular for 1; the plural is `one` and an "s" unless given.

    >>> counted(1, "row"), counted(2000, "row"), counted(0, "query", "queries")
    ('1 row', '2,000 rows', '0 queries')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


class AskewError(Exception):
    """Base of every error that askew raises on purpose.

    Args:
        problem: what is wrong, in one sentence without a full stop.
        where: the file, line, id or argument it was found in.
        remedy: what the user can do about it.

    >>> print(AskewError("row 3 is empty", where="docs.npy", remedy="Drop the row"))
    docs.npy: row 3 is empty. Drop the row.
    """

    exit_code = 1

    def __init__(self, problem: str, *, where: object = None, remedy: str | None = None) -> None:
        self.problem = problem
        self.where = None if where is None else str(where)
        self.remedy = remedy
        super().__init__(problem)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" {self.remedy.rstrip('.')}." if self.remedy else ""
        return f"{place}{self.problem.rstrip('.')}.{advice}"


class InputError(AskewError):
    """What was given cannot be used."""

    exit_code = 3


class FormatError(InputError):
    """A file is not what it should be; `where` names the file and, for text, the line."""


class EmbeddingError(InputError):
    """A matrix or its ids are unusable: shape, dtype, NaN, infinite values, duplicate ids."""


class DimensionError(InputError):
    """Two dimensions that must agree do not; the message gives both and their owners."""


class MatchError(InputError):
    """Ids that should meet do not: nothing in common, or a needed one is missing."""


class LabelError(InputError):
    """The judgements are too few, or none can be used."""


class ParameterError(AskewError):
    """An argument is outside its range."""

    exit_code = 2


class ArtefactError(AskewError):
    """An adapter on disk cannot be loaded or does not fit what it is used on."""

    exit_code = 4


class EncoderMismatchError(ArtefactError):
    """The vectors come from another encoder, or another version of it, than the adapter's own."""


class MissingExtraError(AskewError):
    """An optional dependency is not installed; the remedy names the extra."""

    exit_code = 5


class OutputError(AskewError):
    """A result cannot be written."""

    exit_code = 6


class EncoderError(AskewError):
    """An encoder cannot be reached, refuses a text, or answers what cannot be used.

    Args:
        problem: as in `AskewError`.
        where: likewise.
        remedy: likewise.
        texts: the texts it concerns, if only some.
    """

    exit_code = 7

    def __init__(
        self, problem: str, *, where: object = None, remedy: str | None = None, texts: Iterable[str] = ()
    ) -> None:
        self.texts = tuple(texts)
        super().__init__(problem, where=where, remedy=remedy)
