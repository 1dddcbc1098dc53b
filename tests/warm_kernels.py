"""Compilation of the kernels that most tests need, shared between the processes of a whole run.

Two processes that compile the same kernel at the same time both wait for the same. In a whole run,
one process compiles the kernels of simulations (`conftest.pytest_collection_finish`); the others
take them from numba's cache.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock, Timeout

from pipeline.stages.kernels import compile_kernels

PARTS: dict[str, Callable[[], None]] = {
    "surrogates": compile_kernels,
}


def warm(parts: tuple[str, ...], run: str) -> None:
    """Compile parts of `PARTS` in turn, but for those that another process compiles."""
    for part in parts:
        lock = Path(tempfile.gettempdir()) / f"knee-contact-tests-{run}-{part.replace(' ', '-')}"
        try:
            with FileLock(lock.with_suffix(".lock"), blocking=False):
                PARTS[part]()
        except Timeout:
            continue
