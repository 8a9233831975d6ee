"""Embeddings in files: ``.npy`` with ids beside it, or ``.safetensors`` with ids inside."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np

from askew._atomic import writing_file
from askew.data import EmbeddingSet
from askew.errors import FormatError, OutputError
from askew.formats._columns import check_names
from askew.formats._npy import map_npy
from askew.formats._tensors import map_tensor, write_tensor
from askew.formats.jsonl import json_id, parse_json
from askew.formats.text import PathLike, read_lines, read_whole, write_lines

__all__ = ["read_embeddings", "write_embeddings"]

_SIDECARS = (".ids", ".ids.txt", ".json")
_UNSAFE = re.compile(r"[\r\n\0]|\A\s*\Z")
# What people have instead, and how to get from there to here.
_OTHERS = {
    ".npz": "Save the matrix alone with numpy.save; sparse matrices are not supported",
    ".pt": "Save it with numpy.save(path, tensor.numpy()); pickles are not opened",
    ".pth": "Save it with numpy.save(path, tensor.numpy()); pickles are not opened",
    ".bin": "Save it with numpy.save(path, tensor.numpy()); pickles are not opened",
    ".pkl": "Save it with numpy.save; pickles are not opened",
    ".pickle": "Save it with numpy.save; pickles are not opened",
}


def read_embeddings(
    path: PathLike,
    *,
    ids: Iterable[object] | PathLike | None = None,
    encoder: str | None = None,
    bad_rows: Literal["raise", "drop"] = "raise",
) -> EmbeddingSet:
    """Read embeddings; the matrix stays in its file, mapped.

    Args:
        path: ``.npy``, (n, d), or ``.safetensors`` with a tensor called ``embeddings`` or only one
            with two axes; of float16, float32 or float64.
        ids: n ids, or the path of a file of them (one a line, or a JSON list). By default those in
            a safetensors' metadata (``ids``, a JSON list), else in ``<stem>.ids``,
            ``<stem>.ids.txt`` or ``<stem>.json`` beside the matrix. In a file of lines only the
            line ending is taken off an id, and blank lines are skipped.
        encoder: the name of the encoder; by default that in a safetensors' metadata.
        bad_rows: ``"raise"`` on rows with NaN or infinite values, or ``"drop"`` them.

    Raises:
        FormatError: a file is missing, damaged, cut short or holds something else; or there are no
            ids.
        EmbeddingError: ids and rows differ in number, ids occur twice, or rows are not finite.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "docs.npy"
    ...     np.save(file, np.eye(2, dtype=np.float16))
    ...     read_embeddings(file, ids=["a", "b"], encoder="demo")
    EmbeddingSet(2 × 2 float16, encoder='demo')
    """
    path = Path(path)
    suffix = path.suffix.lower()
    given = _given_ids(ids)
    if suffix == ".npy":
        matrix, metadata = map_npy(path), {}
    elif suffix == ".safetensors":
        held = map_tensor(path)
        matrix, metadata = held.matrix, dict(held.metadata)
    else:
        raise FormatError(
            f"embeddings are not read from {suffix or 'a name without an ending'}",
            where=path,
            remedy=_OTHERS.get(suffix, "Give a .npy or .safetensors file"),
        )
    if given is None and "ids" in metadata:
        given = _id_list(metadata["ids"], f"{path} (metadata 'ids')")
    names = _sidecar_ids(path, len(matrix)) if given is None else given
    encoder = metadata.get("encoder") if encoder is None else encoder
    # Bytes from outside may hold signalling NaNs, at which a cast warns; they are refused by row anyway.
    with np.errstate(invalid="ignore"):
        return EmbeddingSet(names, matrix, encoder=encoder, bad_rows=bad_rows, source=path)


def write_embeddings(embeddings: EmbeddingSet, path: PathLike) -> None:
    """Write embeddings, atomically; the dtype is kept.

    As ``.npy`` the ids go to ``<stem>.ids`` beside it, which is written first, and the encoder's
    name is not kept. As ``.safetensors`` ids and encoder are in the metadata of the one file.

    Args:
        embeddings: n × d.
        path: a name that ends in ``.npy`` or ``.safetensors``.

    Raises:
        OutputError: the place cannot be written to, the ending is another, or an id is blank or
            holds a line ending.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "docs.safetensors"
    ...     write_embeddings(EmbeddingSet(["a", "b"], np.eye(2), encoder="demo"), file)
    ...     read_embeddings(file)
    EmbeddingSet(2 × 2 float64, encoder='demo')
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".npy", ".safetensors"):
        raise OutputError(
            f"embeddings are not written as {suffix or 'a name without an ending'}",
            where=path,
            remedy="Name a .npy or .safetensors file",
        )
    check_names(embeddings.ids, path, _UNSAFE, "it is blank or holds a line ending")
    if suffix == ".npy":
        write_lines(path.with_suffix(".ids"), embeddings.ids)
        with writing_file(path) as temporary, temporary.open("wb") as handle:
            np.save(handle, embeddings.matrix, allow_pickle=False)
        return
    metadata = {"ids": json.dumps(embeddings.ids, separators=(",", ":"), ensure_ascii=False)}
    if embeddings.encoder is not None:
        metadata["encoder"] = embeddings.encoder
    write_tensor(path, embeddings.matrix, metadata)


def _given_ids(ids: Iterable[object] | PathLike | None) -> list[object] | None:
    if ids is None:
        return None
    if isinstance(ids, (str, os.PathLike)):
        return _read_ids(Path(ids))
    return list(ids)


def _sidecar_ids(path: Path, rows: int) -> list[object]:
    for ending in _SIDECARS:
        beside = path.with_name(path.stem + ending)
        if os.path.isfile(beside):  # noqa: PTH113 - unlike Path.is_file, False for a name too long
            return _read_ids(beside)
    raise FormatError(
        "there are no ids for its rows",
        where=path,
        remedy=f"Put {rows:,} ids, one a line, in {path.stem}.ids beside it, or give them (ids=...)",
    )


def _read_ids(path: Path) -> list[object]:
    if path.suffix.lower() == ".json":
        return _id_list(read_whole(path), str(path))
    return [text for _, text in read_lines(path)]


def _id_list(text: str, where: str) -> list[object]:
    values = parse_json(text, where)
    if not isinstance(values, list):
        raise FormatError("it is not a list of ids", where=where, remedy='Expected JSON such as ["d1", "d2"]')
    return [json_id(value, f"{where}, item {position}") for position, value in enumerate(values, start=1)]
