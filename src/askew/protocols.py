"""What askew asks of objects that others bring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Encoder", "Kind", "Progress", "Scorer"]

#: What a text is to the search: some encoders put another prompt before queries than before documents.
Kind: TypeAlias = Literal["query", "document"]


@runtime_checkable
class Encoder(Protocol):
    """Something frozen that turns texts into vectors.

    >>> import numpy as np
    >>> class Lengths:
    ...     name, dim = "lengths", 1
    ...     def encode(self, texts, *, kind="document", progress=None):
    ...         return np.array([[len(text)] for text in texts], dtype=np.float32)
    >>> isinstance(Lengths(), Encoder)
    True
    """

    @property
    def name(self) -> str:
        """What it is called, in artefacts too; another name means other vectors."""
        ...

    @property
    def dim(self) -> int | None:
        """The embedding dimension d; None until the first text is encoded, where only an answer tells."""
        ...

    def encode(
        self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None
    ) -> npt.NDArray[np.floating[Any]]:
        """(n, d) finite float32 or float64, one row a text, whatever other texts stand beside it."""
        ...


class Progress(Protocol):
    """Called as long work goes on; any function of two integers will do.

    >>> def show(done: int, total: int) -> None: ...
    >>> progress: Progress = show
    """

    def __call__(self, done: int, total: int, /) -> None:
        """Hear that `done` of `total` steps are behind us."""
        ...


class Scorer(Protocol):
    """Something that scores some documents of a query: the second stage of a two-stage search.

    >>> import numpy as np
    >>> class ByLength:
    ...     def score(self, query, documents):
    ...         return np.array([-float(len(name)) for name in documents])
    >>> scorer: Scorer = ByLength()
    """

    def score(self, query: str, documents: Sequence[str], /) -> npt.NDArray[np.float64]:
        """(r,) scores, one a document id in their order; larger is better."""
        ...
