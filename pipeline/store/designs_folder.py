"""Folders of runs over designs, and the error of commands that need a single knee."""

from __future__ import annotations

from pathlib import Path

from pipeline.advice import command_line
from pipeline.store.workspace_lock import RunError

#: Document that only a run over designs has.
DESIGNS = "designs.json"
_SURROGATE = "knee.npz"


def is_over_designs(folder: Path) -> bool:
    """Return whether a folder is a finished run over designs."""
    return (folder / DESIGNS).is_file()


def check_single_knee(source: Path) -> None:
    """Raise a RunError if a run directory, or the surrogate in it, is over designs."""
    folder = source if source.is_dir() else source.parent
    if is_over_designs(folder) and (source.is_dir() or source.name == _SURROGATE):
        command = command_line("design", folder, "...")
        raise RunError(
            f"{folder}: holds a surrogate over designs; take out one design with `{command}`"
        )
