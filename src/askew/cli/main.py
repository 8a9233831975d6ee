"""The entry point: the app, and errors as one line and an exit code."""

from __future__ import annotations

import inspect as introspection
import io
import sys
from typing import Annotated, Any, cast

import typer

from askew._version import __version__
from askew.cli.aligning import align, migrate
from askew.cli.checking import check
from askew.cli.commands import apply, evaluate, inspect, search
from askew.cli.comparing import compare
from askew.cli.console import show_error
from askew.cli.embedding import convert, embed
from askew.cli.fitting import demo, fit
from askew.cli.geometry import plan, select
from askew.cli.late_training import train_late
from askew.cli.reproducing import reproduce
from askew.errors import AskewError

__all__ = ["app", "main"]

_EPILOG = (
    "Exit codes: 0 done (also when the verdict is to keep the base), 1 unforeseen, or warnings under check --strict, "
    "2 wrong arguments, "
    "3 unusable input, 4 adapter that cannot be loaded or does not fit, 5 missing extra, 6 cannot write, "
    "7 encoder that fails, 8 migration refused, "
    "130 interrupted."
)

# click's, or that of the copy of click inside newer versions of typer: the one that this typer raises.
_ClickError = cast(
    "type[Exception]", next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
)

app = typer.Typer(
    name="askew",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=_EPILOG,
    help="Adapt frozen embeddings to a retrieval task with few labels, and know whether it is worth it.",
)
_COMMANDS = (
    *(convert, embed, check, fit, align, migrate, evaluate, compare, search, apply),
    *(train_late, inspect, select, plan, demo, reproduce),
)
for command in _COMMANDS:
    # A short help of its own is wrapped in the list of commands; one made from the docstring would be cut.
    app.command(short_help=(introspection.getdoc(command) or "").partition("\n")[0])(command)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"askew {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


def main() -> None:
    """Run the command line; every foreseen error is one line on stderr and an exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # results are UTF-8, as files are, whatever the locale
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code: Any = app(prog_name="askew", standalone_mode=False)
    except AskewError as error:
        show_error(str(error))
        code = error.exit_code
    except _ClickError as error:
        show_error(_told(error))
        code = 2
    except KeyboardInterrupt:
        code = 130
    sys.exit(code or 0)


def _told(error: Any) -> str:
    """What click found wrong with the arguments, and where to read about them."""
    context = getattr(error, "ctx", None)
    told = str(error.format_message())
    told += "" if told.endswith((".", "?")) else "."
    return told if context is None else f"{told} See '{context.command_path} --help'."


if __name__ == "__main__":
    main()
