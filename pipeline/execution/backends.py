"""Work in parallel: in processes of this machine (joblib's loky) or by the workers of Dask.

Results come as they end, so that they can be stored one by one. What a lost worker had begun is
begun again. No result depends on where, in which order or by how many workers it is computed.
"""

from __future__ import annotations

import logging
import os
import signal
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from typing import Any, Self

from joblib import Parallel, delayed

from pipeline.config.schema import ExecutionConfig
from pipeline.execution.environment import environment
from pipeline.execution.worker_jobs import ExecutionError as ExecutionError
from pipeline.execution.worker_jobs import in_cluster, in_process, refusal_of, refusal_of_worker
from pipeline.progress import bar

#: How often work is taken up again after workers were lost.
_REPEATS = 3
#: How long is waited for a scheduler to answer and for its first worker [s].
_CONNECT_SECONDS, _WORKER_SECONDS = 10.0, 60.0
#: Loggers that tell with tracebacks what an `ExecutionError` says in a sentence.
_LOUD = ("distributed", "distributed.client", "distributed.scheduler", "tornado.application")


class Execution:
    """Where work is carried out in parallel; connections are opened when they are first needed.

    Parameters
    ----------
    workers : int
        Processes, of loky or of a Dask cluster on this machine; 0 takes one per core.
    backend : {"loky", "dask"}
        Processes of this machine by loky, or workers of Dask.
    scheduler : str
        Address of a Dask scheduler; if empty, a Dask cluster is started on this machine.
    """

    def __init__(self, workers: int = 0, backend: str = "loky", scheduler: str = "") -> None:
        self._workers = workers or os.cpu_count() or 1
        self._backend = backend
        self._scheduler = scheduler
        #: Whether `map` shows no bar.
        self.quiet = True
        self._client: Any = None
        self._release: Callable[[], object] = ExitStack().close

    @classmethod
    def of(cls, section: ExecutionConfig) -> Execution:
        """Return what a section of a configuration asks for."""
        return cls(section.workers, section.backend, section.scheduler)

    def __enter__(self) -> Self:
        """Open it."""
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    @property
    def workers(self) -> int:
        """Number of processes; of a scheduler that is connected, its workers at this moment."""
        return len(self._client.nthreads()) if self._client is not None else self._workers

    def open(self) -> None:
        """Connect to the scheduler, or start the cluster, and look at its workers.

        Raises
        ------
        ExecutionError
            If the scheduler does not answer or has no workers, or a worker has other packages
            than this process or more than one thread.
        """
        if self._backend != "dask" or self._client is not None:
            return
        with ExitStack() as opened:
            client = self._connected(opened)
            _check_workers(client, self._scheduler)
            # Closed at the latest when nobody needs this any more, or at the end of the program.
            self._release = weakref.finalize(self, opened.pop_all().close)
        self._client = client

    def close(self) -> None:
        """Close what was opened; it is opened again when it is needed."""
        self._client = None
        self._release()

    def _connected(self, opened: ExitStack) -> Any:
        """Return a Dask client, which is closed with `opened`, as is the cluster started for it."""
        try:
            import dask
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise ExecutionError(
                'backend = "dask": the package distributed is missing; install it with '
                '`pip install "knee-contact[dask]"`, or take backend = "loky"'
            ) from error
        for name in _LOUD:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        # Samples to fit to are some tens of MB, and go to one worker alone.
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "2 GB"})
        address = self._scheduler
        if not address:
            with deaf_to_interrupts():
                cluster = LocalCluster(
                    n_workers=self._workers,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=0,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                )
            opened.callback(_quietly, cluster.close)
            address = cluster.scheduler_address
        try:
            client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ExecutionError(
                f"scheduler {address}: no answer within {_CONNECT_SECONDS:g} s; start it with "
                "`dask scheduler`, or correct the address"
            ) from error
        opened.callback(_quietly, client.close)
        return client

    def map(self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return `function(*job)` of every job, in their order; raises as `results` does."""
        found = {}
        with bar(len(jobs), "fit", "fits", quiet=self.quiet) as shown:
            for position, result in self.results(function, jobs):
                found[position] = result
                shown.update()
        return [found[position] for position in range(len(jobs))]

    def results(
        self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], *shared: Any
    ) -> Iterator[tuple[int, Any]]:
        """Yield (position of a job, `function(*shared, *job)`) as the jobs end, in any order.

        Parameters
        ----------
        function : callable
            A function of a module, or a partial of one.
        jobs : sequence of tuple
            Arguments of each call.
        shared : Any
            First arguments of all calls, large ones too: a worker of Dask gets them once.

        Raises
        ------
        ExecutionError
            If workers are lost again and again, or the scheduler is.
        """
        missing = dict(enumerate(jobs))
        for repeat in range(_REPEATS + 1):
            try:
                for position, result in self._started(
                    function, list(missing.items()), shared, fewest=2 if repeat else 1
                ):
                    del missing[position]
                    yield position, result
                return
            except _losses() as error:
                lost = " ".join(str(error).split()).partition(".")[0]
            # Of the old connection nothing is sure; a scheduler that is gone is found out here.
            self.close()
            if repeat < _REPEATS:
                self.open()
                warnings.warn(
                    f"workers were lost ({lost}): what they had begun is begun again "
                    f"({repeat + 1} of {_REPEATS})",
                    stacklevel=2,
                )
        raise ExecutionError(
            f"workers were lost {_REPEATS + 1} times ({lost}); see whether they run out of memory "
            "(fewer workers need less) or are killed"
        )

    def _started(
        self,
        function: Callable[..., Any],
        jobs: list[tuple[int, tuple[Any, ...]]],
        shared: tuple[Any, ...],
        *,
        fewest: int,
    ) -> Iterator[tuple[int, Any]]:
        """Start jobs, with loky in `fewest` processes or more; return their results as they end."""
        self.open()
        if self._client is not None:
            return _in_workers(self._client, function, jobs, shared)
        # Memory maps would reach the kernels as another array type and be compiled for again.
        # A job is stored when it ends, and so does not wait for others in one batch. A single one
        # is done in this process, unless it may be what its worker was lost of.
        pool = Parallel(
            n_jobs=min(self._workers, max(fewest, len(jobs))),
            return_as="generator_unordered",
            max_nbytes=None,
            batch_size=1,
        )
        carry_out = delayed(partial(in_process, os.getpid(), function))
        with deaf_to_interrupts():
            return iter(pool(carry_out(job, *shared) for job in jobs))


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Let the processes and threads that are started meanwhile never be told of Ctrl-C.

    A terminal sends the interrupt to all processes of a command. Its first one ends the others; of
    them each would tell its own traceback. An interrupt in the meantime comes at the end.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Starting Python's own tracker of resources would end the block; a second time does nothing.
    resource_tracker.ensure_running()
    # What is blocked is so in all that a thread starts, from their first instruction.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _in_workers(
    client: Any,
    function: Callable[..., Any],
    jobs: list[tuple[int, tuple[Any, ...]]],
    shared: tuple[Any, ...],
) -> Iterator[tuple[int, Any]]:
    """Have jobs done by the workers of Dask; yield their results as they end.

    Not by joblib's backend of Dask: it waits forever for a job that kills its workers or cannot be
    loaded by them, and computes in this process where a cluster has a single worker.
    """
    from distributed import as_completed

    # Each worker gets what is shared once. Jobs stay with the scheduler, which has those of a lost
    # worker begun again by others, and all are told at once: workers that join later find some.
    given = client.scatter(list(shared), broadcast=True, hash=False) if shared else []
    carry_out = partial(in_cluster, environment(), function)
    begun = [client.submit(carry_out, job, *given, pure=False) for job in jobs]
    for future in as_completed(begun, loop=client.loop):
        yield future.result()


#: One process, this one.
IN_THIS_PROCESS = Execution(workers=1)


def _quietly(close: Callable[[], object]) -> None:
    """Close a connection whose other end may be gone."""
    with suppress(Exception):
        close()


def _losses() -> tuple[type[BaseException], ...]:
    """Return the errors that say that a worker, or the way to it, was lost."""
    try:
        from distributed import CancelledError, KilledWorker
        from distributed.comm import CommClosedError
    except ImportError:
        return (BrokenProcessPool,)
    # A timeout: nobody was there to give what is shared to.
    return (BrokenProcessPool, CancelledError, KilledWorker, CommClosedError, TimeoutError)


def _check_workers(client: Any, scheduler: str) -> None:
    """Raise an ExecutionError if there are no workers, or not such as give the same results."""
    try:
        client.wait_for_workers(1, timeout=_WORKER_SECONDS)
    except TimeoutError as error:
        raise ExecutionError(
            f"scheduler {scheduler}: no worker within {_WORKER_SECONDS:g} s; start some with "
            f"`dask worker {scheduler} --nthreads 1`"
        ) from error
    found = client.run(refusal_of_worker, environment(), on_error="return")
    # The scheduler loads what it has the workers do.
    told = {f"scheduler {scheduler}": _of_scheduler(client)} | {
        f"worker {address}": refusal
        for address, refusal in found.items()
        if not isinstance(refusal, OSError)  # one that has gone meanwhile
    }
    for name, refusal in told.items():
        if isinstance(refusal, BaseException):
            reason = " ".join(str(refusal).split())
            refusal = f"cannot load this package ({reason}); install the same version there"
        if refusal:
            raise ExecutionError(f"{name} {refusal}")


def _of_scheduler(client: Any) -> object:
    """Return why a scheduler cannot be used, as a text or an error, or nothing."""
    try:
        return refusal_of(environment(), client.run_on_scheduler(environment))
    except Exception as error:  # whatever it met
        return error
