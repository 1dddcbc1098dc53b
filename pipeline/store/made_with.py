"""The configuration that a run was made with, kept beside `config.toml` and compared with it.

`config.toml` is for people, who may edit the file. What a run was made with stands in
`made_with.json` as well, so that no command attests results to a configuration that did not give
them.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from foundation.wording import counted
from pipeline.advice import command_line
from pipeline.files import write_document
from pipeline.store.workspace_lock import RunError, differing_keys, flat_keys, free_keys

#: The document of a run directory that says what the run was made with.
MADE_WITH = "made_with.json"
_CONFIG = "config.toml"
_NOT_GIVEN = "not given"
#: Changed keys that a message shows with both values.
_SHOWN = 3


class _Stored(BaseModel):
    """What the document holds, beside its format and version."""

    sha256: str
    configuration: str


def configuration_digest(text: str) -> str:
    """Return a SHA-256 over the keys of a configuration that decide on the numbers of a run.

    Parameters
    ----------
    text : str
        The resolved configuration as TOML.
    """
    left_out = free_keys("run")
    keys = {k: v for k, v in flat_keys(tomllib.loads(text)).items() if k not in left_out}
    content = json.dumps(keys, sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


def write_made_with(folder: Path, text: str) -> None:
    """Write what a run is made with; `text` is the resolved configuration as TOML."""
    content = {"sha256": configuration_digest(text), "configuration": text}
    write_document(folder / MADE_WITH, content)


def read_made_with(folder: Path) -> dict[str, Any] | None:
    """Return the configuration that a run was made with; None of a run of earlier versions.

    Raises
    ------
    RunError
        If the document is damaged.
    """
    file = folder / MADE_WITH
    if not file.is_file():
        return None
    text, digest = _stored(file)
    if configuration_digest(text) != digest:
        raise _damaged(file, "sha256 is that of another configuration")
    return tomllib.loads(text)


def _stored(file: Path) -> tuple[str, str]:
    """Return the configuration as TOML, and its digest."""
    try:
        stored = _Stored.model_validate_json(file.read_bytes())
        tomllib.loads(stored.configuration)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise _damaged(file, f"{where}: {first['msg']}".removeprefix(": ")) from error
    except tomllib.TOMLDecodeError as error:
        raise _damaged(file, f"configuration: {error}") from error
    return stored.configuration, stored.sha256


def _damaged(file: Path, what: str) -> RunError:
    return RunError(
        f"{file}: expected the configuration that the run was made with, found the file damaged "
        f"({what}); make the run again with "
        f"`{command_line('run', 'CONFIG', '--out', file.parent)}`"
    )


def check_configuration(folder: Path) -> dict[str, Any] | None:
    """Return what a run was made with, after a look whether `config.toml` still says the same.

    Keys that change no number of a run may differ. A run of earlier versions, which did not keep
    what it was made with, is not looked at.

    Parameters
    ----------
    folder : Path
        Run directory.

    Raises
    ------
    RunError
        If `config.toml` was changed since; the message names the keys and both values.
    """
    made = read_made_with(folder)
    file = folder / _CONFIG
    if made is None or not file.is_file():
        return made
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RunError(
            f"{file}: expected the configuration that the run was made with, found the file "
            f"damaged ({error}); restore {_CONFIG}, or make the run again"
        ) from error
    changed = differing_keys(made, found, "run")
    if changed:
        raise RunError(_told(file, changed, flat_keys(made), flat_keys(found)))
    return made


def _told(file: Path, changed: list[str], made: dict[str, Any], found: dict[str, Any]) -> str:
    """Return which keys of a configuration differ from those a run was made with, and a remedy."""
    parts = [
        f"{key} is {_shown(found, key)}, and the run was made with {_shown(made, key)}"
        for key in changed[:_SHOWN]
    ]
    if len(changed) > _SHOWN:
        further = len(changed) - _SHOWN
        parts.append(counted(further, "further key differs", "further keys differ"))
    return (
        f"{file}: changed since the run was made: {'; '.join(parts)}. Restore the file, or make "
        "another run with the changed file: `python -m pipeline run CONFIG --out FOLDER`"
    )


def _shown(keys: dict[str, Any], key: str) -> str:
    """Return a value as TOML writes it."""
    if key not in keys:
        return _NOT_GIVEN
    value = keys[key]
    return json.dumps(value, ensure_ascii=False, default=str).replace("Infinity", "inf")
