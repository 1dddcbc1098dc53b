"""Memory that runs out and interrupts: told in a sentence, with what goes on from there."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
from studies import ROOT, TINY, run_command

from pipeline import runner
from pipeline.cli.main import main
from pipeline.execution import memory
from pipeline.execution.memory import check_room, is_of_memory
from pipeline.execution.worker_checks import ExecutionError

linux = pytest.mark.skipif(
    sys.platform != "linux", reason="limits of the address space are Linux's"
)
#: Lets workers take more memory than they may, and says what comes of it.
TAKING = """
import resource, sys
sys.path.insert(0, "tests")
from pipeline.execution.backends import Execution
import jobs
taken = 1024 * int(open("/proc/self/status").read().split("VmSize:")[1].split()[0])
resource.setrlimit(resource.RLIMIT_AS, (taken + 10**9,) * 2)
try:
    Execution(int(sys.argv[1])).map(jobs.take, [(1,), (10**9,), (2,)])
except MemoryError as error:
    print("told:", error)
"""


def too_large():
    np.empty(1 << 58)


def fail_with(error):
    def run(*_, **__):
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (MemoryError(), r"\); raise"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "Cannot allocate memory"),
        (ImportError("x.so: failed to map segment from shared object"), "failed to map segment"),
    ],
)
def test_errors_of_memory_are_told(monkeypatch, capsys, error, asked):
    monkeypatch.setattr(runner, "run_study", fail_with(error))
    assert main(["run", "smoke"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: out of memory (")
    assert asked.replace("\\", "") in err
    assert "run.workers=1" in err
    assert err.endswith("; continue with `knee-contact run smoke --resume`\n")
    assert "Traceback" not in err


def test_arrays_of_numpy_and_errors_behind_others_are_of_memory():
    with pytest.raises(MemoryError) as found:
        too_large()
    assert is_of_memory(found.value)
    behind = ValueError("a consequence")
    behind.__cause__ = found.value
    assert is_of_memory(behind)
    assert not is_of_memory(ValueError("another"))
    assert not is_of_memory(OSError(errno.ENOENT, "No such file"))


@pytest.mark.parametrize(("limit", "refused"), [(1.2e9, True), (1.4e9, False), (None, False)])
def test_a_run_needs_room_beside_its_libraries(monkeypatch, limit, refused):
    monkeypatch.setattr(memory, "limit_of_process", lambda: limit)
    monkeypatch.setattr(memory, "_taken", lambda: 0.8e9)
    if not refused:
        check_room()
        return
    with pytest.raises(ExecutionError, match=r"may take 1.20 GB.* 0.80 GB; raise .* 1.3 GB"):
        check_room()


@linux
@pytest.mark.slow
def test_work_that_takes_too_much_ends():
    done = subprocess.run(
        [sys.executable, "-c", TAKING, "2"],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("told: Unable to allocate 7.45 GiB")


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
def test_interrupt_of_all_processes_is_one_line(tmp_path):
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
        time.sleep(0.3)
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
