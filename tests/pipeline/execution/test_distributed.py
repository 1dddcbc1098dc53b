"""Runs on Dask: a scheduler with workers of its own, a cluster of this machine, and losses."""

import json
import os
import signal
import threading
from contextlib import contextmanager
from functools import partial

import jobs
import pytest
from studies import ROOT, TINY, assert_same_run, run_command, stored_samples

from pipeline import execution as module
from pipeline.cli.main import main
from pipeline.execution import Execution

psutil = pytest.importorskip("psutil", reason="needs the extra dask")
deploy = pytest.importorskip("distributed.deploy.subprocess", reason="needs the extra dask")

JOBS = [(number,) for number in range(6)]
DOUBLED = [0, 2, 4, 6, 8, 10]


@contextmanager
def killed_in(samples, process):
    """Kill a process as soon as a run has stored results; the list then holds their number."""
    stored = []
    ended = threading.Event()

    def watch():
        while not stored_samples(samples):
            if ended.wait(5e-4):
                return
        os.kill(process.pid, signal.SIGKILL)
        stored.append(stored_samples(samples))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield stored
    finally:
        ended.set()
        watcher.join()


@pytest.mark.slow
@pytest.mark.usefixtures("unsimulated")
def test_run_on_a_scheduler_that_loses_a_worker(tiny_run, tmp_path, capsys, monkeypatch):
    """A worker killed by SIGKILL in stage b costs nothing but time."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "tests")]))
    options = {"dashboard_address": None, "worker_class": "distributed.Worker"}
    folder = tmp_path / "run"
    with deploy.SubprocessCluster(n_workers=2, threads_per_worker=1, **options) as dask:
        address = f'run.scheduler="{dask.scheduler_address}"'
        command = run_command(folder, *TINY, 'run.backend="dask"', address, "run.chunk=2")
        # By the first chunk of the few that two workers share, the other one has some as well.
        with killed_in(folder / "samples.sqlite", dask.workers[1].process) as stored:
            assert main(command) == 0
    assert 1 <= stored[0] < 120
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
