"""Compilation of the surrogates' kernels in a process of its own, while the original model runs.

The kernels of a run are compiled once per machine. Those of the original model are needed from the
beginning, those of surrogates and dynamics later: a second process compiles the latter in the
meantime, into numba's cache (`pipeline.stages.kernels`). Should it fail, the run compiles them
itself.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dynamics.kernels.knee import integrate_knee

COMMAND = [sys.executable, "-m", "pipeline.stages.kernels"]


@contextmanager
def compiling_beside(workers: int) -> Iterator[Callable[[], object]]:
    """Compile the kernels of surrogates and dynamics while the block runs.

    Yield a function that returns when the compilation has ended. With fewer than two `workers`, the
    processes that the user allows, nothing is done.
    """
    if workers < 2 or is_compiled():
        yield lambda: None
        return
    null = subprocess.DEVNULL
    process = subprocess.Popen(COMMAND, stdin=null, stdout=null, stderr=null)
    try:
        yield process.wait
    finally:
        process.kill()
        process.wait()


def is_compiled() -> bool:
    """Return whether the kernel that is compiled last is in the cache."""
    folder = Path(integrate_knee.stats.cache_path)
    return any(folder.glob(f"knee.{integrate_knee.__name__}-*.nbi"))
