"""One BLAS thread: for fits that must give the same bits on every run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

__all__ = ["one_thread"]


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the block with one BLAS thread, whatever the user has set outside.

    Factorisations of the sizes met here gain little from a second thread and can lose much to it.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        yield
