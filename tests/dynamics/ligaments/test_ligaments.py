"""Ligament bundles: laws, potential, generalised forces and tables."""

from itertools import pairwise

import numpy as np
import pytest
from core_probe import bundle_forces
from differences import pose_differences
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.ligaments.bundle_tables import LENHART_LIGAMENTS, load_ligaments
from dynamics.ligaments.bundles import (
    Ligament,
    ligament_forces,
    ligament_strains,
    pack,
)
from foundation.base.pose import Pose, generalised_force
from foundation.core.library import CORE, address

POSE = Pose(0.6, -0.08, 0.15, 0.004, 0.021, -0.003)
# Of every law, one in its toe, one beyond, one slack.
BUNDLES = (
    Ligament("linear", [-0.02, 0.01, -0.03], [0.01, -0.02, -0.02], 0.03, 9e4, "linear"),
    Ligament("quadratic", [0.005, 0.004, 0.02], [-0.01, -0.015, 0.03], 0.02, 3e7, "quadratic"),
    Ligament("toe", [0.01, -0.01, 0.0], [0.012, -0.021, 0.006], 0.039, 900.0, "toe"),
    Ligament("beyond", [0.01, -0.01, 0.0], [0.012, -0.021, 0.006], 0.02, 900.0, "toe", 0.05),
    Ligament("slack", [0.01, 0.0, 0.01], [0.012, -0.02, 0.015], 0.2, 1e6, "toe"),
)


def along_y(kind, stiffness, rest=0.04):
    """A bundle as long as the knee is high."""
    return Ligament("one", np.zeros(3), np.zeros(3), rest, stiffness, kind)


def naive_law(ligament, length):
    """Return (tension, energy), the energy by quadrature of the tension."""

    def tension(at):
        stretch = max(at - ligament.rest_length, 0.0)
        if ligament.kind == "linear":
            return ligament.stiffness * stretch
        if ligament.kind == "quadratic":
            return ligament.stiffness * stretch**2
        strain, end = stretch / ligament.rest_length, ligament.transition_strain
        toe = ligament.stiffness * strain**2 / (2.0 * end)
        return toe if strain < end else ligament.stiffness * (strain - end / 2.0)

    knee = ligament.rest_length * (1.0 + ligament.transition_strain)
    points, weights = np.polynomial.legendre.leggauss(4)
    energy = 0.0
    ends = sorted({ligament.rest_length, min(max(knee, ligament.rest_length), length), length})
    for low, high in pairwise(ends):
        if low >= ligament.rest_length:
            half = 0.5 * (high - low)
            energy += half * sum(
                w * tension(low + half * (1.0 + x)) for x, w in zip(points, weights, strict=True)
            )
    return tension(length), energy


def naive_potential(ligaments, pose):
    """Return energy and generalised forces by the virtual work of every bundle's wrench."""
    total, force = 0.0, np.zeros(6)
    for each in ligaments:
        point = pose.rotation_matrix @ each.femoral + pose.translation
        line = each.tibial - point
        length = float(np.linalg.norm(line))
        tension, energy = naive_law(each, length)
        pull = tension * line / length
        total += energy
        force += generalised_force(pose, np.concatenate([pull, np.cross(point, pull)]))
    return total, force


def strains_of(bundles, pose):
    return ligament_strains(bundles, pose.array[None])[0]


@pytest.mark.parametrize("ligament", BUNDLES, ids=lambda each: each.name)
def test_against_virtual_work_of_the_pull(ligament):
    force, _ = bundle_forces([ligament], POSE)
    _, naive_force = naive_potential((ligament,), POSE)
    assert_allclose(force, naive_force, rtol=0.0, atol=1e-13 * np.abs(naive_force).max())


@pytest.mark.parametrize("ligament", BUNDLES, ids=lambda each: each.name)
def test_force_and_jacobian_are_derivatives_of_the_energy(ligament):
    force, jacobian = bundle_forces([ligament], POSE)
    slope = pose_differences(lambda pose: naive_potential((ligament,), pose)[0], POSE, 2e-7)
    assert_allclose(force, -slope, rtol=0.0, atol=1e-7 * np.abs(force).max())
    slopes = pose_differences(lambda pose: bundle_forces([ligament], pose)[0], POSE, 2e-7)
    assert_allclose(jacobian, slopes, rtol=0.0, atol=1e-7 * np.abs(jacobian).max())
    assert_array_equal(jacobian, jacobian.T)


def test_slack_bundle_and_no_bundle_do_nothing():
    for bundles in (BUNDLES[-1:], ()):
        force, jacobian = bundle_forces(bundles, POSE)
        assert_array_equal(force, np.zeros(6))
        assert_array_equal(jacobian, np.zeros((6, 6)))
    assert ligament_forces((), POSE).shape == (0,)
    assert ligament_forces((), np.zeros((3, 6))).shape == (3, 0)


