"""A whole task in a folder: BEIR's layout with embeddings beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from askew.data import Dataset, EmbeddingSet, Qrels
from askew.errors import FormatError, ParameterError, name_some
from askew.formats.embeddings import read_embeddings
from askew.formats.jsonl import read_texts
from askew.formats.qrels import read_qrels
from askew.formats.text import PathLike, unreadable

__all__ = ["list_encoders", "list_splits", "read_dataset", "read_split"]

#: What judgements in ``qrels.tsv``, and embeddings straight in ``embeddings/``, are called.
_ROOT_SPLIT, _ROOT_ENCODER = "qrels", "embeddings"
_QUERIES, _DOCUMENTS = "queries", "docs"
_DENSE, _SPARSE = (".npy", ".safetensors"), ".npz"
_EXPECTED = (
    "Expected qrels/<split>.tsv (or qrels.tsv), embeddings/<encoder>/{docs,queries}.npy "
    "with {docs,queries}.ids, and, if wanted, corpus.jsonl and queries.jsonl"
)

_Sides = Mapping[str, Path]


def read_dataset(
    folder: PathLike,
    *,
    split: str | None = None,
    encoder: str | None = None,
    document_encoder: str | None = None,
    bad_rows: Literal["raise", "drop"] = "raise",
    texts: bool = True,
) -> Dataset:
    """Read a task: embeddings (mapped), the judgements of one split, and texts where there are any.

    Args:
        folder: holds ``qrels/<split>.tsv`` (or ``qrels.tsv``, the split ``"qrels"``) and
            ``embeddings/<encoder>/{docs,queries}.npy`` or ``.safetensors`` (or these straight in
            ``embeddings/``, the encoder ``"embeddings"``); perhaps ``corpus.jsonl`` and
            ``queries.jsonl``. Texts and judgements may be gzip, with ``.gz`` at the end.
        split: whose judgements; by default ``train``, or the only one there is.
        encoder: whose embeddings; by default the only one there is.
        document_encoder: whose embeddings of documents, if not those of `encoder`.
        bad_rows: ``"raise"`` on rows with NaN or infinite values, or ``"drop"`` them.
        texts: whether to read texts; without, the dataset has none, and is quicker to open.

    Raises:
        FormatError: the folder or something in it is missing or damaged.
        ParameterError: there is no such split or encoder, or several and none named.
        EmbeddingError: ids and rows differ in number, ids occur twice, or rows are not finite.
        MatchError: no judged query, or no judged document, has an embedding.

    >>> import tempfile, numpy as np
    >>> from askew.data import Qrels
    >>> from askew.formats import write_embeddings, write_qrels
    >>> with tempfile.TemporaryDirectory() as root:
    ...     base = Path(root) / "newts"
    ...     write_qrels(Qrels({"q": {"a": 1}}), base / "qrels" / "test.tsv")
    ...     for side, ids in (("queries", ["q"]), ("docs", ["a", "b"])):
    ...         vectors = EmbeddingSet(ids, np.eye(2)[: len(ids)])
    ...         write_embeddings(vectors, base / "embeddings" / "tiny" / f"{side}.npy")
    ...     data = read_dataset(base)
    >>> data.name, data.documents
    ('newts', EmbeddingSet(2 × 2 float64, encoder='tiny'))
    """
    root = _root(folder)
    judgements = _pick_split(root, split)
    queries, documents = _pick_encoders(root, encoder, document_encoder)
    return Dataset(
        _embeddings(root, queries, _QUERIES, bad_rows),
        _embeddings(root, documents, _DOCUMENTS, bad_rows),
        read_qrels(judgements),
        query_texts=_texts(root, "queries.jsonl", texts),
        document_texts=_texts(root, "corpus.jsonl", texts),
        name=root.resolve().name,
    )


def read_split(folder: PathLike, split: str | None = None) -> Qrels:
    """Read the judgements of one split alone; see `read_dataset`.

    Raises:
        FormatError: the folder has no judgements, or they are damaged.
        ParameterError: there is no such split, or several and none named.
    """
    return read_qrels(_pick_split(_root(folder), split))


def list_splits(folder: PathLike) -> tuple[str, ...]:
    """The splits of a folder that have judgements, in ascending order.

    Raises:
        FormatError: there is no such folder.
    """
    return tuple(sorted(_splits(_root(folder))))


def list_encoders(folder: PathLike) -> tuple[str, ...]:
    """The encoders of a folder with dense embeddings of queries or documents, in ascending order.

    Raises:
        FormatError: there is no such folder.
    """
    return tuple(sorted(_encoders(_root(folder))))


def _root(folder: PathLike) -> Path:
    root = Path(folder)
    if not _is_folder(root):
        problem = "it is a file, not a folder" if _is_file(root) else "there is no such folder"
        raise FormatError(problem, where=root, remedy=_EXPECTED)
    return root


# Unlike those of Path, these two are False, not an error, for a name too long or a folder forbidden.
def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112


def _inside(folder: Path) -> list[Path]:
    """What a folder holds, in ascending order; nothing if it is not there."""
    if not _is_folder(folder):
        return []
    try:
        return sorted(item for item in folder.iterdir() if not item.name.startswith("."))
    except OSError as error:
        raise unreadable(folder, error) from error


def _splits(root: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for file in [*_inside(root / "qrels"), root / "qrels.tsv", root / "qrels.tsv.gz"]:
        name = file.name.removesuffix(".gz")
        if name.endswith(".tsv") and _is_file(file):
            found.setdefault(name.removesuffix(".tsv") or _ROOT_SPLIT, file)
    return found


def _pick_split(root: Path, split: str | None) -> Path:
    found = _splits(root)
    if not found:
        raise _lacking("judgements", root)
    name = split
    if name is None:
        if "train" not in found and len(found) > 1:
            raise _ambiguous("splits", found, root, "--split NAME (split=...)")
        name = "train" if "train" in found else next(iter(found))
    if name not in found:
        raise _unknown("split", name, found, root)
    return found[name]


def _encoders(root: Path) -> dict[str, _Sides]:
    folder = root / "embeddings"
    places = {item.name: item for item in _inside(folder) if _is_folder(item)}
    sides = {name: _sides(place) for name, place in {**places, _ROOT_ENCODER: folder}.items()}
    return {name: held for name, held in sides.items() if held}


def _sides(place: Path) -> dict[str, Path]:
    """Query and document embeddings in a folder, where there are any; .npy before .safetensors."""
    held: dict[str, Path] = {}
    for side in (_QUERIES, _DOCUMENTS):
        for ending in _DENSE:
            if _is_file(place / f"{side}{ending}"):
                held.setdefault(side, place / f"{side}{ending}")
    return held


def _pick_encoders(root: Path, encoder: str | None, document_encoder: str | None) -> tuple[str, str]:
    """The names of the encoders of queries and of documents."""
    found = _encoders(root)
    for name in (encoder, document_encoder):
        if name is not None and name not in found:
            raise _sparse(name, found, root) or _unknown("encoder", name, found, root)
    if not found:
        raise _lacking("embeddings", root)
    needed = {_QUERIES} if document_encoder is not None else {_QUERIES, _DOCUMENTS}
    able = [name for name, sides in found.items() if needed <= set(sides)] or list(found)
    if encoder is None and len(able) > 1:
        raise _ambiguous("encoders", able, root, "--encoder NAME (encoder=...)")
    chosen = able[0] if encoder is None else encoder
    return chosen, chosen if document_encoder is None else document_encoder


def _embeddings(root: Path, encoder: str, side: str, bad_rows: Literal["raise", "drop"]) -> EmbeddingSet:
    found = _encoders(root)[encoder]
    if side not in found:
        raise FormatError(
            f"the encoder {encoder!r} has no embeddings of {'queries' if side == _QUERIES else 'documents'}",
            where=next(iter(found.values())).parent,
            remedy=f"Put {side}.npy and {side}.ids there, or name another encoder for that side",
        )
    # Straight in embeddings/, the encoder has no name but what the file itself says.
    name = None if encoder == _ROOT_ENCODER else encoder
    return read_embeddings(found[side], encoder=name, bad_rows=bad_rows)


def _texts(root: Path, name: str, wanted: bool) -> Mapping[str, str]:
    for file in (root / name, root / f"{name}.gz"):
        if wanted and _is_file(file):
            return MappingProxyType(read_texts(file))
    return MappingProxyType({})


def _ambiguous(what: str, names: Iterable[str], root: Path, option: str) -> ParameterError:
    listed = sorted(names)
    return ParameterError(
        f"there are {len(listed)} {what}: {name_some(listed, 20)}",
        where=root,
        remedy=f"Choose one with {option}",
    )


def _unknown(what: str, name: str, found: Iterable[str], root: Path) -> ParameterError:
    there = name_some(sorted(found), 20) or "none"
    return ParameterError(f"there is no {what} {name!r}", where=root, remedy=f"There: {there}")


def _sparse(name: str, found: Iterable[str], root: Path) -> FormatError | None:
    """The refusal of an encoder that is there with sparse vectors only, if it is one."""
    places = {item.name: item for item in _inside(root / "embeddings") if _is_folder(item)}
    files = [places[name] / f"{side}{_SPARSE}" for side in (_QUERIES, _DOCUMENTS)] if name in places else []
    if not any(_is_file(file) for file in files):
        return None
    return FormatError(
        f"the encoder {name!r} holds sparse vectors ({_SPARSE}), which are not supported here",
        where=places[name],
        remedy=f"Name a dense one; there: {name_some(sorted(found), 20) or 'none'}",
    )


def _lacking(what: str, root: Path) -> FormatError:
    found = name_some([item.name for item in _inside(root)], 10) or "nothing"
    return FormatError(f"there are no {what}", where=root, remedy=f"{_EXPECTED}; found: {found}")
