"""The two encoders of an adapter's queries: which comes first, how wide each is, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass

from askew.adapters.provenance import Provenance
from askew.data import EmbeddingSet
from askew.data.fusion import JOINT
from askew.errors import DimensionError, EncoderMismatchError
from askew.operators import Stacked, Term

__all__ = ["Pair"]

_PLACES = ("first", "second")


@dataclass(frozen=True)
class Pair:
    """What an adapter that fuses two encoders knows of them.

    Attributes:
        names: of the encoder whose vectors come first and of the other; None where it is not known.
        widths: the dimensions of each; None where the prior does not tell them.

    >>> from askew.operators import Identity, Zero
    >>> pair = Pair.of(Stacked((Identity(2), Zero(3, 2))), Provenance("old+new", "old"))
    >>> print(pair)
    those of 'old' (2 dimensions) and those of 'new' (3 dimensions), side by side
    """

    names: tuple[str | None, str | None]
    widths: tuple[int, int] | None

    @classmethod
    def of(cls, prior: Term, provenance: Provenance) -> Pair | None:
        """The pair that a prior of two blocks or the encoders' names tell of; None for an adapter of one encoder."""
        blocks = prior.parts if isinstance(prior, Stacked) and not prior.beside and len(prior.parts) == 2 else None
        both, own = provenance.query_encoder or "", provenance.document_encoder
        if own and both.startswith(own + JOINT):
            return cls((own, both[len(own + JOINT) :]), _widths(blocks))
        if blocks is None:
            return None
        # A name with several "+" can be parted in several ways.
        first, _, second = both.partition(JOINT) if both.count(JOINT) == 1 else ("", "", "")
        return cls((first or None, second or None), _widths(blocks))

    def __str__(self) -> str:
        return " and ".join(map(self._told, (0, 1))) + ", side by side"

    @property
    def remedy(self) -> str:
        """How to give the two, in their order."""
        first, second = (self._name(place) for place in (0, 1))
        return (
            f"Give the queries of {first} first, and the same queries of {second} with --second-queries; of a folder "
            "name both, --encoder FIRST+SECOND (adapter.apply(first, second))"
        )

    def check(self, first: EmbeddingSet, second: EmbeddingSet) -> None:
        """Refuse vectors that are not those of the two encoders, in their order.

        Args:
            first: (n, d) queries; with a name, it is compared.
            second: (·, d_other) the same queries by the other encoder, likewise.

        Raises:
            DimensionError: either has another dimension than its encoder.
            EncoderMismatchError: either is named otherwise than its encoder.
        """
        sides = (first, second)
        if self.widths is not None and (first.dim, second.dim) != self.widths:
            raise DimensionError(
                f"the first query vectors ({first.encoder or 'unnamed encoder'}) have {first.dim} dimensions and the "
                f"second ({second.encoder or 'unnamed encoder'}) {second.dim}, the adapter takes {self}",
                where=first.source,
                remedy=self.remedy,
            )
        for place, side, name in zip(_PLACES, sides, self.names, strict=True):
            if name and side.encoder and name != side.encoder:
                raise EncoderMismatchError(
                    f"the {place} query vectors come from the encoder {side.encoder!r}, the adapter takes {self}",
                    where=side.source,
                    remedy=self.remedy,
                )

    def _name(self, place: int) -> str:
        name = self.names[place]
        return repr(name) if name else f"the {_PLACES[place]} encoder"

    def _told(self, place: int) -> str:
        width = "" if self.widths is None else f" ({self.widths[place]} dimensions)"
        return f"those of {self._name(place)}{width}"


def _widths(blocks: tuple[Term, ...] | None) -> tuple[int, int] | None:
    return None if blocks is None else (blocks[0].shape[0], blocks[1].shape[0])
