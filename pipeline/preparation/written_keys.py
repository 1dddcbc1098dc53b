"""Other values of keys in the text of a configuration, whose comments and other lines stay."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from foundation.base.errors import InputError


def with_values(text: str, sections: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of a configuration, TOML, with other values of some keys.

    `sections` has values by key, by the name of the section, such as "knee.femur". Values are
    texts, numbers, or lists of these. A key or section that is missing is added. Raises
    `InputError` if the keys are not written one a line in sections of their own.
    """
    expected = tomllib.loads(text)
    lines = text.splitlines()
    for name, values in sections.items():
        part = expected
        for word in name.split("."):
            part = part.setdefault(word, {})
        part.update(json.loads(json.dumps(values)))
        lines = _with_section(lines, name, values)
    changed = "\n".join(lines) + "\n"
    try:
        found = tomllib.loads(changed)
    except tomllib.TOMLDecodeError:
        found = None
    if found != expected:
        names = " and ".join(f"[{name}]" for name in sections)
        raise InputError(
            f"the keys of {names} cannot be replaced in this file: expected sections with one key "
            "a line; copy the lines that `knee-contact align` prints without --write"
        )
    return changed


def _comment(line: str) -> str:
    """Return the comment at the end of a line of TOML, with the blanks before."""
    for at in (found.start() for found in re.finditer(r"\s*#", line)):
        try:
            tomllib.loads(line[:at])
        except tomllib.TOMLDecodeError:  # within a text
            continue
        return line[at:]
    return ""


def _with_section(lines: list[str], name: str, values: Mapping[str, Any]) -> list[str]:
    """Return the lines of a file with other values in one section."""
    # Text, numbers and lists look the same in JSON and TOML.
    written = {key: f"{key} = {json.dumps(value)}" for key, value in values.items()}
    heads = [k for k, line in enumerate(lines) if re.match(r"\s*\[", line)]
    own = [k for k in heads if re.fullmatch(rf"\s*\[\s*{re.escape(name)}\s*\]\s*(#.*)?", lines[k])]
    if not own:
        return [*lines, "", f"[{name}]", *written.values()]
    first = own[0]
    last = next((k for k in heads if k > first), len(lines))
    section = lines[first + 1 : last]
    for k, line in enumerate(section):
        key = line.partition("=")[0].strip()
        if key in written:
            section[k] = written.pop(key) + _comment(line)
    return [*lines[: first + 1], *written.values(), *section, *lines[last:]]
