"""Numba's cache of compiled kernels, which does not see a change in another file they call."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def drop_stale(folder: Path, *called: Path) -> None:
    """Delete a package's compiled kernels that are older than any source they may have come from.

    With NUMBA_CACHE_DIR set, the cache lies elsewhere and is to be deleted by hand after a change.

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
