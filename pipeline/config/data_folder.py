"""The folder of third-party data, `$KNEE_DATA`, and its files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from foundation.base.errors import InputError

#: Environment variable of the data folder, and the folder used without the variable.
DATA_VARIABLE = "KNEE_DATA"
DEFAULT_DATA = "../shared/data"


class DataError(InputError):
    """A file of `$KNEE_DATA` is missing; the message says what was searched."""


def data_folder() -> Path:
    """Return the data folder, from the environment variable, by default ../shared/data."""
    return Path(os.environ.get(DATA_VARIABLE) or DEFAULT_DATA)


def data_path(text: str, base: Path) -> Path:
    """Return the file of a path; `$KNEE_DATA` is the data folder, others are relative to `base`."""
    inside = _inside(text)
    return base / text if inside is None else data_folder() / inside


def data_file(text: str) -> Path:
    """Return the file of an independent path; one in `$KNEE_DATA` must exist, else `DataError`."""
    path = data_path(text, Path())
    inside = _inside(text)
    if inside is not None and not path.exists():
        raise DataError(
            f"{text}: no such file; {_searched(inside)}; docs/data.md has the sources of the files"
        )
    return path


def data_files(texts: Iterable[str]) -> tuple[Path, ...]:
    """Return the files of independent paths; raises as `data_file`."""
    return tuple(data_file(text) for text in texts)


def _inside(text: str) -> str | None:
    """Return a path relative to `$KNEE_DATA`, or None for a path outside."""
    head = "$" + DATA_VARIABLE
    if text == head or text.startswith(head + "/"):
        return text[len(head) :].lstrip("/")
    return None


def _searched(inside: str) -> str:
    """Return which folder was searched, and what it contains."""
    folder = data_folder()
    setting = f"= {folder}" if os.environ.get(DATA_VARIABLE) else f"is not set, so that {folder}"
    while not (nearest := (folder / inside).parent).is_dir() and "/" in inside:
        inside = inside.rpartition("/")[0]
    return (
        f"${DATA_VARIABLE} is the folder of third-party meshes and motions: the environment "
        f"variable {DATA_VARIABLE} {setting} was searched; {nearest.resolve()} contains "
        f"{_contents(nearest)}"
    )


def _contents(folder: Path) -> str:
    """Return the names in a folder, the first six of many."""
    names = sorted(item.name for item in folder.iterdir()) if folder.is_dir() else []
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return (", ".join(names[:6]) or "nothing") + more
