"""Whether a knee settles and swings, what init adds for it, and peak pressures that stop init."""

import re
from dataclasses import replace

import numpy as np
import pytest
import shapes
from beds import LAW
from solids import joined
from studies import SMOKE, TINY

from foundation.base.loads import MEAN_PRESSURE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.elastic_foundation.laws import LinearLaw
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.config.reading import load_config, tuples_of
from pipeline.config.schema import Config
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee import KneeInputs
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.preparation.checkup import check_study
from pipeline.preparation.peaks import PeakError, check_peaks
from pipeline.preparation.pressed_place import likely_fault
from pipeline.preparation.settling import settle_study, with_keys
from pipeline.preparation.starter import PRESETS
from pipeline.preparation.swing import swing

FOLDER = "jam_lenhart2015_knee"


def coarse_cartilage(data, **simulation):
    """Return a study of the coarse cartilage with the values that `init` writes."""
    preset = PRESETS["cartilage"]
    tree = {
        "knee": {
            "source": "meshes",
            "femur": {"file": str(data / FOLDER / "ACLC01-R-femur-cart-coarse.stl")},
            "tibia": {
                "file": str(data / FOLDER / "ACLC01-R-tibia-cart-coarse.stl"),
                "rotation_deg": [0.0, 0.0, -6.0],
            },
        },
        "contact": preset["contact"],
        "space": preset["space"] | {"path": {"step_deg": 33.0}},
        "simulation": preset["simulation"] | simulation,
    }
    return Config.model_validate(tuples_of(tree), context={"folder": data})


def settled_study(config):
    return settle_study(config, KneeInputs(config, load_surfaces(config)))


def test_cartilage_that_slopes_gets_its_neutral_position(knee_data):
    config = coarse_cartilage(knee_data)
    settled = settled_study(config)
    assert settled.path is not None
    neutral = settled.keys["simulation"]["neutral_anterior_mm"]
    assert "middle of the plateaus" in settled.notes["simulation.neutral_anterior_mm"]
    assert any(f"neutral_anterior_mm = {neutral:g}: " in reason for reason in settled.reasons)
    own = with_keys(config, settled.keys)
    path = build_knee(own).reference_path(own)
    np.testing.assert_allclose(
        path.poses(path.flexion), settled.path.poses(path.flexion), atol=1e-4
    )


def test_domain_becomes_as_wide_as_gait():
    narrow = load_config(SMOKE, (*TINY, "space.anterior_mm=0.5"))
    settled = settled_study(narrow)
    assert settled.keys.keys() == {"space"}
    assert settled.keys["space"].keys() == {"anterior_mm"}
    findings, _ = check_study(
        SMOKE, (*TINY, f"space.anterior_mm={settled.keys['space']['anterior_mm']}")
    )
    told = [f for f in findings if f.about == "space.anterior_mm"]
    assert [f.level for f in told] == ["note"]


def test_bounds_of_loads_are_those_of_gait_where_gait_exceeds_them():
    sets = (*TINY, "feasibility.ml_ratio=0.001", "feasibility.peak_pressure_MPa=5.0")
    config = load_config(SMOKE, sets)
    inputs = KneeInputs(config, load_surfaces(config))
    settled = settle_study(config, inputs)
    cycle = swing(config.simulation, settled.path, inputs.springs)
    pressures = inputs.springs.loads(cycle.poses).peak_pressure
    found = settled.keys["feasibility"]
    assert found.keys() == {"ml_ratio", "peak_pressure_MPa"}
    np.testing.assert_allclose(found["peak_pressure_MPa"], 2e-6 * max(pressures), rtol=0.05)
    assert 0.001 < found["ml_ratio"] < 2.0 * config.feasibility.ap_ratio
    assert "ML force reaches" in settled.notes["feasibility.ml_ratio"]
    reason = r"MPa in gait: (medial|lateral), \d+ deg of flexion, \d+ N on \d+ mm²"
    assert re.search(reason, settled.notes["feasibility.peak_pressure_MPa"])
    wide = with_keys(config, settled.keys)
    assert "feasibility" not in settled_study(wide).keys


def test_knee_that_fails_in_gait_fails_in_check():
    """A femur that settles at rest, but that a strong AP force pushes off."""
    sets = (*TINY, "simulation.ap_stiffness_N_per_mm=0.0", "simulation.axial_scale=0.05")
    findings, _ = check_study(SMOKE, sets)
    failed = [f for f in findings if f.level == "error" and "cannot simulate" in f.text]
    assert len(failed) == 1
    assert "increase simulation.ap_stiffness_N_per_mm" in failed[0].text


