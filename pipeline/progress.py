"""Progress of long commands, all on stderr: bars on a terminal, else a line for each stage."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from tqdm import tqdm

from foundation.base.threads import Shared


@contextmanager
def or_silent() -> Iterator[None]:
    """Silence stderr for good if the block cannot write there."""
    try:
        yield
    except OSError:
        drop(sys.stderr)


def drop(stream: Any) -> None:
    """Send what a stream still holds, and gets later, nowhere: Python flushes it at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


#: Shorter remaining times are not written [s].
_SOON = 10.0
#: Time of work beyond which its speed is known [s].
_ENOUGH = 2.0
#: Time between the lines that take the place of a bar where stderr is no terminal [s].
_SILENCE = 30.0
_SILENCED = ContextVar("silenced", default=False)


@contextmanager
def silenced(*, quiet: bool = True) -> Iterator[None]:
    """Suppress all progress within the context if `quiet` is True."""
    before = _SILENCED.set(quiet)
    try:
        yield
    finally:
        _SILENCED.reset(before)


@contextmanager
def heard_warnings() -> Iterator[list[str]]:
    """Yield a list that has the warnings of the block at its end; they are issued anyway."""
    told: list[str] = []
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield told
    finally:
        told += dict.fromkeys(str(warning.message) for warning in caught)
        for each in caught:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


@contextmanager
def _silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


#: A context without warnings.
without_warnings = Shared(_silent)


def say(text: str) -> None:
    """Write a line to stderr, above the progress bar if there is one."""
    if not _SILENCED.get():
        with or_silent():
            tqdm.write(text, file=sys.stderr)


class Bar(tqdm):
    """A progress bar with the remaining time; where stderr is no terminal, a line now and then."""

    def __init__(self, total: float, unit: str, name: str) -> None:
        # disable=None: tqdm itself hides the bar unless stderr is a terminal.
        hidden = True if _SILENCED.get() else None
        super().__init__(total=total, unit=unit, desc=name, disable=hidden, leave=False)
        # A disabled bar does not set these itself.
        self.unit, self.desc, self._steps = unit, name, total
        self._told = time.perf_counter()
        self._first: tuple[float, float] | None = None

    def update(self, n: float | None = 1) -> bool | None:
        """Count `n` more steps."""
        shown = super().update(n)
        if self.disable:
            self.n += n or 0
        now = time.perf_counter()
        self._first = self._first or ((self.n, now) if n else None)
        if self.disable and now - self._told > _SILENCE:
            self._told = now
            left = (self._steps - self.n) * (self.seconds_per_step or 0.0)
            things = self.unit if self.unit == "%" else f"{self.unit}s"
            say(f"  {self.desc}: {self.n:.0f} of {self._steps:.0f} {things}{_left(left)}")
        return shown

    @property
    def seconds_per_step(self) -> float | None:
        """Time of a step [s], without the first steps, which wait for the workers to start."""
        if self._first is None or self.n <= self._first[0]:
            return None
        passed = time.perf_counter() - self._first[1]
        return passed / (self.n - self._first[0]) if passed > _ENOUGH else None


bar = Bar


def peak_memory() -> str:
    """Return the largest memory of this process so far, in brackets; "" where it is unknown."""
    try:
        import resource
    except ImportError:  # Windows
        return ""
    # The unit of macOS is the byte, that of Linux the kilobyte.
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return f" (memory {unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9:.1f} GB)"


@dataclass(frozen=True)
class Stage:
    """A stage of a run."""

    #: Name in the progress of a run.
    name: str
    #: Samples of both compartments that the original model evaluates.
    samples: int = 0
    #: Evaluations per sample.
    evaluations: float = 1.0
    #: Expected time of fits and all else on one core [s].
    seconds: float = 0.0
    #: Whether one process carries out the stage.
    alone: bool = False

    def expected(self, per_evaluation: float, workers: int) -> float:
        """Return the expected time [s] from the time of one compartment evaluation [s]."""
        workers = 1 if self.alone else workers
        evaluating = self.samples * self.evaluations * per_evaluation / workers
        # Both compartments are fitted in parallel.
        return evaluating + self.seconds / min(workers, 2)


def rounded(seconds: float) -> str:
    """Return a time [s] as text, rounded to its accuracy."""
    if seconds < 90.0:
        return f"{max(10, 10 * round(seconds / 10))} s"
    minutes = seconds / 60.0
    return f"{round(minutes)} min" if minutes < 90.0 else f"{minutes / 60.0:.1f} h"


class StageCounter:
    """Counts the stages of a run, of which some may be skipped, and tells the expected time left.

    `per_evaluation` is the time of one compartment evaluation [s], None until measured.
    """

    def __init__(self, stages: list[Stage], workers: int) -> None:
        self.stages = stages
        self.workers = workers
        self.per_evaluation: float | None = None
        self._next = 0

    def measured(self, name: str, seconds: float) -> None:
        """State the time of a sample of a stage [s], known from earlier stages."""
        if each := self.per_evaluation:
            self.stages = [
                replace(stage, evaluations=seconds / each) if stage.name == name else stage
                for stage in self.stages
            ]

    def begin(self, name: str, detail: str = "") -> str:
        """Return the line that announces a stage; the detail follows the name."""
        told = f"{name}: {detail}" if detail else name
        later = range(self._next, len(self.stages))
        place = next((k for k in later if self.stages[k].name == name), None)
        if place is None:
            return told
        self._next, left = place + 1, 0.0
        if (each := self.per_evaluation) is not None:
            left = sum(stage.expected(each, self.workers) for stage in self.stages[place:])
        return f"[{place + 1}/{len(self.stages)}] {told}{_left(left)}"


def _left(seconds: float) -> str:
    """Return an expected time [s] in brackets; "" if it is short or not known."""
    return f" (about {rounded(seconds)} left)" if seconds > _SOON else ""
