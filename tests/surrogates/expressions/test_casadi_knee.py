"""Expressions of CasADi against the compiled evaluation, and what CasADi does with functions."""

import ctypes
import subprocess
from dataclasses import replace
from functools import cache

import made_knees
import numpy as np
import pytest
from c_library import COMPILER, needs_compiler
from lazily import casadi as ca
from made_knees import knee_of
from some_slow import slow_rows
from surrogate_arrays import arrays

from foundation.base.errors import InputError
from surrogates.expressions import of_casadi
from surrogates.expressions.compartment import CRITERIA
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.training_data import FORMULATIONS

pytestmark = pytest.mark.casadi

FAMILIES = ("kriging", "polynomial", "poly_fourier", "network", "spline", "beside")
WIDTH = 0.005


def random_knee(formulation, family, width=0.0):
    parts = [made_knees.compartment(formulation, family, seed) for seed in (0, 1)]
    return knee_of(*(replace(part, smoothing=width) for part in parts))


@cache
def smooth(formulation="inverted", family="polynomial", dissipation=None):
    return random_knee(formulation, family, WIDTH).casadi(dissipation)


def with_jacobian(function):
    """Loads and domain (N, C, 12) and their jacobians (N, C, 12, 6) at poses (N, 6)."""
    pose = ca.SX.sym("pose", 6)
    found = [ca.vec(v) for v in function(pose)]
    both = ca.Function("both", [pose], [*found, *(ca.jacobian(v, pose) for v in found)])

    def evaluate(poses):
        rows = [[np.array(v) for v in both(p)] for p in poses]
        shapes = [(-1, 12), (-1, 12), (-1, 12, 6), (-1, 12, 6)]
        return [
            np.array([r.reshape(shape) for r in rows_of])
            for rows_of, shape in zip(zip(*rows, strict=True), shapes, strict=True)
        ]

    return evaluate


def differences(function, poses):
    """Central differences of fourth order (N, ..., 6)."""
    columns = []
    for j, step in enumerate([1e-5, 1e-5, 1e-5, 1e-7, 1e-7, 1e-7]):
        move = step * np.eye(6)[j]
        one = (function(poses + move) - function(poses - move)) / (2 * step)
        two = (function(poses + 2 * move) - function(poses - 2 * move)) / (4 * step)
        columns.append((4 * one - two) / 3)
    return np.stack(columns, axis=-1)


def assert_like_the_kernels(formulation, family, count):
    knee = random_knee(formulation, family)
    poses = made_knees.poses_about(knee.compartment("medial"), count)
    loads, jacobian, _ = arrays(knee, poses)
    found, _, slopes, _ = with_jacobian(knee.casadi())(poses)
    assert (np.isnan(found) == np.isnan(loads)).all()
    peak = np.nanmax(np.abs(loads), axis=(0, 1))
    assert np.nanmax(np.abs(found - loads) / peak) < 1e-9
    steepest = np.abs(jacobian).max(axis=(0, 1))
    assert (np.abs(slopes[:, :, :6] - jacobian) / steepest).max() < 1e-9


@pytest.mark.parametrize(
    ("formulation", "family"),
    [*((name, FAMILIES[k % 4]) for k, name in enumerate(FORMULATIONS)), ("inverted", "spline")],
)
def test_without_smoothing_as_the_kernels(formulation, family):
    assert_like_the_kernels(formulation, family, 30)


@pytest.mark.parametrize(
    ("formulation", "family"),
    [
        *((name, "polynomial") for name in FORMULATIONS),
        *slow_rows([("inverted", "network")]),
    ],
)
def test_derivatives_with_smoothing_are_those_of_differences(formulation, family):
    """First and second derivatives, in contact, around first contact and outside the box."""
    function = smooth(formulation, family)
    poses = made_knees.poses_about(made_knees.compartment(formulation, family), 12)
    evaluate = with_jacobian(function)
    _, _, slopes, domain_slopes = evaluate(poses)
    for own, place in ((slopes, 0), (domain_slopes, 1)):
        wanted = differences(lambda p, place=place: evaluate(p)[place], poses)
        size = np.abs(wanted).max(axis=(0, 1)) + 1e-300
        # The last three have a kink at first contact.
        assert (np.abs(own - wanted) / size)[:, :, :9].max() < 1e-5
    pose = ca.SX.sym("pose", 6)
    wrench = ca.vec(function(pose)[0][:6, :])
    hessian = ca.Function("h", [pose], [ca.jacobian(ca.jacobian(wrench, pose), pose)])
    found = np.array([np.array(hessian(p)).reshape(6, 12, 6) for p in poses])
    found = found.transpose(0, 2, 1, 3).reshape(-1, 2, 6, 6, 6)
    wanted = differences(lambda p: evaluate(p)[2][:, :, :6], poses)
    size = np.abs(wanted).max(axis=(0, 1)) + 1e-300
    assert (np.abs(found - wanted) / size).max() < 1e-4
    assert np.abs(found - found.swapaxes(-1, -2)).max() <= 1e-10 * np.abs(found).max()


def test_second_derivatives_are_continuous_across_first_contact():
    """On a line through first contact the second derivative changes as finely as the steps."""
    function = smooth()
    part = replace(made_knees.compartment("inverted", "polynomial"), smoothing=WIDTH)
    pose = part.space.path.poses(np.array([0.4]))[0]
    pose[4] += part.gaps(pose[None])[0] if part.gaps(pose[None])[0] > 0.0 else 0.0
    q = ca.SX.sym("q", 6)
    bend = ca.jacobian(ca.jacobian(function(q)[0][1, 0], q[4]), q[4])
    evaluate = ca.Function("bend", [q], [bend])
    over = part.coordinates.variables(pose[None])[1][0]
    touch = part.regressors[0].predict(
        np.append(part.coordinates.variables(pose[None])[0][0], -1.0)[None]
    )[0, 0]
    pose[4] += touch - over
    jumps = []
    for count in (400, 800):
        heights = pose[4] + np.linspace(-4e-6, 8e-6, count)
        values = [float(evaluate(np.r_[pose[:4], h, pose[5]])) for h in heights]
        assert max(values) > 0.0
        assert min(values) == 0.0
        jumps.append(np.abs(np.diff(values)).max() / max(values))
    assert jumps[1] < 0.6 * jumps[0]


