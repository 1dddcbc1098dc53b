"""Figures of the knee and the contact, and the pressure picture's data."""

import base64
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from pipeline.reports.charts import rounded
from pipeline.reports.contact_figures import contact_of, low_points
from pipeline.reports.gait_section import WEARS_FROM_MPa, knee_of, wears
from pipeline.reports.inputs import read_run
from pipeline.reports.pressure_field import contact_fields
from pipeline.reports.pressure_view import view_data
from pipeline.reports.report import write_report
from pipeline.store.samples import read_table


@pytest.fixture(scope="module")
def knee(tiny_run):
    found = knee_of(read_run(tiny_run))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def cycle(tiny_run):
    table = read_table(tiny_run / "simulation.parquet")
    return table[table["model"] == "original"]


def test_figures_are_those_of_the_original_cycle(knee, cycle):
    assert knee["model"] == "original"
    for name in COMPARTMENTS:
        wanted = 1e-6 * cycle[f"{name}_peak_pressure_Pa"].max()
        assert_allclose(knee[f"{name}_peak_pressure_MPa"], wanted, rtol=1e-12)
    assert_allclose(knee["largest_area_mm2"], 1e6 * cycle["total_area_m2"].max(), rtol=1e-12)
    assert_allclose(knee["anterior_range_mm"], 1e3 * np.ptp(cycle["anterior_m"]), rtol=1e-12)
    assert_allclose(
        knee["rotation_range_deg"], np.degrees(np.ptp(cycle["rotation_rad"])), rtol=1e-12
    )
    assert_allclose(
        knee["rotation_largest_deg"] - knee["rotation_least_deg"], knee["rotation_range_deg"]
    )


def test_medial_share_is_that_of_the_impulse(knee, cycle):
    """A sum over the instants, weighted by the trapezoids, is the slow oracle."""
    at = cycle["gait_percent"].to_numpy()
    weight = np.zeros(len(at))
    for k in range(len(at) - 1):
        weight[k] += 0.5 * (at[k + 1] - at[k])
        weight[k + 1] += 0.5 * (at[k + 1] - at[k])
    medial, lateral = ((weight * cycle[f"{n}_force_y_N"]).sum() for n in COMPARTMENTS)
    assert_allclose(knee["medial_share_percent"], 100.0 * medial / (medial + lateral), rtol=1e-12)


@pytest.mark.parametrize(
    ("modulus", "worn"),
    [(0.999 * WEARS_FROM_MPa, False), (WEARS_FROM_MPa, True), (463.0, True), (10.0, False)],
)
def test_polyethylene_wears_and_cartilage_does_not(modulus, *, worn):
    assert wears({"youngs_modulus_MPa": modulus}) == worn


def test_run_of_cartilage_has_none_and_says_why(run_copy):
    # The same run, as if its springs had been those of cartilage.
    (run_copy / "made_with.json").unlink()
    path = run_copy / "config.toml"
    text = path.read_text(encoding="utf-8")
    assert "youngs_modulus_MPa = 463.0" in text
    path.write_text(
        text.replace("youngs_modulus_MPa = 463.0", "youngs_modulus_MPa = 10.0"), encoding="utf-8"
    )
    found = write_report(run_copy)
    assert found.gait.wear is None
    assert found.knee["wear_mm3_per_million_cycles"] is None
    assert "cartilage" in found.knee["wear_note"]
    assert not any("wear" in line for line in found.summary)
    page = (run_copy / "report.html").read_text(encoding="utf-8")
    assert "Wear per million cycles" not in page
    assert found.knee["wear_note"].split(":")[0] in page


RADIUS, APART = 22e-3, 24e-3


@pytest.fixture(scope="module")
def files(tiny_run):
    return read_run(tiny_run)


@pytest.fixture(scope="module")
def balls(files):
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


def test_low_point_of_a_ball_is_below_its_centre(balls):
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


def test_content_is_that_of_the_cycle(files):
    contact = contact_of(files)
    assert contact is not None
    fields = files.fields
    assert fields is not None
    for k, name in enumerate(("medial", "lateral")):
        row = contact["compartments"][name]
        travel = 1e3 * np.ptp(fields.frames.centre_m[0, :, k], axis=0)
        assert_allclose(row["contact_ap_travel_mm"], travel[0], rtol=1e-12)
        assert_allclose(row["contact_ml_travel_mm"], travel[2], rtol=1e-12)


def test_numbers_are_rounded_to_five_digits():
    assert rounded([123456.7, -1.234567e-7, 0.0, np.inf]) == [123460.0, -1.2346e-7, 0.0, None]


@pytest.fixture(scope="module")
def frames(files):
    assert files.frames is not None
    return files.frames


def unpacked(text, kind):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


def view_of(frames, files):
    view = view_data(frames and contact_fields(frames), files.cycles)
    assert view is not None
    return view


def test_values_are_the_field_of_the_vertices(frames, files):
    view, fields = view_of(frames, files), contact_fields(frames)
    active = unpacked(view["active"], "<u4")
    used = np.unique(frames.tibia_faces)
    values = fields.values
    peak = values.max()
    assert_allclose(view["peak_MPa"], 1e-6 * peak, rtol=1e-12)
    assert view["top_MPa"] >= view["peak_MPa"]
    whole = np.full((len(values), len(used)), -32767)
    whole[:, active] = unpacked(view["values"], "<i2").reshape(len(values), len(active))
    wanted = values[:, used]
    # A triangle is in contact where the field is positive, in the page as here.
    assert ((whole > 0) == (wanted > peak / 65534)).all()
    at = (wanted > -0.1 * peak) & (whole > -32767)
    assert_allclose(whole[at] * (peak / 32767), wanted[at], rtol=0.0, atol=0.51 * peak / 32767)


def test_pose_moves_the_femur_as_the_model_does(frames, files):
    view = view_of(frames, files)
    moved = unpacked(view["pose"], "<f4").reshape(-1, 12)
    pose = Pose.from_array(frames.poses[7])
    point = np.array([0.01, -0.02, 0.03])
    shown = moved[7, :9].reshape(3, 3) @ (1e3 * point) + moved[7, 9:]
    wanted = 1e3 * (pose.rotation_matrix @ point + pose.translation)
    assert_allclose(shown, wanted, rtol=0.0, atol=1e-4)
