from dataclasses import replace

import numpy as np
import pytest
from c_library import COMPILER, compile_c, pointer
from made_knees import FAMILY_PAIRS, KNEES, middle_of, poses_about
from surrogate_arrays import arrays

import surrogates
from surrogates.export import c_export
from surrogates.formulations.training_data import FORMULATIONS


def c_loads(library, prefix, poses):
    n = len(poses)
    loads, jacobian, x = np.empty((n, 2, 12)), np.empty((n, 2, 6, 6)), np.empty((n, 2, 6))
    function = library[f"{prefix}_loads"]
    status = [
        function(pointer(poses[i]), pointer(loads[i]), pointer(jacobian[i]), pointer(x[i]))
        for i in range(n)
    ]
    return loads, jacobian, x, np.array(status)


@pytest.fixture
def library(prefix, tmp_path):
    """A knee compiled without a warning.

    Without optimisation, which takes a quarter of the time.
    """
    return compiled(prefix, tmp_path, "-O0")


def compiled(prefix, folder, *options):
    if COMPILER is None:
        pytest.skip("no C compiler (cc, gcc or clang) on the path")
    return compile_c(folder, *options, **{prefix: c_export.export_knee(KNEES[prefix], prefix)})


def poses_of(knee, count):
    parts = knee.compartment("medial"), knee.compartment("lateral")
    return np.concatenate([poses_about(part, count, seed) for seed, part in enumerate(parts)])


def check_loads(knee, prefix, library, count):
    poses = poses_of(knee, count)
    wanted = arrays(knee, poses)
    *found, status = c_loads(library, prefix, poses)
    given = (*wanted[:2], wanted[2][..., :6])
    for name, a, b in zip(("loads", "jacobian", "variables"), found, given, strict=True):
        assert np.array_equal(np.isnan(a), np.isnan(b)), name
        assert np.array_equal(a == 0.0, b == 0.0), name
        assert relative_to_peak(a, b) < 1e-10, name
    outside = (np.abs(wanted[2]) > 1.0 + 1e-9).any(axis=(1, 2))
    assert np.array_equal(status, outside.astype(int))


def check_hessians(knee, prefix, library, count):
    poses = poses_of(knee, count)
    wanted = knee.loads(poses, 2).hessian
    found = np.full(wanted.shape, np.nan)
    for pose, hessian in zip(poses, found, strict=True):
        library[f"{prefix}_hessian"](pointer(pose), pointer(hessian))
    # out of contact zero, but for the formulations that know no contact
    assert np.array_equal(found == 0.0, wanted == 0.0)
    assert relative_to_peak(found, wanted) < 1e-10


def relative_to_peak(found, wanted):
    """Largest difference of rows (N, ...) over the largest number of each column."""
    largest = np.nanmax(np.abs(wanted), axis=0)
    return np.nanmax(np.abs(found - wanted) / np.where(largest > 0.0, largest, 1.0))


#: Every formulation with and without smoothing, families in turn.
SOME = [
    prefix
    for k, name in enumerate(FORMULATIONS)
    for prefix in (
        f"{name}_{'_'.join(FAMILY_PAIRS[k % 2])}",
        f"smooth_{name}_{'_'.join(FAMILY_PAIRS[1 - k % 2])}",
    )
]


@pytest.mark.parametrize(
    "prefix",
    [
        *SOME,
        "kriging_alone",
        "network_alone",
        "direct_spline_kriging",
        "smooth_inverted_spline_kriging",
        "inverted_beside_polynomial",
        "rising_again",
    ],
)
def test_knees_give_the_same_numbers(prefix, library):
    check_loads(KNEES[prefix], prefix, library, 100)
    check_hessians(KNEES[prefix], prefix, library, 60)


@pytest.mark.parametrize("prefix", ["inverted_kriging_network", "direct_polynomial_poly_fourier"])
def test_a_pose_that_is_not_finite_is_outside(prefix, library):
    for k in range(6):
        pose = middle_of(KNEES[prefix])
        assert c_loads(library, prefix, pose)[3] == 0
        pose[0, k] = np.nan
        assert c_loads(library, prefix, pose)[3] == 1, (prefix, k)


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
