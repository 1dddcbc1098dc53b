"""The class of errors in user input."""

from __future__ import annotations


class InputError(ValueError):
    """An argument, a file or a key of a configuration cannot be used.

    The message names the argument, file or key, the expected and the found value, and a remedy. The
    command line shows the message alone and ends with status 2. Any other exception is a bug and
    keeps its traceback.
    """
