"""Runs on Dask: a real scheduler with workers of its own, a cluster of this machine, and losses."""

import json
import os
import signal
import subprocess
import sys
from functools import partial

import jobs
import pytest
from clusters import cluster, killed_in, wait_until
from studies import ROOT, TINY, assert_same_run, run_command

from pipeline import execution as module
from pipeline.cli.main import main
from pipeline.errors import ExecutionError
from pipeline.execution import Execution

psutil = pytest.importorskip("psutil", reason="needs the extra dask")
pytest.importorskip("distributed", reason="needs the extra dask")

JOBS = [(number,) for number in range(6)]
DOUBLED = [0, 2, 4, 6, 8, 10]


def on(address: str) -> tuple[str, ...]:
    """Return the keys of a run on a scheduler, in small chunks."""
    return 'run.backend="dask"', f'run.scheduler="{address}"', "run.chunk=2"


@pytest.mark.slow
@pytest.mark.usefixtures("unsimulated")
def test_run_on_a_scheduler_that_loses_a_worker(tiny_run, tmp_path, capsys):
    """A worker killed by SIGKILL in stage b costs nothing but time."""
    with cluster(tmp_path / "dask") as dask:
        folder = tmp_path / "run"
        # By the first chunk of the few that two workers share, the other one has some as well.
        with killed_in(folder / "samples.sqlite", dask.processes[-1]) as stored:
            assert main(run_command(folder, *TINY, *on(dask.address))) == 0
        assert 1 <= stored[0] < 120
        assert dask.processes[-1].wait() == -signal.SIGKILL
        assert dask.processes[-2].poll() is None
    assert_same_run(folder, tiny_run)
    # Dask restarts most tasks itself; a task that it cancels is restarted with a warning.
    told = capsys.readouterr().err.splitlines()
    assert all(line.startswith("warning: workers were lost") for line in told), told
    # What is left at its end: the other worker.
    assert json.loads((folder / "run.json").read_text())["workers"] == 1


@pytest.mark.slow
def test_cluster_of_this_machine_survives_its_workers(tmp_path, monkeypatch):
    """All workers lost at once, and with them what they had been given."""
    monkeypatch.setattr(module, "_CONNECT_SECONDS", 2.0)
    with Execution(1, "dask") as execution:
        assert execution.workers == 1
        (process,) = execution.map(jobs.process_of, [(0,)])
        assert process != os.getpid()
        job = partial(jobs.die_once, str(tmp_path / "mark"))
        assert execution.map(job, JOBS) == DOUBLED
        with pytest.warns(UserWarning, match=r"workers were lost .*\(1 of 3\)"):
            shared = dict(execution.results(jobs.die_once, JOBS, str(tmp_path / "other")))
        assert shared == dict(enumerate(DOUBLED))
        assert dict(execution.results(max, [(3,), (9,)], 5)) == {0: 5, 1: 9}
        with pytest.raises(ValueError, match="no answer to"):
            execution.map(jobs.refuse, JOBS)
    assert not psutil.pid_exists(process)


def test_scheduler_that_does_not_answer(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(module, "_CONNECT_SECONDS", 0.5)
    folder = tmp_path / "run"
    assert main(run_command(folder, *TINY, *on("tcp://127.0.0.1:9"))) == 1
    assert capsys.readouterr().err == (
        "error: scheduler tcp://127.0.0.1:9: no answer within 0.5 s; start it with "
        "`dask scheduler`, or correct the address\n"
    )
    assert not folder.exists()


@pytest.mark.slow
def test_workers_that_would_give_other_results_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_WORKER_SECONDS", 1.0)
    (tmp_path / "other" / "pipeline").mkdir(parents=True)
    (tmp_path / "other" / "pipeline" / "__init__.py").touch()
    (tmp_path / "other" / "pipeline" / "execution.py").write_text("import no_such_package\n")
    with cluster(tmp_path / "dask", workers=0) as dask:

        def refusal() -> str:
            with pytest.raises(ExecutionError) as caught:
                Execution(backend="dask", scheduler=dask.address).open()
            return str(caught.value)

        assert refusal() == (
            f"scheduler {dask.address}: no worker within 1 s; start workers with "
            f"`dask worker {dask.address} --nthreads 1`"
        )
        monkeypatch.setattr(module, "_WORKER_SECONDS", 60.0)
        worker = dask.add_worker("--nthreads", "2")
        assert "has 2 threads, expected 1; start it with `--nthreads 1`" in refusal()
        worker.kill()
        worker.wait()
        worker = dask.add_worker("--nthreads", "1", path=str(tmp_path / "other"))
        assert (
            "cannot load this package (ModuleNotFoundError(\"No module named 'no_such_package'\"))"
            in refusal()
        )
        worker.kill()
        worker.wait()
        dask.add_worker()
        with Execution(backend="dask", scheduler=dask.address) as execution:
            here = module.environment()
            monkeypatch.setattr(module, "environment", lambda: here | {"numpy": "1.0"})
            # A worker that joins in the middle is looked at with its first job.
            with pytest.raises(ExecutionError, match=r"^worker tcp.* has numpy .* \(here 1\.0\);"):
                execution.map(jobs.double, JOBS)
        assert "give scheduler and workers the same" in refusal()


@pytest.mark.slow
def test_command_that_is_interrupted_leaves_no_process(tmp_path):
    code = (
        "import os, signal, sys, time; from pathlib import Path\n"
        "from pipeline.execution import Execution\n"
        # A shell starts what runs in its background with interrupts ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "if __name__ == '__main__':\n"
        "    with Execution(2, 'dask') as execution:\n"
        "        Path(sys.argv[1]).touch()\n"
        "        execution.map(time.sleep, [(60,)] * 4)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "ready")],
        env=environment, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        wait_until((tmp_path / "ready").exists, "a cluster")
        below = psutil.Process(process.pid).children(recursive=True)
        assert len(below) >= 2
        os.killpg(process.pid, signal.SIGINT)
        process.wait(30.0)
        assert psutil.wait_procs(below, timeout=30.0)[1] == []
    finally:
        process.kill()
        process.wait()
