"""Scratch memory of the contact kernels."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from foundation import kernels


class Scratch:
    """Pool of scratch memory: one set for each evaluation on a `bed` that runs at the same time."""

    def __init__(self, bed: kernels.Bed) -> None:
        self._bed = bed
        self._free: list[Any] = []
        self._lock = threading.Lock()

    def __getstate__(self) -> kernels.Bed:
        return self._bed

    def __setstate__(self, bed: kernels.Bed) -> None:
        self.__init__(bed)  # type: ignore[misc]

    @contextmanager
    def borrowed(self) -> Iterator[Any]:
        """Lend a set that no other caller uses."""
        with self._lock:
            work = self._free.pop() if self._free else kernels.handle(kernels.new_work(self._bed))
        try:
            yield work
        finally:
            with self._lock:
                self._free.append(work)
