"""How kernels are compiled and cached; without numba kernels run as Python functions, slowly.

All decorators let a division by zero give infinity and never reorder a sum, so that equal arguments
give equal bits on one machine.

To numba a number or truth value written out, in a call or for a variable that a loop changes, is a
type of its own, for which the callee is compiled once more; `np.int64(0)` or `np.bool_(True)` is
not.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_LOGGER = logging.getLogger(__name__)
#: Total time of compilation beyond which it is told [s]; every process needs about 2 s.
NOTABLE = 8.0

try:
    from numba import njit
    from numba.core import event
except ImportError:  # numba is for speed alone

    def njit(*functions: Any, **_: Any) -> Any:
        """Return the function itself in place of its compiled form."""
        return functions[0] if functions else lambda function: function

    COMPILED = False
else:
    COMPILED = True

    class CompilationTimer(event.TimingListener):
        """Measures the time of compilations, without kernels read from the cache; tells of it once.

        By default a logger tells, whose warnings Python writes to stderr.
        """

        def __init__(
            self,
            tell: Callable[[str], object] = _LOGGER.warning,
            notable: float = NOTABLE,
        ) -> None:
            super().__init__()
            self.announced = False
            self._tell, self._notable = tell, notable
            self._alarms: list[threading.Timer] = []

        def on_start(self, event: Any) -> None:
            """Start the clock, and an alarm for the total time."""
            super().on_start(event)
            passed = self.duration if self.done else 0.0
            alarm = threading.Timer(max(0.0, self._notable - passed), self._announce)
            alarm.daemon = True
            alarm.start()
            self._alarms.append(alarm)

        def on_end(self, event: Any) -> None:
            """Stop the clock."""
            self._alarms.pop().cancel()
            super().on_end(event)

        def _announce(self) -> None:
            if not self.announced:
                self.announced = True
                self._tell("compiling the kernels (once per machine, one to two minutes)")

    #: Tells users of the library, in place of whom a command tells.
    TIMER = CompilationTimer()
    event.register("numba:compile", TIMER)


def _decorators(**options: Any) -> tuple[Callable[..., Any], ...]:
    """Return the decorators of kernels, of parts, and of pasted functions."""
    options |= {"error_model": "numpy", "nogil": True}
    without_python = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return (
        njit(cache=True, **options),
        njit(cache=True, **without_python, **options),
        njit(inline="always", **options),
    )


#: Decorators with strict arithmetic:
#:
#: - `kernel`: a function that Python and other kernels call.
#: - `part`: a function that kernels alone call. Python has no way in, which would take as long to
#:   compile as a short kernel: a call from Python ends the program. Call its `py_func`.
#: - `pasted`: a function that becomes part of its caller before the caller is compiled: short
#:   functions with few callers or called with literals, since each compiled kernel holds all that
#:   it calls once more; and a function that takes another function as an argument, since numba does
#:   not cache a function that hands another one on.
kernel, part, pasted = _decorators()
#: For kernels with scratch memory of their own, which the lock of the interpreter guards.
entry: Callable[..., Any] = njit(cache=True, error_model="numpy")
#: For short functions of many arrays, which take longer to hand over than to use: the compiled code
#: becomes part of each kernel that calls the function. Python calls an `inlined_kernel` too.
inlined: Callable[..., Any] = njit(nogil=True, error_model="numpy", forceinline=True)
inlined_kernel: Callable[..., Any] = njit(
    cache=True, nogil=True, error_model="numpy", forceinline=True
)


def drop_stale_cache(folder: Path, *called: Path) -> None:
    """Delete a package's cached kernels that are older than any source they may come from.

    Numba's cache does not see a change in another file that a kernel uses: `called` are the
    folders of packages that the kernels of the package in `folder` call, besides `foundation.base`.
    With NUMBA_CACHE_DIR set, the cache lies elsewhere and must be deleted by hand after a change.
    """
    folders = (Path(__file__).parent, folder, *called)
    sources = [source for each in folders for source in each.glob("*.py")]
    newest = max(source.stat().st_mtime for source in sources)
    for index in (folder / "__pycache__").glob("*.nbi"):
        # Another process may delete the file first, or the folder may be read-only.
        with suppress(OSError):
            if index.stat().st_mtime < newest:
                index.unlink()
