"""The formulations against a manufactured compartment, a naive twin and central differences."""

from __future__ import annotations

import manufactured
import numpy as np
import pytest
from scipy.optimize import brentq

from surrogates.formulations import DirectCompartment, InvertedCompartment, formulation
from surrogates.response_surface import ResponseSurfaceSettings, fit_response_surface

FAMILIES = list(manufactured.FITS)
STEPS = np.array([1e-5, 1e-5, 1e-5, 1e-7, 1e-7, 1e-7])


@pytest.fixture(scope="module", params=FAMILIES)
def inverted(request):
    return manufactured.inverted(request.param)


@pytest.fixture(scope="module", params=manufactured.EXACT)
def exact(request):
    return manufactured.inverted(request.param)


@pytest.fixture(scope="module", params=FAMILIES)
def direct(request):
    return manufactured.direct(request.param)


def middle_pose(compartment, offset=0.0):
    """A pose on the path in the middle of the flexion, `offset` above its height there."""
    pose = compartment.space.path.poses([0.5])[0]
    pose[4] += offset
    return pose


def poses_at(compartment, axial, count=12, shrink=0.8):
    """Poses inside the box at which the fitted compartment carries `axial`."""
    unit = 0.5 + shrink * (np.random.default_rng(5).random((count, 6)) - 0.5)
    poses, _ = compartment.space.draw(unit)
    return compartment.at_load(poses, np.full(count, axial))[0]


def central_differences(compartment, pose):
    """Of fourth order: the difference at one step, less its error told by that at two."""
    columns = []
    for j, step in enumerate(STEPS):
        slopes = []
        for multiple in (1, 2):
            shift = np.zeros(6)
            shift[j] = multiple * step
            ahead, behind = (compartment.evaluate(pose + sign * shift)[0][:6] for sign in (1, -1))
            slopes.append((ahead - behind) / (2 * multiple * step))
        columns.append((4 * slopes[0] - slopes[1]) / 3)
    return np.array(columns).T


def assert_jacobian(compartment, pose, columns=slice(None)):
    """Within 1e-6 of the largest entry with the same unit."""
    found, expected = compartment.evaluate(pose)[1], central_differences(compartment, pose)
    error = np.abs(found - expected)
    for rows in (slice(0, 3), slice(3, 6)):
        for block in (slice(0, 3), slice(3, 6)):
            error[rows, block] /= np.abs(expected[rows, block]).max()
    assert error[:, columns].max() < 1e-6


def naive_inverted(compartment, pose):
    """Loads (12,) by bisection on the regressors' own predictions."""
    space = compartment.space
    x, height = space.scaled(pose[None], [0.0])
    x = np.clip(x, -1, 1)

    def missing(s):
        return compartment.height.predict(np.append(x[0, :5], s)[None])[0, 0] - height[0]

    loads = np.zeros(12)
    if missing(-1.0) <= 0.0:
        loads[9:] = np.nan
        return loads
    if missing(1.0) > 0.0:
        s = 1.0 - missing(1.0) / ((missing(1.0) - missing(1.0 - 1e-7)) / 1e-7)
    else:
        s = brentq(missing, -1.0, 1.0, xtol=1e-15, rtol=1e-14)
    root = 0.5 * np.sqrt(space.load[1]) * (s + 1.0)
    x[0, 5] = min(s, 1.0)
    quantities = compartment.quantities.predict(x)[0]
    loads[1] = root**2
    loads[[0, 2, 3, 4, 5]] = root**2 * compartment.ratios.predict(x)[0]
    loads[6:9] = root * quantities[:3]
    loads[9:] = quantities[3:]
    return loads


def test_at_load_is_exact(exact):
    poses, loads = manufactured.samples(exact.space, 60, seed=9)
    asked = poses.copy()
    asked[:, 4] = 123.0  # the height is not read
    found, given = exact.at_load(asked, loads[:, 1])
    np.testing.assert_allclose(found, poses, rtol=0, atol=1e-12)
    size = np.abs(loads).max(axis=0)
    np.testing.assert_allclose(given / size, loads / size, rtol=0, atol=1e-8)


def test_evaluation_at_a_pose_is_exact(exact):
    poses, loads = manufactured.samples(exact.space, 60, seed=9)
    for pose, expected in zip(poses, loads, strict=True):
        found, _, x = exact.evaluate(pose)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-7, atol=0)
        size = np.abs(loads).max(axis=0)
        np.testing.assert_allclose(found / size, expected / size, rtol=0, atol=1e-7)
        scaled, _ = exact.space.scaled(pose[None], [expected[1]])
        np.testing.assert_allclose(x, scaled[0], rtol=0, atol=1e-7)


