"""Small token encoders for signed late interaction. Needs the extra ``torch``."""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn import functional

from askew.estimators.torch_signed import Side, Spoken

__all__ = ["StateEncoder"]


class StateEncoder(nn.Module):  # type: ignore[misc]  # torch is not looked into
    """Takes token states as they were computed once: the vectors are their directions, or those of a linear map.

    What a head reads has the norm √h, whatever the norm of what is given, so stored unit rows do as well as states.

    Args:
        width: h, of the states.
        dim: d, of a learned map that starts as the identity's first d rows; None for no map.

    >>> import torch
    >>> StateEncoder(3)(torch.full((1, 1, 3), 2.0), torch.ones(1, 1, dtype=torch.bool), "query").states.shape
    torch.Size([1, 1, 3])
    """

    def __init__(self, width: int, dim: int | None = None) -> None:
        super().__init__()
        self.width, self.dim = width, dim or width
        self.map = None if dim is None else nn.Linear(width, dim, bias=False)
        if self.map is not None:
            nn.init.eye_(self.map.weight)

    def forward(self, tokens: Tensor, mask: Tensor, side: Side) -> Spoken:
        """(b, L, h) states → the same, with unit vectors."""
        del side
        states = functional.normalize(tokens.float(), dim=-1) * math.sqrt(self.width)
        return Spoken(functional.normalize(states if self.map is None else self.map(states), dim=-1), states, mask)
