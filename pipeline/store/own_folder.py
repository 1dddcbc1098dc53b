"""Folders that commands write to: whose results a folder holds, and what may replace them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pipeline.config.reading import ConfigError, checked_section
from pipeline.config.schema_base import Section
from pipeline.store.made_with import MADE_WITH, changes_in_words, read_made_with
from pipeline.store.workspace_lock import (
    LOCK_FILE,
    RunError,
    check_own_folder,
    differing_keys,
    read_stored,
)

#: Files of a folder that are no results.
_NO_RESULTS = frozenset({LOCK_FILE, MADE_WITH, "times.json"})


class FolderKind(NamedTuple):
    """A kind of folder, by the configuration that its command leaves there.

    Parameters
    ----------
    name : str
        Kind in messages.
    section : str
        Section of the configuration with the name of the results.
    stored : str
        File of the configuration.
    """

    name: str
    section: str
    stored: str = "config.toml"


RUN = FolderKind("run directory", "run")
STUDY = FolderKind("study", "study")
WALK = FolderKind("walk", "walk")
FORWARD = FolderKind("forward simulation", "forward")
COMPARISON = FolderKind("comparison", "run", "comparison.toml")
CALIBRATION = FolderKind("calibration", "run", "calibration.toml")
#: Kinds whose configuration has the file name of that of a run.
_OTHERS = (STUDY, WALK, FORWARD)


def check_folder(folder: Path, kind: FolderKind, config: Section, *, replace: bool) -> None:
    """Check that a command may write to a folder.

    Parameters
    ----------
    folder : Path
        The folder, which need not exist.
    kind : FolderKind
        What the command writes.
    config : Section
        The whole configuration of the command.
    replace : bool
        Whether results of another configuration of the same kind may be replaced.

    Raises
    ------
    RunError
        If the folder holds something else, or holds results of another configuration that may
        not be replaced; the message names the keys that differ and the remedies.
    """
    check_own_folder(folder, kind.stored, kind.name)
    file = folder / kind.stored
    if not file.is_file():
        return
    if (found := _kind_of(file)) is not None and found != kind.name:
        raise RunError(
            f"{folder}: is not empty and is not a {kind.name} but a {found}; choose another folder "
            "with --out"
        )
    if replace or not _has_results(folder, file):
        return
    changes = _changes(folder, file, kind, config)
    if changes:
        raise RunError(
            f"{folder}: holds a {kind.name} of another configuration: {changes}; give another "
            f"{kind.section}.name or --out, or replace the {kind.name} with --force"
        )


def _kind_of(file: Path) -> str | None:
    """Return the kind of the folder with a configuration; None if the configuration is damaged."""
    if file.name != RUN.stored:
        return None
    try:
        keys = read_stored(file)
    except RunError:
        return None
    return next((kind.name for kind in _OTHERS if kind.section in keys), RUN.name)


def _has_results(folder: Path, stored: Path) -> bool:
    """Return whether a folder holds more than the traces of a command that began."""
    return any(
        path != stored and path.name not in _NO_RESULTS and path.is_file()
        for path in folder.rglob("*")
    )


def _changes(folder: Path, file: Path, kind: FolderKind, config: Section) -> str:
    """Return in words how a configuration differs from that of a folder; "" if it does not."""
    made: dict[str, Any] | None = read_made_with(folder) if kind is RUN else None
    if made is None:
        made = read_stored(file)
    try:
        # Keys that a later version added have their defaults.
        made = checked_section(made, type(config), str(file)).model_dump(exclude_none=True)
    except ConfigError as error:
        return str(error)
    wanted = config.model_dump(exclude_none=True)
    changed = differing_keys(made, wanted, kind.section)
    return changes_in_words(made, wanted, changed, f"the {kind.name}")
