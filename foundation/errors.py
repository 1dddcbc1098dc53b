"""The error class for what users give."""

from __future__ import annotations


class InputError(ValueError):
    """What a user gave cannot be used: an argument, a file, a key of a configuration.

    The message names the thing, what was expected and what was found, and says what to do next. The
    command line shows the message alone and ends with status 2. Any other exception is a fault of
    the program and keeps its traceback. As a `ValueError`, this error is also caught by code that
    expects one.
    """
