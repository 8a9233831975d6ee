"""The artefact: a folder of one safetensors file and one JSON manifest.

    ADAPTER/
      manifest.json            what it is, for people and for checks: dims, similarity, encoders, evidence
      tensors.safetensors      M0, Δ and another base as far as they are stored, the canary vectors, and hashes of
                               the ids of queries and documents that were fitted on

Written to a temporary folder and renamed, so a crash leaves the old artefact or the new one. The same
adapter gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from askew._atomic import writing_folder
from askew._checks import check_kind
from askew.adapters import Adapter, Canaries, Provenance, Seen
from askew.errors import ArtefactError, AskewError, OutputError
from askew.formats._manifest import MANIFEST, FolderKind, Tensors
from askew.operators import BilinearOperator, Dense, Factored, Identity, Stacked, Term, Zero

__all__ = ["load_adapter", "refuse_foreign", "save_adapter"]

_KIND = FolderKind(
    format="askew-adapter",
    version=1,
    noun="an adapter",
    lacking="there is no adapter here",
    writer="'askew fit' or askew.save",
    again="Save the adapter again",
    tensors="tensors.safetensors",
)

_SEEN = ("queries", "positives", "negatives")


def save_adapter(adapter: Adapter, path: str | PathLike[str]) -> Path:
    """Write an adapter as a folder, in the place of one that may stand there.

    Args:
        adapter: what to write.
        path: the folder.

    Returns:
        The folder.

    Raises:
        OutputError: it cannot be written, its record holds what JSON has no word for, or something
            else than an artefact stands there.
    """
    check_kind(adapter, Adapter, "adapter", "Give an Adapter, such as the adapter of a Fit")
    check_kind(path, (str, PathLike), "path", "Give the path of a folder")
    folder = Path(path)
    refuse_foreign(folder)
    tensors: Tensors = {}
    facts = {
        "d_query": adapter.operator.shape[0],
        "d_document": adapter.operator.shape[1],
        "similarity": adapter.similarity,
        "scale": adapter.scale,
        "prior": _put_term(adapter.operator.prior, "prior", tensors),
        "correction": None if adapter.operator.delta is None else _put_term(adapter.operator.delta, "delta", tensors),
        "base": None if adapter.base is None else _put_term(adapter.base, "base", tensors),
        **_put_provenance(adapter.provenance, tensors),
    }
    payload = safetensors.numpy.save({name: _storable(array) for name, array in sorted(tensors.items())})
    try:
        text = json.dumps({**_KIND.head(payload), **facts}, indent=2, ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OutputError(
            f"the adapter's record cannot be written as JSON ({error})",
            where=folder,
            remedy="Keep texts, finite numbers, lists and mappings of them in the provenance",
        ) from error
    with writing_folder(folder) as fresh:
        (fresh / _KIND.tensors).write_bytes(payload)
        (fresh / MANIFEST).write_text(text + "\n", encoding="utf-8")
    return folder


def load_adapter(path: str | PathLike[str]) -> Adapter:
    """Read an adapter that `save_adapter` wrote.

    Raises:
        ArtefactError: the folder is not an artefact, is damaged, or is of a later format.
    """
    check_kind(path, (str, PathLike), "path", "Give the path of an adapter's folder")
    folder = Path(path)
    manifest = _KIND.read(folder)
    try:
        return _get_adapter(manifest, _KIND.read_tensors(folder, manifest))
    except ArtefactError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, AskewError) as error:
        raise ArtefactError(
            f"the manifest and the tensors do not make an adapter ({error})",
            where=folder / MANIFEST,
            remedy=_KIND.again,
        ) from error


def refuse_foreign(folder: Path) -> None:
    """Raise OutputError unless an artefact, or nothing at all, stands at a place to write to."""
    _KIND.refuse_foreign(folder)


def _storable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """In this machine's byte order and of at most 64 bits, which is what the format knows."""
    return np.ascontiguousarray(array, dtype=np.dtype(f"{array.dtype.kind}{min(8, array.dtype.itemsize)}"))


def _get_adapter(manifest: Mapping[str, Any], tensors: Tensors) -> Adapter:
    delta = manifest["correction"]
    operator = BilinearOperator(
        _get_term(manifest["prior"], "prior", tensors),
        None if delta is None else _get_term(delta, "delta", tensors),
    )
    if operator.shape != (manifest["d_query"], manifest["d_document"]):
        raise ValueError(f"{manifest['d_query']} × {manifest['d_document']} dimensions against {operator.shape}")
    provenance = _get_provenance(manifest, tensors, operator.shape)
    spec = manifest.get("base")  # artefacts written before there was another base than the prior have no word of it
    base = None if spec is None else _get_term(spec, "base", tensors)
    return Adapter(operator, manifest["similarity"], provenance, float(manifest["scale"]), base)


