"""Errors of stages and of their execution, and the exit status of an interrupt."""

from __future__ import annotations

#: Exit status of a command that was interrupted (128 and the number of SIGINT).
INTERRUPTED = 130


class StageError(RuntimeError):
    """A stage that cannot go on; the message names it, what it needs and what it found."""


class ExecutionError(RuntimeError):
    """Work that cannot be carried out in parallel; the message says why and what to do."""
