"""Write the help of every command as one Markdown page: ``python -m askew.cli.reference docs/cli.md``."""

from __future__ import annotations

import sys
from pathlib import Path

import typer
from typer.cli import get_docs_for_click

from askew.cli.main import app

__all__ = ["reference"]


def reference() -> str:
    """The help page, as Markdown."""
    command = typer.main.get_command(app)
    context = typer.Context(command, info_name="askew")
    return get_docs_for_click(obj=command, ctx=context, name="askew").rstrip() + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
