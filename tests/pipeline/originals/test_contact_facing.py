"""Surfaces of a contact that do not face each other: two plates at heights over each other."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from shapes import plate

from dynamics.musculoskeletal import CoordinateMotion, JointContact, KinematicChain
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LAWS
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.line_hits import LineTracer
from foundation.surfaces.smooth_surface import flat_surface
from foundation.surfaces.triangle_mesh import MeshError
from pipeline.originals.contact_facing import check_facing, facing_gaps

DEPTH = 12e-3


def contact(*, bed_up=True, target_up=False):
    """Return a plate that a coordinate lifts above another one."""
    axes = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    slopes = np.zeros((6, 1))
    slopes[4] = 1.0
    joint = KinematicChain.of_joint(("height",), axes.astype(float), slopes, np.zeros(6))
    springs = ElasticFoundation(
        plate(0.04, 4, up=target_up),
        plate(0.04, 4, up=bed_up),
        LAWS["linear"](5e6, 0.4, 2e-3),
        surface="flat",
        compartments=np.zeros(32, dtype=np.int8),
        compartment_names=("joint",),
        search_depth=DEPTH,
    )
    return JointContact("knee_contact", springs, joint)


def check(default, heights, **faces):
    motion = CoordinateMotion(
        *(("height",), (False,), 0.1 * np.arange(float(len(heights)))),
        *(np.array(heights)[:, None], np.zeros((len(heights), 1)), np.zeros((len(heights), 1))),
    )
    model = SimpleNamespace(coordinate_defaults={"height": default})
    check_facing([contact(**faces)], model, motion)


@pytest.mark.parametrize(
    ("default", "heights"),
    [(1e-3, [0.5, 0.5]), (0.5, [0.5, 0.5, 5e-3]), (0.5, [-11e-3, 0.5]), (-0.5, [0.019, 0.5])],
)
def test_surfaces_that_almost_touch_at_one_pose_pass(default, heights):
    check(default, heights)


@pytest.mark.parametrize(
    ("height", "faces", "found"),
    [
        (0.021, {}, "at least 21 mm apart"),
        (0.07, {}, "none within 60 mm"),
        (-0.013, {}, "an overlap of 13 mm, beyond 12 mm"),
        (1e-3, {"target_up": True}, "none within 60 mm"),
        (1e-3, {"bed_up": False}, "none within 60 mm"),
    ],
)
def test_surfaces_that_cannot_touch_are_refused(height, faces, found):
    with pytest.raises(MeshError, match=rf"knee_contact: expected .*{found}.*walk\.meshes"):
        check(height, [height, height], **faces)


@pytest.mark.parametrize("height", [-0.02, -1e-3, 2e-3, 0.05])
def test_gaps_are_the_heights(height):
    bed, target = plate(0.04, 4), plate(0.04, 4, up=False)
    sides = [LineTracer(flat_surface(mesh), curved=False) for mesh in (target, plate(0.04, 4))]
    assert_allclose(facing_gaps(bed, sides, Pose(superior=height)), height, atol=1e-12)
    shifted = facing_gaps(bed, sides, Pose(superior=height, anterior=0.02))
    assert len(shifted) == 16
