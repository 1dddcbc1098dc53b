"""Integration of y' = f(t, y) by the library, with contact in C or in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics.core.problem import Problem
from foundation.base.checks import FloatArray
from foundation.core.library import CONSTANTS, CORE, Struct, address
from surrogates.core.packing import PackedContact

#: Outcomes of an integration.
DONE, STEP_TOO_SMALL, TOO_MANY_STEPS, DISLOCATED, STOPPED = (
    int(CONSTANTS[name])
    for name in ("DONE", "STEP_TOO_SMALL", "TOO_MANY_STEPS", "DISLOCATED", "STOPPED")
)
#: Counts: accepted and rejected steps, evaluations of f, and of its Jacobian.
STEPS, REJECTED, EVALUATIONS, JACOBIANS = (
    int(CONSTANTS[name]) for name in ("STEPS", "REJECTED", "EVALUATIONS", "JACOBIANS")
)
_NUMBERS = ctypes.POINTER(ctypes.c_double)
#: A `contact_function` of motion.h.
CONTACT_FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_double, _NUMBERS, ctypes.c_int, *[ctypes.c_void_p] * 2
)
#: Wrench (6,) and, if wanted, its derivatives (6, 6) of a time [s], a pose (6,) [rad, m] and that.
Contact = Callable[[float, FloatArray, bool], tuple[FloatArray, FloatArray]]


class Limits(NamedTuple):
    """Tolerances and bounds of the steps of a state (n,) [rad, m, s], of at most (m,) sizes."""

    rtol: float
    atol: FloatArray
    size: FloatArray
    max_step: float
    max_steps: int


class Integration(NamedTuple):
    """How an integration of a state (n,) [rad, m, s] ended."""

    #: One of the outcomes of this module.
    ended: int
    #: States (N, n) at the times asked for, as far as they were reached.
    states: FloatArray
    #: The last state (n,) reached, its time [s], and the last step tried [s].
    state: FloatArray
    time: float
    step: float
    #: By `STEPS`, `REJECTED`, `EVALUATIONS`, `JACOBIANS`.
    counts: NDArray[np.intc]


class _Kept(AbstractContextManager[None]):
    """Keeps an exception of a function that the library calls, through which none may pass."""

    raised: BaseException | None = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.raised = error
        return True


def integrate_trained(
    problem: Problem,
    contact: PackedContact,
    stops_outside: bool,
    limits: Limits,
    state: FloatArray,
    times: FloatArray,
) -> Integration:
    """Integrate a state (n,) to times (N,) [s] with a surrogate, or to the end of its domain."""
    fields = {"parts": contact.address, "stops": stops_outside, "design": None}
    trained = Struct("trained", fields | {"scratch": contact.work()})
    function = function_address(CORE.trained_contact)
    return _integrated(problem, function, trained, limits, state, times)


def integrate_called(
    problem: Problem,
    contact: Contact,
    limits: Limits,
    state: FloatArray,
    times: FloatArray,
) -> Integration:
    """Integrate a state (n,) to times (N,) [s] with a Python function; raise what this raises."""
    guard = _Kept()

    def fill(_: Any, time: float, pose: Any, wanted: int, wrench: int, by_pose: int) -> int:
        with guard:
            wrenches, slopes = contact(time, np.array(pose[:6]), bool(wanted))
            ctypes.memmove(wrench, address(wrenches), wrenches.nbytes)
            if wanted:
                ctypes.memmove(by_pose, address(slopes), slopes.nbytes)
        return guard.raised is None

    function = CONTACT_FUNCTION(fill)
    place = function_address(function)
    done = _integrated(problem, place, None, limits, state, times)
    if guard.raised is not None:
        raise guard.raised
    return done


def _integrated(
    problem: Problem, contact: int, of_contact: Struct | None, *options: Any
) -> Integration:
    """Integrate with the contact of a `contact_function`; see `integrate`."""
    fields = {"problem": problem.packed, "contact": contact, "of_contact": of_contact}
    motion, function = Struct("knee_motion", fields), function_address(CORE.knee_derivative)
    return integrate(function, motion.address, *options)


def integrate(
    derivative: int,
    of: int | None,
    limits: Limits,
    state: FloatArray,
    times: FloatArray,
) -> Integration:
    """Integrate y' = f(t, y), at most 10 components, from 0 to the last of times (N,) [s]."""
    # `derivative` and `of` are the addresses of a function (`derivative` of motion.h) and of what
    # it takes.
    n = len(state)
    reached, states = np.array(state), np.full((len(times), n), np.nan)
    counts, where = np.zeros(4, dtype=np.intc), np.zeros(2)
    bounds = Struct("step_limits", {**limits._asdict(), "sizes": len(limits.size)})
    ended = CORE.integrate(
        derivative, of, bounds.address, n, address(reached), len(times),
        address(times), address(counts), address(where), address(states),
    )  # fmt: skip
    time, step = where.tolist()
    return Integration(ended, states, reached, time, step, counts)


def function_address(function: Any) -> int:
    """Return the address of a function of the library, or of one that it calls."""
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
