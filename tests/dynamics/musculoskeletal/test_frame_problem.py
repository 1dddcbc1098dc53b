"""The linear problem of an iteration of COMAK, held by conditions of its optimum."""

import numpy as np
import pytest

from dynamics.musculoskeletal.comak import FrameProblem, solve_frame


def random_problem(seed, *, energy=0.0, largest=1.0, desired=0.0):
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
        desired * rng.uniform(0.0, 0.6, muscles),
    )


def cost(problem, activations, steps):
    reserves = problem.needed - problem.arms @ activations - problem.columns @ steps
    return (
        problem.activation_weights @ (activations - problem.desired) ** 2
        + problem.reserve_weights @ reserves**2
        + problem.energy_gradient @ steps
    )


def gradient(problem, activations, steps):
    reserves = problem.needed - problem.arms @ activations - problem.columns @ steps
    pull = -2.0 * problem.reserve_weights * reserves
    by_activation = (
        2.0 * problem.activation_weights * (activations - problem.desired) + problem.arms.T @ pull
    )
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
@pytest.mark.parametrize("desired", [0.0, 1.0])
def test_the_cost_is_the_least_one(seed, energy, largest, desired):
    problem = random_problem(seed, energy=energy, largest=largest, desired=desired)
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
