"""The heads of signed late interaction as an artefact: weights, and a manifest that names the encoder.

    HEAD/
      manifest.json            gates, where they attach, sizes, the encoder and how to tell it, the record of training
      tensors.safetensors      the heads' weights, and canary vectors of the encoder
      encoder/                 a tuned encoder as its own library saves it: without the heads it gives plain MaxSim

Written to a temporary folder and renamed, so a crash leaves the old artefact or the new one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from askew._atomic import writing_folder
from askew.adapters import Canaries
from askew.data import EmbeddingSet
from askew.errors import ArtefactError, EncoderMismatchError, InputError, OutputError
from askew.formats._manifest import MANIFEST, FolderKind
from askew.late import TokenHead

__all__ = ["SignedArtefact", "is_signed_folder", "load_signed", "refuse_foreign_signed", "save_signed"]

_ENCODER = "encoder"
_KIND = FolderKind(
    format="askew-signed-head",
    version=1,
    noun="a head",
    lacking="there is no head here",
    writer="'askew train-late'",
    again="Train it again",
    tensors="tensors.safetensors",
    others=frozenset({_ENCODER}),
)
# A tuned encoder lies close to the one that it began as: a cosine of 0.999 is no sign that it is the same.
_SAME = 0.9999
# What the manifest says of the heads as it stands.
_PLAIN = ("gates", "attach", "width", "hidden", "bounded", "encoder", "tuned", "special_tokens")


@dataclass(frozen=True, eq=False)
class SignedArtefact:
    """Heads as they are saved.

    Attributes:
        gates: the sides with a head: ``"none"``, ``"query"``, ``"document"`` or ``"both"``.
        attach: what they read: ``"states"`` or ``"vectors"``.
        width: of what they read.
        hidden: units between; 0 for linear heads.
        bounded: by the hyperbolic tangent.
        weights: name → array, of all heads.
        encoder: the encoder's name.
        canaries: unit means of its token vectors of some texts.
        tuned: whether it was tuned with the heads, and is saved beside them.
        special_tokens: whether the tokenizer's own marks count as tokens.
        record: how they were trained and what was measured.
        folder: where it was read from.
    """

    gates: Literal["none", "query", "document", "both"]
    attach: Literal["states", "vectors"]
    width: int
    hidden: int
    bounded: bool
    weights: Mapping[str, npt.NDArray[Any]]
    encoder: str
    canaries: Canaries
    tuned: bool = False
    special_tokens: bool = True
    record: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def encoder_folder(self) -> Path | None:
        """Where the tuned encoder lies; None where it was not tuned."""
        return self.folder / _ENCODER if self.folder is not None and self.tuned else None

    def head(self, side: Literal["query", "document"]) -> TokenHead | None:
        """The head of one side, to weigh stored token vectors with; None where that side has none.

        Raises:
            ArtefactError: it reads something else than token vectors.
        """
        if self.attach != "vectors":
            raise ArtefactError(
                "the head reads what vectors are made from, and not the vectors",
                where=self.folder,
                remedy="Weigh tokens with the model that it was trained with",
            )
        if self.gates not in (side, "both"):
            return None
        outer, inner = (self._layer(f"{side}_head.{name}") for name in ("outer", "inner"))
        if outer is None:
            raise ArtefactError(f"the weights of the {side} head are missing", where=self.folder, remedy=_KIND.again)
        return TokenHead(inner, outer[0], self.bounded)

    def _layer(self, name: str) -> npt.NDArray[Any] | None:
        """(out, in + 1) a layer's weights, its offsets last."""
        if f"{name}.weight" not in self.weights:
            return None
        return np.concatenate([self.weights[f"{name}.weight"], self.weights[f"{name}.bias"][:, None]], axis=1)

    def check(self, vectors: npt.NDArray[Any], encoder: str) -> None:
        """Refuse another encoder than the heads were trained on.

        Args:
            vectors: (c, d) means of an encoder's token vectors of ``canaries.texts``.
            encoder: what it is called.

        Raises:
            EncoderMismatchError: it has other dimensions, or its vectors point elsewhere.
        """
        if vectors.shape != self.canaries.vectors.shape:
            raise EncoderMismatchError(
                f"the head was trained on {self.encoder!r}, of {self.canaries.vectors.shape[1]} dimensions, and "
                f"{encoder!r} has {vectors.shape[-1]}",
                where=self.folder,
                remedy="Use the encoder that the head was trained on, or train a head for this one",
            )
        try:
            same = {"least": _SAME} if self.tuned else {}
            self.canaries.check(EmbeddingSet(self.canaries.ids, vectors), "text", **same)
        except EncoderMismatchError as error:
            tuned = "Name no encoder: the one that was tuned with the head lies beside it"
            raise EncoderMismatchError(
                f"the head was trained on {self.encoder!r}, and {encoder!r} gives other vectors ({error.problem})",
                where=self.folder,
                remedy=tuned if self.tuned else "Use the encoder that the head was trained on, or train a head for it",
            ) from error


