"""Errors of stages and of their execution."""

from __future__ import annotations


class StageError(RuntimeError):
    """A stage that cannot go on; the message names it, what it needs and what it found."""


class ExecutionError(RuntimeError):
    """Work that cannot be carried out in parallel; the message says why and what to do."""
