"""One thread of linear algebra: the sums of threaded BLAS depend on the number of threads."""

from __future__ import annotations

import sys
import threading
from typing import Any


class _OneThread:
    """Limits BLAS to one thread while any thread of the process is within the context.

    Without threadpoolctl, which a trained surrogate does not need, there is no limit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._within = 0
        self._modules = 0
        self._controller: Any = None
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._within == 0:
                self._limit = self._limited()
            self._within += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._within -= 1
            if self._within == 0 and self._limit is not None:
                self._limit.restore_original_limits()

    def _limited(self) -> Any:
        """Set the limit and return what ends it; None without threadpoolctl."""
        try:
            from threadpoolctl import ThreadpoolController
        except ImportError:
            return None
        if len(sys.modules) != self._modules:  # one of which may have loaded another BLAS
            self._controller = ThreadpoolController()
            self._modules = len(sys.modules)
        return self._controller.limit(limits=1)


one_thread = _OneThread()