def refuse_foreign_signed(path: str | PathLike[str]) -> None:
    """Raise OutputError where something stands that `save_signed` would not replace: before hours of training."""
    _KIND.refuse_foreign(Path(path))


def save_signed(
    artefact: SignedArtefact, path: str | PathLike[str], *, save_encoder: Callable[[str], Any] | None = None
) -> Path:
    """Write heads as a folder, in the place of such a folder that may stand there.

    Args:
        artefact: what to write.
        path: the folder.
        save_encoder: saves a tuned encoder into a folder, such as a model's ``save``.

    Raises:
        OutputError: it cannot be written, or something else stands there.
    """
    folder = Path(path)
    _KIND.refuse_foreign(folder)
    tensors = {f"head.{name}": np.ascontiguousarray(array) for name, array in artefact.weights.items()}
    tensors["canaries"] = np.ascontiguousarray(artefact.canaries.vectors)
    payload = safetensors.numpy.save(dict(sorted(tensors.items())))
    manifest = {
        **_KIND.head(payload),
        **{name: getattr(artefact, name) for name in _PLAIN},
        "canaries": {"ids": list(artefact.canaries.ids), "texts": list(artefact.canaries.texts)},
        "record": dict(artefact.record),
    }
    try:
        text = json.dumps(manifest, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OutputError(
            f"the record is not plain values ({error})", where=folder, remedy="Keep plain values in it"
        ) from error
    with writing_folder(folder) as fresh:
        (fresh / _KIND.tensors).write_bytes(payload)
        (fresh / MANIFEST).write_text(text + "\n", encoding="utf-8")
        if save_encoder is not None:
            save_encoder(str(fresh / _ENCODER))
    return folder


def load_signed(path: str | PathLike[str]) -> SignedArtefact:
    """Read heads that `save_signed` wrote.

    Raises:
        ArtefactError: there are none, they are damaged, or of a later format.
    """
    folder = Path(path)
    manifest = _KIND.read(folder)
    tensors = _KIND.read_tensors(folder, manifest)
    try:
        held = manifest["canaries"]
        canaries = Canaries(tuple(held["ids"]), tensors.pop("canaries"), tuple(held["texts"]))
        weights = {name.removeprefix("head."): array for name, array in tensors.items()}
        plain = {name: manifest[name] for name in _PLAIN}
        _check_plain(plain)
        return SignedArtefact(**plain, weights=weights, canaries=canaries, record=manifest["record"], folder=folder)
    except (LookupError, TypeError, ValueError, InputError) as error:
        raise ArtefactError(
            f"the manifest and the tensors do not make a head ({error})", where=folder / MANIFEST, remedy=_KIND.again
        ) from error


def is_signed_folder(path: str | PathLike[str]) -> bool:
    """Whether the manifest of heads stands at a place."""
    return _KIND.claims(Path(path))


def _check_plain(plain: Mapping[str, Any]) -> None:
    """Raise ValueError unless the facts of a manifest are what they should be."""
    sound = {
        "gates": plain["gates"] in ("none", "query", "document", "both"),
        "attach": plain["attach"] in ("states", "vectors"),
        "encoder": isinstance(plain["encoder"], str),
        **{name: type(plain[name]) is int and plain[name] >= 0 for name in ("width", "hidden")},
        **{name: type(plain[name]) is bool for name in ("bounded", "tuned", "special_tokens")},
    }
    odd = next((name for name, fine in sound.items() if not fine), None)
    if odd is not None:
        raise ValueError(f"{odd} is {plain[odd]!r}")
