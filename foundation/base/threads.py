"""Settings of the whole process that several threads need at the same time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any


class Shared:
    """A context that the first of several threads begins and the last one ends."""

    def __init__(self, begin: Callable[[], AbstractContextManager[Any]]) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        self._threads = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._threads == 0:
                self._context = self._begin()
                self._context.__enter__()
            self._threads += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._threads -= 1
            if self._threads == 0:
                self._context.__exit__(None, None, None)


#: Number of loaded modules, and the libraries of linear algebra among them.
_KNOWN: dict[int, Any] = {}


def _limited() -> AbstractContextManager[Any]:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return nullcontext()
    modules = len(sys.modules)
    if modules not in _KNOWN:
        _KNOWN.clear()
        _KNOWN[modules] = ThreadpoolController()
    limited: AbstractContextManager[Any] = _KNOWN[modules].limit(limits=1)
    return limited


#: One thread of linear algebra: the sums of several depend on their number, and several wait for
#: each other. Without threadpoolctl, which a trained surrogate does not need, there is no limit.
one_thread = Shared(_limited)
