"""Interrupts that wait until what was paid for is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["held_interrupts"]

# What stands where nobody has set a handler of their own.
_USUAL: tuple[tuple[signal.Signals, Any], ...] = (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGTERM, signal.SIG_DFL),
)


@contextmanager
def held_interrupts(stop: Callable[[], None]) -> Iterator[None]:
    """Within it, the first SIGINT or SIGTERM calls `stop`, and takes effect at the end; a second one is not held.

    Handlers that somebody else has set, before or meanwhile, are left alone, and so is all where this is not the main
    thread.

    Args:
        stop: called from the handler.
    """
    held: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    usual = {number: handler for number, handler in _USUAL if main and signal.getsignal(number) is handler}

    def hold(number: int, frame: FrameType | None) -> None:
        del frame
        restore()
        held.append(number)
        stop()

    def restore() -> None:
        for number, handler in usual.items():
            if signal.getsignal(number) is hold:
                signal.signal(number, handler)

    for number in usual:
        if not held:
            signal.signal(number, hold)
    try:
        yield
    finally:
        restore()
        if held:
            signal.raise_signal(held[0])
