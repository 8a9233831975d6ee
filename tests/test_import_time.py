"""What is not needed is not loaded: that is what makes an import or a `--help` quick."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {"numpy", "scipy", "torch", "matplotlib", "typer", "rich", "click", "jinja2", "ir_measures", "safetensors"}


def loaded_by(script: str) -> set[str]:
    """The top-level modules in memory after a script."""
    script += "\nimport sys; sys.stdout.write('\\n' + ' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}


def test_importing_askew_loads_nothing_heavy() -> None:
    assert not loaded_by("import askew; dir(askew); askew.__version__") & HEAVY


def test_importing_every_part_of_the_root_loads_no_torch_and_no_pictures() -> None:
    loaded = loaded_by("import askew; [getattr(askew, name) for name in dir(askew)]")
    assert "numpy" in loaded
    assert not loaded & {"torch", "matplotlib", "typer", "rich", "wordllama"}


def help_of(*commands: str) -> str:
    return (
        "import sys\n"
        "from askew.cli.main import main\n"
        f"for command in {[[*([name] if name else []), '--help'] for name in commands]}:\n"
        "    sys.argv = ['askew', *command]\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as left:\n"
        "        assert not left.code\n"
    )


def test_help_loads_nothing_heavy_but_typer() -> None:
    loaded = loaded_by(help_of("", "fit", "evaluate", "compare", "search", "apply", "inspect", "demo", "embed"))
    assert "typer" in loaded
    assert not loaded & (HEAVY - {"typer", "click"})
