"""MAIR's files: many retrieval tasks, each with an instruction to every query, read from a local folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from askew.data import Qrels
from askew.errors import FormatError, LabelError, ParameterError, name_some
from askew.formats._json import SURROGATES, json_id, kind_of, parse_json
from askew.formats.text import PathLike, read_lines

__all__ = ["TEMPLATES", "MairTask", "Template", "is_mair", "list_mair", "read_mair"]

Template = Literal["instruct", "joined", "none"]
#: How an instruction stands before its query: as Qwen's and BGE's encoders take it, as OpenAI's, or not at all.
TEMPLATES: Mapping[str, str] = MappingProxyType(
    {"instruct": "Instruct: {instruction}\nQuery: {query}", "joined": "{instruction}\n{query}", "none": "{query}"}
)

_QUERIES, _DOCUMENTS = "queries", "docs"
_ENDINGS = (".jsonl", ".jsonl.gz")
# The two data sets that MAIR is published as, where they stand side by side.
_PARTS = ("MAIR-Queries", "MAIR-Docs")
_EXPECTED = (
    'Expected lines such as {"qid": "1", "instruction": "...", "query": "...", "labels": [{"id": "d", "score": 1}]}'
)
_EXPECTED_DOCUMENT = 'Expected lines such as {"id": "d1", "doc": "..."}'


@dataclass(frozen=True, eq=False)
class MairTask:
    """One task.

    Attributes:
        name: its folder below the root, such as ``"Finance/FinanceBench"``.
        queries: id → the query as an encoder gets it, its instruction before it.
        documents: id → text.
        qrels: the judgements; a score above 0 is relevant.
    """

    name: str
    queries: Mapping[str, str]
    documents: Mapping[str, str]
    qrels: Qrels

    @property
    def domain(self) -> str | None:
        """The folder that it stands in, if tasks are sorted into folders."""
        return self.name.partition("/")[0] if "/" in self.name else None


def list_mair(folder: PathLike) -> tuple[str, ...]:
    """The tasks of a folder, in ascending order.

    A task is a folder with ``queries.jsonl`` and ``docs.jsonl``, gzip or not, at any depth. Where one has several
    pairs, such as ``a_queries.jsonl`` and ``a_docs.jsonl``, each is a task. The two data sets that MAIR is published as
    may stand side by side, as ``MAIR-Queries`` and ``MAIR-Docs``.

    Raises:
        FormatError: there is no such folder, or no task in it.
    """
    return tuple(_tasks(folder))


def is_mair(folder: PathLike) -> bool:
    """Whether a folder holds tasks as `list_mair` finds them, by the first one's first query.

    >>> is_mair("/nowhere")
    False
    """
    try:
        asked = next(iter(_tasks(folder).values()))
        _documents(asked)
        number, line = next(read_lines(asked))
        record = parse_json(line, f"{asked}:{number}")
    except (FormatError, StopIteration):
        return False
    return isinstance(record, dict) and "labels" in record


def read_mair(folder: PathLike, task: str, *, template: Template = "instruct") -> MairTask:
    r"""Read one task.

    Args:
        folder: see `list_mair`.
        task: its name, as `list_mair` gives it.
        template: how instructions are joined to queries; see `TEMPLATES`. Documents have none.

    Raises:
        FormatError: a file is missing or damaged, an id occurs twice, or no query is judged.
        ParameterError: there is no such task or template.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     place = Path(root) / "Newts"
    ...     place.mkdir()
    ...     query = '{"qid": 1, "instruction": "Find it.", "query": "newts", "labels": [{"id": "d", "score": 2}]}'
    ...     _ = (place / "queries.jsonl").write_text(query)
    ...     _ = (place / "docs.jsonl").write_text('{"id": "d", "doc": "They swim."}')
    ...     found = read_mair(root, "Newts")
    >>> dict(found.queries), found.qrels.positives("1")
    ({'1': 'Instruct: Find it.\nQuery: newts'}, {'d': 2.0})
    """
    if template not in TEMPLATES:
        raise ParameterError(
            f"there is no template {template!r}", where="template", remedy=f"There: {', '.join(TEMPLATES)}"
        )
    found = _tasks(folder)
    if task not in found:
        raise ParameterError(f"there is no task {task!r}", where=folder, remedy=f"There: {name_some(found, 20)}")
    asked = found[task]
    queries: dict[str, str] = {}
    grades: dict[str, dict[str, float]] = {}
    for name, record, where in _records(asked, ("qid", "id", "_id"), _EXPECTED):
        queries[name] = _joined(record, template, where)
        grades[name] = _labels(record, where)
    answers = _documents(asked)
    documents = {
        name: _text(record, "doc", where, _EXPECTED_DOCUMENT)
        for name, record, where in _records(answers, ("id", "_id"), _EXPECTED_DOCUMENT)
    }
    try:
        qrels = Qrels(grades)
    except LabelError as error:
        raise FormatError(error.problem, where=asked, remedy=error.remedy) from None
    if not len(qrels):
        raise FormatError("no query has labels", where=asked, remedy=_EXPECTED)
    return MairTask(task, MappingProxyType(queries), MappingProxyType(documents), qrels)


def _tasks(folder: PathLike) -> dict[str, Path]:
    """Task name → its file of queries."""
    root = Path(folder)
    if not root.is_dir():
        raise FormatError("there is no such folder", where=root, remedy="Name the folder that the tasks stand in")
    found: dict[str, Path] = {}
    for path in sorted(item for ending in _ENDINGS for item in root.rglob(f"*{_QUERIES}{ending}")):
        parts = [part for part in path.parent.relative_to(root).parts if part not in _PARTS]
        prefix = _stem(path).removesuffix(_QUERIES).rstrip("_-")
        name = "/".join([*parts, prefix] if prefix else parts)
        if name in found:
            raise FormatError(f"the task {name!r} stands in {found[name]} too", where=path, remedy="Keep one of them")
        if name:
            found[name] = path
    if not found:
        raise FormatError(
            "there is no task",
            where=root,
            remedy=f"Expected a folder for each, with {_QUERIES}.jsonl and {_DOCUMENTS}.jsonl",
        )
    return dict(sorted(found.items()))


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def _documents(asked: Path) -> Path:
    """The file of documents that belongs to a file of queries."""
    stem = _stem(asked).removesuffix(_QUERIES) + _DOCUMENTS
    beside = Path(*(_PARTS[1] if part == _PARTS[0] else part for part in asked.parts)).parent
    for place in (asked.parent, beside):
        for ending in _ENDINGS:
            if (place / f"{stem}{ending}").is_file():
                return place / f"{stem}{ending}"
    raise FormatError(f"there is no {stem}.jsonl for it", where=asked, remedy="Put the task's documents beside it")


def _records(path: Path, keys: tuple[str, ...], expected: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Id, object and place of every line."""
    places: dict[str, int] = {}
    for number, line in read_lines(path):
        where = f"{path}:{number}"
        record = parse_json(line, where)
        if not isinstance(record, dict):
            raise FormatError(f"the line is {kind_of(record)}, not an object", where=where, remedy=expected)
        key = next((key for key in keys if key in record), None)
        if key is None:
            raise FormatError(f"the object has no {keys[0]!r}", where=where, remedy=expected)
        name = json_id(record[key], where)
        if name in places:
            raise FormatError(f"the id {name!r} stands in line {places[name]} too", where=where, remedy="Keep one")
        places[name] = number
        yield name, record, where
    if not places:
        raise FormatError("it holds no line", where=path, remedy=expected)


