"""Displaced components: signs, loads in the displaced frames, and what moves with the tibia."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from studies import SMOKE, TINY, export, implant_meshes, mesh_study, slab_study

from dynamics.musculoskeletal.joint_contact import pose_of
from dynamics.musculoskeletal.osim_joints import Placement
from foundation.base.pose import Pose
from foundation.statics.height import pose_at_load
from pipeline.config.knee_schema import PlacementConfig
from pipeline.config.reading import load_config
from pipeline.originals.contact_original import build_knee
from pipeline.originals.finite_element_layer import build_elements
from pipeline.originals.knee_surfaces import (
    femoral_placement,
    load_surfaces,
    tibial_placement,
)
from pipeline.originals.spring_bed import build_bed, springs_beside

#: A displacement in every key.
EVERY = {
    **{"tibia_slope_deg": 5.0, "tibia_varus_deg": -3.0, "tibia_rotation_deg": 12.0},
    **{"tibia_anterior_mm": 4.0, "tibia_superior_mm": -7.0, "tibia_lateral_mm": 2.0},
    **{"femur_flexion_deg": -4.0, "femur_varus_deg": 2.0, "femur_rotation_deg": -6.0},
    **{"femur_anterior_mm": -3.0, "femur_superior_mm": 5.0, "femur_lateral_mm": 1.5},
}
ELEMENTS = ("contact.model='finite_element'",)
UNDERSIDE = ("contact.thickness_mm='underside'",)


def displaced(**keys):
    return tuple(f"knee.placement.{key}={value}" for key, value in keys.items())


def as_placement(pose):
    return Placement(pose.rotation_matrix, pose.translation)


def own_pose(pose, config):
    """Return the pose of the femoral in the tibial component, of a pose of the femur."""
    bed, target = (as_placement(p) for p in (tibial_placement(config), femoral_placement(config)))
    return pose_of(bed.inverse.after(as_placement(pose)).after(target))


def bone_pose(own, config):
    """Return the pose of the femur at a pose of the femoral in the tibial component."""
    bed, target = (as_placement(p) for p in (tibial_placement(config), femoral_placement(config)))
    return pose_of(bed.after(as_placement(own)).after(target.inverse))


def in_tibial_frame(wrench, placement):
    """Return a wrench (6,) about the origin of a component about the tibial origin."""
    force, moment = (placement.rotation_matrix @ part for part in (wrench[:3], wrench[3:]))
    return np.concatenate([force, moment + np.cross(placement.translation, force)])


def assert_same_loads(model, moved, own, rtol):
    """Check the loads of a displaced pair against those of the pair as loaded, at a pose of its."""
    config = PlacementConfig(**EVERY)
    pose = bone_pose(own, config)
    assert_allclose(own_pose(pose, config).array, own.array, atol=1e-14)
    tibial = tibial_placement(config)
    for name in model.compartment_names:
        found, wanted = (m.compartment_loads(q, name)[0] for m, q in ((moved, pose), (model, own)))
        assert wanted[1] > 100.0
        scale = np.linalg.norm(wanted[:3])
        wrench = in_tibial_frame(wanted[:6], tibial)
        assert_allclose(found[:6], wrench, rtol=0.0, atol=rtol * scale)
        assert_allclose(found[6:9], wanted[6:9], rtol=rtol)
        centre = tibial.rotation_matrix @ wanted[9:12] + tibial.translation
        assert_allclose(found[9:12], centre, rtol=0.0, atol=1e-2 * rtol)


def test_without_displacement_the_surfaces_are_those_as_loaded(tmp_path):
    study = slab_study(tmp_path)
    before, after = load_surfaces(load_config(study)), load_surfaces(load_config(study))
    assert after.femur is before.femur
    assert after.tibia is before.tibia
    assert after.own_tibia is after.tibia
    zero = displaced(**dict.fromkeys(EVERY, 0.0))
    digests = {build_knee(load_config(SMOKE, (*TINY, *keys))).digest for keys in ((), zero)}
    assert len(digests) == 1
    for key, value in EVERY.items():
        digests.add(build_knee(load_config(SMOKE, (*TINY, *displaced(**{key: value})))).digest)
    assert len(digests) == 1 + len(EVERY)


def test_loads_of_springs_are_those_of_the_pair_as_loaded():
    """The thickness of the built-in insert is measured to its underside."""
    options = (*TINY, *UNDERSIDE)
    config, moved = (load_config(SMOKE, (*options, *keys)) for keys in ((), displaced(**EVERY)))
    first, second = (load_surfaces(each) for each in (config, moved))
    assert_allclose(second.measured_thickness(), first.measured_thickness(), rtol=1e-13)
    model, other = (build_bed(c.contact, s) for c, s in ((config, first), (moved, second)))
    pose = pressed(model, build_knee(config).start)
    assert_same_loads(model, other, pose, 1e-9)


def pressed(model, start):
    """Return a general pose at which both compartments carry some hundred newtons."""
    pose = replace(start, flexion=0.3, adduction=0.005, rotation=0.04)
    heights = [pose_at_load(model, pose, n, 400.0).pose.superior for n in model.compartment_names]
    return replace(pose, superior=min(heights))


def test_loads_of_finite_elements_are_those_of_the_pair_as_loaded():
    options = (*TINY, *ELEMENTS, "contact.finite_element.node_spacing_mm=2.0", *UNDERSIDE)
    config, moved = (load_config(SMOKE, (*options, *keys)) for keys in ((), displaced(**EVERY)))
    first, second = (load_surfaces(each) for each in (config, moved))
    model, other = (build_elements(c.contact, s) for c, s in ((config, first), (moved, second)))
    pose = pressed(springs_beside(config.contact, first), build_knee(config).start)
    assert_same_loads(model, other, pose, 1e-7)


@pytest.mark.parametrize(
    ("key", "coordinate", "sign"),
    [
        # The joint is as extended, abducted or rotated against its components.
        *(("tibia_slope_deg", "flexion", -1.0), ("femur_flexion_deg", "flexion", -1.0)),
        *(("tibia_varus_deg", "adduction", -1.0), ("femur_varus_deg", "adduction", -1.0)),
        *(("tibia_rotation_deg", "rotation", 1.0), ("femur_rotation_deg", "rotation", -1.0)),
        *(("tibia_anterior_mm", "anterior", -1.0), ("femur_anterior_mm", "anterior", 1.0)),
        *(("tibia_superior_mm", "superior", -1.0), ("femur_superior_mm", "superior", 1.0)),
        *(("tibia_lateral_mm", "lateral", -1.0), ("femur_lateral_mm", "lateral", 1.0)),
    ],
)
def test_each_key_changes_one_coordinate_of_the_components(key, coordinate, sign):
    found = own_pose(Pose(), PlacementConfig(**{key: 5.0}))
    change = 5e-3 if key.endswith("_mm") else np.radians(5.0)
    assert_allclose(found.array, Pose(**{coordinate: sign * change}).array, atol=1e-15)


def test_angles_follow_each_other_about_fixed_axes():
    """Lateral, anterior, superior axis: slope, varus, internal rotation; then the displacement."""
    at = tibial_placement(
        PlacementConfig(
            tibia_slope_deg=10.0, tibia_varus_deg=15.0, tibia_rotation_deg=20.0, tibia_lateral_mm=3
        )
    )
    point = np.array([1.0, 0.0, 0.0])
    s, v, r = np.radians([10.0, 15.0, 20.0])
    point = np.array([np.cos(s), np.sin(s), 0.0])  # the anterior side rises
    point = np.array([point[0], np.cos(v) * point[1], -np.sin(v) * point[1]])
    x, y, z = point
    point = np.array([np.cos(r) * x + np.sin(r) * z, y, np.cos(r) * z - np.sin(r) * x])
    assert_allclose(at.rotation_matrix @ (1.0, 0.0, 0.0), point, atol=1e-15)
    assert_allclose(at.translation, [0.0, 0.0, 3e-3], atol=1e-18)


def test_left_knees_are_mirrored_before(tmp_path):
    found = []
    right = implant_meshes()
    left = {body: mesh.mirrored() for body, mesh in right.items()}
    for side, meshes in (("right", right), ("left", left)):
        (tmp_path / side).mkdir()
        files = {
            body: {
                "file": str(export(mesh, tmp_path / side / f"{body}.ply", scale=1e3)),
                "unit": "mm",
            }
            for body, mesh in meshes.items()
        }
        study = mesh_study(tmp_path / side, **files, side=side)
        found.append(load_surfaces(load_config(study, displaced(**EVERY))))
    for body in ("femur", "tibia"):
        first, second = (getattr(surfaces, body) for surfaces in found)
        assert_allclose(second.vertices, first.vertices, atol=1e-12)
