"""The patella on the femur of `configs/patellofemoral.toml`, along a published walking solution."""

from __future__ import annotations

import numpy as np
import pytest
from shapes import turned_pose
from studies import ROOT

from dynamics.motion.knee_motion import KneeColumns, parse_columns, read_knee_poses
from foundation.base.pose import Pose
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.mesh import load_mesh
from pipeline.config.data_folder import data_file
from pipeline.config.reading import load_config
from pipeline.originals.candidates import sample_space
from pipeline.originals.contact_original import build_knee

CONFIG = ROOT / "configs" / "patellofemoral.toml"
SOLUTION = "jam_comak_walking/examples/walking/results/comak/walking_values.sto"
#: x_femur = Rz(-flex) Rx(rot) Ry(tilt) x_patella + t: the axes of a tibia's coordinates.
COLUMNS = "flexion=pf_flex_r,adduction=pf_rot_r,rotation=pf_tilt_r,tx=pf_tx_r,ty=pf_ty_r,tz=pf_tz_r"
#: Body frame from file frame: anterior +y, superior -x, right +z.
TURN = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
PER_UNIT = np.array([180.0 / np.pi] * 3 + [1e3] * 3)


@pytest.fixture(scope="module")
def solution(knee_data):
    """Poses of the femur in the frame of the patella's file, and in that of the bed."""
    file = knee_data / SOLUTION
    if not file.is_file():
        pytest.skip(f"no {file}")
    columns = KneeColumns(parse_columns(COLUMNS))
    poses = [Pose.from_array(row) for row in read_knee_poses(file, columns)[1]]
    turned = []
    for pose in poses:
        x, y, z = TURN @ pose.translation
        turned.append(turned_pose(TURN @ pose.rotation_matrix @ TURN.T, y, x, z))
    return poses, turned


@pytest.fixture(scope="module")
def knee(solution):
    return build_knee(load_config(CONFIG))


@pytest.mark.slow
def test_the_axes_of_the_configuration_turn_loads_and_poses_alike(knee, solution):
    """The same layers on the meshes as they lie in their files, at every eighth pose."""
    model, config = knee.model, load_config(CONFIG)
    femur, patella = (
        load_mesh(data_file(mesh.file), check=False)
        for mesh in (config.knee.femur, config.knee.tibia)
    )
    plain = ElasticFoundation(femur, patella, model.law, compartment_names=("patellofemoral",))
    for there, here in list(zip(*solution, strict=True))[::8]:
        expected, found = plain.loads(there), model.loads(here)
        scale = np.linalg.norm(expected.force)
        np.testing.assert_allclose(found.force, TURN @ expected.force, rtol=0.0, atol=1e-6 * scale)
        np.testing.assert_allclose(
            found.moment, TURN @ expected.moment, rtol=0.0, atol=1e-8 * scale
        )


def test_the_sample_space_contains_the_walking_solution(knee, solution):
    """Within 3 degrees of adduction, 2 of rotation, 9 mm along, 3 mm sideways; up to 500 N."""
    config = load_config(CONFIG)
    space = sample_space(config, knee.reference_path(config))
    poses = np.array([pose.array for pose in solution[1]])
    apart = np.abs(poses - space.path.poses(poses[:, 0]))[:, [1, 2, 3, 5]]
    assert ((PER_UNIT[[1, 2, 3, 5]] * apart).max(axis=0) < [3.0, 2.0, 9.0, 3.0]).all()
    assert (apart < space.offsets).all()
    axial = knee.model.evaluate_batch(poses)[:, 0, 1]
    assert axial.min() > 0.0
    assert 450.0 < axial.max() < 500.0
    assert space.flexion[0] < poses[:, 0].min() < poses[:, 0].max() < space.flexion[1]
