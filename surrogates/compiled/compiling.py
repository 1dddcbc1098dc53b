"""How the kernels are compiled; without numba they run as they stand, slowly."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

try:
    from numba import njit
except ImportError:  # numba is for speed alone

    def njit(*functions: Any, **_: Any) -> Any:
        """Return the function itself in place of its compiled form."""
        return functions[0] if functions else lambda function: function

    COMPILED = False
else:
    COMPILED = True

#: No reordering of sums: the same arguments give the same bits. Division by zero gives infinity
#: instead of an exception.
kernel: Callable[..., Any] = njit(cache=True, nogil=True, error_model="numpy")
#: For what Python calls with scratch memory of its own: the interpreter's lock guards it.
entry: Callable[..., Any] = njit(cache=True, error_model="numpy")
#: For the few instructions on rows of `surrogates.compiled.lanes`.
inlined: Callable[..., Any] = njit(nogil=True, error_model="numpy", forceinline=True)

#: For what takes another kernel as an argument. It becomes part of its caller before that is
#: compiled: numba does not cache a function that hands another one on.
pasted: Callable[..., Any] = njit(nogil=True, error_model="numpy", inline="always")


def drop_stale(folder: Path, *called: Path) -> None:
    """Delete a package's compiled kernels that are older than any source they may have come from.

    Numba's cache of a function does not see a change in another file that it calls. (With
    NUMBA_CACHE_DIR set, the cache lies elsewhere and is to be deleted by hand after a change.)

    Parameters
    ----------
    folder : Path
        The package.
    called : Path
        Packages of kernels that its kernels call.
    """
    sources = [source for each in (folder, *called) for source in each.glob("*.py")]
    newest = max(source.stat().st_mtime for source in sources)
    for index in (folder / "__pycache__").glob("*.nbi"):
        # Another process may delete it first, or the folder may be read-only.
        with suppress(OSError):
            if index.stat().st_mtime < newest:
                index.unlink()