def _put_term(term: Term, name: str, tensors: Tensors) -> dict[str, Any]:
    match term:
        case Identity():
            return {"kind": "identity", "shape": list(term.shape)}
        case Zero():
            return {"kind": "zero", "shape": list(term.shape)}
        case Dense():
            tensors[f"{name}.matrix"] = term.matrix
            return {"kind": "dense"}
        case Factored():
            tensors[f"{name}.left"], tensors[f"{name}.right"] = term.left, term.right
            return {"kind": "factored", "rank": int(term.left.shape[1])}
        case Stacked():
            parts = [_put_term(part, f"{name}.{place}", tensors) for place, part in enumerate(term.parts)]
            return {"kind": "stacked", "beside": term.beside, "parts": parts}
    raise ArtefactError(f"a term of type {type(term).__name__} cannot be saved")


def _get_term(spec: Mapping[str, Any], name: str, tensors: Tensors) -> Term:
    kind = spec["kind"]
    if kind == "dense":
        return Dense(tensors[f"{name}.matrix"])
    if kind == "factored":
        return Factored(tensors[f"{name}.left"], tensors[f"{name}.right"])
    if kind == "stacked":
        parts = spec["parts"]
        if not isinstance(parts, list) or any(part["kind"] == "stacked" for part in parts):
            raise ValueError(f"the {name} is a stack of no terms, or of stacks")
        held = tuple(_get_term(part, f"{name}.{place}", tensors) for place, part in enumerate(parts))
        return Stacked(held, bool(spec["beside"]))
    rows, columns = spec["shape"]
    if not all(type(size) is int and size > 0 for size in (rows, columns)):
        raise ValueError(f"the {name} has the shape {spec['shape']}")
    if kind == "identity" and rows == columns:
        return Identity(rows)
    if kind == "zero":
        return Zero(rows, columns)
    raise ValueError(f"the {name} is of kind {kind!r} and shape {spec['shape']}")


def _put_provenance(provenance: Provenance, tensors: Tensors) -> dict[str, Any]:
    canaries = {}
    for side, held in (("query", provenance.query_canaries), ("document", provenance.document_canaries)):
        if held is not None:
            tensors[f"canaries.{side}"] = held.vectors
            canaries[side] = {"ids": list(held.ids), "texts": list(held.texts)}
    if provenance.seen is not None:
        tensors.update({f"seen.{name}": getattr(provenance.seen, name) for name in _SEEN})
    return {
        "query_encoder": provenance.query_encoder,
        "document_encoder": provenance.document_encoder,
        "fingerprint": provenance.fingerprint,
        "canaries": canaries,
        "seen": None if provenance.seen is None else {name: len(getattr(provenance.seen, name)) for name in _SEEN},
        "record": dict(provenance.record),
    }


def _get_provenance(manifest: Mapping[str, Any], tensors: Tensors, shape: tuple[int, int]) -> Provenance:
    def canaries(side: str, dim: int) -> Canaries | None:
        held = manifest["canaries"].get(side)
        if held is None:
            return None
        found = Canaries(_texts(held["ids"]), tensors[f"canaries.{side}"], _texts(held["texts"]))
        if found.vectors.shape[1] != dim:
            raise ValueError(f"the canary vectors of the {side} side have {found.vectors.shape[1]} dimensions")
        return found

    def text(key: str) -> str:
        return _texts([manifest[key]])[0]

    def text_or_none(key: str) -> str | None:
        return None if manifest[key] is None else text(key)

    if not isinstance(manifest["record"], dict):
        raise TypeError("the record is not an object")
    return Provenance(
        query_encoder=text_or_none("query_encoder"),
        document_encoder=text_or_none("document_encoder"),
        query_canaries=canaries("query", shape[0]),
        document_canaries=canaries("document", shape[1]),
        fingerprint=text("fingerprint"),
        record=manifest["record"],
        seen=_get_seen(manifest.get("seen"), tensors),
    )


def _get_seen(counts: Mapping[str, Any] | None, tensors: Tensors) -> Seen | None:
    """What was fitted on; artefacts written before this was noted have no word of it."""
    if counts is None:
        return None
    held = {name: tensors[f"seen.{name}"] for name in _SEEN}
    for name, array in held.items():
        if len(array) != counts[name]:
            raise ValueError(f"{counts[name]} {name} were seen, and there are {len(array)}")
    return Seen(**held)


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{values!r} is not a list of texts")
    return tuple(values)
