"""What a learned head says of stored token vectors: a sign or weight each, without the model that trained it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askew._blocks import DEFAULT_BUDGET, blocks, rows_within
from askew.data import TokenEmbeddings
from askew.errors import DimensionError
from askew.linalg.fixed import Float64Array, FloatArray

__all__ = ["START", "TokenHead"]

#: Where a bounded head starts on the hyperbolic tangent: near its bound, and not yet where that is flat.
START = 2.0


@dataclass(frozen=True, eq=False)
class TokenHead:
    """A layer, a rectifier and one output a token; see `askew.estimators.torch_signed.SignedHead`.

    It reads the direction of a token's vector, times √d.

    Attributes:
        inner: (u, d + 1) the first layer's weights, its offsets last; None for a linear head.
        outer: (u + 1,) the output's, or (d + 1,) without a first layer.
        bounded: by the hyperbolic tangent.

    >>> excluding = TokenHead(None, np.array([0.0, -10.0, 0.0]))
    >>> excluding.weigh(TokenEmbeddings(["q"], np.eye(2), [0, 2])).weights.round(2).tolist()
    [1.0, -1.04]
    """

    inner: FloatArray | None
    outer: FloatArray
    bounded: bool = True

    @property
    def width(self) -> int:
        """The dimension d of the vectors it reads."""
        return int((self.outer.shape[0] if self.inner is None else self.inner.shape[1]) - 1)

    def weigh(self, tokens: TokenEmbeddings) -> TokenEmbeddings:
        """The same tokens with the head's weights, times those that they have.

        Raises:
            DimensionError: the tokens have another dimension than the head reads.
        """
        if tokens.dim != self.width:
            raise DimensionError(
                f"the tokens have {tokens.dim} dimensions, and the head reads {self.width}",
                where=tokens.source,
                remedy="Use tokens of the encoder that the head was trained on",
            )
        parts = [
            self._weights(np.asarray(tokens.tokens[part], dtype=np.float64))
            for part in blocks(len(tokens.tokens), rows_within(DEFAULT_BUDGET // 8, 8 * tokens.dim))
        ]
        found = np.concatenate([*parts, np.empty(0)])
        return TokenEmbeddings(
            tokens.ids,
            tokens.tokens,
            tokens.offsets,
            weights=found if tokens.weights is None else found * tokens.weights,
            encoder=tokens.encoder,
            code=tokens.code,
            source=tokens.source,
        )

    def _weights(self, rows: Float64Array) -> Float64Array:
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        read = rows / np.where(norms > 0, norms, 1.0) * np.sqrt(self.width)
        if self.inner is not None:
            read = np.maximum(read @ self.inner[:, :-1].T + self.inner[:, -1], 0.0)
        raw = read @ self.outer[:-1] + self.outer[-1]
        return np.asarray(np.tanh(raw + START) / np.tanh(START) if self.bounded else 1 + raw)
