"""The demo's data, which every machine has: Python's standard library, from docstring to function.

A pair is a function and what its docstring says of it:

* Files: every ``.py`` file of the standard library, in the order of its relative path, outside
  folders of tests, of installed packages and of the programs that come along (idlelib and its like).
* Functions: every function and method, nested and asynchronous ones too, with a docstring and at
  least one more statement, in source order.
* Query: the docstring's first paragraph on one line, of at least four words.
* Document: the function without its docstring and decorators, as `ast.unparse` writes it, its first
  1,500 characters.
* A pair whose query or document occurred before is dropped, so that every query has one relevant
  document and no document answers two queries.
* As encoded: lower case on both sides; documents on one line, with spaces for underscores and
  between the words of camel case. Without this the base is weaker than it need be, and an adapter
  would be praised for mending it.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import logging
import os
import re
import sysconfig
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from askew._atomic import writing_file
from askew._blocks import blocks
from askew.data import Dataset, EmbeddingSet, Qrels
from askew.encoders import WordLlamaEncoder
from askew.errors import EmbeddingError, InputError

if TYPE_CHECKING:
    from askew.protocols import Encoder, Progress

__all__ = ["Pair", "stdlib_dataset", "stdlib_pairs"]

logger = logging.getLogger(__name__)

_NAME = "python-stdlib"
_LEFT_OUT = frozenset({"site-packages", "dist-packages", "__pycache__", "test", "tests"}) | frozenset(
    {"ensurepip", "idlelib", "lib2to3", "turtledemo"}
)
_FEWEST_WORDS = 4
_MOST_CHARACTERS = 1500
_BATCH = 512  # texts encoded between two calls of progress

# Between a small letter or digit and a capital, and before the last capital of several: HTTP|Server.
_WORD_EDGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

# What `np.load` lets through when the bytes of a file are not what it wrote, found by changing them.
_MISREAD = (OSError, ValueError, EOFError, MemoryError, SyntaxError, TypeError, tokenize.TokenError)

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Pair:
    """A docstring's first paragraph and the function that it describes.

    Attributes:
        query_id: ``q:`` and the document's id.
        document_id: the function's qualified name, such as ``argparse.ArgumentParser.parse_args``;
            one that occurs again carries ``#2``, ``#3`` and so on.
        query: the paragraph, on one line.
        document: the function's source without docstring and decorators, up to 1,500 characters.
        encoded_document: the document as the encoder sees it.
    """

    query_id: str
    document_id: str
    query: str
    document: str
    encoded_document: str

    @property
    def encoded_query(self) -> str:
        """The query as the encoder sees it."""
        return self.query.lower()


def stdlib_pairs(folder: Path | None = None, *, progress: Progress | None = None) -> list[Pair]:
    r"""Read the pairs of docstrings and functions from a folder of Python source.

    Files that cannot be read as Python are skipped; their number is logged at level DEBUG.

    Args:
        folder: where to look; the running Python's standard library by default.
        progress: told after each file how many are done.

    Returns:
        The n pairs, in the order of file and line. Neither a query nor a document occurs twice.

    Raises:
        InputError: there is no such folder.

    >>> import tempfile
    >>> code = 'def parseURL(text):\n    "Split a URL into parts."\n    return text.split("/")\n'
    >>> with tempfile.TemporaryDirectory() as name:
    ...     _ = Path(name, "web.py").write_text(code)
    ...     pair, = stdlib_pairs(Path(name))
    >>> pair.query_id, pair.encoded_document
    ('q:web.parseURL', "def parse url(text): return text.split('/')")
    """
    root = _standard_library() if folder is None else Path(folder)
    if not root.is_dir():
        raise InputError("there is no such folder", where=root, remedy="Name a folder of Python source")
    pairs: list[Pair] = []
    queries: set[str] = set()
    documents: set[str] = set()
    names: Counter[str] = Counter()
    for name, query, document in _documented(root, progress):
        if query in queries or document in documents:
            continue
        queries.add(query)
        documents.add(document)
        names[name] += 1
        document_id = name if names[name] == 1 else f"{name}#{names[name]}"
        pairs.append(Pair(f"q:{document_id}", document_id, query, document, _encoded(document)))
    return pairs


def stdlib_dataset(
    *, encoder: Encoder | None = None, cache: Path | None = None, progress: Progress | None = None
) -> Dataset:
    """The standard library as a retrieval task: find the function that a docstring describes.

    Args:
        encoder: what embeds both sides; WordLlama at 256 dimensions by default.
        cache: a folder that keeps the embeddings under a hash of encoder and texts (``.npy`` with
            queries first, then documents, and ``.ids``). A file there that cannot be used is made
            again.
        progress: told how many files are read, then how many of the 2n texts are embedded.

    Returns:
        n queries and n documents of (n, d) embeddings, one judgement a query, and all texts.

    Raises:
        MissingExtraError: the default encoder is not installed.
        InputError: this Python has no source of its standard library.
        OutputError: the cache cannot be written.

    >>> stdlib_dataset().queries  # doctest: +SKIP
    EmbeddingSet(5,222 × 256 float32, encoder='wordllama-256')
    """
    # Before the reading, so that a missing package is told at once.
    encoder = WordLlamaEncoder() if encoder is None else encoder
    pairs = stdlib_pairs(progress=progress)
    if not pairs:
        raise InputError(
            "this Python has no source of its standard library",
            where=_standard_library(),
            remedy="Use a Python that comes with its .py files, or data of your own",
        )
    matrix = _matrix(pairs, encoder, cache=cache, progress=progress)
    query_ids, document_ids = [pair.query_id for pair in pairs], [pair.document_id for pair in pairs]
    return Dataset(
        EmbeddingSet(query_ids, matrix[: len(pairs)], encoder=encoder.name, source=f"{_NAME} queries"),
        EmbeddingSet(document_ids, matrix[len(pairs) :], encoder=encoder.name, source=f"{_NAME} documents"),
        Qrels({pair.query_id: {pair.document_id: 1.0} for pair in pairs}),
        query_texts={pair.query_id: pair.query for pair in pairs},
        document_texts={pair.document_id: pair.document for pair in pairs},
        name=_NAME,
    )


def _standard_library() -> Path:
    return Path(sysconfig.get_path("stdlib"))


def _documented(root: Path, progress: Progress | None) -> Iterator[tuple[str, str, str]]:
    """Qualified name, query and document of every function that has both, file by file."""
    files = _source_files(root)
    skipped = 0
    for done, file in enumerate(files, start=1):
        try:
            found = _in_file(root, file)
        # SyntaxError covers unknown codings, ValueError undecodable bytes and, in a file, a zero byte.
        except (SyntaxError, ValueError, RecursionError, OSError) as error:
            skipped += 1
            logger.debug("%s is skipped: %s", file, error)
        else:
            yield from found
        if progress is not None:
            progress(done, len(files))
    logger.debug("%d of %d files under %s were skipped", skipped, len(files), root)


def _source_files(root: Path) -> list[PurePath]:
    """Relative paths of the files to read, in an order that no file system decides."""
    found: list[PurePath] = []
    for folder, inner, files in os.walk(root):
        inner[:] = [name for name in inner if name not in _LEFT_OUT]
        relative = PurePath(folder).relative_to(root)
        found += [relative / name for name in files if name.endswith(".py")]
    return sorted(found, key=PurePath.as_posix)


def _in_file(root: Path, file: PurePath) -> list[tuple[str, str, str]]:
    with tokenize.open(root / file) as handle:
        source = handle.read()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the compiler, about code that is not the user's
        tree = ast.parse(source)
    named = ((name, _query(function), function) for name, function in _functions(tree, _module(file)))
    return [(name, query, _document(function)) for name, query, function in named if query]


def _module(file: PurePath) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _functions(node: ast.AST, name: str) -> Iterator[tuple[str, _Function]]:
    """Every function below a node with its qualified name, in source order."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            yield f"{name}.{child.name}", child
        if isinstance(child, _Function | ast.ClassDef):
            yield from _functions(child, f"{name}.{child.name}")
        elif not isinstance(child, ast.expr):  # no expression holds a function with a name
            yield from _functions(child, name)


