"""The error of the node spacing over a cycle."""

import layers
import numpy as np

from foundation.base.pose import Pose
from pipeline.stages import node_spacing as stage
from pipeline.stages.node_spacing import POSES, node_spacing
from pipeline.store.run_documents import NodeSpacing


def cycle(instants):
    """Return poses (N, 6) [rad, m] of the ball that slides on the lateral plate."""
    path = np.linspace(0.0, 2e-3, instants)
    return np.array([Pose(superior=0.0457, lateral=20e-3, anterior=x).array for x in path])


def test_error_is_that_of_poses_over_the_whole_cycle(monkeypatch):
    seen = []
    original = stage.spacing_error

    def record(model, poses):
        seen.extend(pose.anterior for pose in poses)
        return original(model, poses)

    monkeypatch.setattr(stage, "spacing_error", record)
    poses = cycle(101)
    found = node_spacing(layers.plate_contact(), poses)
    assert found.errors.poses == len(seen) == POSES
    np.testing.assert_array_equal(seen[:2], poses[[0, 3], 3])
    # The last instant of a cycle is that of its beginning.
    assert seen[-1] == poses[97, 3]
    assert (found.spacing_m, found.coarser_m) == (2e-3, 4e-3)
    assert NodeSpacing.model_validate(found.content()) == found


def test_short_cycle_is_taken_whole():
    assert node_spacing(layers.plate_contact(), cycle(5)).errors.poses == 5


def test_reason_in_place_of_an_error():
    found = node_spacing(layers.plate_contact(spacing=3e-3), cycle(5))
    assert found.errors is None
    assert found.reason.startswith("with nodes 6 mm apart, spacing: expected")
