"""The formulations against a manufactured compartment, a naive twin and central differences."""

from dataclasses import replace

import manufactured
import numpy as np
import pytest
from compartment_twin import (
    assert_jacobian,
    carrying,
    poses_of,
    scattered,
    twin,
    twin_variables,
)
from manufactured import truth
from surrogate_arrays import arrays

from surrogates.families.regressor import linear_in

FORMULATIONS = manufactured.ALL
FAMILIES = tuple(manufactured.FAMILIES)
BOTH = [(name, family) for name in FORMULATIONS for family in FAMILIES]


@pytest.fixture(scope="module", params=BOTH, ids="-".join)
def model(request):
    return manufactured.compartment(*request.param)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_truth_is_recovered_at_poses(formulation):
    model = manufactured.compartment(formulation)
    true = truth(formulation)
    poses = poses_of(model, 60, 9, 0.9)
    expected = true.loads(poses)
    found, _, x = arrays(model, poses)
    size = np.abs(expected).max(axis=0)
    np.testing.assert_allclose(found / size, expected / size, rtol=0, atol=1e-8)
    scaled, _ = true.space.scaled(poses, expected[:, 1])
    np.testing.assert_allclose(x[:, :6], scaled, rtol=0, atol=1e-7)


def test_the_truth_is_recovered_at_another_degree():
    true = truth("inverted", 1.8)
    model = manufactured.train(true).surrogate
    assert model.degree == 1.8
    x = manufactured.draw(40, 9)
    poses = true.poses(x[:, :5], true.over(x))
    expected, found = true.loads(poses), model.loads(poses).array
    size = np.maximum(np.abs(expected).max(axis=0), 1e-3)
    np.testing.assert_allclose(found / size, expected / size, rtol=0, atol=1e-8)
    assert_jacobian(model, poses[:8])


def test_naive_twin(model):
    poses = scattered(model)
    found, _, x = arrays(model, poses)
    inside = np.abs(x[:, :5]).max(axis=1) <= 1.0
    assert inside.any()
    assert not inside.all()
    if model.learns_heights:
        assert (found[:, 1] == 0.0).any()
    assert (found[:, 1] > 0.0).sum() > 20
    expected = np.array([twin(model, pose) for pose in poses])
    size = np.nanmax(np.abs(expected), axis=0)
    np.testing.assert_allclose(found / size, expected / size, rtol=0, atol=1e-9)


def test_jacobian_is_the_derivative(model):
    assert_jacobian(model, poses_of(model, 20))


