"""Errors of writing in words: the file, the reason, what is kept, and the command that goes on."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Sequence

from pipeline.advice import command_line
from pipeline.files import WriteError

#: Errors that only writing has, whatever raised them.
_OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
#: Those of the size of files.
_OF_SIZE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_of_writing(error: OSError) -> bool:
    """Return whether a file could not be written; other errors are of reading."""
    return isinstance(error, WriteError) or error.errno in _OF_WRITING


def write_error_text(error: OSError, words: Sequence[str], parameters: Sequence[str]) -> str:
    """Return the message of an error of writing.

    Parameters
    ----------
    error : OSError
        An error for which `is_of_writing` is true.
    words : sequence of str
        Arguments of the program.
    parameters : sequence of str
        Names of the parameters of the command; with "resume" the command can continue.
    """
    resumable = "resume" in parameters
    otherwise = "the files that were written before are kept"
    if not resumable:
        otherwise = "no file is left half written"
    files_kept = getattr(error, "kept", "") or otherwise
    cure = "free disk space" if error.errno in _OF_SIZE else "make the folder writable"
    if "out" in parameters:
        cure += ", or choose another folder with --out"
    then = f"continue with `{resumed(words)}`" if resumable else f"repeat `{command_line(*words)}`"
    return f"{_what(error)}; {files_kept}; {cure}, then {then}"


def resumed(words: Sequence[str]) -> str:
    """Return the command that continues the command with the arguments `words`."""
    arguments = [word for word in words if word not in ("--force", "--resume")]
    return command_line(*arguments, "--resume")


def _what(error: OSError) -> str:
    """Return the file and the reason."""
    reason = error.strerror or " ".join(str(error).split())
    if not isinstance(error, WriteError):
        reason = f"cannot be written ({os.strerror(error.errno or 0).lower()})"
    if error.filename:
        return f"{error.filename}: {reason}"
    return f"a temporary file (in {tempfile.gettempdir()}) {reason}"
