"""What a recipe that descends ships: affine layers, in plain numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from askew.errors import DimensionError, ParameterError
from askew.linalg import FloatArray
from askew.linalg.fixed import Float32Array
from askew.operators import Dense

__all__ = ["Layers"]


@dataclass(frozen=True, eq=False)
class Layers:
    """x ↦ x Wᵀ + b on rows, one layer after another with a rectifier between.

    Attributes:
        weights: matrices (d_out, d_in), as torch keeps them.
        offsets: (d_out,) of each layer, or None for none.
        skip: add the input to what comes out: x ↦ x + f(x).

    Raises:
        DimensionError: the layers do not fit together.

    >>> layers = Layers((np.array([[0.0, 2.0]], dtype=np.float32),), (None,))
    >>> layers(np.array([[1.0, 3.0]])).tolist(), layers.term().to_dense().tolist()
    ([[6.0]], [[0.0], [2.0]])
    """

    weights: tuple[Float32Array, ...]
    offsets: tuple[Float32Array | None, ...]
    skip: bool = False

    def __post_init__(self) -> None:
        sizes = [self.weights[0].shape[1], *(weight.shape[0] for weight in self.weights)] if self.weights else []
        joined = all(weight.shape[1] == size for weight, size in zip(self.weights, sizes, strict=False))
        if not sizes or not joined or len(self.offsets) != len(self.weights) or (self.skip and sizes[0] != sizes[-1]):
            raise DimensionError(
                f"layers of the shapes {[weight.shape for weight in self.weights]} do not fit together"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """(d_query, d_document)."""
        return self.weights[0].shape[1], self.weights[-1].shape[0]

    def __call__(self, rows: FloatArray) -> FloatArray:
        """(n, d_query) → (n, d_document)."""
        found = rows
        for place, (weight, offset) in enumerate(zip(self.weights, self.offsets, strict=True)):
            if place:
                found = np.maximum(found, 0)
            found = found @ weight.T if offset is None else found @ weight.T + offset
        return np.asarray(rows + found if self.skip else found)

    def term(self, *, offset: Literal["refuse", "drop"] = "refuse") -> Dense:
        """The map as a term of an operator, M = Wᵀ, so that an `Adapter` can hold it.

        An operator is linear: an offset b would add the same bᵀy to a document's score for every query. It is
        refused unless you say that it is to be dropped, which changes rankings; train without one to lose nothing.

        Args:
            offset: ``"refuse"`` or ``"drop"``.

        Raises:
            ParameterError: there are two layers, or an offset that is not to be dropped.
        """
        if len(self.weights) > 1:
            raise ParameterError("two layers are not linear, so no operator holds them", remedy="Train one layer")
        if offset != "drop" and self.offsets[0] is not None and np.any(self.offsets[0]):
            raise ParameterError(
                "the map has an offset, which no operator holds",
                where="offset",
                remedy="Train with bias=False, or drop it (offset='drop') and measure what that costs",
            )
        matrix = self.weights[0].T
        return Dense(np.ascontiguousarray(matrix + np.eye(len(matrix), dtype=np.float32) if self.skip else matrix))
