"""Trained surrogates in place of the springs of joint contacts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dynamics.musculoskeletal.joint_contact import JointContact
from dynamics.musculoskeletal.osim_joints import KinematicChain, Placement
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.stages.articular_surrogates import with_surrogates
from pipeline.stages.run_folder import TrainedRun
from pipeline.store.samples import poses_of

AXES = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
NAMES = ("flex", "add", "rot", "tx", "ty", "tz")
JOINT = KinematicChain.of_joint(NAMES, AXES, np.eye(6), np.zeros(6))
#: Frames of the files of the meshes in the frames of the run: turned and moved, each on its own.
BED = Placement.of(np.array([0.2, -0.5, 1.1]), np.array([0.01, 0.02, -0.03]))
TARGET = Placement.of(np.array([-0.3, 0.4, 0.6]), np.array([-0.02, 0.01, 0.04]))


@pytest.fixture(scope="module")
def run(tiny_run):
    return TrainedRun.open(tiny_run)


def moved(mesh, placement, factor=1.0):
    """Return a mesh in the frame that is placed in the frame of the mesh."""
    vertices = (mesh.vertices - placement.origin) @ placement.rotation
    normals = None if mesh.vertex_normals is None else mesh.vertex_normals @ placement.rotation
    return TriangleMesh(factor * vertices, mesh.faces, mesh.name, normals)


def springs(model, factor=1.0, **changes):
    """Return the bed of a run over meshes that lie in other frames."""
    given = {
        "law": model.law,
        "surface": model.surface,
        "compartments": model.compartments,
        "conservative": model.conservative,
    } | changes
    femur, tibia = moved(model.femur, TARGET), moved(model.tibia, BED, factor)
    return ElasticFoundation(femur, tibia, given.pop("law"), **given)


def chain_of(bed_on_child):
    return JOINT.inverse if bed_on_child else JOINT


def contact_of(model, bed_on_child):
    """Return a contact that lies in its joint as the frames of the run do in one another."""
    return JointContact("knee", model, chain_of(bed_on_child), BED, TARGET)


def coordinates(pose, bed_on_child):
    """Return coordinates of the joint at which the target has a pose in the frame of the run."""
    target = Placement(pose.rotation_matrix, pose.translation)
    child = target.inverse if bed_on_child else target
    return np.array([*Rotation.from_matrix(child.rotation).as_euler("ZXY"), *child.origin])


def mirror_image(model):
    """Return the bed of springs of the other leg, in frames of its own."""
    return ElasticFoundation(
        moved(model.femur.mirrored(), TARGET),
        moved(model.tibia.mirrored(), BED),
        model.law,
        surface=model.surface,
        compartments=model.compartments,
        conservative=model.conservative,
    )


def test_a_surrogate_serves_the_other_leg(run, tiny_run):
    contact = contact_of(mirror_image(run.reference_model), bed_on_child=True)
    (found,) = with_surrogates([contact], {"knee": tiny_run})
    signs = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])
    wrench_signs = np.array([1.0, 1.0, -1.0, -1.0, -1.0, 1.0])
    heldout = poses_of(run.samples("heldout"))
    gentle = [row for row in heldout if run.surrogate.loads(Pose.from_array(row)).wrench[1] < 3e3]
    assert len(gentle) >= 4
    for row in gentle[:4]:
        q = coordinates(Pose.from_array(signs * row), bed_on_child=True)
        np.testing.assert_allclose(found.pose(q).array, signs * row, rtol=0.0, atol=1e-12)
        here, wanted = found.evaluate(q), run.surrogate.loads(Pose.from_array(row))
        np.testing.assert_allclose(here.loads.wrench, wrench_signs * wanted.wrench, atol=1e-7)
        for name in wanted.compartments:
            axial = wanted[name].force[1]
            assert here.loads[name].force[1] == pytest.approx(axial, abs=1e-7)
        # Forces and derivative agree with the joint's coordinates.
        step = 1e-7
        for k in range(6):
            away = step * (np.arange(6) == k)
            before, after = (found.evaluate(q + sign * away).forces for sign in (-1.0, 1.0))
            slope = (after - before) / (2.0 * step)
            scale = np.abs(here.jacobian).max()
            np.testing.assert_allclose(here.jacobian[:, k], slope, rtol=0.0, atol=1e-3 * scale)


@pytest.mark.parametrize("bed_on_child", [True, False])
def test_a_surrogate_acts_in_the_frames_of_the_run(run, tiny_run, bed_on_child):
    """Forces on the joint are those of the surrogate in the joint of the run's own frames."""
    contact = contact_of(springs(run.reference_model), bed_on_child)
    (found,) = with_surrogates([contact], {"knee": tiny_run})
    plain = JointContact("knee", run.surrogate, chain_of(bed_on_child))
    for row in poses_of(run.samples("heldout"))[:4]:
        q = coordinates(Pose.from_array(row), bed_on_child)
        np.testing.assert_allclose(found.pose(q).array, row, rtol=0.0, atol=1e-12)
        here, wanted = found.evaluate(q), plain.evaluate(q)
        scale = np.abs(wanted.forces).max()
        np.testing.assert_allclose(here.forces, wanted.forces, rtol=0.0, atol=1e-7 * scale)
        scale = np.abs(wanted.jacobian).max()
        np.testing.assert_allclose(here.jacobian, wanted.jacobian, rtol=0.0, atol=1e-7 * scale)
        assert np.linalg.norm(wanted.loads.force) > 1.0


def softer(model):
    return replace(model.law, youngs_modulus=0.9 * model.law.youngs_modulus)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (lambda m: {"surface": "flat"}, "knee: .*surface = 'flat'.*found 'curved'"),
        (lambda m: {"law": softer(m)}, "as stiff as in the model"),
        (lambda m: {"factor": 1.01}, "mm away; check the unit"),
    ],
)
def test_a_run_of_another_contact_is_refused(run, tiny_run, changes, message):
    contact = contact_of(springs(run.reference_model, **changes(run.reference_model)), True)
    with pytest.raises(InputError, match=message):
        with_surrogates([contact], {"knee": tiny_run})
