"""Write, then rename; and the other small things at the bottom: blocks, optional imports, errors."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import pytest

from askew import errors
from askew._atomic import writing_file, writing_folder
from askew._blocks import blocks, rows_within
from askew._extras import require


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "new" / "file.txt"
    with writing_file(place) as temporary:
        temporary.write_text("old")
        assert not place.exists()
    assert place.read_text() == "old"
    with pytest.raises(ZeroDivisionError), writing_file(place) as temporary:  # noqa: PT012 - the block is the test
        temporary.write_text("half")
        raise ZeroDivisionError
    assert place.read_text() == "old"
    assert names(place.parent) == ["file.txt"]


def test_a_file_never_made_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(errors.OutputError, match="No such file"), writing_file(tmp_path / "f"):
        pass
    assert names(tmp_path) == []


@pytest.mark.parametrize("place", ["folder", "file/deeper", "n" * 300, "nul\0"])
def test_a_file_that_cannot_be_written_leaves_nothing(place: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inside").write_text("mine")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(errors.OutputError), writing_file(tmp_path / place) as temporary:
        temporary.write_text("new")
    assert names(tmp_path) == ["file", "folder"]
    assert names(tmp_path / "folder") == ["inside"]


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    place = tmp_path / "folder"
    for content in ("old", "new"):
        with writing_folder(place) as fresh:
            (fresh / content).write_text(content)
        assert names(place) == [content]
    with pytest.raises(ZeroDivisionError), writing_folder(place) as fresh:  # noqa: PT012 - the block is the test
        (fresh / "half").write_text("half")
        raise ZeroDivisionError
    assert names(place) == ["new"]
    assert names(tmp_path) == ["folder"]


def test_a_file_in_the_way_of_a_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(errors.OutputError, match="a file stands"), writing_folder(tmp_path / "file"):
        pass
    assert (tmp_path / "file").read_text() == "mine"
    assert names(tmp_path) == ["file"]


def test_even_where_nothing_can_be_renamed_the_old_folder_survives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second rename fails, and so does the way back: the old folder lies beside its place."""
    place = tmp_path / "folder"
    with writing_folder(place) as fresh:
        (fresh / "old").write_text("old")
    real, calls = os.replace, iter(range(9))

    def replace(source: str, target: str) -> None:
        if next(calls):
            raise OSError(5, "Input/output error")
        real(source, target)

    with monkeypatch.context() as patch, pytest.raises(errors.OutputError):  # noqa: PT012 - the block is the test
        patch.setattr(os, "replace", replace)
        with writing_folder(place) as fresh:
            (fresh / "new").write_text("new")
    (kept,) = tmp_path.iterdir()
    assert kept.name.startswith(".folder.")
    assert kept.name.endswith(".old")
    assert names(kept) == ["old"]


@pytest.mark.parametrize("total", [0, 1, 5, 10])
@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_blocks_cover_everything_once(total: int, size: int) -> None:
    assert [row for part in blocks(total, size) for row in range(total)[part]] == list(range(total))
    assert all(part.stop - part.start <= size for part in blocks(total, size))


def test_rows_within_a_budget() -> None:
    assert rows_within(100, 10) == 10
    assert rows_within(0, 10) == rows_within(-5, 10) == 1
    assert rows_within(100, 0) == 100
    assert rows_within(0, 10, least=8, most=4) == 4
    assert rows_within(10**9, 1, most=0) == 1


def test_a_missing_extra_is_named() -> None:
    with pytest.raises(errors.MissingExtraError, match=r"pip install '\.\[demo\]'") as caught:
        require("no_such_module.inside", extra="demo", purpose="a test")
    assert "a test needs the package 'no_such_module'" in caught.value.problem
    assert require("math", extra="demo", purpose="a test").pi


def test_what_an_extra_lacks_itself_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_extra.py").write_text("import no_such_module_either")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module_either"):
        require("broken_extra", extra="demo", purpose="a test")
    assert "broken_extra" not in sys.modules


def test_an_error_says_what_where_and_what_to_do() -> None:
    error = errors.FormatError("it is empty.", where=Path("a/b.tsv"), remedy="Write it again.")
    assert str(error) == "a/b.tsv: it is empty. Write it again."
    assert str(errors.AskewError("it is empty")) == "it is empty."
    assert (error.problem, error.where, error.remedy) == ("it is empty.", "a/b.tsv", "Write it again.")


def test_the_tree_of_errors() -> None:
    tree = {name: getattr(errors, name) for name in errors.__all__ if name not in ("counted", "name_some")}
    assert all(issubclass(kind, errors.AskewError) for kind in tree.values())
    codes = {
        "InputError": 3,
        "ParameterError": 2,
        "ArtefactError": 4,
        "MissingExtraError": 5,
        "OutputError": 6,
        "EncoderError": 7,
    }
    for name, kind in tree.items():
        above = [parent for parent in codes if issubclass(kind, tree[parent])]
        assert kind.exit_code == (codes[above[0]] if above else 1), name
        copy = pickle.loads(pickle.dumps(kind("a", where="b", remedy="c")))
        assert (type(copy), str(copy)) == (kind, "b: a. c.")


def test_some_ids_are_named() -> None:
    assert errors.name_some([]) == ""
    assert errors.name_some("abcde") == "'a', 'b', 'c', 'd', 'e'"
    assert errors.name_some(map(str, range(7))) == "'0', '1', '2', '3', '4' and 2 more"


def test_what_a_link_leads_to_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    (real / "old").write_text("old")
    link.symlink_to(real)
    with writing_folder(link) as fresh:
        (fresh / "new").write_text("new")
    assert link.is_symlink()
    assert [item.name for item in real.iterdir()] == ["new"]
    target, alias = tmp_path / "file", tmp_path / "alias"
    target.write_text("old")
    alias.symlink_to(target)
    with writing_file(alias) as temporary:
        temporary.write_text("new")
    assert alias.is_symlink()
    assert target.read_text() == "new"
    assert sorted(item.name for item in tmp_path.iterdir()) == ["alias", "file", "link", "real"]


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(errors.OutputError), writing_folder(loop):
        pass