def _joined(record: Mapping[str, Any], template: Template, where: str) -> str:
    query = _text(record, "query", where, _EXPECTED)
    instruction = _text(record, "instruction", where, _EXPECTED, needed=False).strip()
    return TEMPLATES[template].format(instruction=instruction, query=query) if instruction else query


def _text(record: Mapping[str, Any], key: str, where: str, expected: str, *, needed: bool = True) -> str:
    value = record.get(key)
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        problem = f"the {key!r} is {kind_of(value)}" if key in record else f"the object has no {key!r}"
        raise FormatError(problem, where=where, remedy=expected)
    return SURROGATES.sub("\ufffd", value)


def _labels(record: Mapping[str, Any], where: str) -> dict[str, float]:
    labels = record.get("labels")
    if not isinstance(labels, list) or not all(isinstance(label, dict) and "id" in label for label in labels):
        raise FormatError("the 'labels' are no list of objects with an id", where=where, remedy=_EXPECTED)
    grades: dict[str, float] = {}
    for label in labels:
        name, score = json_id(label["id"], where), label.get("score", 1)
        if not isinstance(score, int | float) or isinstance(score, bool):
            raise FormatError(f"the score of {name!r} is {kind_of(score)}", where=where, remedy=_EXPECTED)
        if name in grades and grades[name] != score:
            problem = f"{name!r} is judged {grades[name]:g} and {score:g}"
            raise FormatError(problem, where=where, remedy="Keep one label")
        grades[name] = score
    return grades
