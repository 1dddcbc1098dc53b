"""Remarks of a checkup: errors, warnings and notes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partialmethod
from typing import NamedTuple, ParamSpec, TypeVar

from foundation.base.errors import InputError, PoseError
from pipeline.progress import heard_warnings

#: Levels in the order of a report: a run is impossible, a run is doubtful, background information.
LEVELS = ("error", "warning", "note")
P = ParamSpec("P")
T = TypeVar("T")


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

    def attempt(
        self, about: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """Return the result of a function; make remarks of its warnings, or of an error."""
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = function(*args, **kwargs)
        except (OSError, InputError, PoseError) as error:
            self.error(about, error)
            return None
        for warning in caught:
            self.warning(about, warning.message)
        return result

    @contextmanager
    def hearing(self, about: str) -> Iterator[None]:
        """Make remarks of the warnings of a block; the warnings are given anyway."""
        with heard_warnings() as told:
            yield
        for text in told:
            self.warning(about, text)

    @property
    def has_errors(self) -> bool:
        """Whether there is an error."""
        return any(remark.level == "error" for remark in self._remarks)

    def ordered(self) -> list[Remark]:
        """Return the remarks, errors first."""
        return sorted(self._remarks, key=lambda remark: LEVELS.index(remark.level))
