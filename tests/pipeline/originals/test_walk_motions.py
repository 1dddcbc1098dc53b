"""The motions of the configurations of joints along a walk, beside a published solution."""

from __future__ import annotations

import numpy as np
import pytest
from shapes import turned_pose
from studies import ROOT

from dynamics.motion.knee_motion import KneeColumns, parse_columns, read_knee_poses
from foundation.base.pose import Pose
from pipeline.config.reading import load_config
from pipeline.originals.candidates import sample_space
from pipeline.originals.reference_path import tabulated_path
from pipeline.originals.samples_near_motion import draw, motion_poses

SOLUTION = "jam_comak_walking/examples/walking/results/comak/walking_values.sto"
ANGLES = "flexion={0}_flex_r,adduction={0}_{1}_r,rotation={0}_{2}_r"
PLACE = "tx={0}_tx_r,ty={0}_ty_r,tz={0}_tz_r"
#: Body frame from file frame of the patella: anterior +y, superior -x, right +z.
TURN = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
NAMES = ["tibiofemoral", "patellofemoral"]


def loaded(name):
    """Return configuration and sample space of a joint along the walk."""
    config = load_config(ROOT / "configs" / f"lenhart_{name}_walk.toml")
    return config, sample_space(config, tabulated_path(config.space.path))


def solution(knee_data, name):
    """Return the published poses (N, 6) in the frame of the bed [rad, m]."""
    file = knee_data / SOLUTION
    if not file.is_file():
        pytest.skip(f"no {file}")
    given = ("knee", "add", "rot") if name == "tibiofemoral" else ("pf", "rot", "tilt")
    columns = KneeColumns(parse_columns(f"{ANGLES},{PLACE}".format(*given)))
    poses = [Pose.from_array(row) for row in read_knee_poses(file, columns)[1]]
    if name == "tibiofemoral":
        return np.array([pose.array for pose in poses])
    turned = []
    for pose in poses:
        x, y, z = TURN @ pose.translation
        turned.append(turned_pose(TURN @ pose.rotation_matrix @ TURN.T, y, x, z).array)
    return np.array(turned)


@pytest.mark.parametrize("name", NAMES)
def test_samples_lie_in_the_box_around_the_motion(name):
    config, space = loaded(name)
    unit = np.random.default_rng(0).random((500, 7))
    poses, load = draw(space, config.space.motion, unit, 2.0)
    scaled, _ = space.scaled(poses, load)
    assert np.abs(scaled[:, :5]).max() <= 1.0 + 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_the_published_walk_lies_within_the_margin(knee_data, name):
    """That of flat surfaces by OpenSim-JAM; the poses of the motion are 0.04 s apart."""
    config, _ = loaded(name)
    motion = config.space.motion
    knots = motion_poses(motion)
    places = np.linspace(0.0, len(knots) - 1.0, 4000)
    line = [np.interp(places, range(len(knots)), column) for column in knots.T]
    margin = [np.radians(motion.margin_deg)] * 3 + [1e-3 * motion.margin_mm] * 2
    poses = solution(knee_data, name)[:, [0, 1, 2, 3, 5]]
    apart = (np.abs(poses[:, None] - np.column_stack(line)) / margin).max(axis=2).min(axis=1)
    assert apart.max() < {"tibiofemoral": 0.8, "patellofemoral": 0.8}[name]
