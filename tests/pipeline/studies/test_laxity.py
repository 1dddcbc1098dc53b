"""Study of laxity tests: the calibrated table gives the calibrated laxity; refused keys."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from pydantic import ValidationError

from dynamics import Ligament
from dynamics.ligaments.bundle_tables import (
    LENHART_LIGAMENTS,
    ligament_rows,
    ligaments_of,
    load_ligament_draws,
    load_ligaments,
)
from dynamics.musculoskeletal.osim_ligaments import OsimLigaments
from foundation.base.pose import Pose
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.femur_patches import LineTracer
from foundation.surfaces.mesh import placement
from foundation.surfaces.smooth_surface import flat_surface
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.cli.main import main
from pipeline.config.laxity_schema import LaxityTestConfig
from pipeline.studies.laxity import study
from pipeline.studies.laxity.study import passing
from tests.dynamics.musculoskeletal.osim_texts import ligament

CONFIG = """
[run]
name = "knee"

[knee.implant]
edge_mm = 3.0
femur_edge_mm = 2.0

[simulation]
ligaments = "{ligaments}"
medial_offset_mm = 0.0

[laxity]
{more}
menisci_N_per_mm = 5.0
draws = {draws}
splits_deg = [[25.0, 35.0]]
prior.source = "a guess"

[[laxity.test]]
direction = "anterior"
flexion_deg = 10.0
axial_force_N = 60.0
load_N = [-60.0, 0.0, 60.0]
{first}

