"""Work in parallel: in threads of this process or by the workers of Dask; memory that runs out."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import platform
import signal
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, Self

from foundation.base.threads import one_thread
from pipeline.config.schema import ExecutionConfig
from pipeline.errors import ExecutionError
from pipeline.progress import bar, peak_memory

#: Packages of the project that compute, and packages that they compute with.
_OWN = ("foundation", "surrogates", "dynamics")
_SOURCES = ("*.py", "*.[ch]")
_PACKAGES = ("numpy", "scipy", "pandas")

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
    root = Path(__file__).resolve().parents[1]
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
    """Start processes and threads that never receive Ctrl-C: the first process ends the others."""
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


#: What errors that are no `MemoryError` say.
_TOLD = (
    *("cannot allocate memory", "unable to allocate", "failed to map segment"),
    "can't start new thread",
)


def is_of_memory(error: BaseException) -> bool:
    """Return whether an error, or an error behind it, means that memory ran out."""
    return any(True for _ in _of_memory(error))


def _of_memory(error: BaseException | None) -> Iterator[BaseException]:
    """Yield those of an error and the errors behind it that mean that memory ran out."""
    seen: set[int] = set()  # The context of a cause may be the error again.
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if (
            isinstance(error, MemoryError)
            or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
            or (
                isinstance(error, OSError | RuntimeError | ImportError)
                and any(text in str(error).lower() for text in _TOLD)
            )
        ):
            yield error
        error = error.__cause__ or error.__context__


def memory_error_text(error: BaseException) -> str:
    """Return the message of an error of memory: what asked for memory, what is taken, the cure."""
    asked = " ".join(str(next(_of_memory(error), "")).split())
    found = peak_memory()
    return (
        f"out of memory{found}{f': {asked}' if asked else ''}; raise the limit (`ulimit -v`), "
        "close other programs, or use fewer workers (`--set run.workers=1`), samples or triangles"
    )


#: Number of restarts after workers were lost.
_REPEATS = 3


class Execution:
    """Parallel execution by workers, 0 for one per core, of the backend "threads" or "dask".

    `scheduler` is the address of a Dask scheduler; if empty, a cluster starts on this machine.
    """

    def __init__(self, workers: int = 0, backend: str = "threads", scheduler: str = "") -> None:
        self._workers = workers or os.cpu_count() or 1
        self._backend = backend
        self._scheduler = scheduler
        self._client: Any = None
        self._release: Callable[[], object] = ExitStack().close

    @classmethod
    def of(cls, section: ExecutionConfig) -> Execution:
        """Return the execution that a section of a configuration asks for."""
        return cls(section.workers, section.backend, section.scheduler)

    def __enter__(self) -> Self:
        """Open the connection."""
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()

    @property
    def workers(self) -> int:
        """Number of workers; with a connected scheduler, its present number of workers."""
        return len(self._client.nthreads()) if self._client is not None else self._workers

    def open(self) -> None:
        """Connect to the scheduler, or start the cluster, and check its workers."""
        if self._backend != "dask" or self._client is not None:
            return
        with ExitStack() as opened:
            client = connect(self._scheduler, self._workers, opened)
            # Closed at the latest at the end of this object or of the program.
            self._release = weakref.finalize(self, opened.pop_all().close)
        self._client = client

    def close(self) -> None:
        """Close the connection; the next use opens a new one."""
        self._client = None
        self._release()

    def map(self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return `function(*job)` of every job, in order; raises as `results` does."""
        found = {}
        with bar(len(jobs), "fit", "fits") as shown:
            for position, result in self.results(function, jobs):
                found[position] = result
                shown.update()
        return [found[position] for position in range(len(jobs))]

    def results(
        self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], *shared: Any
    ) -> Iterator[tuple[int, Any]]:
        """Yield (position of a job, `function(*shared, *job)`) as the jobs end, in any order.

        The function is one of a module or a partial of one. A worker receives `shared` once.
        """
        self.open()
        if self._client is None:
            yield from self._by_threads(function, jobs, shared)
            return
        missing = dict(enumerate(jobs))
        for repeat in range(_REPEATS + 1):
            try:
                todo = list(missing.items())
                found = results_of_workers(self._client, function, todo, shared)
                for position, result in found:
                    del missing[position]
                    yield position, result
                return
            except losses() as error:
                reason = " ".join(str(error).split()).partition(".")[0]
            # The state of the old connection is unknown. A lost scheduler is found by opening.
            self.close()
            if repeat < _REPEATS:
                self.open()
                warnings.warn(
                    f"workers were lost ({reason}): restarting their tasks "
                    f"({repeat + 1} of {_REPEATS})",
                    stacklevel=2,
                )
        raise ExecutionError(
            f"workers were lost {_REPEATS + 1} times ({reason}); check whether they run out of "
            "memory (fewer workers need less) or are killed"
        )

    def _by_threads(
        self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], shared: tuple[Any, ...]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the results of jobs; an error or an interrupt drops jobs that have not begun."""
        with one_thread:
            if min(self._workers, len(jobs)) < 2:
                for position, job in enumerate(jobs):
                    yield position, function(*shared, *job)
                return
            pool = ThreadPoolExecutor(min(self._workers, len(jobs)))
            try:
                places = {pool.submit(function, *shared, *job): k for k, job in enumerate(jobs)}
                for done in as_completed(places):
                    yield places.pop(done), done.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


#: Execution in this process alone.
IN_THIS_PROCESS = Execution(workers=1)
