"""Work in parallel on this machine: losses, held folders, memory, interrupts."""

import errno
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import jobs
import pytest
from studies import ROOT, TINY, run_command
from threadpoolctl import threadpool_info, threadpool_limits

from pipeline.cli.main import main
from pipeline.execution import Execution
from pipeline.store.job import locked
from pipeline.studies import dispatch

JOBS = [(number,) for number in range(6)]
DOUBLED = [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_those_of_the_jobs(workers):
    execution = Execution(workers)
    assert dict(execution.results(jobs.double, JOBS)) == dict(enumerate(DOUBLED))
    assert execution.map(jobs.double, JOBS) == DOUBLED
    assert execution.map(jobs.double, []) == []
    assert sorted(execution.results(max, [(3,), (9,)], 5)) == [(0, 5), (1, 9)]


def test_jobs_are_carried_out_side_by_side():
    """Each waits for the other."""
    assert Execution(2).map(threading.Barrier(2).wait, [(60.0,)] * 2) in ([0, 1], [1, 0])


def test_an_error_of_a_job_ends_the_work():
    """Neither is another job waited for, nor does a third one begin."""
    begun, gate = [], threading.Event()

    def refuse(number):
        begun.append(number)
        return gate.wait(60.0) if number else jobs.refuse(number)

    try:
        with pytest.raises(ValueError, match="no answer to 0"):
            Execution(2).map(refuse, JOBS)
    finally:
        gate.set()
    assert len(begun) <= 3


@pytest.mark.parametrize("workers", [1, 2])
def test_linear_algebra_of_jobs_uses_one_thread(workers):
    def threads(_):
        return {x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        before = threads(0)
        assert 2 in before  # a library without threads has one
        assert Execution(workers).map(threads, JOBS) == [{1}] * len(JOBS)
        assert threads(0) == before


def test_two_commands_in_one_run_directory(run_copy, capsys):
    """The lock of a process that lives is kept, that of one that was killed is not."""
    code = (
        "import sys, time; from pathlib import Path\n"
        "from pipeline.store.job import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(run_copy)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        before = sorted(run_copy.rglob("*"))
        for command in (
            [*run_command(run_copy, *TINY), "--resume"],
            run_command(run_copy, *TINY),
            ["wear", str(run_copy)],
        ):
            assert main(command) == 2
            assert capsys.readouterr().err == (
                f"error: {run_copy}: another command is writing to this folder; wait until the "
                "command has ended, or choose another folder with --out\n"
            )
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert sorted(run_copy.rglob("*")) == before
    with locked(run_copy):
        pass


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
    monkeypatch.setattr(dispatch, "run_study", fail_with(error))
    assert main(["run", "smoke"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: out of memory (")
    assert asked.replace("\\", "") in err
    assert "run.workers=1" in err
    assert err.endswith("; continue with `knee-contact run smoke --resume`\n")
    assert "Traceback" not in err


LIMIT = 240.0


def hear_interrupts():
    """Undo what a shell does to commands in the background, which ignore interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def begun(*arguments, **environment):
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
    """No thread that works is waited for."""
    folder = tmp_path / "run"
    command = run_command(folder, *TINY, "run.workers=2", "run.chunk=1")
    command.remove("--quiet")
    with begun("-m", "pipeline", *command, OMP_NUM_THREADS="1") as process:
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