[[laxity.test]]
direction = "internal"
flexion_deg = [30.0, 31.0]
axial_force_N = 60.0
load_Nm = [-{torque}, {torque}]
{second}
"""
FIRST, SECOND = "measured_mm = [2.0, 4.0, 7.0]", "measured_deg = [0.0, 20.0]"


def table_of_bundles(folder):
    """Write cruciate and collateral bundles, strained by 1 % at the home pose of the implant."""
    pose = CondylarImplant().home_pose(flexion=np.radians(10.0))
    rows = []
    for name, femoral, course in (
        ("ACL1", (-0.008, 0.0, 0.004), (0.024, -0.022, -0.004)),
        ("PCL1", (-0.002, -0.004, -0.004), (-0.022, -0.022, 0.004)),
        ("MCL1", (0.002, 0.0, -0.04), (0.006, -0.06, 0.006)),
        ("LCL1", (0.0, 0.0, 0.04), (-0.006, -0.05, 0.0)),
    ):
        tibial = pose.rotation_matrix @ femoral + pose.translation + course
        rows.append(
            Ligament.at_reference_strain(name, femoral, tibial, 0.01, 4000.0, "toe", pose=pose)
        )
    path = folder / "bundles.csv"
    pd.DataFrame(ligament_rows(rows)).to_csv(path, index=False)
    return path


def conducted(folder, name, **values):
    """Return the document of a study, and its folder."""
    settings = {"ligaments": table_of_bundles(folder), "draws": 0, "torque": 3.0} | values
    settings = dict.fromkeys(("first", "second", "more"), "") | settings
    config = folder / f"{name}.toml"
    config.write_text(CONFIG.format(**settings))
    out = folder / name
    assert main(["run", str(config), "--out", str(out), "--quiet"]) == 0
    return json.loads((out / "laxity.json").read_text()), out


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("laxity")
    return conducted(folder, "calibrated", draws=3, first=FIRST, second=SECOND)


def test_calibrated_ligaments_reproduce_the_measured_laxity(calibrated):
    document, _ = calibrated
    assert [row["measured"] for row in document["tests"]] == [5.0, 20.0]
    for row in document["tests"]:
        error = abs(row["calibrated"] - row["measured"])
        assert error < 0.5 * abs(row["given"] - row["measured"])
        assert row["low"] < row["calibrated"] < row["high"]
    found = document["calibration"]
    assert found["draws"] == 3
    assert {row["source"] for row in found["parameters"]} == {"a guess"}
    assert min(row["width"] for row in found["parameters"]) < 0.95
    assert [row["test"] for row in found["information"]] == ["anterior 10°", "internal 30°"]
    assert [row["test"] for row in found["held_out"]] == ["internal 30°"]


def test_the_calibrated_table_gives_the_calibrated_laxity(calibrated, tmp_path):
    document, out = calibrated
    again, folder = conducted(tmp_path, "again", ligaments=out / "ligaments.csv")
    menisci = document["calibration"]["parameters"][-1]
    assert again["calibration"] is None
    assert not (folder / "ligaments.csv").exists()
    # The restraint of the menisci is a key, not part of the table; it turns with no rotation.
    assert menisci["group"] == "menisci"
    assert_allclose(again["tests"][1]["given"], document["tests"][1]["calibrated"], rtol=0.02)


def test_the_calibrated_opensim_model_is_the_calibrated_table(tmp_path):
    """The frames of its bodies are those of the bones."""
    bundles = load_ligaments(table_of_bundles(tmp_path))
    meshes = [f'<Smith2018ContactMesh name="{bone}"><socket_frame>/bodyset/{bone}</socket_frame>'
              "</Smith2018ContactMesh>" for bone in ("femur", "tibia")]  # fmt: skip
    ligaments = [
        ligament(
            each.name,
            (("/bodyset/femur", each.femoral), ("/bodyset/tibia", each.tibial)),
            each.rest_length,
            each.stiffness,
        )
        for each in bundles
    ]
    path = tmp_path / "knee.osim"
    path.write_text(
        '<OpenSimDocument Version="40000"><Model><BodySet><objects><Body name="femur"/>'
        f'<Body name="tibia"/></objects></BodySet><ContactGeometrySet><objects>{"".join(meshes)}'
        f"</objects></ContactGeometrySet><ForceSet><objects>{''.join(ligaments)}</objects>"
        "</ForceSet></Model></OpenSimDocument>"
    )
    document, out = conducted(tmp_path, "osim", ligaments=path, first=FIRST)
    by_table, _ = conducted(tmp_path, "table", first=FIRST)
    assert_allclose(
        document["tests"][0]["calibrated"], by_table["tests"][0]["calibrated"], rtol=1e-5
    )
    table = load_ligaments(out / "ligaments.csv")
    written = ligaments_of(OsimLigaments(out / "ligaments.osim", (), ()).table())
    for each, other, before in zip(table, written, bundles, strict=True):
        assert_allclose(other.rest_length, each.rest_length, rtol=1e-8)
        assert_allclose(other.femoral, each.femoral, rtol=0.0, atol=1e-9)
        assert abs(other.rest_length / before.rest_length - 1.0) > 1e-4


def test_tables_have_each_state_and_bundle(calibrated):
    document, out = calibrated
    states = pd.read_csv(out / "laxity.csv")
    assert states.groupby("ligaments", sort=False).size().to_dict() == {"given": 5, "calibrated": 5}
    ends = states.groupby(["ligaments", "test"]).displacement.last()
    for row in document["tests"]:
        assert_allclose(ends["given", row["name"]], row["given"], rtol=1e-6)
    tensions = pd.read_csv(out / "tensions.csv")
    assert len(tensions) == 10 * document["bundles"]
    assert tensions.tension_N.max() > 10.0
    drawn = pd.read_csv(out / "ligament_draws.csv")
    assert drawn.groupby("draw").size().to_dict() == dict.fromkeys(range(3), document["bundles"])


def test_rows_of_bundles_are_read_back_in_frame_and_side_of_the_meshes(tmp_path):
    places = {
        "side": "left",
        "femur": placement(("-z", "y", "x"), (0.1, 0.2, -0.3), (0.01, 0.02, 0.03)),
        "tibia": placement(("x", "y", "z"), (0.0, 0.0, 0.4), (0.0, -0.02, 0.01)),
    }
    bundles = load_ligaments(LENHART_LIGAMENTS)
    path = tmp_path / "rows.csv"
    table = pd.DataFrame(ligament_rows(bundles, **places))
    table.to_csv(path, index=False)
    table.assign(draw=4, menisci_N_per_mm=9.0).to_csv(tmp_path / "draws.csv", index=False)
    (draw,) = load_ligament_draws(tmp_path / "draws.csv", **places)
    assert draw.menisci == 9e3
    read_twice = (*load_ligaments(path, **places), *draw.ligaments)
    for read, each in zip(read_twice, 2 * bundles, strict=True):
        assert (read.name, read.kind) == (each.name, each.kind)
        for name in ("femoral", "tibial"):
            assert_allclose(getattr(read, name), getattr(each, name), rtol=0.0, atol=1e-12)
        for name in ("rest_length", "stiffness", "transition_strain"):
            assert_allclose(getattr(read, name), getattr(each, name), rtol=1e-12)


def test_a_surrogate_stands_for_the_contact_model(tiny_run, tmp_path, monkeypatch):
    """Of a run of few samples: the laxity of its contact within a fifth, and what is doubtful."""
    monkeypatch.setattr(study, "_SURROGATE", 2e-3)
    by_model, _ = conducted(tmp_path, "model", torque=0.1)
    by_run, _ = conducted(tmp_path, "run", torque=0.1, more=f'run = "{tiny_run}"')
    assert (by_model["contact"], by_run["contact"]) == ("contact model", f"surrogate of {tiny_run}")
    off = []
    for model, run in zip(by_model["tests"], by_run["tests"], strict=True):
        assert_allclose(run["given"], model["given"], rtol=0.2)
        if (error := abs(run["given"] - model["given"])) > 2e-3:
            off.append(f"{error:.2g} {run['unit']} in {run['name']}")
    assert off
    assert by_model["notes"] == []
    (compared,) = by_run["notes"]
    assert f"of those by the contact model, found {', '.join(off)};" in compared


def test_bundles_that_are_slack_in_all_states_are_told_and_strained(tmp_path):
    bundles = pd.read_csv(table_of_bundles(tmp_path))
    bundles.loc[3, "rest_length_mm"] *= 1.3
    bundles.to_csv(tmp_path / "slack.csv", index=False)
    document, out = conducted(tmp_path, "slack", ligaments=tmp_path / "slack.csv", torque=0.1)
    strain = pd.read_csv(out / "tensions.csv").groupby("bundle").strain_percent.max()
    (note,) = (note for note in document["notes"] if "slack in all" in note)
    assert f"slack in all: LCL1 by {-strain['LCL1']:.0f} %: rest" in note
    remedy = "reference_strain = 0.03 in [laxity.groups.LCL]"
    assert remedy in note
    more = f"groups.LCL.{remedy.split(' in ')[0]}"
    document, out = conducted(
        tmp_path, "mended", ligaments=tmp_path / "slack.csv", torque=0.1, more=more
    )
    assert not any("slack in all" in note for note in document["notes"])
    tensions = pd.read_csv(out / "tensions.csv")
    rest = tensions[(tensions.bundle == "LCL1") & (tensions.load == 0.0)]
    # The knee of the table rests elsewhere than with a bundle that pulls.
    assert_allclose(rest.strain_percent, 3.0, rtol=0.1)


def test_bundles_pass_through_a_plate_from_either_side():
    corners = np.array([[-1.0, 0.0, -1.0], [-1.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, -1.0]])
    mesh = TriangleMesh(0.01 * corners, np.array([[0, 1, 2], [0, 2, 3]]))
    tracer = LineTracer(flat_surface(mesh), curved=False)
    ends = {"down": (5, -5), "up": (-5, 5), "above": (9, 1), "below": (-1, -9)}
    pose = Pose(0.3, 0.02, 0.1, 0.01, 0.03, 0.0)
    for in_femur in (True, False):
        bundles = []
        for name, (first, second) in ends.items():
            femoral, tibial = ([0.002, 1e-3 * height, 0.001] for height in (first, second))
            if in_femur:
                tibial = pose.rotation_matrix @ tibial + pose.translation
            else:
                femoral = (femoral - pose.translation) @ pose.rotation_matrix
            bundles.append(Ligament(name, femoral, tibial, 0.01, 1e3, "linear"))
        assert passing(tracer, bundles, pose.array, in_femur=in_femur) == [0, 1]


DRAWER = {"direction": "anterior", "flexion_deg": 10.0, "load_N": (-50.0, 50.0)}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"direction": "varus"}, 'load_N: expected load_Nm with direction = "varus"'),
        ({"measured_deg": (0.0, 1.0)}, "measured_deg: expected measured_mm"),
        ({"load_N": (50.0, -50.0)}, r"load_N: expected two or more increasing loads"),
        ({"load_N": ()}, r"load_N: expected two or more increasing loads, found \[\]"),
        ({"measured_mm": (0.0, 1.0, 2.0)}, "measured_mm: expected 2 numbers, one for each load"),
        ({"flexion_deg": (0.0, 1.0, 2.0)}, "flexion_deg: expected 2 numbers"),
    ],
)
def test_refused_tests(changes, words):
    with pytest.raises(ValidationError, match=words):
        LaxityTestConfig(**DRAWER | changes)
