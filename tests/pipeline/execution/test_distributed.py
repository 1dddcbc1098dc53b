"""Runs on Dask: a real scheduler with workers of its own, a cluster of this machine, and losses."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial

import jobs
import pytest
from studies import ROOT, TINY, assert_same_run, run_command, stored_samples

from pipeline import execution as module
from pipeline.cli.main import main
from pipeline.execution import Execution

#: How long a process may take to start on a busy machine [s].
PATIENCE = 60.0


def wait_until(condition, what):
    """Wait until a condition holds; fail if it never does."""
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit, f"waited in vain: {what}"
        time.sleep(0.02)


class Cluster:
    """A scheduler and its workers."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        file = folder / "scheduler.json"
        self.scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)
        )
        wait_until(lambda: file.exists() and file.read_text().strip().endswith("}"), "scheduler")
        self.address = next(
            part for part in file.read_text().split('"') if part.startswith("tcp://127")
        )

    def add_worker(self, *arguments, path=str(ROOT)):
        """Start a worker with one thread, whose modules lie in `path` first."""
        given = arguments or ("--nthreads", "1")
        return self._start("dask_worker", self.address, "--no-nanny", *given, path=path)

    def _start(self, module, *arguments, path=str(ROOT)):
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--no-dashboard", *arguments]
        modules = os.pathsep.join([path, str(ROOT), str(ROOT / "tests")])
        environment = os.environ | {"PYTHONPATH": modules, "OMP_NUM_THREADS": "1"}
        log = (self.folder / f"{len(self.processes)}.log").open("wb")
        with log:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=log
            )
        self.processes.append(process)
        return process

    def end(self):
        """End all processes."""
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@contextmanager
def cluster(folder, workers=2):
    """Give a scheduler with workers that are ended with the block."""
    folder.mkdir()
    found = Cluster(folder)
    try:
        for _ in range(workers):
            found.add_worker()
        yield found
    finally:
        found.end()


@contextmanager
def killed_in(samples, process):
    """Kill a process as soon as a run has stored results.

    The list then holds the number of results that were stored at that moment.
    """
    stored = []
    ended = threading.Event()

    def watch():
        while not stored_samples(samples):
            if ended.wait(5e-4):
                return
        process.send_signal(signal.SIGKILL)
        stored.append(stored_samples(samples))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield stored
    finally:
        ended.set()
        watcher.join()


psutil = pytest.importorskip("psutil", reason="needs the extra dask")
pytest.importorskip("distributed", reason="needs the extra dask")

JOBS = [(number,) for number in range(6)]
DOUBLED = [0, 2, 4, 6, 8, 10]


def on(address):
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
