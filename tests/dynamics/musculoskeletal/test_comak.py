"""COMAK: the problem of a frame, on a synthetic plant with known solutions, and whole walks."""

from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import least_squares

from dynamics.musculoskeletal import Comak
from dynamics.musculoskeletal.comak import FrameProblem, Solution, solve_frame
from foundation.base.errors import PoseError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import COMPARTMENTS, ContactLoads
from tests.dynamics.musculoskeletal.synthetic import MUSCLES, Spring, contact, plant, settings

START = plant().values[0]


@pytest.fixture(scope="module")
def solved():
    comak = Comak(plant(), [contact()], settings(tolerance=1e-7))
    return comak, comak.run(START)


def balance(comak, frame, values, previous):
    """Return the generalised forces without reserves, for activations."""
    own = comak.plant
    speeds = (values - previous) / own.motion.step
    found = own.forces(frame, values, speeds)
    # The model's own springs resist speeds by the damping that COMAK is told.
    surplus = comak.contacts.at(frame, values).forces - found.needed
    return found.arms * own.muscles.max_force, surplus


def test_every_frame_converges(solved):
    _, result = solved
    assert not result.flags
    assert (result.errors < 1e-7).all()
    assert (result.iterations < 25).all()


@pytest.mark.parametrize("frame", [0, 1])
def test_a_general_optimiser_finds_the_same_optimum(solved, frame):
    """The nonlinear problem in activations and secondary coordinates; reserves balance the rest."""
    comak, result = solved
    weights = 1e6 * comak.plant.muscles.volumes()
    previous = START if frame == 0 else result.values[frame - 1]
    scale = np.array([1e-3, 1e-4])

    def balanced(x):
        """Return activations, the reserves that balance the coordinates, and secondary values."""
        activations, values = x[:MUSCLES], previous + scale * x[MUSCLES:]
        arms, surplus = balance(comak, frame, values, previous)
        return activations, -(arms @ activations + surplus), values

    def residuals(x):
        activations, reserves, _ = balanced(x)
        return np.concatenate([np.sqrt(weights) * activations, np.sqrt(1e3) * reserves])

    low = np.concatenate([np.full(MUSCLES, 0.01), np.full(2, -50.0)])
    high = np.concatenate([np.ones(MUSCLES), np.full(2, 50.0)])
    start = np.concatenate([np.full(MUSCLES, 0.3), np.zeros(2)])
    found = least_squares(
        residuals, start, bounds=(low, high), jac="3-point", x_scale="jac",
        ftol=1e-14, xtol=1e-14, gtol=1e-14, max_nfev=2000,
    )  # fmt: skip
    # The oracle's own condition: no change within the bounds lowers the cost by a part in 1e7.
    slope = found.jac.T @ found.fun
    ahead = np.where(slope > 0.0, found.x - low, high - found.x)
    curved = np.maximum((found.jac**2).sum(axis=0), 1e-300)
    gain = np.abs(slope) * np.minimum(ahead, np.abs(slope) / curved)
    assert gain.max() < 1e-7 * found.cost
    activations, reserves, values = balanced(found.x)
    ours = weights @ result.activations[frame] ** 2 + 1e3 * (result.reserves[frame] ** 2).sum()
    # Ours is optimal for the last linear problem: iterates may end beside the optimum.
    assert ours <= 1.005 * 2.0 * found.cost
    assert_allclose(result.activations[frame], activations, atol=0.02)
    assert_allclose(result.values[frame], values, atol=2e-4)
    assert_allclose(result.reserves[frame], reserves, atol=0.5)


def test_the_solution_balances_all_coordinates(solved):
    comak, result = solved
    previous = START
    for frame in range(len(result.time)):
        arms, surplus = balance(comak, frame, result.values[frame], previous)
        left = arms @ result.activations[frame] + result.reserves[frame] + surplus
        assert_allclose(left, 0.0, atol=1e-5)
        previous = result.values[frame]


