"""Ctrl-C: one line and status 130, from the command alone and not from its workers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from some_slow import first_of
from studies import ROOT, TINY, run_command

LIMIT = 240.0


def hear_interrupts():
    """Undo what a shell does to commands in the background, which ignore interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def started(*arguments, **environment):
    """Start Python in a process group of its own, as a terminal does, and end it in any case."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear_interrupts,
    )
    try:
        yield process
    finally:
        process.kill()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups of a terminal")
@pytest.mark.parametrize("after", first_of([0.3, 0.0, 1.5]))
def test_interrupt_of_all_processes_is_one_line(tmp_path, after):
    """A terminal sends the interrupt to the workers, too; here while they start and work."""
    folder = tmp_path / "run"
    command = run_command(folder, *TINY, "run.workers=2", "run.chunk=1")
    command.remove("--quiet")
    with started("-m", "pipeline", *command, OMP_NUM_THREADS="1") as process:
        told = []
        for line in process.stderr:
            told.append(line)
            if "b: first evaluations" in line:
                break
        assert "b: first evaluations" in told[-1], "".join(told)
        time.sleep(after)
        os.killpg(process.pid, signal.SIGINT)
        _, rest = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    # Beside what tells of progress.
    lines = [line for line in rest.splitlines() if not line.startswith(("[", "compil"))]
    assert len(lines) == 1
    assert re.fullmatch(
        "error: interrupted; continue with `knee-contact run .* --resume`", lines[0]
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups of a terminal")
def test_interrupt_while_the_program_is_loaded_is_one_line():
    with started("-X", "importtime", "-m", "pipeline", "schema") as process:
        for line in process.stderr:
            if line.split("|")[-1].strip() == "numpy":
                break
        os.killpg(process.pid, signal.SIGINT)
        _, rest = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert [line for line in rest.splitlines() if not line.startswith("import time:")] == [
        "error: interrupted"
    ]