RADIUS, STRENGTH = 25e-3, 60e6
DEPTHS = np.array([0.1e-3, 0.3e-3, 0.5e-3])


def check(model, strength=STRENGTH):
    check_peaks(model, poses(), model.loads(poses()).values, strength)


def poses():
    return np.array([Pose(flexion=0.2, superior=RADIUS - depth).array for depth in DEPTHS])


def pressed(tibia, radius=RADIUS):
    labels = np.zeros(len(tibia.faces), dtype=np.int8)
    femur = shapes.ellipsoid([radius] * 3, 4)
    return ElasticFoundation(femur, tibia, LAW, compartments=labels, compartment_names=("medial",))


def test_smooth_contact_is_silent():
    check(pressed(shapes.plate(30e-3, 30)))


def test_peak_out_of_proportion_is_named_with_its_place():
    model = pressed(shapes.plate(30e-3, 30))
    loads = model.loads(poses()).values.copy()
    loads[-1, 0, PEAK_PRESSURE] = 7.9 * loads[-1, 0, MEAN_PRESSURE]
    check_peaks(model, poses(), loads, STRENGTH)
    loads[-1, 0, PEAK_PRESSURE] = 8.1 * loads[-1, 0, MEAN_PRESSURE]
    with pytest.raises(PeakError, match="ridge, spike or bump") as raised:
        check_peaks(model, poses(), loads, STRENGTH)
    assert "11 deg of flexion" in str(raised.value)
    assert np.linalg.norm(raised.value.place[[0, 2]]) < 1e-3


def test_spring_through_the_femur_is_named_with_its_cause():
    """An upright facet beside a small ball, whose line leaves the ball on the other side."""
    radius, x, y = 8e-3, -6.6e-3, 3.7e-3
    corners = [[x, y - 0.4e-3, -1e-3], [x, y - 0.4e-3, 1e-3], [x, y + 0.8e-3, 0.0]]
    upright = TriangleMesh(np.array(corners), np.array([[0, 1, 2]]))
    model = pressed(joined(shapes.plate(30e-3, 30), upright), radius)
    at = np.array([Pose(superior=radius - 0.5e-3).array])
    with pytest.raises(PeakError, match="mm sideways through the femur") as raised:
        check_peaks(model, at, model.loads(at).values, 1e12)
    np.testing.assert_allclose(raised.value.place, [x, y, 0.0], atol=1e-6)
    assert "see the cross in" in str(raised.value.seen_in("here.png"))


def test_pressure_beyond_the_material_names_layer_and_unit():
    model = pressed(shapes.plate(30e-3, 30))
    most = max(model.loads(Pose.from_array(row)).medial.peak_pressure for row in poses())
    check(model, 1.01 * most)
    with pytest.raises(PeakError, match="more than the layer bears; check its thickness"):
        check(model, 0.99 * most)
    thin = model.with_law(replace(LAW, thickness=0.45e-3))
    with pytest.raises(PeakError, match="pressed through the layer; check the thickness"):
        check(thin, 1e12)


BALL = shapes.ellipsoid(20e-3 * np.ones(3), 3)
THIN = LinearLaw(5e6, 0.45, 2e-3)


def bed(tibia):
    names = ("ball",)
    return ElasticFoundation(
        BALL, tibia, THIN, compartments=np.zeros(len(tibia.faces)), compartment_names=names
    )


def test_a_spike_is_the_likely_fault_at_its_place():
    plate = shapes.plate(30e-3, 30)
    points = plate.vertices.copy()
    tip = np.argmin(np.linalg.norm(points - [5e-3, 0.0, 3e-3], axis=1))
    away = np.linalg.norm(points - points[tip], axis=1)
    points[:, 1] += 2e-3 * np.exp(-((away / 1.6e-3) ** 2))
    spiked = TriangleMesh(points, plate.faces, "spiked")
    text = likely_fault(bed(spiked), Pose(superior=20e-3), "ball")
    x, _, z = 1e3 * points[tip]
    assert "a spike" in text
    place = [float(word) for word in text.split("(")[1].split(")")[0].split(",")]
    np.testing.assert_allclose([place[0], place[2]], [x, z], rtol=0.0, atol=1.5)
