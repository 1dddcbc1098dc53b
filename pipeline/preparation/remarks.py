"""Remarks of a checkup: errors, warnings and notes."""

from __future__ import annotations

from functools import partialmethod
from typing import NamedTuple

#: Levels in the order of a report: a run is impossible, a run is doubtful, background information.
LEVELS = ("error", "warning", "note")


class Remark(NamedTuple):
    """A remark: level, the key, section or file concerned, and finding with remedy."""

    level: str
    about: str
    text: str


class Remarks:
    """Remarks of a checkup, collected by `error`, `warning` and `note`."""

    def __init__(self) -> None:
        self._remarks: list[Remark] = []

    def add(self, level: str, about: str, text: object) -> None:
        """Add a remark, unless its text is known."""
        if all(remark.text != str(text) for remark in self._remarks):
            self._remarks.append(Remark(level, about, str(text)))

    error = partialmethod(add, "error")
    warning = partialmethod(add, "warning")
    note = partialmethod(add, "note")

    @property
    def has_errors(self) -> bool:
        """Whether there is an error."""
        return any(remark.level == "error" for remark in self._remarks)

    def ordered(self) -> list[Remark]:
        """Return the remarks, errors first."""
        return sorted(self._remarks, key=lambda remark: LEVELS.index(remark.level))