def test_linear_kriging_is_near_but_not_exact():
    model = manufactured.inverted("linear_kriging")
    poses, loads = manufactured.samples(model.space, 60, seed=9)
    error = np.array([model.evaluate(p)[0][1] for p in poses]) / loads[:, 1] - 1.0
    assert 1e-6 < np.median(np.abs(error)) < 0.1


def test_naive_twin(inverted):
    rng = np.random.default_rng(11)
    poses, _ = inverted.space.draw(rng.random((80, 6)))
    around = inverted.space.path.poses(poses[:, 0])
    poses = around + 1.3 * (poses - around)  # a part of them outside the box
    poses[:, 4] += rng.uniform(-0.6e-3, 1.2e-3, 80)
    seen = set()
    for pose in poses:
        found, _, x = inverted.evaluate(pose)
        np.testing.assert_allclose(found, naive_inverted(inverted, pose), rtol=2e-6, atol=1e-12)
        seen.add("none" if x[5] == -1 else "beyond" if x[5] > 1 else "inside")
    assert seen == {"none", "inside", "beyond"}


def test_naive_twin_agrees_closely_inside_the_trained_load(inverted):
    for pose in poses_at(inverted, 900.0):
        expected = naive_inverted(inverted, pose)
        np.testing.assert_allclose(inverted.evaluate(pose)[0], expected, rtol=1e-9, atol=1e-15)


def test_a_height_found_at_a_load_carries_that_load(inverted):
    for axial in (1.0, 30.0, 900.0, 2400.0):
        for pose in poses_at(inverted, axial, 4):
            assert inverted.evaluate(pose)[0][1] == pytest.approx(axial, rel=1e-8)


@pytest.mark.parametrize("axial", [40.0, 900.0, 2300.0])
def test_jacobian_is_the_derivative(inverted, axial):
    for pose in poses_at(inverted, axial, 5):
        assert_jacobian(inverted, pose)


def test_flexion_moves_the_pose_along_the_path(inverted):
    """On a flat regressor the flexion column is that of the path's slope alone."""
    pose = poses_at(inverted, 900.0, 1)[0]
    breaks, c = inverted.space.path.spline
    piece = np.searchsorted(breaks, pose[0], side="right") - 1
    t = pose[0] - breaks[piece]
    slope = (3 * c[0, piece] * t + 2 * c[1, piece]) * t + c[2, piece]
    _, jacobian, x = inverted.evaluate(pose)
    # d(wrench)/d(flexion) at fixed offsets and height over the path, by central differences.
    moved = []
    for step in (1e-6, -1e-6):
        other = inverted.space.path.poses([pose[0] + step])[0]
        other[1:] += pose[1:] - inverted.space.path.poses([pose[0]])[0, 1:]
        moved.append(inverted.evaluate(other)[0][:6])
    along = (moved[0] - moved[1]) / 2e-6
    assert abs(slope[3]) > 1e-3
    np.testing.assert_allclose(
        jacobian[:, 0] + jacobian[:, 1:] @ slope, along, rtol=0, atol=1e-6 * np.abs(jacobian).max()
    )
    assert abs(x[5]) < 1.0


def test_no_contact_gives_exactly_nothing(inverted):
    for offset in (2e-3, 0.5):
        loads, jacobian, x = inverted.evaluate(middle_pose(inverted, offset))
        assert (loads[:9] == 0.0).all()
        assert np.isnan(loads[9:]).all()
        assert (jacobian == 0.0).all()
        assert x[5] == -1.0
        np.testing.assert_allclose(x[:5], 0.0, rtol=0, atol=1e-12)


def test_loads_start_continuously_at_first_contact(inverted):
    touch = inverted.at_load(middle_pose(inverted)[None], [0.0])[0][0]
    gaps = 10.0 ** -np.arange(5.0, 10.0)
    axial = []
    for gap in gaps:
        below, above = touch.copy(), touch.copy()
        below[4] -= gap
        above[4] += gap
        assert inverted.evaluate(above)[0][1] == 0.0
        axial.append(inverted.evaluate(below)[0][1])
    # F grows with the square of the indentation, to its first order at the smallest.
    order = np.diff(np.log10(axial))
    np.testing.assert_allclose(order, -2.0, rtol=0, atol=0.05)


