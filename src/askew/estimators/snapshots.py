"""The whole state of a training run, as plain arrays and facts: what a checkpoint holds, whoever writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

__all__ = ["Snapshot"]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A training run between two steps; to go on from it gives the bits that going on without it would give.

    Attributes:
        tensors: name → array: parameters, the optimiser's moments, generators, the best parameters so far.
        facts: plain values: the step, the best judgement, what the run is (its fingerprint).

    >>> import numpy as np
    >>> Snapshot({"weight": np.zeros(2)}, {"step": 3}).step
    3
    """

    tensors: Mapping[str, npt.NDArray[Any]]
    facts: Mapping[str, Any]

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return int(self.facts["step"])

    def group(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        """The arrays whose names begin with ``PREFIX.``, by the rest of their names.

        >>> import numpy as np
        >>> Snapshot({"best.a": np.zeros(1), "own.a": np.ones(1)}, {}).group("best")
        {'a': array([0.])}
        """
        start = f"{prefix}."
        return {name.removeprefix(start): array for name, array in self.tensors.items() if name.startswith(start)}
