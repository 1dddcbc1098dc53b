"""Progress of long commands, all on stderr: bars on a terminal, else a line for each stage."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

from foundation.base import compiling
from pipeline.streams import or_silent

#: Shorter remaining times are not written [s].
_SOON = 10.0
#: Expected time of the finished stages beyond which they correct the remaining time [s].
_ENOUGH = 5.0
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


def say(text: str) -> None:
    """Write a line to stderr, above the progress bar if there is one."""
    if not _SILENCED.get():
        with or_silent():
            tqdm.write(text, file=sys.stderr)


def bar(total: float, unit: str, name: str) -> tqdm[Any]:
    """Return a progress bar with the remaining time; hidden where stderr is not a terminal."""
    # disable=None: tqdm itself hides the bar unless stderr is a terminal.
    hidden = True if _SILENCED.get() else None
    made = tqdm(total=total, unit=unit, desc=name, disable=hidden, leave=False)
    # A disabled bar does not set its own unit and description.
    made.unit, made.desc = unit, name
    return made


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
    """A stage of a run.

    Parameters
    ----------
    name : str
        Name of the stage in the progress of a run.
    samples : int
        Samples of both compartments that the original model evaluates.
    evaluations : float
        Evaluations per sample.
    seconds : float
        Other expected time on one core [s].
    alone : bool
        Whether one process carries out the stage.
    """

    name: str
    samples: int = 0
    evaluations: float = 1.0
    seconds: float = 0.0
    alone: bool = False

    def expected(self, per_evaluation: float, workers: int) -> float:
        """Return the expected time [s], from the time of one compartment evaluation [s]."""
        workers = 1 if self.alone else workers
        # Both compartments are fitted in parallel.
        fits = self.seconds / min(workers, 2)
        return self.samples * self.evaluations * per_evaluation / workers + fits


def rounded(seconds: float) -> str:
    """Return a time [s] as text, rounded to its accuracy."""
    if seconds < 90.0:
        return f"{max(10, 10 * round(seconds / 10))} s"
    minutes = seconds / 60.0
    return f"{round(minutes)} min" if minutes < 90.0 else f"{minutes / 60.0:.1f} h"


class StageCounter:
    """Counts the stages of a run, of which some may be skipped, and estimates the remaining time.

    `workers` is the number of processes; `per_evaluation` the time of one compartment evaluation
    [s], None until measured.
    """

    def __init__(self, stages: list[Stage], workers: int) -> None:
        self.stages = stages
        self.workers = workers
        self.per_evaluation: float | None = None
        self._next = 0
        self._start = time.perf_counter()

    def begin(self, name: str) -> str:
        """Return the line that announces a stage."""
        later = range(self._next, len(self.stages))
        place = next((k for k in later if self.stages[k].name == name), None)
        if place is None:
            return name
        self._next = place + 1
        return f"[{place + 1}/{len(self.stages)}] {name}{self._remaining(place)}"

    def _remaining(self, place: int) -> str:
        if self.per_evaluation is None:
            return ""
        expected = [stage.expected(self.per_evaluation, self.workers) for stage in self.stages]
        # A busy machine slows the remaining stages as much as the finished ones.
        passed, planned = time.perf_counter() - self._start, sum(expected[:place])
        factor = passed / planned if planned > _ENOUGH else 1.0
        seconds = factor * sum(expected[place:])
        return f" (about {rounded(seconds)} left)" if seconds > _SOON else ""


@contextmanager
def compilation_reported() -> Iterator[None]:
    """Write a line when numba compiles for long, which happens once per machine, and at its end."""
    before, compiling.tell = compiling.tell, say
    if _SILENCED.get():
        compiling.tell = lambda _: None
    announced = compiling.TIMER.announced
    try:
        yield
    finally:
        compiling.tell = before
    if compiling.TIMER.announced and not announced:
        say(f"compiled the kernels in {compiling.TIMER.duration:.0f} s")
