"""Rosenbrock methods on equations with closed solutions, and the linear systems in them."""

import ctypes
from dataclasses import dataclass

import core_probe
import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.core import rosenbrock
from dynamics.core.rosenbrock import Limits

LOOSE = 1e30
#: Orders of the result and of the embedded one.
ORDER = (5, 4)


NUMBERS = ctypes.POINTER(ctypes.c_double)
DERIVATIVE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_double, NUMBERS, ctypes.c_int, *[NUMBERS] * 3
)


def in_c(problem, n):
    """The equations of a problem as a function that the library calls."""

    def fill(_, time, state, wanted, f, by_state, by_time):
        state, f = (np.ctypeslib.as_array(each, (n,)) for each in (state, f))
        slopes = np.empty((n, n)), np.empty(n)
        if wanted:
            slopes = (
                np.ctypeslib.as_array(by_state, (n, n)),
                np.ctypeslib.as_array(by_time, (n,)),
            )
        return problem.fill(time, state, wanted, f, *slopes)

    return DERIVATIVE(fill)


def run(problem, times, *, rtol=LOOSE, atol=LOOSE, max_step, most=100_000, size=()):
    """Integrate a problem; by default a tolerance that every step keeps."""
    times = np.atleast_1d(np.asarray(times, dtype=float))
    begin = np.array(problem.exact(0.0))
    n = len(begin)
    limits = Limits(rtol, np.full(n, atol), np.array(size, dtype=float), max_step, most)
    function = in_c(problem, n)
    place = rosenbrock.function_address(function)
    return rosenbrock.integrate(place, None, limits, begin, times)


@dataclass
class Kaps:
    """Kaps's problem (Dekker & Verwer 1984, eq. 7.1.3) in coordinates that move.

    e y1' = -(1 + 2 e) y1 + y2², y2' = y1 - y2 - y2² has the solution (exp(-2 t), exp(-t)) for every
    e. Here z = y + (sin t, cos 2t), so that time enters by itself.
    """

    stiff: float = 1.0

    @staticmethod
    def shift(t):
        values = (np.sin(t), np.cos(2 * t))
        return np.array([values, (np.cos(t), -2 * np.sin(2 * t)), (-values[0], -4 * values[1])])

    def exact(self, t):
        return np.stack([np.exp(-2 * t), np.exp(-t)], axis=-1) + np.moveaxis(
            self.shift(t)[0], 0, -1
        )

    def fill(self, t, z, wanted, f, by_state, by_time):
        s, rate, bend = self.shift(t)
        y1, y2 = z - s
        e = self.stiff
        f[:] = (-(1.0 + 2.0 * e) * y1 + y2 * y2) / e, y1 - y2 - y2 * y2
        f += rate
        j = np.array([[-(1.0 + 2.0 * e) / e, 2 * y2 / e], [1.0, -1.0 - 2.0 * y2]])
        if wanted:
            by_state[:] = j
            by_time[:] = bend - j @ rate
        return True


@dataclass
class Prothero:
    """y' = -l (y - p(t)) + p'(t), y = p = sin(t + 0.3) (Prothero & Robinson 1974)."""

    decay: float

    def exact(self, t):
        return np.sin(np.asarray(t)[..., None] + 0.3)

    def fill(self, t, y, wanted, f, by_state, by_time):
        f[0] = -self.decay * (y[0] - np.sin(t + 0.3)) + np.cos(t + 0.3)
        by_state[0, 0] = -self.decay
        by_time[0] = self.decay * np.cos(t + 0.3) - np.sin(t + 0.3)
        return True


def orders(problem, steps, error):
    """Order seen between each two step lengths."""
    errors = [error(problem, h) for h in steps]
    return np.diff(np.log(errors)) / np.diff(np.log(steps))


def at_end(problem, h):
    done = run(problem, 1.0, max_step=h)
    assert done.ended == rosenbrock.DONE
    return np.abs(done.states[0] - problem.exact(1.0)).max()


def between(problem, h):
    times = np.linspace(0.0, 1.0, 331)
    found = run(problem, times, max_step=h).states
    return np.abs(found - problem.exact(times)).max()


STEPS = 1.0 / np.array([16.0, 32.0, 64.0])


def test_order_of_convergence():
    """4 and 5."""
    seen = orders(Kaps(1.0), STEPS, at_end)
    assert_allclose(seen, ORDER[0], rtol=0.0, atol=0.3)


@pytest.mark.parametrize("decay", [1e4, 1e8])
def test_order_is_kept_where_it_is_stiff(decay):
    """Prothero and Robinson's: most Rosenbrock methods fall to order 1 or 2 here."""
    seen = orders(Prothero(decay), STEPS, between)
    assert (seen > 3.8).all()
    # The result itself is the nearer the stiffer: h³ / l.
    errors = [at_end(Prothero(each), 0.1) for each in (1e2, 1e4, 1e6)]
    assert errors[1] < 0.2 * errors[0]
    assert errors[2] < 0.02 * errors[1]


