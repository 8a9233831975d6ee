"""How long to wait before asking again: as the endpoint says, else longer each time, never all at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["Waits", "asked_to_wait"]

# The first wait, in seconds; each next is twice as long, up to the longest.
_FIRST, _LONGEST = 0.5, 60.0


class Waits:
    """When the requests of all threads may go on; `stop` ends every wait.

    Args:
        first: seconds before the first retry, halved at random so that threads do not come back as one.
    """

    def __init__(self, first: float = _FIRST) -> None:
        self._first = first
        self._not_before = 0.0
        self._lock = threading.Lock()
        self._stopping = threading.Condition()  # re-entrant, unlike an Event: a signal's handler stops too
        self._stopped = False
        self._random = random.Random()  # noqa: S311 - jitter, no secret

    def begin(self) -> None:
        """Forget an earlier `stop`."""
        self._stopped = False

    def stop(self) -> None:
        """End all waits: nobody should ask again."""
        with self._stopping:
            self._stopped = True
            self._stopping.notify_all()

    @property
    def stopped(self) -> bool:
        """Whether nobody should ask again."""
        return self._stopped

    def hold(self, seconds: float) -> None:
        """Let no request begin for some time: the endpoint's limit is on all of them."""
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + seconds)

    def before_request(self) -> bool:
        """Wait while requests are held; False if nobody should ask any more."""
        while (left := self._not_before - time.monotonic()) > 0:
            if self._wait(left):
                return False
        return not self._stopped

    def after_failure(self, failures: int) -> bool:
        """Wait after so many failures in a row; False if nobody should ask any more."""
        longest = min(_LONGEST, self._first * 2 ** (failures - 1))
        return not self._wait(longest * self._random.uniform(0.5, 1.0))

    def _wait(self, seconds: float) -> bool:
        """Whether all was stopped meanwhile."""
        with self._stopping:
            return self._stopping.wait_for(lambda: self._stopped, seconds)


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
