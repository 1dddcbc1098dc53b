"""Files that a reader never sees half written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4


@contextmanager
def replacing(path: Path, later: dict[Path, Path] | None = None) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces a file at the end of the block.

    A reader sees the old file or the whole new file. Several processes may write the same file, in
    a folder that exists. `later` receives the temporary path by `path`; the caller then replaces
    the file. Raises `OSError` if the file cannot be written; the old file stays, and no temporary
    file is left.
    """
    partial = path.with_name(f"{path.name}.{uuid4().hex[:12]}.partial")
    try:
        yield partial
        if later is None:
            os.replace(partial, path)
        else:
            later[path] = partial
    finally:
        if later is None or later.get(path) != partial:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
