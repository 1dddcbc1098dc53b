"""Interrupts of the terminal, which only the first process of a command handles."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def shielded_from_interrupts() -> Iterator[None]:
    """Start processes and threads that never receive Ctrl-C.

    A terminal sends the interrupt to all processes of a command. The first process ends the others,
    which would each write a traceback. An interrupt within the block takes effect at its end.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Python's resource tracker would unblock the signal when it starts; it starts only once.
    resource_tracker.ensure_running()
    # Processes and threads inherit the blocked signals from their first instruction on.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
