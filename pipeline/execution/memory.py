"""Memory that runs out: the limit of a process, and the errors by which libraries tell it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import ExecutionError
from pipeline.progress import peak_memory

#: Least memory that a command must be allowed beside its libraries [bytes]. With less, libraries
#: end the process without an error, or wait for threads that cannot start.
_ROOM = 0.5e9
#: What errors that are no `MemoryError` say.
_TOLD = (
    *("cannot allocate memory", "unable to allocate", "failed to map segment"),
    "can't start new thread",
)


def check_room() -> None:
    """Raise an ExecutionError if the limit of the process leaves too little memory for a run."""
    limit, taken = limit_of_process(), _taken()
    if limit is None or taken is None or limit - taken >= _ROOM:
        return
    raise ExecutionError(
        f"out of memory: this process may take {limit / 1e9:.2f} GB, and its libraries take "
        f"{taken / 1e9:.2f} GB; raise the limit to {(taken + _ROOM) / 1e9:.1f} GB or more "
        "(`ulimit -v`); the limit holds for each worker"
    )


def limit_of_process() -> float | None:
    """Return the address space that this process may take [bytes]; None without a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else float(limit)


def _taken() -> float | None:
    """Return the address space that this process takes [bytes]; None where it is not told."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    sizes = [line.split()[1] for line in lines if line.startswith("VmSize:")]
    return 1024.0 * float(sizes[0]) if sizes else None


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
    limit, taken, found = limit_of_process(), _taken(), peak_memory()
    if limit is not None and taken is not None:
        found = f" ({taken / 1e9:.2f} of the {limit / 1e9:.2f} GB that this process may take)"
    return (
        f"out of memory{found}{f': {asked}' if asked else ''}; raise the limit (`ulimit -v`), "
        "close other programs, or use fewer workers (`--set run.workers=1`), samples or triangles"
    )
