"""Folders that a command writes to: whose they are, and one command at a time."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from foundation.errors import InputError
from pipeline.files import writing

if sys.platform != "win32":
    import fcntl

#: Keys of a configuration that change how a run is carried out but no number of it.
_FREE_KEYS = ("workers", "backend", "scheduler", "chunk")

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class RunError(InputError):
    """A run that cannot start or go on; the message says why and what to do."""


@contextmanager
def locked(folder: Path, *, make: bool = False) -> Iterator[None]:
    """Keep other processes from writing to a folder, until the end of the block or of this one.

    With `make` it is made first; otherwise nothing is done where there is none.

    The system lets go the lock of a process that was killed. On a file system that has no locks of
    folders, which some of a network are, nobody is kept out.

    Raises
    ------
    RunError
        If another process holds the folder.
    """
    if make:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32" or not folder.is_dir():
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunError(
                f"{folder}: another command is writing to it; wait until it has ended, or choose "
                "another with --out"
            ) from error
        except OSError:
            pass
        yield
    finally:
        os.close(handle)


def alone_in_folder(
    function: Callable[Concatenate[Path, Given], Answer],
) -> Callable[Concatenate[Path, Given], Answer]:
    """Return a function whose folder, its first argument, no other process writes to meanwhile."""

    @wraps(function)
    def alone(folder: Path, *args: Given.args, **kwargs: Given.kwargs) -> Answer:
        with locked(folder):
            return function(folder, *args, **kwargs)

    return alone


def check_own_folder(folder: Path, mark: str, kind: str) -> None:
    """Raise a RunError unless a folder is new, empty, or holds the file that marks its kind."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: expected a folder, found a file; choose another --out")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / mark).exists():
        raise RunError(f"{folder}: not empty and no {kind}; choose another with --out")


def changed_keys(stored: Path, current: str, section: str) -> list[str]:
    """Return the dotted keys in which a stored configuration differs from the current one.

    Those of `section` that change no number are left out.
    """
    try:
        begun = tomllib.loads(stored.read_text(encoding="utf-8"))
    except (RecursionError, ValueError) as error:
        raise RunError(
            f"{stored}: expected the configuration that the run was begun with, found it damaged "
            f"({error}); begin anew with another --out"
        ) from error

    def flat(tree: Any, head: str = "") -> dict[str, Any]:
        if not isinstance(tree, dict):
            return {head: tree}
        found: dict[str, Any] = {}
        for key, value in tree.items():
            found |= flat(value, f"{head}.{key}" if head else key)
        return found

    before, after = flat(begun), flat(tomllib.loads(current))
    differing = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
    return sorted(differing - {f"{section}.{key}" for key in _FREE_KEYS})