@pytest.mark.parametrize("coordinate", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_outside_the_box_the_pose_is_held(model, coordinate, side):
    space = model.space
    start = poses_of(model, 1, within=0.2)[0]
    row = [0, 1, 2, 3, 0, 4][coordinate]
    middle, half = space.centre_and_half
    border = start.copy()
    if coordinate == 0:
        flexion = middle[0] + side * half[0]
        border += (space.path.poses([flexion]) - space.path.poses([start[0]]))[0]
    else:
        border[coordinate] = space.path.poses([start[0]])[0, coordinate] + side * half[row]
    border = carrying(model, border, 800.0)
    beyond = border.copy()
    if coordinate == 0:
        beyond += (space.path.poses([flexion + 0.2 * side]) - space.path.poses([flexion]))[0]
    else:
        beyond[coordinate] += side * 0.5 * half[row]
    held, jacobian, x = arrays(model, beyond)
    expected = model.loads(border).array
    size = np.abs(expected)
    np.testing.assert_allclose(held / size, expected / size, rtol=0, atol=1e-8)
    excess = 0.4 if coordinate == 0 else 0.5
    assert x[row] == pytest.approx(side * (1.0 + excess), rel=1e-9)
    if coordinate:
        assert (jacobian[:, coordinate] == 0.0).all()
    assert_jacobian(model, beyond[None])


@pytest.mark.parametrize("family", FAMILIES)
def test_beyond_the_largest_load_the_height_continues_along_its_tangent(family):
    model = manufactured.compartment("inverted", family)
    pose = poses_of(model, 1, within=0.3)[0]
    u, over, _, _ = (part[0] for part in twin_variables(model, pose[None]))
    pose[4] += model.regressors[0].predict(np.append(u, 1.0)[None])[0, 0] - over
    around = [arrays(model, pose + gap * np.eye(6)[4]) for gap in (1e-10, -1e-10)]
    size = np.abs(around[0][0])
    np.testing.assert_allclose(around[0][0] / size, around[1][0] / size, rtol=0, atol=1e-4)
    roots = []
    deeper = np.array([pose - depth * np.eye(6)[4] for depth in np.linspace(1e-5, 2e-3, 7)])
    loads, jacobian, x = arrays(model, deeper)
    # The area goes with the root, what is learnt of it being held.
    roots = loads[:, 6]
    steps = np.diff(roots)
    assert (steps > 0.0).all()
    np.testing.assert_allclose(steps, steps[0], rtol=1e-8, atol=0)
    assert_jacobian(model, deeper, columns=[4])
    assert (jacobian[:, 1, 4] < 0.0).all()
    assert (x[:, 5] > 1.0).all()
    ratios = loads[:, [0, 2]] / loads[:, [1]]
    np.testing.assert_allclose(ratios, np.tile(ratios[0], (7, 1)), rtol=1e-9, atol=0)
    np.testing.assert_allclose(loads[:, 1], [twin(model, p)[1] for p in deeper], rtol=1e-9)


#: Heights over s + 1 in [0, 2], which do not all fall.
CURVES = {
    "rises at first": lambda t: 0.5 * t - t**2,
    "rises at the end": lambda t: -t + 0.4 * t**2,
    "ends above its start": lambda t: -t + 0.8 * t**2,
    "rises": lambda t: 0.3 * t,
    "constant": lambda t: 0.0 * t,
    "wave": lambda t: -0.2 * t + 0.5 * np.sin(4 * t),
    "steps": lambda t: -t - 0.245 * np.sin(4 * t),
    "waves": lambda t: -0.1 * t + 0.3 * np.sin(9 * t),
}


def curved(name):
    """A compartment whose height [mm] is a curve of s alone."""
    good = manufactured.compartment()
    s = np.polynomial.chebyshev.chebpts1(200)
    weights = np.polynomial.Legendre.fit(s, 1e-3 * CURVES[name](s + 1.0), 16, domain=[-1, 1]).coef
    exponents = np.zeros((17, 6), dtype=np.int64)
    exponents[:, 5] = np.arange(17)
    scalings = np.zeros(6), np.ones(6), np.zeros(1), np.ones(1)
    height = linear_in("polynomial", scalings, exponents, weights[None])
    return replace(good, regressors=(height, *good.regressors[1:]))


@pytest.mark.parametrize("name", CURVES)
def test_a_height_that_does_not_fall_gives_a_root_or_a_load_beyond_the_largest(name):
    """Never a hang, an endless number or a load that the height does not have."""
    model = curved(name)
    poses = truth().poses(np.zeros((1, 5)), np.zeros(1))
    start = model.coordinates.variables(poses)[1][0]
    poses = np.tile(poses, (301, 1))
    over = np.linspace(-2.5e-3, 1.5e-3, 301)
    poses[:, 4] += over - start
    loads, jacobian, _ = arrays(model, poses)
    height = model.regressors[0]

    def at(s):
        return height.predict(np.append(np.zeros(5), s)[None])[0, 0]

    apart = (loads[:, :9] == 0.0).all(axis=1)
    assert (over[apart] >= at(-1.0)).all()
    assert apart[over >= max(map(at, np.linspace(-1.0, 1.0, 999)))].all()
    assert np.isfinite(loads[~apart]).all()
    assert np.isfinite(jacobian[~apart]).all()
    # The area is the root times what is learnt, which stands still beyond the end.
    for k in np.flatnonzero(~apart):
        s = 2.0 * np.sqrt(loads[k, 1] / model.largest) - 1.0
        assert jacobian[k, 1, 4] < 0.0
        assert s > 1.0 or at(s) == pytest.approx(over[k], abs=1e-12)
