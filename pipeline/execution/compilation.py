"""Compilation of the surrogates' kernels in a process of its own, while the original model runs.

The kernels of a run are compiled once per machine. Those of the original model are needed from the
beginning, those of surrogates and dynamics later: a second process compiles the latter in the
meantime, into numba's cache (`pipeline.stages.kernels`). Should it fail, the run compiles them
itself.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dynamics.kernels.knee import rates_of_all

COMMAND = [sys.executable, "-m", "pipeline.stages.kernels"]
_LOOK_SECONDS = 0.2


@contextmanager
def compiling_beside(workers: int) -> Iterator[Callable[[], object]]:
    """Compile the kernels of surrogates and dynamics while the block runs.

    Yield a function that returns when a gait cycle can be simulated without compiling. With fewer
    than two `workers`, the processes that the user allows, nothing is done.
    """
    if workers < 2 or is_compiled():
        yield lambda: None
        return
    null = subprocess.DEVNULL
    process = subprocess.Popen(COMMAND, stdin=null, stdout=null, stderr=null)

    def wait() -> None:
        while process.poll() is None and not is_compiled():
            time.sleep(_LOOK_SECONDS)

    try:
        yield wait
    finally:
        process.kill()
        process.wait()


def is_compiled() -> bool:
    """Return whether the kernel that a gait cycle needs last is in the cache."""
    folder = Path(rates_of_all.stats.cache_path)
    return any(folder.glob(f"knee.{rates_of_all.__name__}-*.nbi"))
