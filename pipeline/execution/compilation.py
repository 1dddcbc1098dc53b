"""Compilation of the surrogates' kernels in a process of its own, while the original model runs.

The kernels of a run are compiled once per machine. Those of the original model are needed from the
beginning, those of surrogates and dynamics later: a second process compiles the latter in the
meantime, into numba's cache (`pipeline.stages.kernels`). Should it fail, the run compiles them
itself.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dynamics.kernels.knee import integrate_knee

COMMAND = [sys.executable, "-m", "pipeline.stages.kernels"]


class Beside:
    """The process that compiles; `wait` for it before the first use of what it compiles."""

    def __init__(self, process: subprocess.Popen[bytes] | None) -> None:
        self._process = process

    def wait(self) -> None:
        """Return when the process has ended, or at once if there is none."""
        if self._process is not None:
            self._process.wait()


@contextmanager
def compiling_beside(workers: int) -> Iterator[Beside]:
    """Compile the kernels of surrogates and dynamics beside what is done inside the context.

    Parameters
    ----------
    workers : int
        Processes that the user allows; with one, nothing is done.
    """
    if workers < 2 or is_compiled():
        yield Beside(None)
        return
    process = subprocess.Popen(
        COMMAND,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield Beside(process)
    finally:
        process.kill()
        process.wait()


def is_compiled() -> bool:
    """Return whether the kernel that is compiled last is in the cache."""
    folder = Path(integrate_knee.stats.cache_path)
    return any(folder.glob(f"knee.{integrate_knee.__name__}-*.nbi"))
