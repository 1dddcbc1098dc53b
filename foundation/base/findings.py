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
    """Finding of a check.

    Parameters
    ----------
    level : {"error", "warning", "note"}
        Level.
    about : str
        Key, section or file of the configuration that the finding is about; "" where the caller of
        the check knows the section.
    text : str
        What was found and expected, and what to do.
    code : str
        Name of the fault, such as "orientation"; "" for findings that need no name.
    """

    level: Level
    about: str
    text: str
    code: str = ""

    @property
    def is_error(self) -> bool:
        """Whether the finding is an error."""
        return self.level == "error"
