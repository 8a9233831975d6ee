"""How the report writes numbers, and how it makes a user's strings fit to be shown."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, TypeVar

__all__ = ["FEW", "count", "number", "p_value", "percent", "presentable", "shorten", "signed", "strength"]

R = TypeVar("R")

# Fewer queries than this are printed, not judged.
FEW = 50
_MINUS = "\N{MINUS SIGN}"
# What neither XML nor UTF-8 can hold (controls, lone surrogates, noncharacters), and the controls that make
# text read in another order than it is stored. Tab, line feed and carriage return stay.
_UNSHOWABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def presentable(value: R) -> R:
    """A summary, or a part of it, with every character that cannot be shown replaced by U+FFFD."""
    return _presentable(value)  # type: ignore[no-any-return]  # it walks by class, so it is typed as Any


def _presentable(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, tuple):
        return tuple(_presentable(item) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _presentable(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return type(value)(**fields)
    return value


def shorten(text: str, most: int) -> str:
    """The text on one line, cut to `most` characters.

    >>> shorten("a  long text", 8)
    'a long …'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def count(value: int) -> str:
    """A count, with its thousands parted."""
    return f"{value:,}"


def number(value: float | None) -> str:
    """A measure's value to four decimals, as trec_eval prints it; a dash for None."""
    return "–" if value is None else _proper(f"{value:,.4f}")


def signed(value: float | None) -> str:
    """A difference to four decimals, with its sign unless it rounds to nothing.

    >>> signed(0.01234), signed(-1e-9)
    ('+0.0123', '0.0000')
    """
    return "–" if value is None else _proper(f"{value:+,.4f}", plus="+")


def percent(share: float) -> str:
    r"""A share as a percentage of at most one decimal.

    >>> percent(0.95), percent(0.995)
    ('95\xa0%', '99.5\xa0%')
    """
    text = f"{100 * share:.1f}".removesuffix(".0")
    return f"{text.replace('-', _MINUS)}\N{NO-BREAK SPACE}%"


def p_value(value: float | None) -> str:
    """A p-value with its relation, as in ``= 0.021`` or ``< 0.001``."""
    if value is None:
        return "not tested"
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def strength(value: float | None) -> str:
    """A strength to six significant digits; a dash where there is none."""
    return "–" if value is None else f"{value:g}"


def _proper(text: str, *, plus: str = "") -> str:
    digits = text.lstrip("+-")
    if not digits.strip("0.,"):
        return digits
    return f"{_MINUS if text[0] == '-' else plus}{digits}"
