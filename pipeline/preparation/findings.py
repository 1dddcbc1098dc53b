"""Collection of the findings of a checkup: errors, warnings and notes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partialmethod
from typing import ParamSpec, TypeVar

from foundation.base.errors import InputError, PoseError
from foundation.base.findings import LEVELS, Finding, Level
from pipeline.progress import heard_warnings

P = ParamSpec("P")
T = TypeVar("T")


class Findings:
    """Findings of a checkup, collected by `add`, `error`, `warning` and `note`."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []

    def add(self, findings: Iterable[Finding]) -> None:
        """Add findings, except those with a known text."""
        for finding in findings:
            if all(known.text != finding.text for known in self._findings):
                self._findings.append(finding)

    def _found(self, level: Level, about: str, text: object) -> None:
        self.add([Finding(level, about, str(text))])

    error = partialmethod(_found, "error")
    warning = partialmethod(_found, "warning")
    note = partialmethod(_found, "note")

    def attempt(
        self, about: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """Return the result of a function; make findings of its warnings and of an error."""
        caught: list[warnings.WarningMessage] = []
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                return function(*args, **kwargs)
        except (OSError, InputError, PoseError) as error:
            self.error(about, error)
            return None
        finally:
            for warning in caught:
                self.warning(about, warning.message)

    @contextmanager
    def hearing(self, about: str) -> Iterator[None]:
        """Make findings of the warnings of a block; the warnings are given anyway."""
        with heard_warnings() as texts:
            yield
        for text in texts:
            self.warning(about, text)

    @property
    def has_errors(self) -> bool:
        """Whether there is an error."""
        return any(finding.is_error for finding in self._findings)

    def ordered(self) -> list[Finding]:
        """Return the findings, errors first."""
        return sorted(self._findings, key=lambda finding: LEVELS.index(finding.level))
