"""Exported C over pose and design, compiled and called, against Python."""

import numpy as np
import pytest
from c_library import COMPILER, compile_c, needs_compiler, pointer
from made_designs import (
    designs_of,
    fourth_order,
    knee_over_designs,
    off,
    over_designs,
    parameters,
    poses_of_design,
)
from some_slow import first_rows
from surrogate_arrays import arrays

from foundation.base.errors import InputError
from surrogates.export.c_export import export_knee
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.formulations.training_data import FORMULATIONS

FAMILIES = ("network", "polynomial", "spline", "beside")
FEW = [("inverted", "network"), ("direct", "beside"), ("inverted", "spline")]
EVERY = [(formulation, family) for formulation in FORMULATIONS for family in FAMILIES]
STEPS = np.array([1e-5, 1e-5, 1e-5, 1e-7, 1e-7, 1e-7])


def compiled(folder, knee, *options):
    if COMPILER is None:
        pytest.skip("no C compiler (cc, gcc or clang) on the path")
    return compile_c(folder, *options, knee=export_knee(knee))


def answers(library, knee, poses, design):
    """Loads, Jacobians, slopes, variables and returned numbers at poses of a design."""
    n, parts, count = len(poses), len(knee.compartments), len(knee.parameters)
    shapes = [(12,), (12, 6), (12, count), (6,)]
    filled = [np.full((n, parts, *shape), 7.0) for shape in shapes]
    values = np.array(design, dtype=float)
    status = [
        library.knee_loads(pointer(pose), pointer(values), *(pointer(own[i]) for own in filled))
        for i, pose in enumerate(poses)
    ]
    return *filled, np.array(status)


def check_without_smoothing(folder, knee, count, *options):
    """Compare with Python; yield the share of poses outside the trained domain at two designs."""
    library = compiled(folder, knee, *options)
    for design in designs_of(knee):
        poses = poses_of_design(knee, design, count)
        wanted, jacobian, variables = arrays(knee.at(design), poses)
        loads, by_pose, by_design, x, status = answers(library, knee, poses, design)
        assert off(loads, wanted) < 1e-11
        assert off(by_pose[:, :, :6], jacobian) < 1e-11
        assert off(by_design, knee.loads_and_slopes(poses, design)[1]) < 1e-10
        assert off(x, variables[..., :6]) < 1e-10
        outside = (np.abs(variables) > 1.0 + 1e-9).any(axis=(1, 2))
        assert np.array_equal(status, outside.astype(int))
        yield outside.mean()


@pytest.mark.parametrize(("formulation", "family"), first_rows(EVERY, 1))
def test_without_smoothing_as_python(formulation, family, tmp_path):
    part = over_designs(formulation, family, with_domain=True)
    knee = ContactSurrogate({"only": part}, parameters=parameters())
    outside = list(check_without_smoothing(tmp_path, knee, 200, "-O0"))
    assert 0.3 < np.mean(outside) < 0.95


@pytest.mark.parametrize("count", [1, 8])
def test_the_fewest_and_the_most_parameters(count, tmp_path):
    knee = knee_over_designs("inverted", "polynomial", count)
    assert len(list(check_without_smoothing(tmp_path, knee, 100, "-O1"))) == 2


@pytest.mark.parametrize(("formulation", "family"), FEW)
def test_smoothed_as_python(formulation, family, tmp_path):
    """Slopes of all loads are those of differences, beyond the samples and out of contact too."""
    knee = knee_over_designs(formulation, family, width=0.05)
    library, design = compiled(tmp_path, knee, "-O0"), designs_of(knee, 1)[0]
    poses = poses_of_design(knee, design, 60)
    single = knee.at(design)
    wanted, jacobian, variables = arrays(single, poses)
    assert (variables[..., 5] > 1.0).sum() > 5
    assert (wanted[..., 1] == 0.0).sum() > 5 or formulation == "direct"
    loads, by_pose, by_design, _, _ = answers(library, knee, poses, design)
    assert off(loads, wanted) < 1e-11
    assert off(by_pose[:, :, :6], jacobian) < 1e-11
    moved = fourth_order(lambda q: single.loads(poses + q).values, np.zeros(6), STEPS)
    assert off(by_pose, moved) < 1e-5
    steps = 2e-5 * np.ptp([knee.parameters.low, knee.parameters.high], axis=0)
    changed = fourth_order(lambda d: knee.at(d).loads(poses).values, design, steps)
    assert off(by_design, changed) < 1e-7


@needs_compiler
def test_designs_outside_the_ranges_are_told(tmp_path):
    knee = knee_over_designs("inverted", "polynomial")
    library = compiled(tmp_path, knee, "-O0")
    low, high = knee.parameters.low, knee.parameters.high
    middle = 0.5 * (low + high)
    pose = knee.path_of(middle).poses(np.array([0.5]))
    pose[0, 4] = poses_of_design(knee, middle, 1)[0, 4] + 1e-2
    assert answers(library, knee, pose, middle)[4] == 0
    for k in range(2):
        for edge, beyond in ((low, -1.0), (high, 1.0)):
            design = middle.copy()
            design[k] = edge[k]
            assert answers(library, knee, pose, design)[4] == 0
            design[k] += beyond * 1e-6
            assert answers(library, knee, pose, design)[4] == 1
            with pytest.raises(InputError, match="outside the trained range"):
                knee.at(design)
    for bad in (np.nan, np.inf):
        assert answers(library, knee, pose, [bad, middle[1]])[4] == 1
