"""Data of the pressure picture: packed as its script reads them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.base.pose import Pose
from pipeline.reports.inputs import RunFiles, read_run
from pipeline.reports.pressure_field import contact_fields
from pipeline.reports.pressure_view import view_data
from pipeline.stages.frames import Frames


@pytest.fixture(scope="module")
def files(tiny_run: Path) -> RunFiles:
    return read_run(tiny_run)


@pytest.fixture(scope="module")
def frames(files: RunFiles) -> Frames:
    assert files.frames is not None
    return files.frames


def unpacked(text: str, kind: Any) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def view_of(frames: Frames | None, files: RunFiles) -> dict[str, Any]:
    view = view_data(frames and contact_fields(frames), files.cycles)
    assert view is not None
    return view


def test_values_are_the_field_of_the_vertices(frames: Frames, files: RunFiles) -> None:
    view, fields = view_of(frames, files), contact_fields(frames)
    active = unpacked(view["active"], "<u4")
    used = np.unique(frames.tibia_faces)
    assert_allclose(view["peak_MPa"], 1e-6 * fields.peak, rtol=1e-12)
    assert view["top_MPa"] >= view["peak_MPa"]
    for name, values in fields.values.items():
        packed = unpacked(view["models"][name]["values"], "<i2").reshape(len(values), len(active))
        whole = np.full((len(values), len(used)), -32767)
        whole[:, active] = packed
        wanted = values[:, used]
        # A triangle is in contact where the field is positive, in the page as here.
        assert ((whole > 0) == (wanted > fields.peak / 65534)).all()
        near = wanted > -0.1 * fields.peak
        shown = whole * (fields.peak / 32767)
        at = near & (whole > -32767)
        assert_allclose(shown[at], wanted[at], rtol=0.0, atol=0.51 * fields.peak / 32767)


def test_edge_of_contact_needs_no_vertex_that_is_left_out(frames: Frames, files: RunFiles) -> None:
    view, fields = view_of(frames, files), contact_fields(frames)
    used, faces = np.unique(frames.tibia_faces, return_inverse=True)
    kept = np.zeros(len(used), dtype=bool)
    kept[unpacked(view["active"], "<u4")] = True
    for values in fields.values.values():
        touched = (values[:, frames.tibia_faces] > 0.0).any(axis=(0, 2))
        assert kept[faces.reshape(-1, 3)[touched]].all()


def test_pose_moves_the_femur_as_the_model_does(frames: Frames, files: RunFiles) -> None:
    view = view_of(frames, files)
    moved = unpacked(view["models"]["surrogate"]["pose"], "<f4").reshape(-1, 12)
    assert frames.surrogate_poses is not None
    pose = Pose.from_array(frames.surrogate_poses[7])
    point = np.array([0.01, -0.02, 0.03])
    shown = moved[7, :9].reshape(3, 3) @ (1e3 * point) + moved[7, 9:]
    wanted = 1e3 * (pose.rotation_matrix @ point + pose.translation)
    assert_allclose(shown, wanted, rtol=0.0, atol=1e-4)


def test_figures_beside_are_those_of_the_cycle(frames: Frames, files: RunFiles) -> None:
    model = view_of(frames, files)["models"]["original"]
    table = files.cycles["original"]
    assert_allclose(model["force_N"][1], table["lateral_force_y_N"], rtol=1e-12)
    assert_allclose(model["peak_MPa"][0], 1e-6 * table["medial_peak_pressure_Pa"], rtol=1e-12)
