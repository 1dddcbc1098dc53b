"""Figures of the contact: low points of balls, load share, travel; and the data of charts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from foundation.base.pose import Pose
from pipeline.reports.charts import rounded
from pipeline.reports.contact_figures import contact_of, low_points, medial_share
from pipeline.reports.inputs import RunFiles, read_run
from pipeline.stages.frames import Frames

RADIUS, APART = 22e-3, 24e-3


@pytest.fixture(scope="module")
def files(tiny_run: Path) -> RunFiles:
    return read_run(tiny_run)


@pytest.fixture(scope="module")
def balls(files: RunFiles) -> Frames:
    """Return frames with two balls as the femur, their centres at the height of its origin."""
    turn, rise = (
        each.ravel()
        for each in np.meshgrid(np.linspace(0, 2 * np.pi, 61)[:-1], np.linspace(-1.5, 1.5, 41))
    )
    ball = RADIUS * np.column_stack(
        [np.cos(rise) * np.cos(turn), np.cos(rise) * np.sin(turn), np.sin(rise)]
    )
    away = np.array([0.0, 0.0, APART])
    vertices = np.concatenate([ball - away, ball + away])
    faces = np.arange(len(vertices)).reshape(-1, 3)
    assert files.frames is not None
    return replace(files.frames, femur_vertices=vertices, femur_faces=faces)


def test_low_point_of_a_ball_is_below_its_centre(balls: Frames) -> None:
    """However the balls turn, a radius below their centres, to a hundredth of the edge (2.3 mm)."""
    poses = np.array(
        [
            [flexion, 0.02, 0.05, 1e-3 * k, 0.02, 0.0]
            for k, flexion in enumerate(np.arange(0, 1, 0.1))
        ]
    )
    found = low_points(balls, poses)
    for k, pose in enumerate(map(Pose.from_array, poses)):
        for side, across in enumerate((-APART, APART)):
            centre = pose.rotation_matrix @ [0.0, 0.0, across] + pose.translation
            assert_allclose(found[k, side], centre - [0.0, RADIUS, 0.0], atol=6e-5)


def test_medial_share() -> None:
    cycle = pd.DataFrame({"medial_force_y_N": [60.0, 0.0], "lateral_force_y_N": [40.0, 0.0]})
    assert_allclose(medial_share(cycle), [60.0, np.nan], rtol=1e-15)


def test_content_is_that_of_the_cycle(files: RunFiles) -> None:
    contact = contact_of(files)
    assert contact is not None
    fields = files.fields
    assert fields is not None
    for k, name in enumerate(("medial", "lateral")):
        row = contact.compartments[name]
        travel = 1e3 * np.ptp(fields.frames.centre_m[0, :, k], axis=0)
        assert_allclose(row.contact_ap_travel_mm, travel[0], rtol=1e-12)
        assert_allclose(row.contact_ml_travel_mm, travel[2], rtol=1e-12)
        peaks = files.cycles["original"][f"{name}_peak_pressure_Pa"]
        # The field alone misses a part of the peak between the middles of coarse triangles.
        assert_allclose(row.largest_pressure_MPa, 1e-6 * peaks.max(), rtol=1e-9)
        largest = 1e6 * files.cycles["original"][f"{name}_area_m2"].max()
        assert row.area_touched_mm2 > 0.9 * largest
    share = medial_share(files.cycles["original"])
    assert_allclose(contact.medial_share_mean_percent, share.mean(), rtol=1e-12)


def test_numbers_are_rounded_to_five_digits() -> None:
    assert rounded([123456.7, -1.234567e-7, 0.0, np.inf]) == [123460.0, -1.2346e-7, 0.0, None]