def test_beyond_the_trained_load_the_tangent_goes_on(inverted):
    top = inverted.at_load(middle_pose(inverted)[None], [inverted.space.load[1]])[0][0]
    heights = top[4] - np.array([-2e-9, 0.0, 2e-9])
    poses = np.tile(top, (3, 1))
    poses[:, 4] = heights
    around = [inverted.evaluate(p) for p in poses]
    np.testing.assert_allclose(around[0][0], around[2][0], rtol=1e-3, atol=1e-12)
    np.testing.assert_allclose(around[0][1][1, 4], around[2][1][1, 4], rtol=1e-3, atol=0)
    roots = []
    for depth in np.linspace(1e-5, 3e-3, 7):
        pose = top.copy()
        pose[4] -= depth
        loads, _, x = inverted.evaluate(pose)
        assert x[5] > 1.0
        roots.append(np.sqrt(loads[1]))
        assert_jacobian(inverted, pose, columns=[4])
        # Ratios and centre are held at those of the largest load.
        np.testing.assert_allclose(
            loads[[0, 2, 3, 4, 5]] / loads[1], around[1][0][[0, 2, 3, 4, 5]] / around[1][0][1],
            rtol=1e-6, atol=1e-9,
        )  # fmt: skip
    steps = np.diff(roots)
    assert (steps > 0.0).all()
    np.testing.assert_allclose(steps, steps[0], rtol=1e-8, atol=0)


@pytest.mark.parametrize("coordinate", [1, 2, 3, 5])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_outside_the_box_the_offset_is_held(inverted, coordinate, side):
    pose = poses_at(inverted, 900.0, 1)[0]
    half = inverted.space.offsets[[1, 2, 3, 5].index(coordinate)]
    pose[coordinate] = inverted.space.path.poses([pose[0]])[0, coordinate] + side * half
    border = inverted.at_load(pose[None], [900.0])[0][0]
    beyond = border.copy()
    beyond[coordinate] += side * 0.5 * half
    held, jacobian, x = inverted.evaluate(beyond)
    np.testing.assert_allclose(held, inverted.evaluate(border)[0], rtol=1e-9, atol=1e-12)
    assert held[1] == pytest.approx(900.0, rel=1e-7)
    assert (jacobian[:, coordinate] == 0.0).all()
    assert x[[0, 1, 2, 3, 0, 4][coordinate]] == pytest.approx(1.5 * side, rel=1e-9)
    assert_jacobian(inverted, beyond)
    found, _ = inverted.at_load(beyond[None], held[[1]])
    assert found[0, 4] == pytest.approx(beyond[4], abs=1e-11)


def test_beyond_the_flexion_range_the_path_goes_on(inverted):
    path = inverted.space.path
    start = inverted.at_load(path.poses([1.0]), [900.0])[0][0]
    pose = path.poses([1.2])[0] + (start - path.poses([1.0])[0])
    pose[0] = 1.2
    loads, _, x = inverted.evaluate(pose)
    assert loads[1] == pytest.approx(900.0, rel=1e-7)
    assert x[0] == pytest.approx(1.4, rel=1e-12)
    assert_jacobian(inverted, pose)


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


@pytest.mark.parametrize("name", CURVES)
def test_a_height_that_does_not_fall_gives_a_root_or_a_load_beyond_the_trained(name):
    """Never a hang, an endless number or a load that the height does not have."""
    good = manufactured.inverted()
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (1200, 6))
    curve = CURVES[name](x[:, 5] + 1.0)
    settings = ResponseSurfaceSettings(degree=1)
    flat = fit_response_surface(x[:, :5], curve[:, None], settings)  # for its type alone
    bent = fit_response_surface(x[:, 5:], curve[:, None], ResponseSurfaceSettings(degree=12))
    exponents = np.zeros((len(bent.exponents), 6), dtype=np.int64)
    exponents[:, 5] = bent.exponents[:, 0]
    height = type(flat)(
        exponents, 1e-3 * bent.coefficients, np.zeros(6), np.ones(6), 1e-3 * bent.y_offset,
        bent.y_scale, bent.deviation, bent.factor, bent.residuals, bent.ridge,
    )  # fmt: skip
    model = InvertedCompartment(good.space, height, good.ratios, good.quantities)
    touch = height.predict(np.array([[0, 0, 0, 0, 0, -1.0]]))[0, 0]
    pose = middle_pose(model)
    for over in np.linspace(-2.5e-3, 1.5e-3, 301):
        pose[4] = middle_pose(model)[4] + over
        loads, jacobian, s = model.evaluate(pose)
        if over >= touch:
            assert loads[1] == 0.0
            continue
        assert np.isfinite(loads).all()
        assert np.isfinite(jacobian).all()
        assert jacobian[1, 4] < 0.0
        if s[5] <= 1.0:
            at_root = height.predict(np.array([[0, 0, 0, 0, 0, s[5]]]))[0, 0]
            assert at_root == pytest.approx(over, abs=1e-12)
        else:  # which KneeSurrogate flags
            assert loads[1] > model.space.load[1]


