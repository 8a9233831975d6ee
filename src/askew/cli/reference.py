"""Write the help of every command as one Markdown page: ``python -m askew.cli.reference docs/cli.md``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from askew.cli.main import app

__all__ = ["reference"]

_WIDTH = 78  # what click uses of a terminal of 80 columns

_INTRODUCTION = """\
# The command line

What `--help` says, command by command. Results go to stdout, as prose or, with `--json`, as one JSON object;
progress, warnings and errors go to stderr, errors as one line that starts with `error:`.
"""


def reference() -> str:
    """The help page, as Markdown; the same in every terminal."""
    command: Any = typer.main.get_command(app)
    context = typer.Context(command, info_name="askew", terminal_width=_WIDTH, color=False)
    pages = [_page(command, context)]
    for name in command.list_commands(context):
        held = command.get_command(context, name)
        pages.append(_page(held, typer.Context(held, info_name=name, parent=context)))
    return "\n".join([_INTRODUCTION, *pages])


def _page(command: Any, context: typer.Context) -> str:
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    return f"## {context.command_path}\n\n```text\n{text.strip()}\n```\n"


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python -m askew.cli.reference FILE")
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