def test_the_domain_is_that_of_the_criteria():
    function = smooth()
    medial = replace(made_knees.compartment("inverted", "polynomial"), smoothing=WIDTH)
    pose = made_knees.poses_about(medial, 6)[0]
    domain, loads = np.array(function(pose)[1]), np.array(function(pose)[0])
    assert len(CRITERIA) == 12
    x = medial.space.scaled(pose[None], np.zeros(1))[0][0, :5]
    assert domain[:5, 0] == pytest.approx(x * x, rel=1e-12)
    top = medial.space.load[1]
    assert domain[5, 0] == pytest.approx(loads[1, 0] / top, rel=1e-12)
    assert domain[6, 0] < 1e-20  # of a domain without limits
    assert (domain[9:] == 0.0).all()


def test_dissipation_multiplies_wrench_and_pressures():
    knee = smooth()
    moving = smooth(dissipation=2.0)
    pose = made_knees.poses_about(made_knees.compartment("inverted", "polynomial"), 2)[0]
    sinking = np.array([0.0, 0.0, 0.0, 0.0, -0.05, 0.0])
    still, moved = (np.array(v) for v in (knee(pose)[0], moving(pose, sinking)[0]))
    same = np.array([6, 9, 10, 11])
    others = np.setdiff1d(np.arange(12), same)
    assert moved[same] == pytest.approx(still[same], rel=1e-12)
    assert moved[others] == pytest.approx(1.1 * still[others], rel=1e-12)
    assert np.array(moving(pose, -40.0 * sinking)[0])[others] == pytest.approx(0.0, abs=1e-12)


def test_functions_can_be_expanded_stored_and_mapped():
    function = smooth()
    assert function.name() == "knee"
    assert (function.name_in(), function.name_out()) == (["pose"], ["loads", "domain"])
    poses = made_knees.poses_about(made_knees.compartment("inverted", "polynomial"), 5)
    wanted = [np.array(function(p)[0]) for p in poses]
    again = ca.Function.deserialize(function.serialize())
    for other in (function.expand(), again):
        assert np.array_equal(np.array(other(poses[0])[0]), wanted[0])
    mapped = np.array(function.map(len(poses))(poses.T)[0])
    assert np.array_equal(mapped, np.hstack(wanted))


@needs_compiler
def test_generated_c_gives_the_same_numbers(tmp_path):
    function = smooth("direct")
    code = ca.CodeGenerator("knee.c")
    code.add(function)
    code.generate(f"{tmp_path}/")
    library = tmp_path / "knee.so"
    flags = [COMPILER, "-O0", "-shared", "-fPIC", str(tmp_path / "knee.c"), "-o", str(library)]
    subprocess.run([*flags, "-lm"], check=True)
    compiled = ca.external("knee", str(library))
    assert isinstance(ctypes.CDLL(str(library)).knee, ctypes._CFuncPtr)
    for pose in made_knees.poses_about(made_knees.compartment("direct", "polynomial"), 3):
        assert np.array(compiled(pose)[0]) == pytest.approx(np.array(function(pose)[0]), rel=1e-9)


def test_a_solver_finds_the_height_of_a_load():
    """IPOPT on an MX graph that calls the function: its exact Hessian converges in some steps."""
    function = smooth()
    poses = made_knees.poses_about(made_knees.compartment("inverted", "polynomial"), 20)
    # Loads are constant far outside the domain: no solver comes back from there.
    start = min(poses, key=lambda pose: abs(float(function(pose)[0][1, 0]) - 2000.0))
    assert 400.0 < float(function(start)[0][1, 0]) < 4000.0
    height = ca.MX.sym("height")  # over the start [mm]
    pose = ca.vertcat(*start[:4], start[4] + 1e-3 * height, start[5])
    axial = ca.sum2(function(pose)[0][1, :])
    quiet = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes"}
    problem = {"x": height, "f": (axial / 400.0 - 1.0) ** 2}
    solver = ca.nlpsol("solver", "ipopt", problem, quiet)
    found = solver(x0=0.0)
    assert solver.stats()["success"]
    assert float(found["f"]) < 1e-12


def test_pairs_have_a_column_for_each_compartment():
    parts = {"only": made_knees.compartment("inverted", "polynomial")}
    assert ContactSurrogate(parts).casadi().size_out(0) == (12, 1)


def test_a_negative_dissipation_is_refused():
    with pytest.raises(InputError, match="dissipation"):
        random_knee("inverted", "polynomial").casadi(-1.0)


def test_opensim_in_the_same_process_is_named(monkeypatch):
    def clashing(name):
        raise ImportError("undefined symbol: _ZN6casadi")

    monkeypatch.setattr(of_casadi.importlib, "import_module", clashing)
    monkeypatch.setitem(of_casadi.sys.modules, "opensim", None)
    with pytest.raises(InputError, match="a process without OpenSim, found OpenSim imported"):
        random_knee("inverted", "polynomial").casadi()


def test_a_missing_package_names_the_remedy(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(of_casadi.importlib, "import_module", missing)
    with pytest.raises(InputError, match=r'pip install "knee-contact\[casadi\]"'):
        random_knee("inverted", "polynomial").casadi()
