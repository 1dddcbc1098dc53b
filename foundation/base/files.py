"""Files that a reader never sees half written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4


@contextmanager
def replacing(path: Path, later: dict[Path, Path] | None = None) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces a file at the end of the block."""
    # A reader sees the old file or the whole new file, also where several processes write it.
    # `later` receives the temporary path for a caller that replaces the file itself.
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
