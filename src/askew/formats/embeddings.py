"""Embeddings in files: ids and vectors, from every format that holds a matrix."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from askew._atomic import writing_file
from askew.data import EmbeddingSet
from askew.errors import EmbeddingError, FormatError, OutputError, counted
from askew.formats._columns import check_names, shown
from askew.formats._json import id_list
from askew.formats._mapped import Held
from askew.formats._registry import FORMATS, MATRICES, split_name
from askew.formats._sources import Source, is_file, is_stream, locate
from askew.formats._tensors import write_tensor
from askew.formats.encoder_card import name_beside
from askew.formats.text import PathLike, read_lines, read_whole, write_lines
from askew.linalg.fixed import FloatArray

__all__ = ["embedding_lines", "read_embeddings", "write_embedding_blocks", "write_embeddings"]

_SIDECARS = (".ids", ".ids.txt", ".json")
_UNSAFE = re.compile(r"[\t\r\n\0]|\A\s*\Z")
_UNSAFE_WHY = "it is blank or holds a tab or a line ending"
# What people have instead, and how to get from there to here.
_OTHERS = {
    ".pt": "Save it with numpy.save(path, tensor.numpy()); pickles are not opened",
    ".pth": "Save it with numpy.save(path, tensor.numpy()); pickles are not opened",
    ".bin": "Save it with numpy.save(path, tensor.numpy()); pickles are not opened",
    ".pkl": "Save it with numpy.save; pickles are not opened",
    ".pickle": "Save it with numpy.save; pickles are not opened",
}


def read_embeddings(
    path: PathLike | Source,
    *,
    ids: Iterable[object] | PathLike | None = None,
    encoder: str | None = None,
    bad_rows: Literal["raise", "drop"] = "raise",
) -> EmbeddingSet:
    """Read embeddings; a matrix in one ``.npy`` or ``.safetensors`` file stays there, mapped.

    Args:
        path: a file of one of these formats, a folder of shards, or the name that shards share
            (``docs.npy`` for ``docs-00000-of-00002.npy`` and so on), which are read into memory:
            ``.npy``, (n, d); ``.safetensors`` with a tensor called ``embeddings`` or only one with
            two axes; ``.npz`` likewise, with its ids in ``ids`` if wanted; ``.parquet``, ``.arrow``
            and ``.feather`` with a column of lists called ``embedding`` or ``vector``; ``.jsonl``
            likewise; ``.csv`` and ``.tsv`` of an id and d numbers, or likewise. The values are
            float16, float32 or float64; those of text become float64. ``-`` is standard input, and
            JSON lines, as is a pipe whose name has none of these endings.
        ids: n ids, or the path of a file of them (one a line, or a JSON list). By default those in
            the file, else in ``<stem>.ids``, ``<stem>.ids.txt`` or ``<stem>.json`` beside the
            matrix: for all shards, or for each. In a file of lines only the line ending is taken
            off an id, and blank lines are skipped.
        encoder: the name of the encoder; by default that in a safetensors' metadata, or in the ``encoder.json``
            that `askew embed` writes beside the vectors.
        bad_rows: ``"raise"`` on rows with NaN or infinite values, or ``"drop"`` them.

    Raises:
        FormatError: a file is missing, damaged, cut short or holds something else; or there are no
            ids.
        EmbeddingError: ids and rows differ in number, ids occur twice, or rows are not finite.
        MissingExtraError: parquet or Arrow without pyarrow.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "docs.npy"
    ...     np.save(file, np.eye(2, dtype=np.float16))
    ...     read_embeddings(file, ids=["a", "b"], encoder="demo")
    EmbeddingSet(2 × 2 float16, encoder='demo')
    """
    source = path if isinstance(path, Source) else locate(path)
    given = _given_ids(ids)
    held = _held(source, named=given is not None)
    names = given if given is not None else list(held.ids or ())
    # Bytes from outside may hold signalling NaNs, at which a cast warns; they are refused by row anyway.
    with np.errstate(invalid="ignore"):
        if encoder is None:
            encoder = held.encoder or name_beside(source.path, held.matrix.shape[1])
        return EmbeddingSet(names, held.matrix, encoder=encoder, bad_rows=bad_rows, source=source.path)


def write_embeddings(embeddings: EmbeddingSet, path: PathLike) -> None:
    """Write embeddings, atomically; the dtype is kept, but in ``.jsonl``.

    As ``.npy`` the ids go to ``<stem>.ids`` beside it, which is written first, and the encoder's
    name is not kept. As ``.safetensors`` ids and encoder are in the metadata of the one file. As
    ``.jsonl`` or ``.jsonl.gz`` each line is an object of ``id`` and ``embedding``.

    Args:
        embeddings: n × d.
        path: a name that ends in ``.npy``, ``.safetensors``, ``.jsonl`` or ``.jsonl.gz``.

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
    ending = split_name(path.name)[1]
    if ending not in (".npy", ".safetensors", ".jsonl"):
        raise OutputError(
            f"embeddings are not written as {ending or 'a name without an ending'}",
            where=path,
            remedy="Name a .npy, .safetensors or .jsonl file",
        )
    check_names(embeddings.ids, path, _UNSAFE, _UNSAFE_WHY)
    if ending == ".npy":
        write_lines(path.with_suffix(".ids"), embeddings.ids)
        with writing_file(path) as temporary, temporary.open("wb") as handle:
            np.save(handle, embeddings.matrix, allow_pickle=False)
        return
    if ending == ".jsonl":
        write_lines(path, embedding_lines(embeddings, where=path))
        return
    metadata = {"ids": json.dumps(embeddings.ids, separators=(",", ":"), ensure_ascii=False)}
    if embeddings.encoder is not None:
        metadata["encoder"] = embeddings.encoder
    write_tensor(path, embeddings.matrix, metadata)


