"""What only a process of its own shows: pipes, interruption, locales, the installed script."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Askew = Callable[..., Any]


def test_the_script_is_installed() -> None:
    script = Path(sysconfig.get_path("scripts")) / "askew"
    if not script.exists():
        pytest.skip("askew is not installed as a script here")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("askew ")


def test_a_closed_pipe_is_no_error(turned: Any) -> None:
    command = [sys.executable, "-m", "askew.cli.main", "search", turned.queries, turned.documents, "-k", "300"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"q0 Q0 d")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_a_full_disk_behind_stdout_is_one_line(turned: Any) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    command = [sys.executable, "-m", "askew.cli.main", "search", turned.queries, turned.documents]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 6
    assert done.stderr.startswith("error: stdout: it cannot be written to")
    assert done.stderr.count("\n") == 1


def test_an_interrupted_fit_leaves_nothing_and_exits_with_130(task: Any, tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import os, signal, sys
        from askew.cli.main import main
        from askew.workflows import deliver
        signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs start with it ignored
        def interrupted(*args, **kwargs):
            os.kill(os.getpid(), signal.SIGINT)
        for name in ("read_dataset", "fit", "save_adapter"):
            held = getattr(deliver, name)
            setattr(deliver, name, interrupted)
            try:
                main()
            except SystemExit as left:
                sys.stdout.write(f"{name} {left.code}\\n")
            setattr(deliver, name, held)
    """)
    before = task.listing()
    done = subprocess.run(
        [sys.executable, "-c", script, "fit", task.root, "-o", tmp_path / "new" / "a", "--labels", "12"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "read_dataset 130\nfit 130\nsave_adapter 130\n"
    assert done.stderr == ""
    assert task.listing() == before


def test_stdout_is_utf_8_whatever_the_locale(task: Any, askew_process: Askew) -> None:
    task.embed("queries", np.load(task.queries)[:1], ids=["é日"])
    said = askew_process(
        "search", task.queries, task.documents, "-k", 1, env={"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    )
    assert said.out.startswith("é日 Q0 d")
    assert "→" in askew_process("--help", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}).out


def test_an_error_leaves_with_its_code(askew_process: Askew, tmp_path: Path) -> None:
    askew_process("inspect", tmp_path / "none").refused(4)


def test_an_unforeseen_error_is_a_traceback_and_1(turned: Any) -> None:
    script = (
        "import sys, askew.workflows.score as home\n"
        "def broken(*args, **kwargs): raise RuntimeError('unforeseen')\n"
        "home.score = broken\n"
        "from askew.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "evaluate", turned.root], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.endswith("RuntimeError: unforeseen\n")


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "askew", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:6]) == (0, "askew ")
