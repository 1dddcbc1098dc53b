"""A Dask scheduler and workers of it in processes of their own, and jobs for them."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

from studies import ROOT, stored_samples

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
