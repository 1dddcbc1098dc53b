"""What `init` adds so that a knee settles and swings; what `check` says of one that does not."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from studies import SMOKE, TINY

from foundation.base.findings import Finding
from foundation.base.pose import Pose
from pipeline.config.reading import load_config, tuples_of
from pipeline.config.schema import Config
from pipeline.originals.contact_original import build_knee
from pipeline.originals.knee import KneeInputs
from pipeline.originals.knee_surfaces import load_surfaces
from pipeline.preparation import swing as swing_module
from pipeline.preparation.checkup import check_study
from pipeline.preparation.settling import settle_study, with_keys
from pipeline.preparation.starter import PRESETS
from pipeline.preparation.swing import TooLong, swing

FOLDER = "jam_lenhart2015_knee"


def coarse_cartilage(data, **simulation) -> Config:
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


def settled_study(config: Config):
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


@pytest.mark.slow
def test_spring_becomes_stiffer_until_the_knee_swings(knee_data):
    config = coarse_cartilage(knee_data, ap_stiffness_N_per_mm=15.0)
    settled = settled_study(config)
    assert settled.keys["simulation"]["ap_stiffness_N_per_mm"] in (30.0, 60.0)
    assert "15 N/mm, the knee does not settle" in " ".join(settled.reasons)
    own = with_keys(config, settled.keys)
    swing(own.simulation, settled.path, build_knee(own).quick)


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
    loads = [inputs.springs.evaluate(Pose.from_array(pose)) for pose in cycle.poses]
    pressures = [max(each.medial.peak_pressure, each.lateral.peak_pressure) for each in loads]
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


def test_trial_of_a_slow_model_ends(knee, monkeypatch):
    config = load_config(SMOKE, TINY)
    path = knee.reference_path(config)
    clock = itertools.count(0.0, 20.0)
    with pytest.raises(TooLong, match=r"\d+ % of the cycle in 60 s") as raised:
        swing(config.simulation, path, knee.quick, clock=lambda: next(clock))
    assert 0.0 <= raised.value.done < 1.0
    monkeypatch.setattr(swing_module, "LONGEST", 0.0)
    findings, _ = check_study(SMOKE, TINY)
    told = [f.text for f in findings if isinstance(f, Finding) and "of the cycle in 0 s" in f.text]
    assert len(told) == 1