def test_fibres_pull_by_activation_times_active_plus_passive_force(solved):
    comak, _ = solved
    by_fibres = settings(tolerance=1e-7, fibre_forces=True)
    result = Comak(comak.plant, comak.contacts.contacts, by_fibres).run(START)
    assert not result.flags
    previous = START
    for frame, values in enumerate(result.values):
        active, passive, _ = comak.plant.contractions(frame, values, result.speeds[frame])
        pull = result.activations[frame] * active + passive
        assert_allclose(result.muscle_forces[frame], pull, rtol=1e-9)
        arms, surplus = balance(comak, frame, values, previous)
        left = arms @ (pull / comak.plant.muscles.max_force) + result.reserves[frame] + surplus
        assert_allclose(left, 0.0, atol=1e-5)
        previous = values


def test_frames_that_do_not_converge_are_flagged():
    comak = Comak(plant(), [contact()], settings(tolerance=1e-12, iterations=1))
    result = comak.run(START + np.array([0.05, 0.002]))
    assert len(result.flags) >= 1
    assert result.flags[0].startswith("0 s: not converged in 1 iterations")


class Jump(Spring):
    """A spring whose force drops where the bodies part by more than a place."""

    jump, place = 0.5, 0.0

    def loads(self, pose, order=0):
        loads = super().loads(pose, 1)
        part = loads[COMPARTMENTS[0]].array.copy()
        part[1] += 0.25 * self.jump * np.sign(self.place - pose.superior)
        return ContactLoads([part, part], derivatives=loads.derivatives)


def test_a_frame_at_a_jump_of_the_contact_force_converges(solved):
    """No height balances the forces; the height of the jump leaves part of the jump."""
    _, whole = solved
    Jump.place = whole.values[1, 1]
    result = Comak(plant(), [contact(Jump())], settings()).run(START)
    assert result.converged.all()
    assert not result.flags
    assert_allclose(result.values[1], whole.values[1], rtol=0.0, atol=1e-6)
    assert result.errors[1] > 0.01
    left = np.abs(result.imbalance)
    assert 0.05 < left[1, 2] < 0.5
    balanced = left.max(axis=1) == 0.0
    assert balanced.any()
    assert (result.errors[balanced] < settings().tolerance).all()
    with patch.object(Jump, "jump", 50.0):
        far = Comak(plant(), [contact(Jump())], settings()).run(START)
    assert not far.converged[1]
    assert any(flag.startswith("0.01 s: not converged") for flag in far.flags)


FLAG = Flag(FlagKind.OUTSIDE_LATERAL, "joint", (3.0,))


class Narrow(Spring):
    """A spring that was not trained below a height."""

    least = 0.0

    def loads(self, pose, order=0):
        loads = super().loads(pose, 1)
        flags = (FLAG,) if pose.superior < self.least else ()
        return ContactLoads(loads.values, flags=flags, derivatives=loads.derivatives)


def test_a_final_pose_outside_the_domain_has_a_flag(solved):
    """With the instant and the contact."""
    _, whole = solved
    lowest = int(whole.values[:, 1].argmin())
    Narrow.least = np.sort(whole.values[:, 1])[:2].mean()
    found = Comak(plant(), [contact(Narrow())], settings(tolerance=1e-7)).run(START)
    assert found.contact_flags == ((lowest, found.time[lowest], "touch", FLAG),)


def test_a_contact_that_fails_keeps_the_previous_frame():
    class Broken(Spring):
        frame = 0

        def loads(self, pose, order=0):
            if Broken.frame >= 2:
                raise PoseError("no loads here")
            return super().loads(pose, 1)

    def count(done):
        Broken.frame = done

    comak = Comak(plant(), [contact(Broken())], settings())
    whole = Comak(plant(), [contact()], settings()).run(START)
    result = comak.run(START, progress=count)
    assert_allclose(result.values[:2], whole.values[:2])
    assert_allclose(result.values[2:], result.values[[1, 1]])
    assert not np.isfinite(result.errors[2:]).any()
    assert len(result.flags) == 2
    assert "0.02 s: not converged, no loads here" in result.flags[0]
    assert "the previous frame is kept" in result.flags[0]