def test_adds_to_what_is_there():
    force, jacobian = np.full(6, 2.0), np.full((6, 6), 3.0)
    packed, pose = pack(BUNDLES).packed(), POSE.array
    filled = address(force), address(jacobian)
    CORE.add_ligaments(packed.address, address(pose), 1, *filled)
    parts = [bundle_forces([each], POSE) for each in BUNDLES]
    assert_allclose(force, 2.0 + sum(part[0] for part in parts), rtol=1e-13)
    assert_allclose(jacobian, 3.0 + sum(part[1] for part in parts), rtol=1e-12, atol=1e-9)


def test_linear_flores2011():
    stretched = Pose(superior=0.043)
    force, jacobian = bundle_forces([along_y("linear", 8e4)], stretched)
    assert_allclose(force, [0.0, 0.0, 0.0, 0.0, -240.0, 0.0], rtol=1e-12, atol=1e-12)
    # Along the line its stiffness, across it the tension by the length.
    assert_allclose(np.diag(jacobian)[3:], [-240.0 / 0.043, -8e4, -240.0 / 0.043], rtol=1e-12)


@pytest.mark.parametrize(
    ("rest", "stiffness", "length", "tension"),
    # Bundles of Machado et al. 2010 (MCL, LCL, ACL, PCL), stretched by 2, 1, 3 and 4 mm.
    [
        (0.0784, 15e6, 0.0804, 60.0),
        (0.0562, 15e6, 0.0572, 15.0),
        (0.0438, 35e6, 0.0468, 315.0),
        (0.0332, 30e6, 0.0372, 480.0),
    ],
)
def test_quadratic_machado2010(rest, stiffness, length, tension):
    bundle = along_y("quadratic", stiffness, rest)
    stretched = Pose(superior=length)
    assert_allclose(ligament_forces([bundle], stretched), [tension], rtol=1e-10)
    _, jacobian = bundle_forces([bundle], stretched)
    assert_allclose(jacobian[4, 4], -2.0 * stiffness * (length - rest), rtol=1e-10)


def test_toe_blankevoort1991():
    bundle = along_y("toe", 2000.0)
    poses = np.zeros((4, 6))
    poses[:, 4] = 0.04 * (1.0 + np.array([-0.01, 0.03, 0.06, 0.1]))
    # k e² / (2 t) within the toe, k (e - t/2) beyond: 2000 (0.06 - 0.03) at its end.
    expected = [0.0, 15.0, 60.0, 140.0]
    assert_allclose(ligament_forces([bundle], poses)[:, 0], expected, rtol=1e-10, atol=0.0)
    ends = [Pose(superior=0.04 * 1.06 + sign * 1e-11) for sign in (-1.0, 1.0)]
    before, after = (bundle_forces([bundle], end) for end in ends)
    assert_allclose(before[0], after[0], rtol=1e-6)
    assert_allclose(before[1][4, 4], after[1][4, 4], rtol=1e-6)


def test_a_pose_that_is_no_number_is_not_slack():
    packed, pose, found = pack(BUNDLES).packed(), np.full(6, np.nan), np.empty((2, len(BUNDLES)))
    CORE.measure_ligaments(packed.address, 1, address(pose), address(found[0]), address(found[1]))
    assert np.isnan(found).all()


def test_reference_strain_gives_the_rest_length():
    ends = ([0.01, 0.0, 0.02], [0.015, -0.03, 0.025])
    for strain in (0.05, 0.0, -0.1):
        bundle = Ligament.at_reference_strain("b", *ends, strain, 500.0, pose=POSE)
        assert_allclose(strains_of([bundle], POSE), [strain], rtol=0.0, atol=1e-14)
    with pytest.raises(ValueError, match=r"ligament b: rest_length: expected > 0 m"):
        Ligament.at_reference_strain("b", ends[0], ends[0], 0.0, 500.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rest_length": 0.0}, r"ligament ACL: rest_length: expected > 0 m"),
        ({"stiffness": -1.0}, r"ligament ACL: stiffness: expected >= 0 N, found"),
        ({"kind": "cubic"}, r"ligament ACL: kind: expected one of .* found 'cubic'"),
        ({"femoral": [0.0, 1.0]}, r"ligament ACL: femoral: expected shape \(3\)"),
        ({"tibial": [0.0, 1.0, np.nan]}, r"ligament ACL: tibial: expected finite"),
        ({"transition_strain": 0.0}, r"ligament ACL: transition_strain: expected > 0"),
    ],
)
def test_values_out_of_range_are_named(change, message):
    values = {"femoral": [0.0] * 3, "tibial": [0.0, -0.03, 0.0], "rest_length": 0.03}
    with pytest.raises(ValueError, match=message):
        Ligament("ACL", **({"stiffness": 1e3, "kind": "toe"} | values | change))


