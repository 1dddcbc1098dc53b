"""Connection to the workers of a Dask cluster, checks of their environment, and their jobs."""

from __future__ import annotations

import hashlib
import logging
import platform
import signal
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from foundation.base.threads import one_thread
from pipeline.errors import ExecutionError

#: Packages of the project that compute, and packages that they compute with.
_OWN = ("foundation", "surrogates", "dynamics")
_SOURCES = ("*.py", "*.[ch]")
_PACKAGES = ("numpy", "scipy", "scikit-learn", "smt", "pandas")

Job = tuple[int, tuple[Any, ...]]


@cache
def environment() -> dict[str, str]:
    """Return the versions of Python, of packages and of the project that this process uses."""
    versions = {"Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "missing"
    content = hashlib.sha256()
    root = Path(__file__).resolve().parents[2]
    for package in _OWN:
        for file in sorted(each for kind in _SOURCES for each in (root / package).rglob(kind)):
            content.update(file.relative_to(root).as_posix().encode())
            content.update(file.read_bytes())
    return versions | {"knee-contact": f"source {content.hexdigest()[:12]}"}


def environment_error(expected: dict[str, str], found: dict[str, str]) -> str:
    """Return in what the environment of another process differs; "" if it does not."""
    differences = [
        f"{name} {found.get(name, 'missing')} (here {value})"
        for name, value in expected.items()
        if found.get(name) != value
    ]
    if not differences:
        return ""
    return f"has {', '.join(differences)}; give scheduler and workers the same environment"


def worker_error(expected: dict[str, str], dask_worker: Any) -> str:
    """Return why a Dask worker would give other results than this process; "" if it would not."""
    threads = dask_worker.state.nthreads
    if threads != 1:
        return (
            f"has {threads} threads, expected 1; start it with `--nthreads 1`, and use more "
            "workers (`--nworkers`) instead"
        )
    return environment_error(expected, environment())


def in_cluster(
    expected: dict[str, str], function: Callable[..., Any], job: Job, *shared: Any
) -> tuple[int, Any]:
    """Carry out a job in a Dask worker, which may have joined after the check of all workers."""
    from distributed import get_worker

    if message := _error_of_this_worker(tuple(expected.items())):
        raise ExecutionError(f"worker {get_worker().address} {message}")
    with one_thread:
        return job[0], function(*shared, *job[1])


@cache
def _error_of_this_worker(expected: tuple[tuple[str, str], ...]) -> str:
    from distributed import get_worker

    return worker_error(dict(expected), get_worker())


@contextmanager
def shielded_from_interrupts() -> Iterator[None]:
    """Start processes and threads that never receive Ctrl-C.

    A terminal sends the interrupt to all processes of a command. The first process ends the others,
    which would each write a traceback. An interrupt within the block takes effect at its end.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Python's resource tracker would unblock the signal when it starts; it starts only once.
    resource_tracker.ensure_running()
    # Processes and threads inherit the blocked signals from their first instruction on.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


#: Time to wait for the answer of a scheduler or a worker, and for a first worker [s].
_CONNECT_SECONDS, _WORKER_SECONDS = 10.0, 60.0
#: Loggers that repeat with tracebacks what an `ExecutionError` says in a sentence.
_LOUD = ("distributed", "distributed.client", "distributed.scheduler", "tornado.application")


def connect(address: str, workers: int, opened: ExitStack) -> Any:
    """Return a Dask client after a check of its workers; `opened` closes what was opened.

    If the `address` of a scheduler is empty, a cluster of `workers` is started on this machine.
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
