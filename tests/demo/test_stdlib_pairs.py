"""The demo's data: each rule of its definition on small folders, and the whole of it on this Python."""

from __future__ import annotations

import logging
import math
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent

import numpy as np
import numpy.typing as npt
import pytest

from askew.data import Dataset, hash_order
from askew.errors import InputError
from askew.linalg import top_k
from askew.protocols import Kind, Progress
from askew.workflows import stdlib_pairs as module
from askew.workflows.stdlib_pairs import Pair, stdlib_dataset, stdlib_pairs

Read = Callable[[dict[str, str]], list[Pair]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The pairs of a folder that holds the given files."""

    def write_and_read(files: dict[str, str]) -> list[Pair]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")
        return stdlib_pairs(tmp_path)

    return write_and_read


def function(name: str, query: str = "Say what it says here.", body: str = "return 1") -> str:
    return f'def {name}():\n    """{query}"""\n    {body}\n'


def names(pairs: Sequence[Pair]) -> list[str]:
    return [pair.document_id for pair in pairs]


# What is read


@pytest.mark.parametrize(
    "folder",
    [
        "site-packages",
        "dist-packages",
        "test",
        "tests",
        "idlelib",
        "lib2to3",
        "turtledemo",
        "ensurepip",
        "__pycache__",
    ],
)
def test_some_folders_are_left_out_wherever_they_are(read: Read, folder: str) -> None:
    text = function("f")
    places = (f"{folder}/a.py", f"deep/{folder}/b.py", f"deep/{folder}/deeper/c.py")
    assert read(dict.fromkeys(places, text)) == []


def test_a_file_of_such_a_name_is_read(read: Read) -> None:
    pairs = read({"test.py": function("f"), "tested/x.py": function("g", "Another four words here.")})
    assert names(pairs) == ["test.f", "tested.x.g"]


def test_other_files_are_not_read(read: Read) -> None:
    assert read({"a.txt": function("f"), "b.pyi": function("f")}) == []


def test_files_come_in_the_order_of_their_paths(read: Read) -> None:
    files = ["b/a.py", "b.py", "a/z.py", "B.py", "a/b/c.py"]
    pairs = read({file: function("f", f"The words of file {file}.", f"return {file!r}") for file in files})
    assert names(pairs) == ["B.f", "a.b.c.f", "a.z.f", "b.f", "b.a.f"]


def test_unreadable_files_are_skipped(read: Read, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n" + function("f").encode())
    (tmp_path / "zero.py").write_bytes(b"x = 1\0\n")
    (tmp_path / "coding.py").write_bytes(b"# coding: no-such-coding\n")
    caplog.set_level(logging.DEBUG, logger=module.__name__)
    assert names(read({"wrong.py": "def f(:\n", "right.py": function("g")})) == ["right.g"]
    assert "4 of 5 files" in caplog.messages[-1]


def test_a_coding_cookie_is_honoured(tmp_path: Path) -> None:
    text = "# coding: latin-1\n" + function("f", "Où est la bibliothèque ?")
    (tmp_path / "a.py").write_bytes(text.encode("latin-1"))
    assert stdlib_pairs(tmp_path)[0].query == "Où est la bibliothèque ?"


def test_warnings_about_the_code_do_not_leak(read: Read) -> None:
    code = 'def f(x):\n    """Compare it in vain here."""\n    y = "\\d"\n    return x is 1\n'
    assert names(read({"a.py": code})) == ["a.f"]


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        stdlib_pairs(tmp_path / "nowhere")


def test_progress_counts_files(read: Read, tmp_path: Path) -> None:
    read({"a.py": function("f"), "b.py": "wrong(", "c.py": ""})
    heard: list[tuple[int, int]] = []
    stdlib_pairs(tmp_path, progress=lambda done, total: heard.append((done, total)))
    assert heard == [(1, 3), (2, 3), (3, 3)]


# Which functions


def test_methods_nested_and_asynchronous_functions_count_in_source_order(read: Read) -> None:
    code = '''
        class Outer:
            class Inner:
                async def method(self):
                    """One of a nested class."""
                    await self.wait()

            def plain(self):
                """Two that holds another one."""
                if self:
                    def local():
                        """Three inside of the second."""
                        return 3
                return local

        try:
            import fast
        except ImportError:
            def fallback():
                """Four after a failed import."""
                return 4
    '''
    assert names(read({"pack/__init__.py": code})) == [
        "pack.Outer.Inner.method",
        "pack.Outer.plain",
        "pack.Outer.plain.local",
        "pack.fallback",
    ]


def test_a_docstring_alone_is_no_function(read: Read) -> None:
    assert read({"a.py": 'def f():\n    """Only words and no statement."""\n'}) == []


def test_one_more_statement_is_enough_even_pass(read: Read) -> None:
    assert names(read({"a.py": function("f", body="pass")})) == ["a.f"]


def test_no_docstring_no_pair(read: Read) -> None:
    assert read({"a.py": "def f():\n    x = 'a string of many words'\n    return x\n"}) == []


@pytest.mark.parametrize(("words", "found"), [(0, 0), (3, 0), (4, 1)])
def test_a_query_has_four_words(read: Read, words: int, found: int) -> None:
    assert len(read({"a.py": function("f", " ".join(["word"] * words))})) == found


def test_words_are_counted_in_the_first_paragraph(read: Read) -> None:
    assert read({"a.py": function("f", "Three words here.\n\n    And then many more.")}) == []


# What a pair holds


def test_the_query_is_the_first_paragraph_on_one_line(read: Read) -> None:
    (pair,) = read({"a.py": function("f", "\n    Read it\n      in two\tlines.\n  \n    Not this.")})
    assert pair.query == "Read it in two lines."
    assert pair.encoded_query == "read it in two lines."


def test_the_document_is_the_function_without_docstring_and_decorators(read: Read) -> None:
    code = "import functools\n\n@functools.cache\n" + function("f", body="return  'x' # why")
    (pair,) = read({"a.py": code})
    assert pair.document == "def f():\n    return 'x'"
    assert (pair.query_id, pair.document_id) == ("q:a.f", "a.f")


def test_the_document_is_cut_at_1500_characters(read: Read) -> None:
    (pair,) = read({"a.py": function("f", body=f"return {'x' * 2000}")})
    assert len(pair.document) == 1500
    assert pair.document.startswith("def f():\n    return xxx")


def test_documents_that_differ_beyond_the_cut_are_the_same(read: Read) -> None:
    first, second = (function("f", f"The words of {i}.", f"return {'x' * 2000}{i}") for i in "ab")
    assert names(read({"a.py": first, "b.py": second})) == ["a.f"]


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("HTTPServer", "http server"),
        ("parseURLNow", "parse url now"),
        ("parse_url_now", "parse url now"),
        ("__init__", "init"),
        ("camelCase", "camel case"),
        ("utf8Decode", "utf8 decode"),
        ("SHA256Hash", "sha256 hash"),
        ("ABC", "abc"),
        ("aB", "a b"),
        ("x = y\n    z", "x = y z"),
        ("MAX_SIZE_ofThing", "max size of thing"),
    ],
)
def test_identifiers_are_split_for_the_encoder(text: str, encoded: str) -> None:
    assert module._encoded(text) == encoded


def test_a_repeated_query_is_dropped(read: Read) -> None:
    assert names(read({"a.py": function("f") + function("g", body="return 2")})) == ["a.f"]


def test_a_repeated_document_is_dropped(read: Read) -> None:
    pairs = read({"a.py": function("f"), "b.py": function("f", "The same under other words.")})
    assert names(pairs) == ["a.f"]


def test_a_dropped_pair_blocks_nothing(read: Read) -> None:
    first = function("f", "The first of three queries.")
    dropped = function("g", "The first of three queries.", "return 2")
    third = function("g", "The last of three queries.", "return 2")
    assert names(read({"a.py": first, "b.py": dropped, "c.py": third})) == ["a.f", "c.g"]


def test_names_that_occur_again_are_numbered(read: Read) -> None:
    code = "".join(function("f", f"Number {i} of several functions.", f"return {i}") for i in range(3))
    pairs = read({"a.py": code})
    assert names(pairs) == ["a.f", "a.f#2", "a.f#3"]
    assert [pair.query_id for pair in pairs] == ["q:a.f", "q:a.f#2", "q:a.f#3"]


# The dataset, on a small folder and with a small encoder


class Letters:
    """Counts letters, and how often it was asked."""

    name, dim = "letters", 26

    def __init__(self) -> None:
        self.asked = 0

    def encode(
        self, texts: Sequence[str], *, kind: Kind = "document", progress: Progress | None = None
    ) -> npt.NDArray[np.float32]:
        self.asked += len(texts)
        return np.array([[text.count(chr(97 + i)) for i in range(26)] for text in texts], dtype=np.float32)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The standard library is three functions here; the path is that of a cache which does not exist yet."""
    folder = tmp_path / "library"
    folder.mkdir()
    code = "".join(function(f"f{i}", f"Number {i} of several functions.", f"return {i}") for i in range(3))
    (folder / "a.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(module, "_standard_library", lambda: folder)
    return tmp_path / "cache"


def test_the_dataset_joins_all_of_it(small: Path) -> None:
    data = stdlib_dataset(encoder=Letters())
    assert data.name == "python-stdlib"
    assert (data.queries.encoder, data.documents.encoder) == ("letters", "letters")
    assert data.queries.ids == ("q:a.f0", "q:a.f1", "q:a.f2")
    assert dict(data.qrels["q:a.f1"]) == {"a.f1": 1.0}
    assert data.query_texts["q:a.f1"] == "Number 1 of several functions."
    assert data.document_texts["a.f1"] == "def f1():\n    return 1"
    np.testing.assert_array_equal(data.queries.matrix, Letters().encode(["number of several functions"] * 3))
    np.testing.assert_array_equal(data.documents.matrix, Letters().encode(["def f return"] * 3))


def test_progress_counts_files_then_texts(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 4)
    heard: list[tuple[int, int]] = []
    stdlib_dataset(encoder=Letters(), progress=lambda done, total: heard.append((done, total)))
    assert heard == [(1, 1), (4, 6), (6, 6)]


def test_a_python_without_source_is_told(small: Path, tmp_path: Path) -> None:
    (tmp_path / "library/a.py").unlink()
    with pytest.raises(InputError, match="no source of its standard library"):
        stdlib_dataset(encoder=Letters())


def test_the_cache_spares_the_encoder(small: Path) -> None:
    first, second = Letters(), Letters()
    made, kept = stdlib_dataset(encoder=first, cache=small), stdlib_dataset(encoder=second, cache=small)
    assert (first.asked, second.asked) == (6, 0)
    assert made.queries.matrix.tobytes() == kept.queries.matrix.tobytes()
    assert made.documents.matrix.tobytes() == kept.documents.matrix.tobytes()
    assert sorted(path.suffix for path in small.iterdir()) == [".ids", ".npy"]
    (listed,) = small.glob("*.ids")
    assert listed.read_text(encoding="utf-8").splitlines() == [*made.queries.ids, *made.documents.ids]


def test_another_encoder_or_text_has_a_file_of_its_own(small: Path, tmp_path: Path) -> None:
    stdlib_dataset(encoder=Letters(), cache=small)
    other = Letters()
    other.name = "other"
    stdlib_dataset(encoder=other, cache=small)
    with (tmp_path / "library/a.py").open("a", encoding="utf-8") as handle:
        handle.write(function("g", "A query that is new."))
    grown = Letters()
    stdlib_dataset(encoder=grown, cache=small)
    assert (other.asked, grown.asked, len(list(small.glob("*.npy")))) == (6, 8, 3)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garble(path: Path) -> None:
    path.write_bytes(b"not what it was\n" * 40)


def break_header(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"'descr'", b"'descr("))


def put_nan(path: Path) -> None:
    np.save(path, np.full_like(np.load(path), np.nan))


def shorten(path: Path) -> None:
    np.save(path, np.load(path)[:-1])


def narrow(path: Path) -> None:
    np.save(path, np.load(path)[:, :-1])


def delete(path: Path) -> None:
    path.unlink()


SPOIL_ANY = [cut, empty, garble, delete]
SPOIL_MATRIX = [*SPOIL_ANY, break_header, put_nan, shorten, narrow]


@pytest.mark.parametrize(
    ("suffix", "spoil"),
    [*((".npy", spoil) for spoil in SPOIL_MATRIX), *((".ids", spoil) for spoil in SPOIL_ANY)],
)
def test_a_spoilt_cache_is_made_again(small: Path, suffix: str, spoil: Callable[[Path], None]) -> None:
    made = stdlib_dataset(encoder=Letters(), cache=small)
    spoil(next(small.glob(f"*{suffix}")))
    again, kept = Letters(), Letters()
    remade = stdlib_dataset(encoder=again, cache=small)
    stdlib_dataset(encoder=kept, cache=small)
    assert (again.asked, kept.asked) == (6, 0)
    assert remade.documents.matrix.tobytes() == made.documents.matrix.tobytes()


# The whole of it


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    pytest.importorskip("wordllama", reason="wordllama (the extra 'demo') is not installed")
    return stdlib_dataset()


def test_count_on_the_python_it_was_first_counted_on(dataset: Dataset) -> None:
    if platform.python_version() != "3.11.7":
        pytest.skip(f"the count was taken on Python 3.11.7; this is {platform.python_version()}")
    assert len(dataset.qrels) == 5222


def test_every_query_has_one_document_and_every_document_one_query(dataset: Dataset) -> None:
    assert len(dataset.queries) == len(dataset.documents) == len(dataset.qrels) > 4000
    judged = [dict(dataset.qrels[name]) for name in dataset.queries.ids]
    assert judged == [{name: 1.0} for name in dataset.documents.ids]
    for texts in (dataset.query_texts, dataset.document_texts):
        assert len(set(texts.values())) == len(dataset.qrels)
    assert not any(set(" \t\n") & set(name) for name in dataset.documents.ids)


def test_known_names_are_there(dataset: Dataset) -> None:
    assert dataset.query_texts["q:textwrap.dedent"].startswith("Remove any common leading whitespace")
    assert dataset.document_texts["shutil.copytree"].startswith("def copytree(src, dst, symlinks=False,")


def test_base_is_what_the_demo_starts_from(dataset: Dataset) -> None:
    """nDCG@10 with one relevant document: 1 / log2(rank + 1), or 0 beyond rank 10."""
    queries = hash_order(dataset.queries.ids)[:1200]
    rows, _ = top_k(
        dataset.queries.matrix[dataset.queries.rows(queries)],
        dataset.documents.matrix,
        k=10,
        tie_rank=dataset.documents.tie_rank,
    )
    wanted = dataset.documents.rows(name.removeprefix("q:") for name in queries)
    found, rank = np.nonzero(rows == wanted[:, None])
    assert len(found) <= len(queries)
    assert 0.31 < sum(1 / math.log2(place + 2) for place in rank) / len(queries) < 0.35