def write_embedding_blocks(
    ids: Sequence[str], blocks: Iterable[FloatArray], path: PathLike, *, dim: int, dtype: Literal["float16", "float32"]
) -> None:
    """Write embeddings block by block as ``.npy``, with their ids beside it; the whole is never in memory.

    Args:
        ids: n ids.
        blocks: (b, dim) rows; n of them together.
        path: a name that ends in ``.npy``.
        dim: d.
        dtype: what is written.

    Raises:
        EmbeddingError: a value is too large for float16, or rows and ids differ in number.
        OutputError: the place cannot be written to, or an id is blank or holds a line ending.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "docs.npy"
    ...     write_embedding_blocks(["a", "b"], [np.ones((1, 3)), np.zeros((1, 3))], file, dim=3, dtype="float16")
    ...     read_embeddings(file)
    EmbeddingSet(2 × 3 float16)
    """
    path = Path(path)
    check_names(ids, path, _UNSAFE, _UNSAFE_WHY)
    write_lines(path.with_suffix(".ids"), ids)
    little = np.dtype(dtype).newbyteorder("<")
    header = {"descr": little.str, "fortran_order": False, "shape": (len(ids), dim)}
    written = 0
    with writing_file(path) as temporary, temporary.open("wb") as handle:
        np.lib.format.write_array_header_1_0(handle, header)
        for block in blocks:
            with np.errstate(over="ignore"):
                rows = np.ascontiguousarray(block, dtype=little)
            if not np.isfinite(rows).all():
                raise EmbeddingError(
                    f"a value of the rows after {written:,} is not finite as {dtype}",
                    where=path,
                    remedy="Write float32 (--dtype float32)",
                )
            handle.write(rows.tobytes())
            written += len(rows)
        if written != len(ids):
            raise EmbeddingError(
                f"{counted(len(ids), 'id')} for {counted(written, 'row')}", where=path, remedy="Give one id a row"
            )


