"""Memory that runs out: told in a sentence, with what goes on from there."""

import errno
import subprocess
import sys

import numpy as np
import pytest
from studies import ROOT

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
        (RuntimeError("can't start new thread"), "can't start new thread"),
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
def test_a_limit_of_a_gigabyte_ends_a_run_at_once(tmp_path):
    import resource

    done = subprocess.run(
        [sys.executable, "-m", "pipeline", "run", "smoke", "--out", str(tmp_path / "run")],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9)),
    )  # fmt: skip
    assert done.returncode == 1
    assert "error: out of memory: this process may take 1.00 GB" in done.stderr
    assert "Traceback" not in done.stderr


@linux
@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_work_that_takes_too_much_ends(workers):
    done = subprocess.run(
        [sys.executable, "-c", TAKING, workers],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("told: Unable to allocate 7.45 GiB")


def test_errors_that_are_behind_each_other_have_an_end():
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__context__ = second, first
    assert not is_of_memory(first)
