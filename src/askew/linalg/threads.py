"""BLAS threads: one for fits that must give the same bits on every run, or one for each of several blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import threadpool_info, threadpool_limits

__all__ = ["blas_threads", "one_thread", "side_by_side"]

_Part = TypeVar("_Part")
_Result = TypeVar("_Result")


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the block with one BLAS thread, whatever the user has set outside.

    Factorisations of the sizes met here gain little from a second thread and can lose much to it.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        yield


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
