"""Connection to the workers of a Dask cluster, and their jobs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from pipeline.execution.interrupts import shielded_from_interrupts
from pipeline.execution.worker_checks import (
    ExecutionError,
    Job,
    environment,
    environment_error,
    in_cluster,
    worker_error,
)

#: Time to wait for the answer of a scheduler or a worker, and for a first worker [s].
_CONNECT_SECONDS, _WORKER_SECONDS = 10.0, 60.0
#: Loggers that repeat with tracebacks what an `ExecutionError` says in a sentence.
_LOUD = ("distributed", "distributed.client", "distributed.scheduler", "tornado.application")


def connect(address: str, workers: int, opened: ExitStack) -> Any:
    """Return a Dask client after a check of its workers; `opened` closes what was opened.

    If the `address` of a scheduler is empty, a cluster of `workers` is started on this machine.
    Raises `ExecutionError` if Dask is not installed, the scheduler does not answer or has no
    workers, or a worker has another environment than this process or more than one thread.
    """
    try:
        import dask
        from distributed import Client
    except ImportError as error:
        raise ExecutionError(
            'backend = "dask": the package distributed is missing; install it with '
            '`pip install "knee-contact[dask]"`, or use backend = "threads"'
        ) from error
    for name in _LOUD:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    dask.config.set(
        {
            # The samples of a fit are some tens of MB, and go to a single worker.
            "distributed.admin.large-graph-warning-threshold": "2 GB",
            # Results of a worker that was lost are waited for as long.
            "distributed.comm.timeouts.connect": f"{_CONNECT_SECONDS} s",
        }
    )
    scheduler = address or _local_cluster(workers, opened)
    try:
        client = Client(scheduler, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ExecutionError(
            f"scheduler {scheduler}: no answer within {_CONNECT_SECONDS:g} s; start it with "
            "`dask scheduler`, or correct the address"
        ) from error
    opened.callback(_close, client)
    _check_workers(client, address)
    return client


def _local_cluster(workers: int, opened: ExitStack) -> str:
    """Start a cluster on this machine; return the address of its scheduler."""
    from distributed import LocalCluster

    with shielded_from_interrupts():
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        )
    opened.callback(_close, cluster)
    return str(cluster.scheduler_address)


def _close(connection: Any) -> None:
    """Close a connection; its other end may have gone."""
    with suppress(Exception):
        connection.close()


def _check_workers(client: Any, scheduler: str) -> None:
    """Raise an ExecutionError unless there are workers, all with the same environment."""
    try:
        client.wait_for_workers(1, timeout=_WORKER_SECONDS)
    except TimeoutError as error:
        raise ExecutionError(
            f"scheduler {scheduler}: no worker within {_WORKER_SECONDS:g} s; start workers with "
            f"`dask worker {scheduler} --nthreads 1`"
        ) from error
    answers = client.run(worker_error, environment(), on_error="return")
    # The scheduler loads the functions that it sends to the workers.
    errors = {f"scheduler {scheduler}": _scheduler_error(client)} | {
        f"worker {address}": answer
        for address, answer in answers.items()
        if not isinstance(answer, OSError)  # a worker that has gone meanwhile
    }
    for name, found in errors.items():
        if isinstance(found, BaseException):
            reason = " ".join(str(found).split())
            found = f"cannot load this package ({reason}); install the same version there"
        if found:
            raise ExecutionError(f"{name} {found}")


def _scheduler_error(client: Any) -> object:
    """Return why a scheduler cannot be used, as a text or an error; "" if it can."""
    try:
        return environment_error(environment(), client.run_on_scheduler(environment))
    except Exception as error:  # any error of the other process
        return error


def results_of_workers(
    client: Any, function: Callable[..., Any], jobs: list[Job], shared: tuple[Any, ...]
) -> Iterator[tuple[int, Any]]:
    """Yield the results of jobs as Dask workers finish them."""
    from distributed import as_completed

    # `shared` is sent to each worker once. All jobs are submitted at once and stay with the
    # scheduler: jobs of a lost worker are restarted, and workers that join later find some.
    sent = client.scatter(list(shared), broadcast=True, hash=False) if shared else []
    carry_out = partial(in_cluster, environment(), function)
    futures = [client.submit(carry_out, job, *sent, pure=False) for job in jobs]
    for future in as_completed(futures, loop=client.loop):
        yield future.result()


def losses() -> tuple[type[BaseException], ...]:
    """Return the errors that mean that a worker, or the connection to Dask, was lost."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    # A timeout means that there was no worker to send the shared arguments to.
    return (BrokenProcessPool, CancelledError, KilledWorker, CommClosedError, TimeoutError)
