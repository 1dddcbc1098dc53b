"""Work in parallel: in processes of this machine (joblib's loky) or by the workers of Dask.

Results are yielded as jobs end, so that each can be stored at once. Jobs of a lost worker are
restarted. No result depends on where, in which order or by how many workers it is computed.
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Self

from joblib import Parallel, delayed

from pipeline.config.schema import ExecutionConfig
from pipeline.execution import dask_cluster
from pipeline.execution.interrupts import shielded_from_interrupts
from pipeline.execution.worker_checks import ExecutionError, Job, in_process
from pipeline.progress import bar

#: Number of restarts after workers were lost.
_REPEATS = 3


class Execution:
    """Parallel execution on processes, 0 for one per core, by the backend "loky" or "dask".

    Connections are opened when they are first needed. `scheduler` is the address of a Dask
    scheduler; if empty, a Dask cluster is started on this machine.
    """

    def __init__(self, workers: int = 0, backend: str = "loky", scheduler: str = "") -> None:
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
        """Number of processes; with a connected scheduler, its present number of workers."""
        return len(self._client.nthreads()) if self._client is not None else self._workers

    def open(self) -> None:
        """Connect to the scheduler, or start the cluster, and check its workers.

        Raises `ExecutionError` if the scheduler does not answer or has no workers, or a worker has
        another environment than this process or more than one thread.
        """
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

        The function is one of a module, or a partial of one. A Dask worker receives the `shared`
        arguments once. Raises `ExecutionError` if workers are lost repeatedly, or the scheduler is
        lost.
        """
        missing = dict(enumerate(jobs))
        for repeat in range(_REPEATS + 1):
            try:
                todo = list(missing.items())
                for position, result in self._started(function, todo, shared, repeated=repeat > 0):
                    del missing[position]
                    yield position, result
                return
            except dask_cluster.losses(connected=self._client is not None) as error:
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

    def _started(
        self,
        function: Callable[..., Any],
        jobs: list[Job],
        shared: tuple[Any, ...],
        *,
        repeated: bool,
    ) -> Iterator[tuple[int, Any]]:
        """Start jobs and return their results as they end.

        A single job is carried out in this process, unless the process of that job was lost before.
        """
        self.open()
        if self._client is not None:
            return dask_cluster.results_of_workers(self._client, function, jobs, shared)
        # With batches, finished jobs would wait for others before they can be stored.
        pool = Parallel(
            n_jobs=min(self._workers, max(2 if repeated else 1, len(jobs))),
            return_as="generator_unordered",
            max_nbytes=None,
            batch_size=1,
        )
        carry_out = delayed(partial(in_process, os.getpid(), function))
        with shielded_from_interrupts():
            return iter(pool(carry_out(job, *shared) for job in jobs))


#: Execution in this process alone.
IN_THIS_PROCESS = Execution(workers=1)
