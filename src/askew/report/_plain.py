"""Records of plain values: checked when made, written to and read from JSON by their own annotations."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Literal, TypeVar, Union

from askew.errors import FormatError, ParameterError

__all__ = ["Record", "build", "encode"]

R = TypeVar("R")


class Record:
    """Base of the report's frozen dataclasses: every field is checked against its annotation.

    Numpy scalars and arrays become Python numbers and tuples, lists become tuples, and a number that is not
    finite is refused, so that a record always has a JSON form and compares by value.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, hint in _hints(kind).items():
            value = _fit(hint, getattr(self, name), f"{kind.__name__}.{name}")
            object.__setattr__(self, name, value)


def encode(value: Any) -> Any:
    """A record, or a part of one, as dicts, lists, strings, numbers, booleans and None."""
    if dataclasses.is_dataclass(value):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return [encode(item) for item in value] if isinstance(value, tuple) else value


def build(kind: type[R], data: object, *, where: str) -> R:
    """A record from what `encode` made of it.

    Args:
        kind: the record's class.
        data: a mapping of its fields.
        where: the name of `data`, for the error's message.

    Raises:
        FormatError: `data` is no mapping, or a field is missing, unknown or of the wrong type.
    """
    if not isinstance(data, Mapping):
        raise FormatError(f"expected an object of fields, got {type(data).__name__}", where=where)
    asked: Any = kind  # mypy takes no class for hashable
    hints = _hints(asked)
    unknown = sorted(str(key) for key in data if key not in hints)
    missing = sorted(_required(asked) - set(data))
    if unknown or missing:
        problem = f"unknown field {unknown[0]!r}" if unknown else f"the field {missing[0]!r} is missing"
        raise FormatError(problem, where=where, remedy="Use a report that this version of askew wrote")
    try:
        return kind(**{key: _fit(hints[key], value, f"{where}.{key}") for key, value in data.items()})
    except ParameterError as error:
        raise FormatError(error.problem, where=error.where) from None


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


@cache
def _required(kind: Any) -> frozenset[str]:
    nothing = dataclasses.MISSING
    fields = dataclasses.fields(kind)
    return frozenset(f.name for f in fields if f.default is nothing and f.default_factory is nothing)


def _fit(hint: Any, value: Any, where: str) -> Any:
    """The value as the annotation has it, or a `ParameterError`."""
    if hasattr(value, "tolist"):  # a numpy scalar or array
        value = value.tolist()
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        inner = next(arm for arm in typing.get_args(hint) if arm is not type(None))
        return None if value is None else _fit(inner, value, where)
    if origin is Literal:
        return _one_of(typing.get_args(hint), value, where)
    if origin is tuple:
        return _sequence(typing.get_args(hint)[0], value, where)
    if isinstance(hint, type) and issubclass(hint, Record):
        return value if isinstance(value, hint) else build(hint, value, where=where)
    return _scalar(hint, value, where)


def _one_of(allowed: tuple[Any, ...], value: Any, where: str) -> Any:
    if value not in allowed:
        names = " or ".join(repr(item) for item in allowed)
        raise ParameterError(f"expected {names}, got {value!r}", where=where)
    return value


def _sequence(hint: Any, value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise ParameterError(f"expected a sequence, got {type(value).__name__}", where=where)
    return tuple(_fit(hint, item, f"{where}[{index}]") for index, item in enumerate(value))


def _scalar(hint: Any, value: Any, where: str) -> Any:
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if math.isfinite(value):
            return float(value)
    elif hint is not float and isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    wanted = {float: "a finite number", int: "a whole number", bool: "true or false", str: "a string"}[hint]
    raise ParameterError(f"expected {wanted}, got {value!r}", where=where)
