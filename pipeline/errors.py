"""The error of a stage that cannot go on."""

from __future__ import annotations


class StageError(RuntimeError):
    """A stage that cannot go on; the message names it, what it needs and what it found."""