@pytest.mark.parametrize("lifted", [1e-3, 2e-3, 3e-3, 5e-3])
def test_surfaces_apart_are_brought_together(solved, lifted):
    """Apart, the contact has hardly a stiffness: a whole first step overshoots by millimetres."""
    comak, result = solved
    before = Solution(START, np.zeros(2), result.activations[0], np.zeros(3), 0.0, 0, ())
    start = START + np.array([0.0, lifted])
    found, flag = comak.solve(0, before, start=start)
    assert not flag
    assert found.iterations <= 20
    assert_allclose(found.values, result.values[0], atol=1e-4)


def random_problem(seed, *, energy=0.0, largest=1.0):
    rng = np.random.default_rng(seed)
    free, muscles, secondary = 7, 12, 4
    arms = rng.normal(size=(free, muscles))
    columns = 5.0 * rng.normal(size=(free, secondary))
    return FrameProblem(
        arms,
        columns,
        arms @ rng.uniform(0.0, 0.4, muscles) + columns @ rng.normal(scale=0.05, size=secondary),
        rng.uniform(1.0, 10.0, muscles),
        np.full(free, 50.0),
        energy * rng.normal(size=secondary),
        np.array([np.full(muscles, 0.01), np.ones(muscles)]),
        np.full(secondary, largest),
    )


def cost(problem, activations, steps):
    reserves = problem.needed - problem.arms @ activations - problem.columns @ steps
    return (
        problem.activation_weights @ activations**2
        + problem.reserve_weights @ reserves**2
        + problem.energy_gradient @ steps
    )


def gradient(problem, activations, steps):
    reserves = problem.needed - problem.arms @ activations - problem.columns @ steps
    pull = -2.0 * problem.reserve_weights * reserves
    by_activation = 2.0 * problem.activation_weights * activations + problem.arms.T @ pull
    return np.concatenate([by_activation, problem.columns.T @ pull + problem.energy_gradient])


def excess(problem, found):
    """Return a bound of the cost above the least one.

    A convex cost is nowhere below its tangent plane, whose least value within bounds is known.
    """
    slope = gradient(problem, found.activations, found.steps)
    values = np.concatenate([found.activations, found.steps])
    low = np.concatenate([problem.bounds[0], -problem.largest_steps])
    high = np.concatenate([problem.bounds[1], problem.largest_steps])
    return np.maximum(slope * (values - low), slope * (values - high)).sum()


def cost_of(problem, found):
    return cost(problem, found.activations, found.steps)


@pytest.mark.parametrize(("energy", "largest"), [(0.0, 1.0), (3.0, 1.0), (0.0, 0.02), (3.0, 0.02)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_cost_is_the_least_one(seed, energy, largest):
    problem = random_problem(seed, energy=energy, largest=largest)
    found = solve_frame(problem)
    assert excess(problem, found) < 1e-7 * abs(cost_of(problem, found))


@pytest.mark.parametrize("energy", [0.0, 3.0])
@pytest.mark.parametrize("free_of_cost", [slice(0, 1), slice(0, 5), slice(None)])
def test_muscles_that_cost_nothing_are_used_first(free_of_cost, energy):
    problem = random_problem(4, energy=energy)
    weights = problem.activation_weights.copy()
    weights[free_of_cost] = 0.0
    problem = problem._replace(activation_weights=weights)
    found = solve_frame(problem)
    assert np.isfinite(found.activations).all()
    assert excess(problem, found) < 1e-5 * abs(cost_of(problem, found)) + 1e-6


def test_reserves_close_the_balance():
    problem = random_problem(5)
    found = solve_frame(problem)
    given = problem.arms @ found.activations + problem.columns @ found.steps + found.reserves
    np.testing.assert_allclose(given, problem.needed, atol=1e-12)
    assert (found.activations >= 0.01).all()
    assert (found.activations <= 1.0).all()
