"""How the kernels are compiled and cached."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from numba import njit

#: Fused multiply-add is allowed, other reordering is not: the same machine gives the same bits.
#: (But for a kernel that the compiler inlines when it is new and calls when it is from the cache:
#: its sums are then fused otherwise. Tests that compare workers with one process find such a one.)
#: Division by zero gives infinity, since a test for it in a loop keeps the compiler from handling
#: several turns of the loop at once.
kernel = njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")

#: Lines or elements that are handled side by side. Loops over them have this constant length and
#: run over neighbouring numbers, so that the compiler makes vector instructions of them.
LANES = 16
#: Rows of a block of elements, see `foundation.kernels.blocks`.
BLOCK_ROWS = 249


def drop_stale() -> None:
    """Delete compiled kernels older than any of this package's sources.

    Numba's cache of a function does not see a change in another file that it calls. (With
    NUMBA_CACHE_DIR set, the cache lies elsewhere and is to be deleted by hand after a change.)
    """
    folder = Path(__file__).parent
    newest = max(source.stat().st_mtime for source in folder.glob("*.py"))
    for index in (folder / "__pycache__").glob("*.nbi"):
        # Another process may delete it first, or the folder may be read-only.
        with suppress(OSError):
            if index.stat().st_mtime < newest:
                index.unlink()