def _query(function: _Function) -> str | None:
    """The docstring's first paragraph, or None where it or the function is too short."""
    docstring = ast.get_docstring(function)
    if docstring is None or len(function.body) < 2:
        return None
    words = re.split(r"\n\s*\n", docstring.strip(), maxsplit=1)[0].split()
    return " ".join(words) if len(words) >= _FEWEST_WORDS else None


def _document(function: _Function) -> str:
    bare = copy.copy(function)
    bare.body = function.body[1:]
    bare.decorator_list = []
    return ast.unparse(bare)[:_MOST_CHARACTERS]


def _encoded(document: str) -> str:
    r"""A document for the encoder.

    >>> _encoded("def HTTPServer(max_size):\n    parseURLNow")
    'def http server(max size): parse url now'
    """
    return " ".join(_WORD_EDGE.sub(" ", document.replace("_", " ")).split()).lower()


def _matrix(
    pairs: Sequence[Pair],
    encoder: Encoder,
    *,
    cache: Path | None,
    progress: Progress | None,
) -> npt.NDArray[Any]:
    """(2n, d) embeddings, queries first, from the cache where it has them."""
    texts = [pair.encoded_query for pair in pairs] + [pair.encoded_document for pair in pairs]
    if cache is None:
        return _embed(texts, encoder, progress)
    ids = [pair.query_id for pair in pairs] + [pair.document_id for pair in pairs]
    path = Path(cache) / f"{_NAME}-{_fingerprint([encoder.name, str(encoder.dim), *ids, *texts])}.npy"
    matrix = _read(path, ids, encoder.dim)
    if matrix is None:
        matrix = _embed(texts, encoder, progress)
        _write(path, ids, matrix)
    return matrix


def _embed(texts: list[str], encoder: Encoder, progress: Progress | None) -> npt.NDArray[Any]:
    rows = []
    for part in blocks(len(texts), _BATCH):
        rows.append(encoder.encode(texts[part]))
        if progress is not None:
            progress(part.stop, len(texts))
    return np.concatenate(rows)


def _fingerprint(texts: Sequence[str]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)  # the length keeps ["ab"] and ["a", "b"] apart
    return digest.hexdigest()


def _read(path: Path, ids: list[str], dim: int | None) -> npt.NDArray[Any] | None:
    """Embeddings from the cache; None if they are not there or not whole."""
    try:
        matrix = np.load(path, allow_pickle=False)
        kept = path.with_suffix(".ids").read_text(encoding="utf-8").splitlines()
        EmbeddingSet(ids, matrix)
    except FileNotFoundError:
        return None
    except (*_MISREAD, EmbeddingError) as error:
        logger.debug("%s is made again: %s", path, error)
        return None
    return matrix if kept == ids and dim in (None, matrix.shape[1]) else None


def _write(path: Path, ids: list[str], matrix: npt.NDArray[Any]) -> None:
    with writing_file(path) as temporary:
        np.save(temporary, matrix, allow_pickle=False)
    with writing_file(path.with_suffix(".ids")) as temporary:
        temporary.write_text("".join(f"{name}\n" for name in ids), encoding="utf-8")
