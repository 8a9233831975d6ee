"""The entry point: the app, and errors as one line and an exit code."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from askew._version import __version__
from askew.cli.commands import apply, evaluate, inspect, search
from askew.cli.fitting import demo, fit
from askew.errors import AskewError

__all__ = ["app", "main"]

_EPILOG = (
    "Exit codes: 0 done (also when the verdict is to keep the base), 1 unforeseen, 2 wrong arguments, "
    "3 unusable input, 4 adapter that cannot be loaded or does not fit, 5 missing extra, 6 cannot write, "
    "130 interrupted."
)

app = typer.Typer(
    name="askew",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=_EPILOG,
    help="Adapt frozen embeddings to a retrieval task with few labels, and know whether it is worth it.",
)
for command in (fit, evaluate, search, apply, inspect, demo):
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"askew {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; every foreseen error is one line on stderr and an exit code."""
    try:
        app()
    except AskewError as error:
        Console(stderr=True, highlight=False).print(f"[red]error:[/red] {escape(str(error))}", soft_wrap=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe has gone; say nothing more, also not at shutdown
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


if __name__ == "__main__":
    main()
