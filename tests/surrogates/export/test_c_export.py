import ctypes
import re
from dataclasses import replace
from functools import cache

import made
import numpy as np
import pytest
from c_library import COMPILER, compile_c, needs_compiler, pointer

import surrogates
from surrogates.compiled import evaluate_hessians, find_on_line
from surrogates.compiled.coordinates import condyle_point
from surrogates.export import c_export
from surrogates.families.regressor import no_outputs
from surrogates.formulations.compartment_fit import CompartmentSurrogate
from surrogates.formulations.knee import KneeSurrogate
from surrogates.formulations.registry import FORMULATIONS
from surrogates.sampling.condyle_coordinates import CondyleCoordinates, condyle_poses
from surrogates.sampling.space import ReferencePath, SampleSpace

_EXTRA = """
void knee_hessians(const double *x, double *out)
{
    knee_hessians_of(&knee_it, 6, x, out);
}
int knee_find(double y, double *x)
{
    knee_line line;
    knee_prepare_line(&knee_it, x, &line);
    return knee_solve_line(&line, y, -1.0, 1.0, x + knee_it.inputs - 1);
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
    ("second", "void knee_hessians(const double *x, double *out)"),
    ("root", "int knee_find(double y, double *x)"),
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
    x, (hessians, wanted) = made.inside(regressor, 1)[0], np.empty((2, 6, 4, 4))
    library.knee_hessians(pointer(x), pointer(hessians))
    evaluate_hessians(x, regressor.arguments, wanted, np.empty(regressor.workspace_size))
    for found, own in zip(hessians, wanted, strict=True):
        assert made.off(found, own) < 1e-12


def test_root_on_the_line(whole):
    regressor, library = whole
    library.knee_find.argtypes = [ctypes.c_double, ctypes.c_void_p]
    work = np.empty(regressor.workspace_size)
    outcomes = set()
    for x in made.inside(regressor, 30):
        for target in (regressor.predict([x])[0, 0], -30.0, 30.0):
            wanted = find_on_line(target, x, regressor.arguments, work)
            here = x.copy()
            found = library.knee_find(target, here.ctypes.data)
            assert bool(found) == wanted[0]
            assert here[-1] == pytest.approx(wanted[1], rel=1e-9, abs=1e-9)
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


#: Sizes of the outputs: height or root; ratios; area, pressures, centre of pressure.
_RATIOS = np.array([0.1, 0.1, 5e-3, 2e-3, 4e-3])
_QUANTITIES = np.array([1e-4, 6e6, 3e6, 2e-3, 1e-3, 2e-3])
_HALF_HEIGHT, _LARGEST = 3e-4, 1500.0
FAMILY_PAIRS = (("kriging", "network"), ("polynomial", "poly_fourier"))


def random_regressor(family, inputs, size, offset, seed, steep=0.0):
    """Outputs of given sizes and means; the first falls by `steep` with the last input."""
    k = len(size)
    if family == "kriging":
        sheared = [[], [3], [3, inputs - 1]][seed % 3]
        kinds = [1, 0, 2, 0, 1, seed % 3][:inputs]
        found = made.kriging(21, inputs, k, kinds, sheared, seed=seed)
    elif family == "network":
        found = made.network(inputs, k, 11, nets=2, seed=seed)
    else:
        wave = 1.3 if family == "poly_fourier" else 0.0
        found = made.polynomial(inputs, k, 3, wave, seed=seed)
    weights = found.weights / np.sqrt(found.weights.shape[1])
    slope = np.flatnonzero((found.exponents == np.eye(inputs)[-1]).all(axis=1))
    weights[0, slope] -= steep
    offset, size = np.asarray(offset, dtype=float), np.asarray(size, dtype=float)
    scaled = {"x_scale": np.ones(inputs), "y_offset": offset, "y_scale": size}
    found = replace(found, weights=weights, **scaled)
    mean = found.predict(np.random.default_rng(seed).uniform(-1.0, 1.0, (200, inputs))).mean(axis=0)
    return replace(found, y_offset=2.0 * offset - mean)


def groups(formulation):
    """Sizes, offsets and steepness of the groups of outputs that a formulation learns."""
    beside = [(_RATIOS, 0.5 * _RATIOS, 0.0), (_QUANTITIES, 2.0 * _QUANTITIES, 0.0)]
    if formulation in ("inverted", "energy"):
        height = ([0.1 * _HALF_HEIGHT], [0.0], 10.0)
        return [height, *beside] if formulation == "inverted" else [height, beside[1]]
    if formulation == "root":
        return [([0.05], [0.5], 12.0), *beside]
    if formulation.endswith("stiffness"):
        return [([0.1], [0.1], 0.0), *beside]
    p = 0.5 if formulation == "power" else 1.0
    loads = np.array([200.0, _LARGEST, 200.0, 20.0, 5.0, 20.0, 2e-4, 1e7, 6e6]) ** p
    loads = np.append(loads, _QUANTITIES[3:])
    return [(0.4 * loads, loads, 0.5)]


@cache
def compartment(formulation, family, seed=0):
    """A compartment with random regressors, those of a network in one piece."""
    rng = np.random.default_rng(seed)
    knots = np.linspace(-0.1, 1.1, 5)
    places = rng.normal(size=(5, 5)) * [0.01, 0.03, 2e-3, 1e-3, 1e-3]
    space = SampleSpace(
        ReferencePath.through(knots, places), [0.0, 1.0], [0.02, 0.1, 4e-3, 1e-3], [25.0, _LARGEST]
    )
    learnt = groups(formulation)
    if family == "network":
        sizes, offsets = (np.concatenate([g[i] for g in learnt]) for i in (0, 1))
        learnt = [(sizes, offsets, learnt[0][2])]
    plain, stiff = formulation in ("power", "direct"), formulation.endswith("stiffness")
    centre = np.zeros(3) if plain else np.array([4e-3, -22e-3, 15e-3])
    points = condyle_poses(space.path.poses(knots), centre)[:, 1:]
    half = [0.6, 0.02, 0.1, 4e-3, 2e-3]
    coordinates = CondyleCoordinates(
        centre, ReferencePath.through(knots, points), [0.5, 0.0, 0.0, 0.0, 0.0], half, not plain
    )
    height = [_HALF_HEIGHT * 0.1], [0.0]
    parts = [random_regressor(family, 5, *height, seed) if stiff else no_outputs(5)]
    parts += [random_regressor(family, 6, *g[:2], seed + i, g[2]) for i, g in enumerate(learnt)]
    parts += [no_outputs(6)] * (4 - len(parts))
    degree = {"energy": 3.0, "direct": 1.0, "root": 2.2}.get(formulation, 2.0)
    return CompartmentSurrogate(
        formulation,
        space,
        coordinates,
        0.25 if formulation == "energy" else _LARGEST,
        degree,
        0.3 if formulation == "load_stiffness" else 0.0,
        np.array([_HALF_HEIGHT if stiff else 0.0, _HALF_HEIGHT]),
        tuple(parts),
    )


def poses_about(surrogate, count=200, seed=0):
    """Poses (N, 6) in the box and around it, from out of contact to beyond the largest load."""
    rng = np.random.default_rng(seed)
    spread = np.where(np.arange(count) % 2, 0.9, 1.5)[:, None]
    unit = spread * rng.uniform(-1.0, 1.0, (count, 5))
    centre, half = surrogate.space.centre_and_half
    raw = centre[:5] + half[:5] * unit
    poses = surrogate.space.path.poses(raw[:, 0])
    poses[:, [1, 2, 3, 5]] += raw[:, 1:]
    poses[:, 4] = 0.0
    over = surrogate.coordinates.variables(surrogate.space.held(poses))[1]
    poses[:, 4] = _HALF_HEIGHT * rng.uniform(-3.0, 2.4, count) - over
    return poses


def c_loads(library, prefix, poses):
    n = len(poses)
    loads, jacobian, x = np.empty((n, 2, 12)), np.empty((n, 2, 6, 6)), np.empty((n, 2, 6))
    function = library[f"{prefix}_loads"]
    status = [
        function(pointer(poses[i]), pointer(loads[i]), pointer(jacobian[i]), pointer(x[i]))
        for i in range(n)
    ]
    return loads, jacobian, x, np.array(status)


def rising_again():
    """A height that rises before the largest load: its chord takes over from its tangent."""
    whole = compartment("inverted", "polynomial")
    first = whole.regressors[1]
    weights = first.weights.copy()
    weights[0, (first.exponents == 2 * np.eye(6, dtype=int)[-1]).all(axis=1)] += 4.5
    parts = (whole.regressors[0], replace(first, weights=weights), *whole.regressors[2:])
    return replace(whole, regressors=parts)


def every_knee():
    """All formulations by all families, and knees of two formulations, by prefix."""
    knees = {
        f"{formulation}_{'_'.join(pair)}": KneeSurrogate(
            *(compartment(formulation, family, seed) for seed, family in enumerate(pair, start=i))
        )
        for i, formulation in enumerate(FORMULATIONS, start=1)
        for pair in FAMILY_PAIRS
    }
    for family in ("kriging", "network"):
        parts = [compartment(f, family) for f in ("energy", "touch_stiffness")]
        knees[f"{family}_alone"] = KneeSurrogate(*parts)
    knees["rising_again"] = KneeSurrogate(rising_again(), compartment("direct", "polynomial"))
    return knees


def smoothed(knee, medial=0.005, lateral=0.05):
    """A knee with a smoothing width for each compartment, whatever its correlations."""
    parts = replace(knee.medial, smoothing=medial), replace(knee.lateral, smoothing=lateral)
    return KneeSurrogate(*parts)


KNEES = every_knee()
KNEES |= {f"smooth_{prefix}": smoothed(knee) for prefix, knee in KNEES.items()}


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
