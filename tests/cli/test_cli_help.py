"""Help: of every command, the same in every terminal, and on the page that is made of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from askew.cli.main import app
from askew.cli.reference import reference

Askew = Callable[..., Any]
COMMANDS = ("fit", "evaluate", "compare", "search", "apply", "inspect", "demo", "embed")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_fits_80_columns(command: str) -> None:
    said = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    assert said.exit_code == 0
    assert said.stdout.startswith(f"Usage: askew {command} ")
    assert all(len(line) <= 80 for line in said.stdout.splitlines())


def test_the_list_of_commands_is_whole() -> None:
    said = CliRunner().invoke(app, ["--help"])
    assert "..." not in said.stdout.partition("Commands:")[2]
    assert "130 interrupted" in said.stdout
    assert all(f"\n  {command} " in said.stdout for command in COMMANDS)


def test_without_a_command_help_goes_to_stderr(askew: Askew) -> None:
    said = askew()
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("Usage: askew ")


def test_version(askew: Askew) -> None:
    from askew import __version__

    assert askew("--version").out == f"askew {__version__}\n"


def test_the_page_holds_the_help_of_every_command(askew: Askew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = reference()
    for command in ((), *((name,) for name in COMMANDS)):
        shown = "\n".join(line.rstrip() for line in askew(*command, "--help").out.strip().splitlines())
        title = " ".join(("askew", *command))
        assert f"## {title}\n\n```text\n{shown}\n```\n" in page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "write it again: make docs"


@pytest.mark.parametrize(
    "env", [{"COLUMNS": "40"}, {"COLUMNS": "200", "FORCE_COLOR": "1"}, {"TERM": "dumb", "NO_COLOR": "1"}]
)
def test_the_page_is_the_same_in_every_terminal(env: dict[str, str], tmp_path: Path) -> None:
    page = tmp_path / "cli.md"
    here = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}  # where this askew lies
    subprocess.run([sys.executable, "-m", "askew.cli.reference", page], env={**here, **env}, check=True)
    assert page.read_text(encoding="utf-8") == reference()
