"""The peers that train by descent, as `askew.estimators.torch_recipes` has them, published and tuned.

A judged recipe holds a fifth of the labels out: ERA by query, linear-adapter-trainer by document, as there. Both
encoders are one here, so ERA's second stage starts at the identity.

Tuned, each chooses by cross-fitting among the base and 43 settings, as askew does among the base and 44: those
published and a grid of rates, epochs and what else it has. The grid learns from all labels, in a new order every
epoch; Chroma's starts at the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from askew.estimators.examples import hard_triplets
from askew.estimators.torch_loop import Plan, train
from askew.estimators.torch_recipes import ADAPT, CHROMA, LAT, LLAMAINDEX
from lessons import Lessons
from measure import Deployed
from tuning import Recipe, Settings


@dataclass(frozen=True)
class Descent:
    """A plan as the tuning takes it."""

    plan: Plan

    def points(self) -> Sequence[Settings]:
        named = {name: _name(getattr(self.plan, name)) for name in ("draw", "loss")}
        plain: dict[str, Any] = {**asdict(self.plan), **named}
        del plain["checkpoints"]
        return [{**plain, "epochs": epochs} for epochs in self.plan.checkpoints or (self.plan.epochs,)]

    def train(self, lessons: Lessons, seed: int) -> Sequence[Deployed]:
        fitting, held = lessons, None
        if self.plan.judge:
            fitting, held = lessons.parted("fresh" if self.plan.judge == "rank" else "recurring")
        return [Deployed(found) for found in train(fitting, self.plan, seed=seed, held=held)]


def _name(part: object) -> str:
    return getattr(part, "__name__", repr(part))


_ERA = replace(ADAPT, start="identity")

_PUBLISHED = {
    "llamaindex": [LLAMAINDEX],
    "chroma": [replace(CHROMA, rate=rate) for rate in (1e-2, 3e-3, 1e-3)],
    "lat": [LAT],
    "era": [_ERA],
}
_LONGER = replace(LLAMAINDEX, epochs=20, checkpoints=(1, 2, 3, 5, 8, 12, 20), shuffle=True)
_TUNED = {
    "llamaindex": [
        LLAMAINDEX,
        *(replace(_LONGER, rate=rate) for rate in (1e-4, 1e-3)),
        *(replace(_LONGER, rate=rate, batch=64) for rate in (3e-4, 1e-3, 3e-3, 1e-2)),
    ],
    "chroma": [
        *_PUBLISHED["chroma"],
        *(
            replace(CHROMA, start="identity", rate=rate, epochs=10, checkpoints=(1, 2, 3, 4, 5, 6, 8, 10))
            for rate in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
        ),
    ],
    "lat": [
        LAT,
        replace(LAT, epochs=40, checkpoints=(2, 5, 10, 15, 25, 40), judge=""),
        *(
            replace(
                LAT,
                draw=hard_triplets,
                rate=rate,
                margin=margin,
                epochs=40,
                checkpoints=(2, 5, 10, 15, 25, 40),
                judge="",
            )
            for rate, margin in product((3e-4, 1e-3, 3e-3), (0.1, 0.2))
        ),
    ],
    "era": [
        _ERA,
        *(
            replace(_ERA, rate=rate, temperature=heat, epochs=100, checkpoints=(5, 10, 18, 30, 45, 70, 100), judge="")
            for rate, heat in product((1e-4, 3e-4, 1e-3), (0.05, 0.1))
        ),
    ],
}

RECIPES = {
    **{name: Recipe(tuple(map(Descent, plans))) for name, plans in _PUBLISHED.items()},
    **{f"{name}-tuned": Recipe(tuple(map(Descent, plans)), may_keep=True) for name, plans in _TUNED.items()},
}
