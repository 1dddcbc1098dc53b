"""What a worker process does of the work in parallel: a job, after a look at itself."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from pipeline.execution.environment import differences, environment


class ExecutionError(RuntimeError):
    """Work that cannot be carried out in parallel; the message says why and what to do."""


def refusal_of_worker(expected: dict[str, str], dask_worker: Any) -> str:
    """Return why a worker of Dask would give other results than are asked for, or nothing."""
    threads = dask_worker.state.nthreads
    if threads != 1:
        return (
            f"has {threads} threads, expected 1; start it with `--nthreads 1`, and more workers "
            "(`--nworkers`) in their place"
        )
    return refusal_of(expected, environment())


def refusal_of(expected: dict[str, str], found: dict[str, str]) -> str:
    """Return what another process has that this one has not, or nothing."""
    other = differences(expected, found)
    return f"has {other}; give scheduler and workers the same environment" if other else ""


def in_cluster(
    expected: dict[str, str],
    function: Callable[..., Any],
    job: tuple[int, tuple[Any, ...]],
    *shared: Any,
) -> tuple[int, Any]:
    """Carry out a job in a worker of Dask, perhaps one that joined after all were looked at."""
    from distributed import get_worker

    if told := _refused(tuple(expected.items())):
        raise ExecutionError(f"worker {get_worker().address} {told}")
    position, arguments = job
    return position, function(*shared, *arguments)


@cache
def _refused(expected: tuple[tuple[str, str], ...]) -> str:
    from distributed import get_worker

    return refusal_of_worker(dict(expected), get_worker())


def in_process(
    owner: int, function: Callable[..., Any], job: tuple[int, tuple[Any, ...]], *shared: Any
) -> tuple[int, Any]:
    """Carry out a job in a process of loky, which ends with its owner."""
    if os.getpid() != owner:
        _end_with(owner)
    position, arguments = job
    return position, function(*shared, *arguments)


@cache
def _end_with(owner: int) -> None:
    """Let this worker process end when its owner does, even if that was killed.

    An interrupt, which a terminal sends to all processes, is left to the owner.
    """
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