def embedding_lines(embeddings: EmbeddingSet, *, where: object = "embeddings") -> Iterator[str]:
    """The lines of embeddings as JSON, an object each, without line ends; what they say reads back the same.

    Raises:
        OutputError: an id is blank or holds a tab or a line ending; `where` names the place in the
            message.

    >>> list(embedding_lines(EmbeddingSet(["a"], np.array([[0.5, 1.0]]))))
    ['{"id":"a","embedding":[0.5,1.0]}']
    """
    check_names(embeddings.ids, where, _UNSAFE, _UNSAFE_WHY)
    for name, row in zip(embeddings.ids, embeddings.matrix, strict=True):
        record = {"id": name, "embedding": row.astype(np.float64).tolist()}
        yield json.dumps(record, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _given_ids(ids: Iterable[object] | PathLike | None) -> list[object] | None:
    if ids is None:
        return None
    if isinstance(ids, (str, os.PathLike)):
        return _read_ids(Path(ids))
    return list(ids)


def _held(source: Source, *, named: bool) -> Held:
    """The matrix of all parts, (n, d), and its ids, unless they are named elsewhere."""
    source.check()
    form = FORMATS[".jsonl"] if source.format is None and is_stream(source.path) else source.format
    if form is None or form.matrix is None:
        raise FormatError(
            f"embeddings are not read from {source.ending or 'a name without an ending'}",
            where=source.path,
            remedy=_OTHERS.get(source.ending, f"Give a file that ends in {', '.join(MATRICES)}"),
        )
    parts = [form.matrix(part) for part in source.parts]
    if not named:
        parts = [_with_ids(held, part) for held, part in zip(parts, source.parts, strict=True)]
        if all(held.ids is None for held in parts):
            whole = Held(_joined(parts, source), _sidecar(source.path.with_name(source.stem)), parts[0].encoder)
            if whole.ids is None:
                raise _lacking(source.path, source.stem, len(whole.matrix))
            return whole
        for held, part in zip(parts, source.parts, strict=True):
            if held.ids is None:
                raise _lacking(part, split_name(part.name)[0], len(held.matrix))
            if len(parts) > 1 and len(held.ids) != len(held.matrix):
                raise FormatError(
                    f"{counted(len(held.ids), 'id')} for {counted(len(held.matrix), 'row')}",
                    where=part,
                    remedy="Give one id a row, in the order of the rows",
                )
    return Held(_joined(parts, source), [name for held in parts for name in held.ids or ()], parts[0].encoder)


def _joined(parts: Sequence[Held], source: Source) -> FloatArray:
    """The matrices of all parts, one below the other."""
    first = parts[0].matrix
    for held, part in zip(parts, source.parts, strict=True):
        if held.matrix.shape[1] != first.shape[1]:
            raise FormatError(
                f"its rows have {held.matrix.shape[1]:,} values, and those of {source.parts[0].name} "
                f"{first.shape[1]:,}",
                where=part,
                remedy="Put shards of one encoder together",
            )
    return first if len(parts) == 1 else np.concatenate([held.matrix for held in parts])


def _with_ids(held: Held, part: Path) -> Held:
    if held.refused is not None:
        raise held.refused
    return held if held.ids is not None else replace(held, ids=_sidecar(part.with_name(split_name(part.name)[0])))


def _sidecar(stem: Path) -> list[object] | None:
    """The ids in a file that is called as the matrix is, if there is one."""
    files = (stem.with_name(stem.name + ending) for ending in _SIDECARS)
    return next((_read_ids(file) for file in files if is_file(file)), None)


def _lacking(where: Path, stem: str, rows: int) -> FormatError:
    return FormatError(
        "there are no ids for its rows",
        where=where,
        remedy=f"Put {rows:,} ids, one a line, in {stem}.ids beside it, or give them (ids=...)",
    )


def _read_ids(path: Path) -> list[object]:
    if path.suffix.lower() == ".json":
        return id_list(read_whole(path), str(path))
    ids: list[object] = []
    for line, text in read_lines(path):
        if "\t" in text:
            raise FormatError(
                f"the id {shown(text)} holds a tab", where=f"{path}:{line}", remedy="Expected one id a line, alone"
            )
        ids.append(text)
    return ids
