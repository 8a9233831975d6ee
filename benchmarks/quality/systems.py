"""Every system by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import ours
from cells import Task
from lessons import Regime
from tuning import Outcome, Recipe, learn

_OWN: Mapping[str, Callable[[Task, Regime], Outcome]] = {"base": ours.base, "ridge": ours.ridge, "ours": ours.ours}
_PEERS = ("llamaindex", "chroma", "lat", "era", "cca")

SYSTEMS = (*_OWN, *(f"{peer}{ending}" for peer in _PEERS for ending in ("", "-tuned")))
#: What these ship does not depend on the traffic: they choose nothing by cross-fitting.
FIXED = frozenset({"base", "ridge", "llamaindex", "lat", "era", "cca"})


def prepared(name: str) -> Callable[[Task, Regime], Outcome]:
    """What fits a system to a task's labels, with its imports done."""
    if name in _OWN:
        return _OWN[name]
    return partial(learn, name, _recipe(name))


def _recipe(name: str) -> Recipe:
    if name.startswith("cca"):
        from numpy_recipes import RECIPES  # noqa: PLC0415 - beside the next one
    else:
        from torch_recipes import RECIPES  # noqa: PLC0415 - torch is an extra, and only some systems need it
    return RECIPES[name]
