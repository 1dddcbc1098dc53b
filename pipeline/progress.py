"""Progress of long commands, all on stderr: bars on a terminal, else a line for each stage."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from numba.core import event
from tqdm import tqdm

#: Compiling is told of when it takes longer in all [s]; a process always does for about 2 s.
_NOTABLE = 8.0
#: Less is not worth a remark [s].
_SOON = 10.0
#: Expected time of the stages after which those to come are judged by them [s].
_ENOUGH = 5.0
_SILENCED = ContextVar("silenced", default=False)
_COMPILING = "compiling the kernels (once per machine, one to two minutes)"


@contextmanager
def silenced(*, quiet: bool) -> Iterator[None]:
    """Leave out all progress, whoever tells it."""
    before = _SILENCED.set(quiet)
    try:
        yield
    finally:
        _SILENCED.reset(before)


def say(text: str, *, quiet: bool = False) -> None:
    """Write a line, above the bar if there is one."""
    if not (quiet or _SILENCED.get()):
        tqdm.write(text, file=sys.stderr)


def bar(total: float, unit: str, name: str, *, quiet: bool = False) -> tqdm[Any]:
    """Return a progress bar with the time that remains; none where stderr is no terminal."""
    # tqdm's None: disabled unless it writes to a terminal.
    hidden = True if quiet or _SILENCED.get() else None
    made = tqdm(total=total, unit=unit, desc=name, disable=hidden, leave=False)
    # One that is disabled does not know what it is called.
    made.unit, made.desc = unit, name
    return made


@dataclass(frozen=True)
class Stage:
    """A stage of a run.

    Parameters
    ----------
    name : str
        As the run tells it.
    samples : int
        Samples of both compartments that the original model is evaluated at.
    evaluations : float
        Evaluations for each.
    seconds : float
        What else it takes, on one core.
    """

    name: str
    samples: int = 0
    evaluations: float = 1.0
    seconds: float = 0.0

    def expected(self, per_evaluation: float, workers: int) -> float:
        """Return its time [s], given the time of an evaluation of one compartment [s]."""
        # Both compartments are fitted side by side.
        fits = self.seconds / min(workers, 2)
        return self.samples * self.evaluations * per_evaluation / workers + fits


def rounded(seconds: float) -> str:
    """Return a time for people: no more exact than it is known."""
    if seconds < 90.0:
        return f"{max(10, 10 * round(seconds / 10))} s"
    minutes = seconds / 60.0
    return f"{round(minutes)} min" if minutes < 90.0 else f"{minutes / 60.0:.1f} h"


class StageCounter:
    """Tells which stage of how many begins, and about how long the rest takes.

    Parameters
    ----------
    stages : list of Stage
        Stages in their order; some may be left out when they are carried out.
    workers : int
        Processes.

    Attributes
    ----------
    per_evaluation : float or None
        Time of an evaluation of one compartment [s], once it is known.
    """

    def __init__(self, stages: list[Stage], workers: int) -> None:
        self.stages = stages
        self.workers = workers
        self.per_evaluation: float | None = None
        self._next = 0
        self._begun = time.perf_counter()

    def begin(self, name: str) -> str:
        """Return the line that a stage begins with."""
        place = self._place(name)
        if place is None:
            return name
        self._next = place + 1
        return f"[{place + 1}/{len(self.stages)}] {name}{self._remaining(place)}"

    def _place(self, name: str) -> int | None:
        later = range(self._next, len(self.stages))
        return next((k for k in later if self.stages[k].name == name), None)

    def _remaining(self, place: int) -> str:
        if self.per_evaluation is None:
            return ""
        expected = [stage.expected(self.per_evaluation, self.workers) for stage in self.stages]
        # What a busy machine made of the stages so far it makes of the others.
        passed, planned = time.perf_counter() - self._begun, sum(expected[:place])
        factor = passed / planned if planned > _ENOUGH else 1.0
        seconds = factor * sum(expected[place:])
        return f" (about {rounded(seconds)} left)" if seconds > _SOON else ""


@contextmanager
def telling_of_compilation(*, quiet: bool = False) -> Iterator[None]:
    """Say when numba compiles for long, which it does once per machine, and when it has."""
    teller = _Teller(quiet=quiet)
    with event.install_listener("numba:compile", teller):
        try:
            yield
        finally:
            teller.close()


class _Teller(event.Listener):
    """Listens to numba, whose events tell of what is really compiled, not read from its cache."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.depth = 0
        self.begun = 0.0
        self.seconds = 0.0
        self.told = False
        self.timer: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        """Start the clock of the outermost function that is compiled."""
        del event
        self.depth += 1
        if self.depth == 1:
            self.begun = time.perf_counter()
            if not self.told:
                self.timer = threading.Timer(max(0.0, _NOTABLE - self.seconds), self._tell)
                self.timer.daemon = True
                self.timer.start()

    def on_end(self, event: Any) -> None:
        """Stop it."""
        del event
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self.begun
            self._stop()

    def close(self) -> None:
        """Say what it took."""
        self._stop()
        if self.told:
            say(f"compiled the kernels in {self.seconds:.0f} s", quiet=self.quiet)

    def _tell(self) -> None:
        self.told = True
        say(_COMPILING, quiet=self.quiet)

    def _stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
