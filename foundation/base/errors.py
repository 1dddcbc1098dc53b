"""Errors in user input, and poses without an answer."""

from __future__ import annotations


class InputError(ValueError):
    """An argument, a file or a key of a configuration cannot be used.

    Every class and function raises this error for an argument of another type or shape than its
    docstring states, that is not finite, or outside the stated range; a section "Raises" adds
    further conditions. The message names the argument, file or key, the expected and the found
    value, and a remedy. The command line shows the message alone and ends with status 2. Any other
    exception is a bug and keeps its traceback.
    """


class PoseError(RuntimeError):
    """A contact model has no answer at a pose; the message gives the reason."""
