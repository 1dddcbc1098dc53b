"""Memory that runs out: the errors by which libraries tell it."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from pipeline.progress import peak_memory

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
