"""Samples near a motion, and joints of shipped configurations along a published walk."""

import json

import numpy as np
import pytest
from shapes import turned_pose
from studies import ROOT

from dynamics.motion.knee_motion import KneeColumns, parse_columns, read_knee_poses
from foundation.base.pose import Pose
from pipeline.config.reading import load_config
from pipeline.config.schema import DesignConfig, MotionConfig, ValidationConfig
from pipeline.originals.candidates import (
    choose_samples,
    draw,
    held_out_samples,
    sample_space,
)
from pipeline.originals.contact_original import build_knee
from pipeline.store.samples import poses_of
from surrogates.sampling.space import ReferencePath, SampleSpace

COLUMNS = [0, 1, 2, 3, 5]
PER_UNIT = np.array([180.0 / np.pi] * 3 + [1e3] * 2)


@pytest.fixture
def space():
    path = ReferencePath.through([0.0, 1.0], [[0.0, 0.0, 0.0, 0.03, 0.0], [0.1, 0, 0, 0.02, 0]])
    return SampleSpace(path, np.array([0.0, 1.0]), np.array([0.2, 0.2, 0.02, 0.02]), (2.0, 900.0))


def motion(**changes):
    """Return a motion that flexes, and extends on another way."""
    given = {
        "flexion_deg": [10.0, 40.0, 10.0],
        "adduction_deg": [0.0, 4.0, 4.0],
        "rotation_deg": [-5.0, 5.0, 5.0],
        "anterior_mm": [0.0, 8.0, 8.0],
        "lateral_mm": [0.0, 0.0, 5.0],
    }
    margins = {"margin_deg": 1.5, "margin_mm": 1.0, "part": 1.0}
    # As read from a file: lists become tuples.
    return MotionConfig.model_validate_json(json.dumps(given | margins | changes))


def cube(count, columns=7):
    return np.random.default_rng(1).random((count, columns))


def test_all_samples_of_a_motion_lie_within_its_margins(space):
    """The distance from the line between two poses is at most the margin in every coordinate."""
    poses, _ = draw(space, motion(), cube(400), 2.0)
    given = motion()
    knots = np.array([getattr(given, name) for name in type(given).model_fields if "_" in name][:5])
    fine = np.linspace(0.0, 2.0, 2001)
    line = np.column_stack([np.interp(fine, range(3), column) for column in knots])
    apart = np.abs(PER_UNIT * poses[:, None, COLUMNS] - line) / [1.5, 1.5, 1.5, 1.0, 1.0]
    nearest = apart.max(axis=2).min(axis=1)
    assert nearest.max() < 1.02
    # They fill the margin: offsets are spread in all coordinates.
    assert np.median(nearest) > 0.3


def test_offsets_have_a_triangular_distribution_about_the_pose(space):
    """A motion that stays: half of the offsets are below 1 - sqrt(1/2) of the margin."""
    still = {name: [2.0, 2.0] for name in ("adduction_deg", "rotation_deg", "lateral_mm")}
    still |= {"flexion_deg": [20.0, 20.0], "anterior_mm": [3.0, 3.0]}
    poses, _ = draw(space, motion(**still), cube(20000), 2.0)
    offsets = PER_UNIT * poses[:, COLUMNS] - [20.0, 2.0, 2.0, 3.0, 2.0]
    offsets /= [1.5, 1.5, 1.5, 1.0, 1.0]
    assert np.abs(offsets.mean(axis=0)).max() < 0.01
    middle = np.median(np.abs(offsets), axis=0)
    np.testing.assert_allclose(middle, 1.0 - np.sqrt(0.5), rtol=0.0, atol=0.01)
    np.testing.assert_allclose(offsets.std(axis=0), np.sqrt(1 / 6), rtol=0.02)


def test_samples_stay_in_the_box_at_the_height_of_the_path(space):
    """Also near a motion at the border of the box, beyond which its margin reaches."""
    poses, load = draw(space, motion(flexion_deg=[1, 30, 1], margin_deg=5.0), cube(2000), 2.0)
    scaled, height = space.scaled(poses, load)
    assert np.abs(scaled[:, :5]).max() <= 1.0 + 1e-12
    assert (poses[:, 0] == 0.0).any()
    np.testing.assert_allclose(height, 0.0, atol=1e-15)


def test_candidates_and_held_out_samples_lie_near_the_motion(space):
    near = motion(margin_deg=0.01, margin_mm=0.01)
    design = DesignConfig(candidates=64, first=16)
    chosen = choose_samples(space, design, 1, motion=near)
    validation = ValidationConfig(points=32)
    for table in (chosen, held_out_samples(space, validation, chosen, motion=near)):
        flexion, adduction = np.degrees(poses_of(table)[:, :2].T)
        # Up along the line from 0 to 4 degrees of adduction, down at 4 degrees.
        up = np.abs(adduction - 4.0 * (flexion - 10.0) / 30.0) < 0.02
        assert (up | (np.abs(adduction - 4.0) < 0.02)).all()
        assert 0.2 < up.mean() < 0.8


SOLUTION = "examples/walking/results/comak/walking_values.sto"
COLUMN_NAMES = (
    "flexion=pf_flex_r,adduction=pf_rot_r,rotation=pf_tilt_r,tx=pf_tx_r,ty=pf_ty_r,tz=pf_tz_r"
)
#: Body frame from file frame of the patella: anterior +y, superior -x, right +z.
TURN = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
PAIR = ROOT / "configs" / "patellofemoral.toml"


def turned(pose):
    x, y, z = TURN @ pose.translation
    return turned_pose(TURN @ pose.rotation_matrix @ TURN.T, y, x, z).array


def test_the_sample_space_contains_the_walking_solution(jam_folder):
    """Within 3 degrees of adduction, 2 of rotation, 9 mm along, 3 mm sideways; up to 500 N."""
    config = load_config(PAIR)
    knee = build_knee(config)
    space = sample_space(config, knee.reference_path(config))
    columns = KneeColumns(parse_columns(COLUMN_NAMES))
    _, given = read_knee_poses(jam_folder / SOLUTION, columns)
    poses = np.array([turned(Pose.from_array(row)) for row in given])
    apart = np.abs(poses - space.path.poses(poses[:, 0]))[:, [1, 2, 3, 5]]
    assert ((PER_UNIT[1:] * apart).max(axis=0) < [3.0, 2.0, 9.0, 3.0]).all()
    assert (apart < space.offsets).all()
    axial = knee.model.loads(poses).values[:, 0, 1]
    assert axial.min() > 0.0
    assert 450.0 < axial.max() < 500.0
    assert space.flexion[0] < poses[:, 0].min() < poses[:, 0].max() < space.flexion[1]
