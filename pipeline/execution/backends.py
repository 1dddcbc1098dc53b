"""Work in parallel: in threads of this process or by the workers of Dask.

Results are yielded as jobs end, so that each can be stored at once. Jobs of a lost worker are
restarted. No result depends on where, in which order or by how many workers it is computed.
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from typing import Any, Self

from foundation.base.threads import one_thread
from pipeline.config.schema import ExecutionConfig
from pipeline.errors import ExecutionError
from pipeline.execution import dask_cluster
from pipeline.progress import bar

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
            client = dask_cluster.connect(self._scheduler, self._workers, opened)
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
                found = dask_cluster.results_of_workers(self._client, function, todo, shared)
                for position, result in found:
                    del missing[position]
                    yield position, result
                return
            except dask_cluster.losses() as error:
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
