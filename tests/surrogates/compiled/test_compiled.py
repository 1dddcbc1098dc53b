import os
import subprocess
import sys
from pathlib import Path

import made
import numpy as np
import pytest
import reference
from differences import differences
from scipy.optimize import brentq

from foundation.base.compiling import kernel
from foundation.base.pose import Pose
from surrogates import compiled
from surrogates.compiled.coordinates import condyle_point
from surrogates.compiled.functions import decay, hyperbolic_tangent
from surrogates.compiled.lanes import load, store
from surrogates.compiled.layout import new_work, rows_of

_TESTS = Path(__file__).parents[2]

every = pytest.mark.parametrize("regressor", made.MADE.values(), ids=made.MADE)


def work_of(regressor, fill=np.nan):
    work = new_work(regressor.workspace_size)
    work[:] = fill
    return work


def evaluate(regressor, x, fill=np.nan):
    value = np.full(regressor.outputs, np.nan)
    jacobian = np.full((regressor.outputs, regressor.inputs), np.nan)
    compiled.evaluate(x, regressor.arguments, value, jacobian, work_of(regressor, fill))
    return value, jacobian


@every
def test_values_are_those_of_the_formula(regressor):
    x = made.inside(regressor, 20)
    wanted = reference.evaluate(regressor, x)
    values = np.empty_like(wanted)
    compiled.evaluate_values(x, regressor.arguments, values, work_of(regressor))
    assert made.off(values, wanted) < 1e-13
    values, jacobians = np.empty_like(wanted), np.empty((*wanted.shape, regressor.inputs))
    compiled.evaluate_all(x, regressor.arguments, values, jacobians, work_of(regressor))
    assert made.off(values, wanted) < 1e-13
    assert np.array_equal(jacobians[3], evaluate(regressor, x[3])[1])


