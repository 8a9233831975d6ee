"""BLAS threads: one for fits that must give the same bits on every run, or one for each of several blocks."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController, threadpool_info

__all__ = ["blas_threads", "one_thread", "side_by_side"]

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


_lock = threading.Lock()
_blocks = 0
# BLAS file → its handle, and the threads it had before the first of the blocks that run now.
_before: dict[str, tuple[Any, int]] = {}


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the block with one BLAS thread, whatever the user has set outside.

    Factorisations of the sizes met here gain little from a second thread and can lose much to it. The limit is the
    process's: of blocks that overlap, nested or on several threads, the last to end gives back what was there
    before the first.
    """
    global _blocks  # noqa: PLW0603 - the limit is global
    with _lock:
        for blas in ThreadpoolController().select(user_api="blas").lib_controllers:
            _before.setdefault(blas.filepath, (blas, blas.num_threads))
            _set(blas, 1)
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks:
                for blas, count in _before.values():
                    _set(blas, count)
                _before.clear()


def _set(blas: Any, count: int) -> None:
    """From whichever thread: later releases of threadpoolctl heed the first that asks, and no other while it lives."""
    getattr(blas, "_real_set_num_threads", blas.set_num_threads)(count)


def blas_threads() -> int:
    """How many threads the BLAS may use now: what the machine has, or the user has set."""
    held = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return max(1, *held) if held else 1


@contextmanager
def side_by_side(workers: int) -> Iterator[Callable[[Callable[[_Part], _Result], Iterable[_Part]], Iterator[_Result]]]:
    """A `map` that runs on some threads, each with a BLAS of one thread; results come in order.

    Blocks side by side are quicker than threads inside each small product, and share no barrier. Only a few
    parts are begun before the first result is taken, so what waits stays small.

    >>> with side_by_side(2) as each:
    ...     list(each(lambda part: part + 1, [1, 2, 3]))
    [2, 3, 4]
    """
    with one_thread():
        if workers == 1:
            yield map
            return
        with ThreadPoolExecutor(workers) as pool:

            def each(work: Callable[[_Part], _Result], parts: Iterable[_Part]) -> Iterator[_Result]:
                begun: deque[Future[_Result]] = deque()
                for part in parts:
                    begun.append(pool.submit(work, part))
                    if len(begun) > 2 * workers:
                        yield begun.popleft().result()
                while begun:
                    yield begun.popleft().result()

            yield each
