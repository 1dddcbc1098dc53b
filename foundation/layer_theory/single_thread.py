"""One thread of BLAS for the small linear systems of a pose."""

from __future__ import annotations

from typing import Any

from threadpoolctl import ThreadpoolController

_CONTROLLER: list[ThreadpoolController] = []


def one_thread() -> Any:
    """Return a context with one thread of BLAS: two wait for each other at this size."""
    if not _CONTROLLER:
        _CONTROLLER.append(ThreadpoolController())
    return _CONTROLLER[0].limit(limits=1, user_api="blas")
