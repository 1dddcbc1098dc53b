"""Errors of stages, and the exit status of an interrupt."""

from __future__ import annotations

#: Exit status of a command that was interrupted (128 and the number of SIGINT).
INTERRUPTED = 130


class StageError(RuntimeError):
    """A stage that cannot go on; the message names it, what it needs and what it found."""
