"""Data of the 3-D view: packed as its script reads them."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.pose import Pose
from pipeline.reports.inputs import RunFiles, read_run
from pipeline.reports.knee_frames import colour_stops, view_data
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
    view = view_data(frames, files.cycles)
    assert view is not None
    return view


def test_shades_are_pressures_over_the_largest(frames: Frames, files: RunFiles) -> None:
    view = view_of(frames, files)
    active = unpacked(view["active"], "<u4")
    assert frames.surrogate_pressure_Pa is not None
    both = {"original": frames.pressure_Pa, "surrogate": frames.surrogate_pressure_Pa}
    largest = max(float(p.max()) for p in both.values())
    assert_allclose(view["limit_MPa"], 1e-6 * largest, rtol=1e-12)
    for name, pressure in both.items():
        shade = unpacked(view["models"][name]["levels"], "u1").reshape(len(pressure), len(active))
        whole = np.zeros(pressure.shape)
        whole[:, active] = shade
        # No contact is told from the least pressure.
        assert ((whole > 0) == (pressure > 0)).all()
        assert_allclose(whole / 255.0, pressure / largest, rtol=0.0, atol=1.01 / 255.0)


def test_pose_moves_the_femur_as_the_model_does(frames: Frames, files: RunFiles) -> None:
    view = view_of(frames, files)
    moved = unpacked(view["models"]["surrogate"]["pose"], "<f4").reshape(-1, 12)
    assert frames.surrogate_poses is not None
    pose = Pose.from_array(frames.surrogate_poses[7])
    point = np.array([0.01, -0.02, 0.03])
    shown = moved[7, :9].reshape(3, 3) @ (1e3 * point) + moved[7, 9:]
    wanted = 1e3 * (pose.rotation_matrix @ point + pose.translation)
    assert_allclose(shown, wanted, rtol=0.0, atol=1e-4)


def test_surfaces_are_whole_without_vertices_of_no_triangle(
    frames: Frames, files: RunFiles
) -> None:
    lonely = np.concatenate([[[9.0, 9.0, 9.0]], frames.femur_vertices])
    view = view_of(
        replace(frames, femur_vertices=lonely, femur_faces=frames.femur_faces + 1), files
    )
    vertices = unpacked(view["femur"]["vertices"], "<f4").reshape(-1, 3)
    faces = unpacked(view["femur"]["faces"], "<u2").reshape(-1, 3)
    assert view["femur"]["index"] == "uint16"
    assert np.abs(vertices).max() < 200.0
    wanted = 1e3 * frames.femur_vertices[frames.femur_faces]
    assert_allclose(vertices[faces], wanted, rtol=0.0, atol=1e-4)


def test_figures_beside_are_those_of_the_cycle(frames: Frames, files: RunFiles) -> None:
    model = view_of(frames, files)["models"]["original"]
    table = files.cycles["original"]
    assert_allclose(model["force_N"][1], table["lateral_force_y_N"], rtol=1e-12)
    assert_allclose(model["peak_MPa"][0], 1e-6 * table["medial_peak_pressure_Pa"], rtol=1e-12)


def test_frames_of_an_earlier_version_show_the_original_alone(
    frames: Frames, files: RunFiles
) -> None:
    earlier = replace(frames, surrogate_poses=None, surrogate_pressure_Pa=None)
    assert list(view_of(earlier, files)["models"]) == ["original"]


def test_no_frames_no_view(files: RunFiles) -> None:
    assert view_data(None, files.cycles) is None


def test_scale_goes_from_dark_to_light() -> None:
    first, *_, last = colour_stops()
    # Cividis.
    assert first == "rgb(0, 34, 78)"
    assert last == "rgb(254, 232, 56)"
