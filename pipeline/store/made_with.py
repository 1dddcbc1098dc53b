"""The configuration that a run was made with, stored in `made_with.json`.

People may edit `config.toml`. Commands compare `config.toml` with `made_with.json`, so that no
command reports results for a configuration that did not produce these results.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, model_validator

from foundation.base.errors import InputError
from foundation.base.wording import counted
from pipeline.advice import command_line
from pipeline.files import write_document
from pipeline.store.documents import read_document
from pipeline.store.workspace_lock import (
    RunError,
    differing_keys,
    flat_keys,
    free_keys,
    read_stored,
)

#: The document of a run directory that says what the run was made with.
MADE_WITH = "made_with.json"
#: Changed keys that a message shows with both values.
_SHOWN = 3


class _MadeWith(BaseModel):
    """`made_with.json`: the configuration as TOML, and its digest."""

    sha256: str
    configuration: str

    @model_validator(mode="after")
    def _check_digest(self) -> Self:
        if configuration_digest(self.configuration) != self.sha256:
            raise InputError("sha256 is the digest of another configuration")
        return self


def configuration_digest(text: str) -> str:
    """Return a SHA-256 over the keys of a configuration (TOML) that determine the results."""
    left_out = free_keys("run")
    keys = {k: v for k, v in flat_keys(tomllib.loads(text)).items() if k not in left_out}
    content = json.dumps(keys, sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


def write_made_with(folder: Path, text: str) -> None:
    """Write what a run is made with; `text` is the resolved configuration as TOML."""
    content = {"sha256": configuration_digest(text), "configuration": text}
    write_document(folder / MADE_WITH, content)


def read_made_with(folder: Path) -> dict[str, Any] | None:
    """Return the configuration that a run was made with; None if there is no such document.

    Raises `ReportError` if the document is damaged.
    """
    file = folder / MADE_WITH
    if not file.is_file():
        return None
    return tomllib.loads(read_document(file, _MadeWith).configuration)


def made_from(folder: Path, stored: str = "config.toml") -> dict[str, Any]:
    """Return the configuration that the results of a folder were made with.

    That is `made_with.json`, or else the configuration in the file `stored`; raises as
    `read_made_with`, or a RunError if that file is damaged.
    """
    made = read_made_with(folder)
    return read_stored(folder / stored) if made is None else made


def check_configuration(folder: Path) -> dict[str, Any] | None:
    """Return what a run was made with, after a comparison with `config.toml`.

    Keys that change no result may differ. A folder without `made_with.json` is not compared. Raises
    `RunError`, which names the keys and both values, if `config.toml` is damaged or was changed
    since; `ReportError` if the document of the configuration is damaged.
    """
    made = read_made_with(folder)
    file = folder / "config.toml"
    if made is None or not file.is_file():
        return made
    found = read_stored(file)
    if changed := differing_keys(made, found, "run"):
        raise RunError(
            f"{file}: changed since the run was made: {changes_in_words(made, found, changed)}. "
            "Restore the file, or make another run with the changed file: "
            f"`{command_line('run', file, '--out', f'{folder}-changed')}`"
        )
    return made


def changes_in_words(
    made: Mapping[str, Any], found: Mapping[str, Any], changed: list[str], what: str = "the run"
) -> str:
    """Return changed keys, the first ones with both values; the others are counted."""
    before, after = flat_keys(made), flat_keys(found)
    parts = [
        f"{key} is {_shown(after, key)}, and {what} was made with {_shown(before, key)}"
        for key in changed[:_SHOWN]
    ]
    if further := len(changed) - len(parts):
        parts.append(counted(further, "further key differs", "further keys differ"))
    return "; ".join(parts)


def _shown(keys: dict[str, Any], key: str) -> str:
    """Return a value as TOML writes it."""
    if key not in keys:
        return "not given"
    text = json.dumps(keys[key], ensure_ascii=False, default=str)
    return text.replace("Infinity", "inf")
