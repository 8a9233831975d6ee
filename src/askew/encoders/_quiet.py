"""Other packages change settings of the process when they are imported; here they do not."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["settings_kept"]


@contextmanager
def settings_kept() -> Iterator[None]:
    """Importing wordllama calls `logging.basicConfig` and, through requests, adds filters of warnings.

    `basicConfig` does nothing while the root logger has a handler, so it is lent one.
    """
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what other packages do at import is not the user's to mend
            yield
    finally:
        root.removeHandler(handler)
