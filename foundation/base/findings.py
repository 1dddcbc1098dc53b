"""Findings of checks: what was found, about what, how grave, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

#: Levels of a finding, the gravest first: a result is impossible, a result is doubtful, background
#: information.
Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = get_args(Level)


@dataclass(frozen=True)
class Finding:
    """Finding of a check."""

    level: Level
    #: Key, section or file of the configuration; "" where the caller knows the section.
    about: str
    #: What was found and expected, and what to do.
    text: str
    #: Name of the fault, such as "orientation"; "" for findings that need no name.
    code: str = ""

    @property
    def is_error(self) -> bool:
        """Whether the finding is an error."""
        return self.level == "error"
