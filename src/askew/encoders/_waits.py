"""How long to wait before asking again: as the endpoint says, else longer each time, never all at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["Stop", "Waits", "asked_to_wait"]

# The first wait, in seconds; each next is twice as long, up to the longest.
_FIRST, _LONGEST = 0.5, 60.0


class Stop:
    """Whether nobody should ask again, for one sequence of requests; also from signal handlers.

    >>> stop = Stop()
    >>> stop.wait(0.0), stop.set(), stop.wait(60.0)
    (False, None, True)
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()  # re-entrant, unlike that of an Event: a handler may come within it
        self._set = False

    def __bool__(self) -> bool:
        return self._set

    def set(self) -> None:
        """End every wait."""
        with self._changed:
            self._set = True
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Whether it was set meanwhile."""
        with self._changed:
            return self._changed.wait_for(lambda: self._set, seconds)


class Waits:
    """When the requests of all threads may go on.

    Args:
        first: seconds before the first retry, halved at random so that threads do not come back as one.
    """

    def __init__(self, first: float = _FIRST) -> None:
        self._first = first
        self._not_before = 0.0
        self._lock = threading.Lock()
        self._random = random.Random()  # noqa: S311 - jitter, no secret

    def hold(self, seconds: float) -> None:
        """Let no request begin for some time: the endpoint's limit is on all of them."""
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + seconds)

    def before_request(self, stop: Stop) -> bool:
        """Wait while requests are held; False if nobody should ask any more."""
        while (left := self._not_before - time.monotonic()) > 0:
            if stop.wait(left):
                return False
        return not stop

    def after_failure(self, failures: int, stop: Stop) -> bool:
        """Wait after so many failures in a row; False if nobody should ask any more."""
        longest = min(_LONGEST, self._first * 2 ** (failures - 1))
        return not stop.wait(longest * self._random.uniform(0.5, 1.0))


def asked_to_wait(headers: Mapping[str, str]) -> float:
    """The seconds that an endpoint asks to wait: ``retry-after-ms``, or ``Retry-After`` in seconds or as a date.

    >>> asked_to_wait({"retry-after-ms": "1500"}), asked_to_wait({"retry-after": "2"}), asked_to_wait({})
    (1.5, 2.0, 0.0)
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        told = headers.get(name, "")
        try:
            return max(0.0, float(told) * unit)
        except ValueError:
            pass
    try:
        when = parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return 0.0
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
