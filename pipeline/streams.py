"""Standard output and error that cannot be written: a log may lie on a full disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def or_silent() -> Iterator[None]:
    """Silence stderr for good if the block cannot write there."""
    try:
        yield
    except OSError:
        drop(sys.stderr)


def drop(stream: Any) -> None:
    """Send what a stream still holds, and gets later, nowhere: Python flushes it at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
