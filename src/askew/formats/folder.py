"""A whole task in a folder: BEIR's layout or that of Hugging Face's datasets, with embeddings beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from askew._checks import check_kind
from askew.data import Dataset, EmbeddingSet, Qrels, side_by_side
from askew.data.fusion import JOINT
from askew.errors import FormatError, ParameterError, name_some
from askew.formats._layout import Layout
from askew.formats._npz import is_sparse
from askew.formats._registry import MATRICES, TABLES
from askew.formats._sources import Source, inside, is_file, is_folder, sources_in
from askew.formats._vectors import LAYOUT as _VECTORS
from askew.formats.embeddings import read_embeddings
from askew.formats.qrels import read_qrels
from askew.formats.text import PathLike
from askew.formats.texts import LAYOUT as _TEXTS
from askew.formats.texts import read_texts

__all__ = [
    "encoder_of_documents",
    "list_encoders",
    "list_splits",
    "read_dataset",
    "read_side",
    "read_side_texts",
    "read_split",
]

Side = Literal["queries", "documents"]

#: What embeddings straight in ``embeddings/``, or beside it, are called.
_ROOT_ENCODER = "embeddings"
#: Judgements straight in the folder: the names that are looked for, the second only where nothing else is.
_ROOT_SPLITS = ("qrels",)
_LOOSE_SPLITS = ("train", "test", "dev", "validation", "valid", "labels", "pairs", "clicks")
_STEMS: Mapping[Side, tuple[str, ...]] = {"queries": ("queries",), "documents": ("docs", "documents", "corpus")}
_EXPECTED = (
    "Expected qrels/<split>.tsv (or qrels.tsv), embeddings/<encoder>/{docs,queries}.npy "
    "with {docs,queries}.ids, and, if wanted, corpus.jsonl and queries.jsonl; csv, jsonl, parquet and others do too"
)

_Sides = Mapping[Side, Source]


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
            ``embeddings/<encoder>/{docs,queries}.npy`` (or these straight in ``embeddings/``, or in
            the folder itself: the encoder ``"embeddings"``); perhaps ``corpus.jsonl`` and
            ``queries.jsonl``. Any of them may be of another format that `read_qrels`,
            `read_embeddings` and `read_texts` take, in shards, or a folder of shards; and where
            there are no qrels, ``train``, ``test``, ``dev``, ``validation``, ``labels``, ``pairs``
            or ``clicks`` in the folder, or what is in ``data/``, are the judgements. A judged query
            that is no query's id but the text of one stands for it.
        split: whose judgements; by default ``train``, or the only one there is.
        encoder: whose embeddings; by default the only one there is. ``"A+B"`` are queries embedded by both, side by
            side, and documents by A; an encoder's own name that can be read so too is refused.
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
    judgements = read_qrels(_pick_split(root, split))
    queries, documents = _pick_encoders(root, encoder, document_encoder)
    return Dataset(
        _embeddings(root, queries, "queries", bad_rows),
        _embeddings(root, documents, "documents", bad_rows),
        _by_text(judgements, root),
        query_texts=MappingProxyType(read_side_texts(root, "queries") if texts else {}),
        document_texts=MappingProxyType(read_side_texts(root, "documents") if texts else {}),
        name=root.resolve().name,
    )


def read_split(folder: PathLike, split: str | None = None) -> Qrels:
    """Read the judgements of one split alone; see `read_dataset`.

    Raises:
        FormatError: the folder has no judgements, or they are damaged.
        ParameterError: there is no such split, or several and none named.
    """
    root = _root(folder)
    return _by_text(read_qrels(_pick_split(root, split)), root)


def read_side(
    folder: PathLike, side: Side, encoder: str, *, bad_rows: Literal["raise", "drop"] = "raise"
) -> EmbeddingSet:
    """Read the embeddings of queries or of documents alone; see `read_dataset`.

    Raises:
        FormatError: the folder has none of that encoder, or they are damaged.
        ParameterError: there is no such encoder.
        EmbeddingError: ids and rows differ in number, ids occur twice, or rows are not finite.
    """
    root = _root(folder)
    found = _encoders(root)
    if not found:
        raise _lacking("embeddings", root)
    if encoder not in found and not (side == "queries" and _two(encoder, found)):
        raise _sparse(encoder, found, root) or _unknown("encoder", encoder, found, root)
    return _embeddings(root, encoder, side, bad_rows)


def read_side_texts(folder: PathLike, side: Side) -> dict[str, str]:
    """Read the texts of queries or of documents alone; empty if there are none.

    Raises:
        FormatError: the folder is missing, or the texts are damaged.
    """
    root = _root(folder)
    found = sources_in(root, TABLES, _STEMS[side])
    held = [found[stem] for stem in reversed(_STEMS[side]) if stem in found]
    # A table of vectors alone holds no texts; one of neither is refused when it is read.
    return next((read_texts(source) for source in held if _has(source, _TEXTS) or not _has(source, _VECTORS)), {})


def list_splits(folder: PathLike) -> tuple[str, ...]:
    """The splits of a folder that have judgements, in ascending order.

    Raises:
        FormatError: there is no such folder.
    """
    return tuple(sorted(_splits(_root(folder))))


def list_encoders(folder: PathLike, side: Side | None = None) -> tuple[str, ...]:
    """The encoders of a folder with dense embeddings of queries or documents, in ascending order.

    Args:
        folder: see `read_dataset`.
        side: those with embeddings of that side; of either by default.

    Raises:
        FormatError: there is no such folder.
    """
    return tuple(sorted(name for name, sides in _encoders(_root(folder)).items() if side is None or side in sides))


def encoder_of_documents(folder: PathLike, encoder: str) -> str:
    """Whose documents are searched with queries by `encoder`: A's for ``"A+B"``, else its own.

    Raises:
        FormatError: there is no such folder, or no embeddings.
        ParameterError: there is no such encoder.
    """
    return _pick_encoders(_root(folder), encoder, None)[1]


def _root(folder: PathLike) -> Path:
    check_kind(folder, (str, os.PathLike), "folder", "Give the path of a folder")
    root = Path(folder)
    if not is_folder(root):
        problem = "it is a file, not a folder" if is_file(root) else "there is no such folder"
        raise FormatError(problem, where=root, remedy=_EXPECTED)
    return root


def _splits(root: Path) -> dict[str, Source]:
    found = {**sources_in(root, TABLES, _ROOT_SPLITS, folders=False), **sources_in(root / "qrels", TABLES)}
    return found or {**sources_in(root / "data", TABLES), **sources_in(root, TABLES, _LOOSE_SPLITS)}


def _pick_split(root: Path, split: str | None) -> Source:
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
    places = {item.name: item for item in inside(folder) if is_folder(item) and not _is_side(item.name)}
    sides: dict[str, _Sides] = {name: _sides(place) for name, place in {**places, _ROOT_ENCODER: folder}.items()}
    if not any(sides.values()):  # tables straight in the folder may be texts, or both
        straight = _sides(root).items()
        sides = {_ROOT_ENCODER: {s: held for s, held in straight if held.ending not in TABLES or _has(held, _VECTORS)}}
    return {name: held for name, held in sides.items() if held}


def _is_side(name: str) -> bool:
    return any(name in stems for stems in _STEMS.values())


def _has(source: Source, layout: Layout) -> bool:
    """Whether a table names the columns of a layout; False if it is damaged.

    Raises:
        MissingExtraError: what reads it is not installed.
    """
    try:
        columns = source.format.columns(source.parts[0]) if source.format else ()
    except FormatError:
        return False
    return all(role in layout.named(columns) for role in layout.needed)


def _sides(place: Path) -> dict[Side, Source]:
    """Query and document embeddings in a folder, where there are any."""
    held: dict[Side, Source] = {}
    for side, stems in _STEMS.items():
        found = sources_in(place, MATRICES, stems)
        dense = [found[stem] for stem in stems if stem in found and not _holds_sparse(found[stem])]
        if dense:
            held[side] = dense[0]
    return held


def _holds_sparse(source: Source) -> bool:
    return source.ending == ".npz" and is_sparse(source.parts[0])


def _pick_encoders(root: Path, encoder: str | None, document_encoder: str | None) -> tuple[str, str]:
    """The names of the encoders of queries and of documents."""
    found = _encoders(root)
    both = None if encoder is None else _two(encoder, found)
    if encoder is not None and both is not None:
        _, document_encoder = _pick_encoders(root, both[0], document_encoder)
        return encoder, document_encoder
    for name in (encoder, document_encoder):
        if name is not None and name not in found:
            raise _sparse(name, found, root) or _unknown("encoder", name, found, root)
    if not found:
        raise _lacking("embeddings", root)
    needed: set[Side] = {"queries"} if document_encoder is not None else {"queries", "documents"}
    able = [name for name, sides in found.items() if needed <= set(sides)] or list(found)
    if encoder is None and len(able) > 1:
        raise _ambiguous("encoders", able, root, "--encoder NAME (encoder=...)")
    chosen = able[0] if encoder is None else encoder
    return chosen, chosen if document_encoder is None else document_encoder


def _two(name: str, found: Iterable[str]) -> tuple[str, str] | None:
    """The two encoders that a name like "A+B" stands for; None if it is one's own name.

    Raises:
        ParameterError: it is one's own name as well as two others', or there are several such pairs.
    """
    known, parts = set(found), name.split(JOINT)
    pairs = [(JOINT.join(parts[:place]), JOINT.join(parts[place:])) for place in range(1, len(parts))]
    there = [pair for pair in pairs if known.issuperset(pair)]
    if len(there) + (name in known) > 1:
        first, second = there[0]
        other = f"the encoder {name!r}" if name in known else f"{there[1][0]!r} and {there[1][1]!r}"
        raise ParameterError(
            f"{name!r} may be {other}, or {first!r} and {second!r} side by side",
            where="encoder",
            remedy=f"Rename the folder of embeddings whose name holds a {JOINT!r}",
        )
    return there[0] if there else None


def _embeddings(root: Path, encoder: str, side: Side, bad_rows: Literal["raise", "drop"]) -> EmbeddingSet:
    encoders = _encoders(root)
    both = _two(encoder, encoders)
    if both is not None:
        own, other = (_embeddings(root, name, side, bad_rows) for name in both)
        return side_by_side(own, other)
    found = encoders[encoder]
    if side not in found:
        stem = _STEMS[side][0]
        raise FormatError(
            f"the encoder {encoder!r} has no embeddings of {side}",
            where=next(iter(found.values())).path.parent,
            remedy=f"Put {stem}.npy and {stem}.ids there, or name another encoder for that side",
        )
    # Straight in embeddings/, the encoder has no name but what the file itself says.
    name = None if encoder == _ROOT_ENCODER else encoder
    return read_embeddings(found[side], encoder=name, bad_rows=bad_rows)


def _by_text(qrels: Qrels, root: Path) -> Qrels:
    """Judged queries that are given by their text, called by their id: the first in the file with that text.

    Texts are read only if some judged query holds a space.
    """
    if not any(" " in query for query in qrels.queries):
        return qrels
    texts = read_side_texts(root, "queries")
    ids = {text: name for name, text in reversed(texts.items())}
    named = {query: query if query in texts else ids.get(query, query) for query in qrels.queries}
    if all(query == name for query, name in named.items()):
        return qrels
    grades: dict[str, dict[str, float]] = {}
    for query, name in named.items():
        grades[name] = {**qrels[query], **grades.get(name, {})}
    return Qrels(grades)


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
    places = {item.name: item for item in inside(root / "embeddings") if is_folder(item)}
    stems = [stem for held in _STEMS.values() for stem in held]
    if name not in places or not any(map(_holds_sparse, sources_in(places[name], [".npz"], stems).values())):
        return None
    return FormatError(
        f"the encoder {name!r} holds sparse vectors (.npz), which are not supported here",
        where=places[name],
        remedy=f"Name a dense one; there: {name_some(sorted(found), 20) or 'none'}",
    )


def _lacking(what: str, root: Path) -> FormatError:
    found = name_some([item.name for item in inside(root)], 10) or "nothing"
    return FormatError(f"there are no {what}", where=root, remedy=f"{_EXPECTED}; found: {found}")