def test_regressors_of_other_sizes_are_refused():
    """The kernels do not check what they read."""
    good = manufactured.inverted()
    with pytest.raises(ValueError, match="height: expected a regressor of 6 inputs and 1 outputs"):
        InvertedCompartment(good.space, good.ratios, good.ratios, good.quantities)
    x = np.random.default_rng(0).uniform(-1, 1, (30, 5))
    narrow = manufactured.fit_surface(x, x[:, :1])
    with pytest.raises(ValueError, match="found 5 and 1"):
        InvertedCompartment(good.space, narrow, good.ratios, good.quantities)
    with pytest.raises(ValueError, match="loads: expected a regressor of 6 inputs and 12"):
        DirectCompartment(good.space, np.array([0.0, 1.0]), good.ratios)
    with pytest.raises(ValueError, match="height_range: expected a half range > 0"):
        DirectCompartment(good.space, np.zeros(2), manufactured.direct().loads)


@pytest.mark.parametrize("kind", [InvertedCompartment, DirectCompartment])
def test_bad_samples_are_refused(kind):
    space = manufactured.space()
    poses, loads = manufactured.samples(space, 40, 0)
    lifted = loads.copy()
    lifted[3, 1] = 0.0
    fit = manufactured.fit_surface
    with pytest.raises(ValueError, match=r"loads: expected an axial load > 0 .* found 0 N"):
        kind.fit(space, poses, lifted, fit)
    with pytest.raises(ValueError, match=r"loads: expected shape \(40, 12\)"):
        kind.fit(space, poses, loads[:-1], fit)
    with pytest.raises(ValueError, match="poses: expected at least one sample"):
        kind.fit(space, poses[:0], loads[:0], fit)


def test_formulations_by_name():
    assert formulation("inverted") is InvertedCompartment
    assert formulation("direct") is DirectCompartment
    with pytest.raises(ValueError, match="formulation: expected one of"):
        formulation("inverse")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("make", [manufactured.inverted, manufactured.direct])
def test_arrays_round_trip(make, family):
    model = make(family)
    again = type(model).from_arrays(model.space, model.to_arrays())
    for pose in manufactured.samples(model.space, 10, 3)[0]:
        for ours, theirs in zip(model.evaluate(pose), again.evaluate(pose), strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("family", manufactured.EXACT)
def test_direct_recovers_loads_over_the_pose(family):
    model = manufactured.direct(family)
    poses, expected = manufactured.direct_samples(model.space, 40, seed=8)
    inside = np.abs(poses[:, 4] - model.space.path.poses(poses[:, 0])[:, 4]) < 0.95e-3
    size = np.abs(expected).max(axis=0)
    for pose, loads in zip(poses[inside], expected[inside], strict=True):
        np.testing.assert_allclose(model.evaluate(pose)[0] / size, loads / size, rtol=0, atol=1e-8)


def test_direct_is_its_regressor(direct):
    """Naive twin: scale, hold at the box, predict."""
    poses, _ = direct.space.draw(np.random.default_rng(2).random((30, 6)))
    around = direct.space.path.poses(poses[:, 0])
    poses = around + 1.3 * (poses - around)
    poses[:, 4] += np.linspace(-1.5e-3, 1.5e-3, 30)
    x, over = direct.space.scaled(poses, np.zeros(30))
    x[:, 5] = (over - direct.height_range[0]) / direct.height_range[1]
    expected = direct.loads.predict(np.clip(x, -1, 1))
    for k, pose in enumerate(poses):
        loads, _, found = direct.evaluate(pose)
        np.testing.assert_allclose(loads, expected[k], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found, x[k], rtol=0, atol=1e-11)


def test_direct_jacobian_is_the_derivative(direct):
    unit = 0.1 + 0.8 * np.random.default_rng(6).random((6, 6))
    poses, _ = direct.space.draw(unit)
    poses[:, 4] += np.linspace(-0.8e-3, 0.8e-3, 6)
    outside = poses[0].copy()
    outside[4] += 5e-3
    for pose in (*poses, outside):
        assert_jacobian(direct, pose)
    assert (direct.evaluate(outside)[1][:, 4] == 0.0).all()


def test_direct_needs_different_heights():
    space = manufactured.space()
    poses, loads = manufactured.samples(space, 40, 0)
    poses[:, 4] = space.path.poses(poses[:, 0])[:, 4]
    with pytest.raises(ValueError, match="poses: expected samples of different heights"):
        DirectCompartment.fit(space, poses, loads, manufactured.fit_surface)
