"""Work in parallel, in threads or by the workers of Dask; memory that runs out."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from joblib import Parallel, delayed, parallel_config

from foundation.base.threads import one_thread
from pipeline.config.schema import ExecutionConfig
from pipeline.errors import StageError
from pipeline.progress import bar, peak_memory

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
    peak = peak_memory()
    return (
        f"out of memory{peak}{f': {asked}' if asked else ''}; raise the limit (`ulimit -v`), "
        "close other programs, or use fewer workers (`--set run.workers=1`), samples or triangles"
    )


#: Time to wait for the answer of a scheduler, and for its first worker [s].
_CONNECT_SECONDS, _WORKER_SECONDS = 10.0, 60.0


def _in_worker(
    place: int, function: Callable[..., Any], shared: tuple[Any, ...], job: tuple[Any, ...]
) -> tuple[int, Any]:
    with one_thread:
        return place, function(*shared, *job)


def _by_scheduler(
    address: str,
    function: Callable[..., Any],
    jobs: Sequence[tuple[Any, ...]],
    shared: tuple[Any, ...],
) -> Iterator[tuple[int, Any]]:
    """Yield (position, result) of jobs that the workers of a Dask scheduler carry out."""
    try:
        from distributed import Client
    except ImportError as error:
        raise StageError(
            'scheduler: the package distributed is missing; `pip install "knee-contact[dask]"`, or '
            "leave scheduler empty for threads of this machine"
        ) from error
    try:
        client = Client(address, timeout=_CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise StageError(
            f"scheduler {address}: no answer within {_CONNECT_SECONDS:g} s; start it with "
            "`dask scheduler`, or correct the address"
        ) from error
    with client, parallel_config("dask", wait_for_workers_timeout=_WORKER_SECONDS):
        try:
            client.get_versions(check=True, packages=["numpy", "scipy"])
            calls = (delayed(_in_worker)(k, function, shared, job) for k, job in enumerate(jobs))
            yield from Parallel(return_as="generator_unordered", batch_size=1)(calls)
        except (OSError, TimeoutError) as error:
            raise StageError(
                f"scheduler {address}: {error}; start workers with `dask worker {address} "
                "--nthreads 1`, and continue with --resume"
            ) from error


class Execution:
    """Parallel execution by threads, 0 for one per core, or by a Dask scheduler of an address."""

    def __init__(self, workers: int = 0, scheduler: str = "") -> None:
        self.workers = workers or os.cpu_count() or 1
        self._scheduler = scheduler

    @classmethod
    def of(cls, section: ExecutionConfig) -> Execution:
        """Return the execution that a section of a configuration asks for."""
        return cls(section.workers, section.scheduler)

    def map(self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return `function(*job)` of every job, in order; raises as `results` does."""
        results = {}
        with bar(len(jobs), "fit", "fits") as shown:
            for position, result in self.results(function, jobs):
                results[position] = result
                shown.update()
        return [results[position] for position in range(len(jobs))]

    def results(
        self, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], *shared: Any
    ) -> Iterator[tuple[int, Any]]:
        """Yield (position of a job, `function(*shared, *job)`) as the jobs end, in any order.

        An error or an interrupt drops jobs that have not begun. Of a scheduler, the function is one
        of a module or a partial of one.
        """
        if self._scheduler:
            yield from _by_scheduler(self._scheduler, function, jobs, shared)
            return
        with one_thread:
            if min(self.workers, len(jobs)) < 2:
                for position, job in enumerate(jobs):
                    yield position, function(*shared, *job)
                return
            pool = ThreadPoolExecutor(min(self.workers, len(jobs)))
            try:
                places = {pool.submit(function, *shared, *job): k for k, job in enumerate(jobs)}
                for done in as_completed(places):
                    yield places.pop(done), done.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


#: Execution in this process alone.
IN_THIS_PROCESS = Execution(workers=1)
