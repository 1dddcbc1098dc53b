import ctypes
import re
from dataclasses import replace

import made
import numpy as np
import pytest
from c_library import COMPILER, compile_c, needs_compiler, pointer
from random_knees import every_knee, poses_about

import surrogates
from surrogates.compiled import find_on_line
from surrogates.compiled.coordinates import condyle_point
from surrogates.export import c_export

_EXTRA = """
void knee_hessian(const double *x, double *out) { knee_hessian_of(&knee_it, x, out); }
int knee_find(double y, double *x, double *below)
{
    return knee_find_on_line(&knee_it, y, -1.0, 1.0, x, below);
}
void knee_point(const double *q, const double *c, double *p, double *s)
{
    knee_condyle_point(q, c, p, s);
}
void knee_all(const double *x, double *y, double *dy)
{
    knee_evaluate_regressor(&knee_it, knee_it.outputs, x, y, dy);
}
"""
_DECLARED = [
    ("second", "void knee_hessian(const double *x, double *out)"),
    ("root", "int knee_find(double y, double *x, double *below)"),
    ("place", "void knee_point(const double *q, const double *c, double *p, double *s)"),
    ("all", "void knee_all(const double *x, double *y, double *dy)"),
]


@needs_compiler
def test_regressors_give_the_same_numbers(tmp_path):
    named = {f"one_{i}": regressor for i, regressor in enumerate(made.MADE.values())}
    files = {prefix: c_export.export_regressor(r, prefix) for prefix, r in named.items()}
    library = compile_c(tmp_path, **files)
    for prefix, regressor in named.items():
        for x in made.inside(regressor, 5):
            value = np.full(regressor.outputs, np.nan)
            jacobian = np.full((regressor.outputs, regressor.inputs), np.nan)
            library[f"{prefix}_evaluate"](pointer(x), pointer(value), pointer(jacobian))
            wanted, slopes = regressor.predict_with_jacobian(x)
            assert made.off(value, wanted) < 1e-12, prefix
            assert np.abs(jacobian - slopes).max() <= 1e-11 * max(1.0, np.abs(slopes).max())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What the template knows of a regressor, around the one that has every feature."""
    if COMPILER is None:
        pytest.skip("no C compiler (cc, gcc or clang) on the path")
    regressor = made.MADE["everything"]
    wanted = c_export.features([regressor])
    assert wanted == {"points", "networks"}
    source = [
        c_export.preamble("knee", [regressor]),
        c_export.code("knee", ("regressor", "line", "hessian", "condyle"), wanted),
        c_export.tables("knee", "it", regressor, wanted),
        _EXTRA,
    ]
    files = c_export.CFiles(c_export.header("knee", _DECLARED), "\n".join(source))
    return regressor, compile_c(tmp_path_factory.mktemp("whole"), knee=files)


def test_second_derivatives(whole):
    regressor, library = whole
    x, hessian = made.inside(regressor, 1)[0], np.empty((4, 4))
    library.knee_hessian(pointer(x), pointer(hessian))
    assert made.off(hessian, regressor.hessian(x)) < 1e-12


def test_root_on_the_line(whole):
    regressor, library = whole
    library.knee_find.argtypes = [ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p]
    work = np.empty(regressor.workspace_size)
    outcomes = set()
    for x in made.inside(regressor, 30):
        for target in (regressor.predict([x])[0, 0], -30.0, 30.0):
            wanted = find_on_line(target, x, regressor.arguments, work)
            here = x.copy()
            below = np.zeros(1)
            found = library.knee_find(target, here.ctypes.data, below.ctypes.data)
            assert bool(found) == wanted[0]
            assert here[-1] == pytest.approx(wanted[1], rel=1e-9, abs=1e-9)
            if not found:
                touch = regressor.predict([[*x[:-1], -1.0]])[0, 0]
                assert below[0] == pytest.approx(target - touch, rel=1e-9, abs=1e-9)
            outcomes.add((wanted[0], wanted[1] > 1.0))
    assert outcomes == {(False, False), (True, False), (True, True)}


def test_point_of_the_condyle(whole):
    rng = np.random.default_rng(0)
    pose, centre = rng.normal(size=6), rng.normal(size=3)
    wanted, slopes = np.empty(3), np.empty((3, 6))
    condyle_point(pose, centre, wanted, slopes)
    point, by_pose = np.empty(3), np.empty((3, 6))
    whole[1].knee_point(pointer(pose), pointer(centre), pointer(point), pointer(by_pose))
    assert point == pytest.approx(wanted, abs=1e-14)
    assert by_pose == pytest.approx(slopes, abs=1e-14)


def c_loads(library, prefix, poses):
    n = len(poses)
    loads, jacobian, x = np.empty((n, 2, 12)), np.empty((n, 2, 6, 6)), np.empty((n, 2, 6))
    function = library[f"{prefix}_loads"]
    status = [
        function(pointer(poses[i]), pointer(loads[i]), pointer(jacobian[i]), pointer(x[i]))
        for i in range(n)
    ]
    return loads, jacobian, x, np.array(status)


KNEES = every_knee()


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """All knees, compiled without a warning: none holds a function that it does not use."""
    if COMPILER is None:
        pytest.skip("no C compiler (cc, gcc or clang) on the path")
    files = {prefix: c_export.export_knee(knee, prefix) for prefix, knee in KNEES.items()}
    return compile_c(tmp_path_factory.mktemp("knees"), **files)


@pytest.mark.parametrize("prefix", KNEES)
def test_knees_give_the_same_numbers(prefix, library):
    knee = KNEES[prefix]
    poses = np.concatenate(
        [poses_about(part, 100, seed) for seed, part in enumerate((knee.medial, knee.lateral))]
    )
    wanted = knee.evaluate_batch(poses)
    *found, status = c_loads(library, prefix, poses)
    given = (*wanted[:2], wanted[2][..., :6])
    for name, a, b in zip(("loads", "jacobian", "variables"), found, given, strict=True):
        assert np.array_equal(np.isnan(a), np.isnan(b)), name
        assert np.array_equal(a == 0.0, b == 0.0), name
        largest = np.nanmax(np.abs(b), axis=0)
        assert np.nanmax(np.abs(a - b) / np.where(largest > 0.0, largest, 1.0)) < 1e-10, name
    outside = (np.abs(wanted[2]) > 1.0 + 1e-9).any(axis=(1, 2))
    assert np.array_equal(status, outside.astype(int))


@pytest.mark.parametrize("prefix", KNEES)
def test_the_poses_ask_for_every_case(prefix):
    knee = KNEES[prefix]
    for part in (knee.medial, knee.lateral):
        loads, _, x = part.evaluate_batch(poses_about(part))
        in_box, free = (np.abs(x[:, :5]) <= 1.0).all(axis=1), loads[:, 1] == 0.0
        cases = [~in_box, in_box & ~free & (x[:, 5] < 1.0), x[:, 5] > 1.0]
        if part.formulation not in ("power", "direct"):
            cases.append(free)
        assert [case.sum() > 10 for case in cases] == [True] * len(cases), part.formulation


def middle_of(knee):
    """A pose (1, 6) inside the domain of both compartments."""
    poses = poses_about(knee.medial, 2000)
    inside = (np.abs(knee.evaluate_batch(poses)[2]) < 1.0).all(axis=(1, 2))
    return poses[inside][:1].copy()


def test_a_pose_that_is_not_finite_is_outside(library):
    for prefix in ("inverted_kriging_network", "energy_polynomial_poly_fourier"):
        for k in range(6):
            pose = middle_of(KNEES[prefix])
            assert c_loads(library, prefix, pose)[3] == 0
            pose[0, k] = np.nan
            assert c_loads(library, prefix, pose)[3] == 1, (prefix, k)


def test_only_what_the_knee_needs():
    def source(prefix):
        return c_export.export_knee(KNEES[prefix], "knee").source

    plain = source("inverted_polynomial_poly_fourier")
    assert not re.search(r"tanh\(|places|hessian|knee_(root|stiffness|power|energy)\b", plain)
    kriging, network = source("kriging_alone"), source("network_alone")
    assert "tanh(" not in kriging
    assert "places" in kriging
    assert "places" not in network
    assert "hessian" in network
    assert not re.search(r"/\* (if|end)\b", plain + kriging + network)


def test_a_knee_has_no_state():
    source = c_export.export_knee(KNEES["energy_kriging_network"], "knee").source
    variables = [line for line in source.splitlines() if re.match(r"\w.* = \{$", line)]
    assert len(variables) > 40
    assert all(line.startswith("static const ") for line in variables)
    assert not re.search(r"^ +static|alloc", source, re.MULTILINE)


def test_the_header_tells_what_it_was_made_of(tmp_path):
    surrogates.save(KNEES["inverted_kriging_network"], tmp_path / "knee.npz")
    knee = surrogates.load(tmp_path / "knee.npz")
    header = c_export.export_knee(knee, "left").header
    for words in ("medial: inverted, kriging\n", "lateral: inverted, network\n"):
        assert words in header
    assert knee.header["sha256"] in header
    assert "int left_loads(const double pose[6], double loads[2][12],\n" in header
    bad = replace(knee, header={"sha256": "*/ int main;"})
    assert "int main" not in c_export.export_knee(bad).header


def test_export_is_the_same_every_time():
    regressor = made.MADE["Fourier"]
    files = c_export.export_regressor(regressor, "knee")
    assert files == c_export.export_regressor(regressor, "knee")
    knee = KNEES["energy_kriging_network"]
    assert c_export.export_knee(knee) == c_export.export_knee(knee)
    assert "surrogate" not in (files.header + files.source).lower()
    assert {line for line in files.source.splitlines() if line.startswith("#")} == {
        '#include "knee.h"',
        "#include <math.h>",
    }


def test_numbers_are_exact():
    for value in (0.1, -1e-300, 1.0, 123456789.123456789, 5e-324):
        assert float(c_export.number(value)) == value
