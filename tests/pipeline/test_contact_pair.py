"""A run of a contact pair with one compartment, from the configuration to report and exports."""

import json

import numpy as np
import pandas as pd
import pytest
import tomli_w
from shapes import ellipsoid, plate
from studies import export

import surrogates
from foundation.base.pose import Pose
from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.originals.contact_original import build_knee
from surrogates.formulations.contact_surrogate import ContactSurrogate

RADIUS = 25e-3
PATH = {
    "kind": "table",
    "flexion_deg": [0.0, 30.0],
    **{key: [0.0] * 2 for key in ("adduction_deg", "rotation_deg", "anterior_mm", "lateral_mm")},
    "superior_mm": [25.0, 25.0],
}


def study(folder, **changes):
    """Write a study of a ball on a plate, one compartment, and return its file."""
    files = {
        "femur": {"file": str(export(ellipsoid((RADIUS,) * 3, 4), folder / "ball.ply"))},
        "tibia": {"file": str(export(plate(40e-3, 20), folder / "plate.ply"))},
    }
    tree = {
        "run": {"name": "ball", "workers": 1},
        "knee": {"source": "meshes", "compartments": ["joint"], **files},
        "contact": {"youngs_modulus_MPa": 10.0, "poissons_ratio": 0.45, "thickness_mm": 3.0},
        "space": {
            **{"flexion_deg": [0.0, 30.0], "adduction_deg": 5.0, "rotation_deg": 5.0},
            **{"anterior_mm": 3.0, "lateral_mm": 3.0, "load_N": [2.0, 300.0], "path": PATH},
        },
        "design": {
            **{"candidates": 120, "first": 60, "budget": 100, "rounds": 1, "domain_samples": 20},
            **{"infill": "sequence", "family": "polynomial"},
        },
        "surrogate": {
            **{"family": "polynomial", "polynomial": {"terms": 28}},
            "fields": {"samples": 60},
        },
        "validation": {"points": 30},
        "simulation": {"kind": "none"},
    }
    for name, section in changes.items():
        tree[name] = {**tree.get(name, {}), **section}
    path = folder / "ball.toml"
    path.write_text(tomli_w.dumps(tree), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    assert main(["run", str(study(folder)), "--out", str(folder / "run"), "--quiet"]) == 0
    return folder / "run"


def test_the_surrogate_has_the_compartment_of_the_configuration(run):
    pair = surrogates.load(run / "knee.npz")
    assert isinstance(pair, ContactSurrogate)
    assert pair.compartments == ("joint",)
    model = build_knee(load_config(run / "config.toml")).model
    pose = Pose(0.2, superior=RADIUS - 0.2e-3)
    truth, loads = model.loads(pose), pair.loads(pose)
    assert loads.joint.force[1] == pytest.approx(truth["joint"].force[1], rel=0.1)
    # A ball on a plane in the middle of the box bears straight up.
    assert abs(truth.force[[0, 2]]).max() < 0.02 * truth.force[1]


def test_the_pressure_field_is_that_of_the_model(run):
    pair = surrogates.load(run / "knee.npz")
    model = build_knee(load_config(run / "config.toml")).model
    pose = Pose(0.2, superior=RADIUS - 0.3e-3)
    truth = model.spring_state(pose).pressure
    found = pair.pressure_field(pose)
    assert found.flags == ()
    np.testing.assert_allclose(found.pressure, truth, atol=0.05 * truth.max())


def test_the_report_has_neither_gait_nor_knee(run):
    content = json.loads((run / "report.json").read_text())
    assert content["gait"]["models"] == []
    assert content["knee"] is None
    assert list(content["validation"]["compartments"]) == ["joint"]
    assert list(content["stages"]["counts"]) == ["joint", "total"]
    counts = content["stages"]["counts"]
    assert counts["joint"] == counts["total"]


def test_loads_along_a_motion_have_the_names_of_the_pair(run, tmp_path):
    poses = np.zeros((3, 6))
    poses[:, 0], poses[:, 4] = [0.1, 0.2, 0.3], 25.0e-3 - np.array([1e-4, 2e-4, -1e-3])
    names = ("flexion", "adduction", "rotation", "anterior", "superior", "lateral")
    table = pd.DataFrame(
        poses, columns=[f"{n}_{'rad' if k < 3 else 'm'}" for k, n in enumerate(names)]
    )
    table.insert(0, "time_s", [0.0, 0.1, 0.2])
    motion = tmp_path / "motion.parquet"
    table.to_parquet(motion)
    for name in ("loads.csv", "loads.sto"):
        assert main(["loads", str(run), str(motion), "--out", str(tmp_path / name)]) == 0
    found = pd.read_csv(tmp_path / "loads.csv")
    np.testing.assert_allclose(found["joint_force_y_N"], found["total_force_y_N"])
    assert found["joint_force_y_N"].iloc[1] > found["joint_force_y_N"].iloc[0] > 0.0
    assert 'name="joint_femur"' in (tmp_path / "loads.xml").read_text()
    assert "joint_tibia_force_vy" in (tmp_path / "loads.sto").read_text()