def test_order_between_steps():
    """Dense output of one order less."""
    seen = orders(Kaps(), STEPS, between)
    assert seen[-1] > ORDER[1] - 0.3
    assert between(Kaps(), STEPS[1]) < 1e-4


def test_tolerance_is_kept_and_costs_steps():
    errors, steps = [], []
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10):
        done = run(Kaps(), np.linspace(0, 1, 101), rtol=rtol, atol=rtol, max_step=1.0)
        assert done.ended == rosenbrock.DONE
        errors.append(np.abs(done.states - Kaps().exact(np.linspace(0, 1, 101))).max() / rtol)
        steps.append(done.counts[rosenbrock.STEPS])
    assert max(errors) < 30.0
    assert steps == sorted(steps)
    # Two decimals of tolerance take 10^(2 / order) times as many steps.
    share = steps[-1] / steps[-2]
    assert_allclose(np.log10(share), 2.0 / ORDER[0], rtol=0.3)


def test_reports_are_at_the_times_asked_for():
    times = [0.3, 0.30001, 0.31, 0.9, 1.0]
    done = run(Kaps(), times, rtol=1e-9, atol=1e-9, max_step=1.0)
    assert_allclose(done.states, Kaps().exact(np.array(times)), rtol=0.0, atol=1e-7)
    assert done.time == 1.0


def test_equations_that_end_stop_the_integration_there():
    """y' = y² has a pole at t = 1."""

    class Pole:
        def exact(self, t):
            return [1.0]

        def fill(self, t, y, wanted, f, by_state, by_time):
            f[0], by_state[0, 0], by_time[0] = y[0] ** 2, 2 * y[0], 0.0
            return True

    tight = {"rtol": 1e-6, "atol": 1e-6, "max_step": 0.1}
    done = run(Pole(), 2.0, **tight)
    assert done.ended == rosenbrock.STEP_TOO_SMALL
    assert_allclose(done.time, 1.0, rtol=0.0, atol=1e-6)
    assert done.step < 1e-11
    done = run(Pole(), 2.0, **tight, size=[10.0])
    assert done.ended == rosenbrock.DISLOCATED
    assert_allclose(done.time, 0.9, rtol=0.0, atol=0.05)
    done = run(Pole(), 2.0, **tight, most=20)
    assert done.ended == rosenbrock.TOO_MANY_STEPS
    assert done.counts[:2].sum() == 20


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_end_it(bad):
    class Bad(Kaps):
        def fill(self, t, z, wanted, f, by_state, by_time):
            super().fill(t, z, wanted, f, by_state, by_time)
            if t > 0.5:
                f[0] = bad
            return True

    with np.errstate(invalid="ignore"):
        done = run(Bad(), 1.0, rtol=1e-6, atol=1e-6, max_step=0.1)
    assert done.ended == rosenbrock.STEP_TOO_SMALL
    assert 0.5 - 1e-6 < done.time <= 0.5


def test_refusal_of_the_equations_ends_it():
    class Outside(Kaps):
        def fill(self, *given):
            super().fill(*given)
            return given[0] < 0.5

    done = run(Outside(), 1.0, rtol=1e-6, atol=1e-6, max_step=0.01)
    assert done.ended == rosenbrock.STOPPED
    assert 0.489 <= done.time < 0.5


def solved(matrix, right):
    found, solution = core_probe.solved(matrix, right)
    assert found
    return solution


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_linear_systems_are_those_of_lapack(n):
    rng = np.random.default_rng(n)
    for _ in range(50):
        matrix, right = rng.normal(size=(n, n)), rng.normal(size=n)
        wanted = np.linalg.solve(matrix, right)
        size = np.linalg.cond(matrix) * np.abs(wanted).max()
        assert_allclose(solved(matrix, right), wanted, rtol=0.0, atol=1e-14 * size)


def test_rows_of_any_scale_are_solved_alike():
    """An equation in other units is the same equation: nothing of the answer is lost."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        matrix, wanted = rng.normal(size=(8, 8)), rng.normal(size=8)
        units = 10.0 ** rng.integers(-12, 12, 8)
        found = solved(units[:, None] * matrix, units * (matrix @ wanted))
        assert_allclose(found, wanted, rtol=0.0, atol=1e-14 * np.linalg.cond(matrix) * 8)


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.0, 0.0], [1.0, 1.0]],
        [[1.0, 0.0], [2.0, 0.0]],
        [[1.0, 2.0], [2.0, 4.0]],
        [[np.nan, 1.0], [1.0, 1.0]],
        [[1.0, np.inf], [1.0, 1.0]],
    ],
    ids=["empty row", "empty column", "dependent", "nan", "inf"],
)
def test_singular_systems_are_refused(matrix):
    assert not core_probe.solved(matrix, np.ones(2))[0]