HEADER = (
    "name,kind,femoral_x_mm,femoral_y_mm,femoral_z_mm,tibial_x_mm,tibial_y_mm,tibial_z_mm,"
    "rest_length_mm,reference_strain,stiffness_N_per_mm,stiffness_N_per_mm2,stiffness_N,"
    "transition_strain"
)
ROWS = (
    "LCL,linear,0,0,30,-10,-40,30,50,,90,,,",
    "ACL,quadratic,1,2,3,10,-20,-3,,0.02,,30,,",
    "PCL,toe,1,2,3,-10,-20,-3,,-0.05,,,900,0.04",
)


def write(path, *rows, header=HEADER):
    path.write_text("\n".join(("# a comment", header, *rows)) + "\n", encoding="utf-8")
    return path


def test_table_in_si_units(tmp_path):
    lcl, acl, pcl = load_ligaments(write(tmp_path / "l.csv", *ROWS))
    assert [each.kind for each in (lcl, acl, pcl)] == ["linear", "quadratic", "toe"]
    assert_allclose(lcl.tibial, [-0.01, -0.04, 0.03], rtol=1e-14)
    assert_allclose([lcl.rest_length, lcl.stiffness], [0.05, 9e4], rtol=1e-14)
    assert_allclose([acl.stiffness, pcl.stiffness, pcl.transition_strain], [3e7, 900.0, 0.04])
    assert_allclose(strains_of((acl, pcl), Pose()), [0.02, -0.05], rtol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("linear", "cubic", r"line 3, column kind: expected one of"),
        (",-40,", ",forty,", r"line 3, column tibial_y_mm: expected a finite number, found forty"),
        (",-40,", ",nan,", r"line 3, column tibial_y_mm: expected a finite number, found nan"),
        ("50,,90", "50,,", r"line 3, column stiffness_N_per_mm: .* found an empty cell"),
        ("90,,,", "90,30,,", r"line 3, column stiffness_N_per_mm2: expected an empty cell"),
        ("90,,,", "90,,,0.1", r"line 3, column transition_strain: expected an empty cell in a row"),
        ("50,,", "50,0.1,", r"line 3, columns rest_length_mm and reference_strain: .* found 2"),
        ("50,,", ",,", r"line 3, columns rest_length_mm and reference_strain: .* found 0"),
        ("50,,", "-5,,", r"line 3: ligament LCL: rest_length: expected > 0 m"),
        ("90,,,", "90,,", r"line 3: expected 14 cells, .*found 13"),
        ("LCL", "", r"line 3, column name: expected a unique name, found an empty"),
    ],
)
def test_bad_rows_are_named_with_file_and_line(tmp_path, old, new, message):
    path = write(tmp_path / "bad.csv", ROWS[0].replace(old, new, 1))
    with pytest.raises(ValueError, match=r"bad\.csv, " + message):
        load_ligaments(path)


def test_lenhart2015_slack_lengths():
    bundles = {each.name: each for each in load_ligaments(LENHART_LIGAMENTS)}
    assert len(bundles) == 55
    # Slack lengths that the source states, of bundles straight at its reference pose [mm].
    stated = {"MCLd3": 37.1214, "ACLpl4": 25.3432, "ACLam1": 34.171, "PCLal2": 31.2481}
    stated |= {"PCLpm4": 39.6514, "LCL4": 58.1642, "MCLp5": 29.0979, "PFL4": 49.6406}
    found = [1e3 * bundles[name].rest_length for name in stated]
    assert_allclose(found, list(stated.values()), rtol=0.0, atol=3e-4)
    # Wrapped at the source's reference pose, hence longer there.
    assert_allclose(1e3 * bundles["MCLs1"].rest_length, 72.3198 - 0.748, rtol=0.0, atol=1e-3)


def test_lenhart2015_forces_in_passive_flexion():
    bundles = load_ligaments(LENHART_LIGAMENTS)
    # Poses of its passive flexion (configs/lenhart.toml): flexion, adduction, rotation [deg],
    # anterior, superior, lateral [mm].
    table = [(6.5, 0.3, 0.7, -3.4, -1.1, 0.6), (24.8, 1.4, 1.2, -3.1, -1.7, 1.7)]
    table += [(53.2, 2.7, -0.4, -2.8, -1.3, 2.2)]
    poses = np.array(table) * np.repeat([np.pi / 180.0, 1e-3], 3)
    tensions = ligament_forces(bundles, poses)
    assert tensions.max() < 40.0
    posterior = [i for i, each in enumerate(bundles) if each.name.startswith("PCL")]
    anterior = [i for i, each in enumerate(bundles) if each.name.startswith("ACL")]
    # Near extension the anterior cruciate is taut, in flexion the posterior.
    assert tensions[0, anterior].sum() > 50.0
    assert tensions[0, posterior].sum() == 0.0
    assert tensions[2, anterior].sum() == 0.0
    assert tensions[2, posterior].sum() > 20.0
    # Every bundle pulls the bones together.
    for pose in poses:
        assert bundle_forces(bundles, Pose.from_array(pose))[0][4] < 0.0