@every
def test_derivatives_of_the_first_outputs_alone(regressor):
    x = made.inside(regressor, 1, seed=2)[0]
    wanted, slopes = evaluate(regressor, x)
    for steep in {1, regressor.outputs // 2, regressor.outputs - 1} - {0}:
        value = np.full(regressor.outputs, np.nan)
        jacobian = np.full((steep, regressor.inputs), np.nan)
        compiled.evaluate(x, regressor.arguments, value, jacobian, work_of(regressor))
        assert made.off(value, wanted) < 1e-13
        assert np.abs(jacobian - slopes[:steep]).max() <= 1e-13 * max(np.abs(slopes).max(), 1.0)


@every
def test_derivatives_are_those_of_the_formula(regressor):
    x = made.inside(regressor, 1, seed=2)[0]
    wanted = differences(lambda x: reference.evaluate(regressor, x[None])[0], x, 1e-5)
    _, jacobian = evaluate(regressor, x)
    scale = max(np.abs(wanted).max(), 1.0)
    assert np.abs(jacobian - wanted).max() < 1e-6 * scale / (10 if regressor.inputs > 1 else 1)


@every
def test_second_derivatives_are_those_of_the_first(regressor):
    x = made.inside(regressor, 1, seed=2)[0]
    hessian = np.full((regressor.inputs, regressor.inputs), np.nan)
    compiled.evaluate_hessian(x, regressor.arguments, hessian, work_of(regressor))
    wanted = differences(lambda x: evaluate(regressor, x)[1][0], x, 1e-5)
    assert np.abs(hessian - wanted).max() < 1e-6 * max(np.abs(wanted).max(), 1.0)
    assert np.array_equal(hessian, hessian.T)


@every
def test_second_derivatives_of_all_outputs(regressor):
    x = made.inside(regressor, 1, seed=2)[0]
    k, d = regressor.outputs, regressor.inputs
    hessians = np.full((k, d, d), np.nan)
    compiled.evaluate_hessians(x, regressor.arguments, hessians, work_of(regressor))
    wanted = differences(lambda x: evaluate(regressor, x)[1], x, 1e-5)
    assert np.abs(hessians - wanted).max() < 1e-6 * max(np.abs(wanted).max(), 1.0)
    some = np.full((max(k - 1, 1), d, d), np.nan)
    compiled.evaluate_hessians(x, regressor.arguments, some, work_of(regressor))
    scale = max(np.abs(hessians).max(), 1.0)
    assert np.abs(some - hessians[: len(some)]).max() < 1e-12 * scale


def test_derivatives_on_the_planes_of_a_point():
    """Where Matern's |u| has its kink, and its first derivative none."""
    regressor = made.kriging(24, 3, 2, [2, 1, 2], [1])
    x = regressor.x_offset + regressor.x_scale * regressor.points[5]
    wanted = differences(lambda x: reference.evaluate(regressor, x[None])[0], x, 1e-5)
    assert made.off(evaluate(regressor, x)[1], wanted) < 1e-5
    hessian = np.empty((3, 3))
    compiled.evaluate_hessian(x, regressor.arguments, hessian, work_of(regressor))
    near = np.empty((3, 3))
    compiled.evaluate_hessian(x + 1e-9, regressor.arguments, near, work_of(regressor))
    assert made.off(hessian, near) < 1e-6


def test_splines_at_their_knots_and_beyond():
    """At a knot, to the last digit before it, and where the cubics of the ends go on."""
    regressor = made.MADE["splines of unequal knots"]
    ends = regressor.knots[3:-3]
    along = np.concatenate([ends, np.nextafter(ends, -9.0), [-4.0, 3.0]])
    z = np.column_stack([along + 0.37 * 0.3, np.full(len(along), 0.3), np.zeros(len(along))])
    x = regressor.x_offset + regressor.x_scale * z
    wanted = reference.evaluate(regressor, x)
    assert regressor.predict(x) == pytest.approx(wanted, rel=1e-12, abs=1e-12)
    for own, value in zip(x, wanted, strict=True):
        assert evaluate(regressor, own)[0] == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert np.isnan(evaluate(regressor, np.array([np.nan, 0.0, 0.0]))[0]).all()
    for far in (-1e40, 1e40):  # beyond whole numbers
        assert np.isfinite(evaluate(regressor, np.array([far, 0.0, 0.0]))[0]).all()


@every
def test_line_is_the_output_along_the_last_input(regressor):
    x, others = made.inside(regressor, 2)
    work = work_of(regressor)
    compiled.prepare_line(x, regressor.arguments, work)
    # Other functions may use the memory meanwhile.
    value, jacobian = np.empty(regressor.outputs), np.empty((regressor.outputs, regressor.inputs))
    compiled.evaluate(others, regressor.arguments, value, jacobian, work)
    for last in (x[-1], others[-1]):
        here = x.copy()
        here[-1] = last
        value, jacobian = evaluate(regressor, here)
        found, slope = compiled.on_line(last, regressor.arguments, work)
        assert abs(found - value[0]) < 1e-12 * max(1.0, abs(value[0]))
        assert abs(slope - jacobian[0, -1]) < 1e-12 * max(1.0, np.abs(jacobian[0]).max())
        assert compiled.on_line_at(here, regressor.arguments, work_of(regressor)) == (found, slope)


def falling(seed=0):
    """A height that falls with the last input, not quite evenly."""
    regressor = made.kriging(60, 3, 1, [1, 0, 0], [1], degree=1, seed=seed)
    weights = 0.02 * regressor.weights
    weights[0, 3] = -1.0
    arrays = regressor.to_arrays() | {"weights": weights, "x_offset": np.zeros(3)}
    return type(regressor).from_arrays(arrays | {"x_scale": np.ones(3)})


@pytest.mark.parametrize("last", [-0.99999, -0.4, 0.0, 0.7, 0.999999])
def test_root_on_the_line_is_brents(last):
    regressor = falling()

    def height(s):
        return float(reference.evaluate(regressor, np.array([[0.3, -0.2, s]]))[0, 0])

    target = height(last)
    wanted = brentq(lambda s: height(s) - target, -1.0, 1.0, xtol=1e-15)
    x = np.array([0.3, -0.2, np.nan])
    found, s = compiled.find_on_line(target, x, regressor.arguments, work_of(regressor))
    assert found
    assert abs(s - wanted) < 1e-12


def test_no_root_from_first_touch_on():
    regressor, x = falling(), np.array([0.1, 0.2, 0.0])
    work = work_of(regressor)
    compiled.prepare_line(x, regressor.arguments, work)
    touch, slope = compiled.on_line(-1.0, regressor.arguments, work)
    for target in (touch, touch + 1.0, np.nan):
        assert compiled.solve_line(target, -1.0, 1.0, regressor.arguments, work) == (False, -1.0)
    found, s = compiled.solve_line(touch - 1e-9, -1.0, 1.0, regressor.arguments, work)
    assert found
    assert s + 1.0 == pytest.approx(-1e-9 / slope, rel=1e-4)


def test_beyond_the_range_the_tangent_goes_on():
    regressor, x = falling(), np.array([0.1, 0.2, 0.0])
    work = work_of(regressor)
    compiled.prepare_line(x, regressor.arguments, work)
    end, slope = compiled.on_line(1.0, regressor.arguments, work)
    for drop in (0.0, 1e-6, 0.5):
        found, s = compiled.solve_line(end - drop, -1.0, 1.0, regressor.arguments, work)
        assert found
        assert s == pytest.approx(1.0 - drop / slope, abs=1e-12)


def cubic(weights):
    """Legendre polynomials of one input."""
    regressor = made.polynomial(1, 1, len(weights) - 1)
    arrays = regressor.to_arrays() | {
        "weights": np.array([weights]), "x_offset": [0.0], "x_scale": [1.0],
        "y_offset": [0.0], "y_scale": [1.0],
    }  # fmt: skip
    return type(regressor).from_arrays(arrays)


@pytest.mark.parametrize("target", np.linspace(-0.55, 0.55, 9))
def test_root_where_the_output_also_rises(target):
    """P_3 - P_1 rises, falls and rises: any of its roots will do, in a bounded number of steps."""
    regressor = cubic([0.0, -1.0, 0.0, 1.0])
    x, work = np.zeros(1), work_of(regressor)
    found, s = compiled.find_on_line(target, x, regressor.arguments, work)
    if not found:
        assert target >= compiled.on_line(-1.0, regressor.arguments, work)[0]
    elif s <= 1.0:
        assert compiled.on_line(s, regressor.arguments, work)[0] == pytest.approx(target, abs=1e-9)
    else:
        assert np.isfinite(s)


def test_rising_end_is_passed_along_the_chord():
    regressor = cubic([0.0, -0.5, 1.0])
    work = work_of(regressor)
    touch, end = 1.5, 0.5
    found, s = compiled.find_on_line(-1.0, np.zeros(1), regressor.arguments, work)
    assert found
    assert s == pytest.approx(1.0 + (-1.0 - end) / ((end - touch) / 2.0))


@every
def test_standard_error_is_that_of_the_formula(regressor):
    x = made.inside(regressor, 8)
    errors = np.empty((8, regressor.outputs))
    work = work_of(regressor)
    compiled.standard_errors(x, regressor.arguments, regressor.posterior, errors, work)
    if not len(regressor.points) and not regressor.spread.size:
        assert np.isnan(errors).all()
        return
    assert errors == pytest.approx(reference.standard_error(regressor, x), rel=1e-7, abs=1e-12)


def test_relative_variance():
    regressor = made.kriging(70, 3, 2, [1, 0, 0], [2], nugget=0.01)
    x = made.inside(regressor, 1)
    wanted = reference.standard_error(regressor, x)[0] ** 2 / regressor.variance
    found = compiled.relative_variance(
        x[0], regressor.arguments, regressor.posterior, work_of(regressor)
    )
    assert wanted == pytest.approx([found, found], rel=1e-11)
    # Out of clipped bounds, the model of a polynomial's error stays as it is.
    surface = made.polynomial(2, 2, 2)
    far, edge = surface.x_offset + 9 * surface.x_scale, surface.x_offset + surface.x_scale
    assert np.array_equal(surface.standard_error([far]), surface.standard_error([edge]))
    nothing = compiled.relative_variance(
        far, surface.arguments, surface.posterior, work_of(surface)
    )
    assert np.isnan(nothing)


@every
def test_answers_depend_on_nothing_else(regressor):
    """Neither on what is in the scratch memory, nor on where it and the results are."""
    x = made.inside(regressor, 1)[0]
    value, jacobian = evaluate(regressor, x)
    k, d = jacobian.shape
    for fill in (0.0, 1e300, -np.inf):
        memory = np.full(regressor.workspace_size + 30, fill)
        values, rows = np.full(k + 2, 7.0), np.full((k + 2, d), 7.0)
        inputs = np.concatenate([[0.0], x])
        compiled.evaluate(inputs[1:], regressor.arguments, values[1:-1], rows[1:-1], memory[3:])
        assert np.array_equal(values[1:-1], value)
        assert np.array_equal(rows[1:-1], jacobian)
        assert (values[[0, -1]] == 7.0).all()
        assert (rows[[0, -1]] == 7.0).all()


@every
def test_scratch_memory_is_enough(regressor):
    size = regressor.workspace_size
    memory = np.full(size + 64, 7.0)
    x, work = made.inside(regressor, 1)[0], memory[:size]
    value, jacobian = np.empty(regressor.outputs), np.empty((regressor.outputs, regressor.inputs))
    compiled.evaluate(x, regressor.arguments, value, jacobian, work)
    compiled.evaluate_value(x, regressor.arguments, value, work)
    compiled.evaluate_hessian(x, regressor.arguments, np.empty((len(x), len(x))), work)
    compiled.on_line_at(x, regressor.arguments, work)
    compiled.standard_error(x, regressor.arguments, regressor.posterior, value, work)
    assert (memory[size:] == 7.0).all()


def test_no_outputs_are_nothing_to_do():
    regressor = made.polynomial(3, 0, 0)
    x, nothing = np.zeros(3), np.empty(0)
    work = work_of(regressor)
    compiled.evaluate(x, regressor.arguments, nothing, np.empty((0, 3)), work)
    compiled.evaluate_value(x, regressor.arguments, nothing, work)
    compiled.standard_error(x, regressor.arguments, regressor.posterior, nothing, work)
    assert regressor.predict(np.zeros((4, 3))).shape == (4, 0)


def test_all_families_have_the_same_types():
    kinds = {
        tuple((a.dtype, a.ndim, a.flags.c_contiguous, a.flags.writeable) for a in r.arguments)
        for r in made.MADE.values()
    }
    assert len(kinds) == 1


@kernel
def _apply(v, decayed, bent):
    for i in range(v.shape[0]):
        store(decayed, i, decay(load(v, i)))
        store(bent, i, hyperbolic_tangent(load(v, i)))


@pytest.mark.slow
def test_exponential_and_tangent():
    rng = np.random.default_rng(0)
    v = np.concatenate([rng.uniform(0, s, 8000) for s in (1e-9, 0.5, 3.0, 40.0, 708.0)])
    v[:8] = 0.0, 1e-300, 745.0, 746.0, 1e9, np.log(2.0) / 2, 19.9, 709.0
    v = v.reshape(-1, 8)
    decayed, bent = np.empty_like(v), np.empty_like(v)
    _apply(v, decayed, bent)
    assert decayed == pytest.approx(np.exp(-v), rel=1e-15, abs=1e-320)
    assert bent == pytest.approx(np.tanh(v), rel=1e-15, abs=0.0)
    _apply(-v, decayed, bent := np.empty_like(v))
    assert bent == pytest.approx(np.tanh(-v), rel=1e-15, abs=0.0)


def test_rows_of_scratch_memory():
    memory = new_work(83)
    assert memory.ctypes.data % 64 == 0
    assert rows_of(memory).shape == (10, 8)
    assert np.shares_memory(rows_of(memory), memory)


def test_point_of_the_condyle():
    rng = np.random.default_rng(0)
    pose, centre = rng.normal(size=6), rng.normal(size=3)
    point, slopes = np.empty(3), np.empty((3, 6))

    def place(q):
        here = Pose.from_array(q)
        return here.translation + here.rotation_matrix @ centre

    condyle_point(pose, centre, point, slopes)
    assert point == pytest.approx(place(pose), abs=1e-14)
    assert slopes == pytest.approx(differences(place, pose, 1e-5), abs=1e-8)


_WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
import made, numpy as np
from surrogates import compiled
out = {}
for name in sys.argv[2:]:
    r = made.MADE[name]
    x = made.inside(r, 1)[0]
    value, jacobian = r.predict_with_jacobian(x)
    line = compiled.on_line_at(x, r.arguments, np.empty(r.workspace_size))
    parts = [value, r.predict([x])[0], jacobian.ravel(), r.hessian(x).ravel(), line]
    out[name] = np.concatenate([*parts, r.standard_error([x])[0]])
assert not [m for m in sys.modules if m.split(".")[0] in ("scipy", "smt", "sklearn", "llvmlite")]
np.savez(sys.argv[1], **out)
"""


def test_without_numba_the_answers_are_the_same(tmp_path):
    names = ["kriging, shear by the last input", "Fourier", "splines in a shear", "everything"]
    path = tmp_path / "out.npz"
    arguments = [sys.executable, "-W", "error", "-c", _WITHOUT_NUMBA]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (_TESTS.parent, _TESTS)))}
    subprocess.run([*arguments, str(path), *names], check=True, env=environment)
    with np.load(path) as found:
        for name in names:
            regressor = made.MADE[name]
            x = made.inside(regressor, 1)[0]
            value, jacobian = evaluate(regressor, x)
            line = compiled.on_line_at(x, regressor.arguments, work_of(regressor))
            hessian = regressor.hessian(x).ravel()
            errors = regressor.standard_error([x])[0]
            wanted = np.concatenate([value, value, jacobian.ravel(), hessian, line, errors])
            assert found[name] == pytest.approx(wanted, rel=1e-9, abs=1e-10)
