"""Optional dependencies: imported at the door, or refused with the extra's name."""

from __future__ import annotations

import importlib
from types import ModuleType

from askew.errors import MissingExtraError

__all__ = ["require"]


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional module, or say which extra brings it.

    Args:
        module: the module's import name.
        extra: the extra of askew that installs it.
        purpose: what it is needed for, as in "encoding the demo's texts".

    Raises:
        MissingExtraError: the module is not installed.

    >>> require("json", extra="none", purpose="an example").__name__
    'json'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # the optional package is there; something that it needs itself is not
        raise MissingExtraError(
            f"{purpose} needs the package '{module.partition('.')[0]}', which is not installed",
            remedy=f"Install the extra '{extra}' of askew: pip install '.[{extra}]' in its clone",
        ) from None
