"""Folders that a command writes to: locking, and comparison of their configurations."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from filelock import FileLock, Timeout

from foundation.base.errors import InputError
from pipeline.files import writing

#: File of a folder that the process which writes to the folder has locked.
LOCK_FILE = ".lock"
#: File that every folder of a command has.
_CONFIGURATION = "config.toml"
#: Keys of a configuration that change the name or the execution of a run but no result.
_FREE_KEYS = ("name", "workers", "backend", "scheduler", "chunk")

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


class RunError(InputError):
    """A run that cannot start or continue; the message says why and what to do."""


@contextmanager
def locked(folder: Path, *, make: bool = False) -> Iterator[None]:
    """Keep other processes from writing to a folder until the end of the block.

    The system releases the lock of a process that was killed. A folder is not locked on a network
    file system without locks, nor if the folder cannot be written to. `make` makes the folder
    first; without `make`, a folder without a configuration is not locked. Raises `RunError` if
    another process holds the folder.
    """
    if make:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK_FILE, blocking=False)
    if make or (folder / _CONFIGURATION).exists():
        try:
            lock.acquire()
        except Timeout as error:
            raise RunError(
                f"{folder}: another command is writing to this folder; wait until the command has "
                "ended, or choose another folder with --out"
            ) from error
        except (OSError, NotImplementedError):
            pass
    try:
        yield
    finally:
        if lock.is_locked:
            with suppress(OSError):  # Windows cannot delete an open file
                (folder / LOCK_FILE).unlink()
        lock.release()


def alone_in_folder(
    function: Callable[Concatenate[Path, Given], Answer],
) -> Callable[Concatenate[Path, Given], Answer]:
    """Return a function that locks a folder, its first argument, while it runs."""

    @wraps(function)
    def alone(folder: Path, *args: Given.args, **kwargs: Given.kwargs) -> Answer:
        with locked(folder):
            return function(folder, *args, **kwargs)

    return alone


def read_stored(file: Path) -> dict[str, Any]:
    """Return the keys of the configuration in a folder; raise a RunError if it is damaged."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (RecursionError, ValueError) as error:
        raise RunError(
            f"{file}: expected the configuration that the run was made with, found the file "
            f"damaged ({error}); restore the file, or start again with another --out"
        ) from error


def changed_keys(stored: Path, current: str, section: str) -> list[str]:
    """Return the dotted keys in which a stored configuration differs, but those of `free_keys`."""
    return differing_keys(read_stored(stored), tomllib.loads(current), section)


def differing_keys(one: Mapping[str, Any], other: Mapping[str, Any], section: str) -> list[str]:
    """Return the dotted keys in which two configurations differ, without `free_keys`."""
    before, after = flat_keys(one), flat_keys(other)
    differing = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
    return sorted(differing - free_keys(section))


def free_keys(section: str) -> frozenset[str]:
    """Return the dotted keys of a section that change no result."""
    return frozenset(f"{section}.{key}" for key in _FREE_KEYS)


def flat_keys(tree: Mapping[str, Any], head: str = "") -> dict[str, Any]:
    """Return the values of a nested configuration by their dotted keys."""
    keys: dict[str, Any] = {}
    for key, value in tree.items():
        name = head + key
        keys |= flat_keys(value, f"{name}.") if isinstance(value, Mapping) else {name: value}
    return keys
