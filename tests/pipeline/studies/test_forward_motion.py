"""Forward simulations from file to page: settings, files, refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from studies import ROOT

from dynamics.motion.motion_tables import MotionTable, read_motion_table
from dynamics.musculoskeletal import (
    Course,
)
from dynamics.musculoskeletal.forward_simulation import SecondaryMotion
from foundation.base.errors import InputError, PoseError
from pipeline.cli.main import main
from pipeline.studies.dispatch import carry_out, load_study
from pipeline.studies.forward_motions.simulate import (
    _start_notes,
    held_constant,
    prepare_forward,
)
from pipeline.studies.jam_settings import jam_file

CONFIGS = ROOT / "configs"
FILES = {
    *("config.toml", "forward.json", "forward.html", "model.osim"),
    *("states.sto", "kinematics.mot", "forces.sto", "contact.sto"),
}


@pytest.fixture(scope="module")
def osim(jam_folder, opensim):
    return opensim


@pytest.fixture(scope="module")
def pulled(osim, tmp_path_factory):
    """Return the folder of the first instants of the laxity test, pulled at once."""
    folder = tmp_path_factory.mktemp("forward") / "out"
    sets = (
        "forward.coordinates={}",
        "forward.loads.anterior.at_s=[0.0]",
        "forward.loads.anterior.force_N=[[100.0, 0.0, 0.0]]",
        "forward.start_s=0.0",
        "forward.stop_s=0.04",
    )
    words = [word for text in sets for word in ("--set", text)]
    config = str(CONFIGS / "anterior_laxity.toml")
    assert main(["run", config, *words, "--out", str(folder), "--quiet"]) == 0
    return folder


@pytest.mark.slow
def test_instants_before_one_without_balance_are_written(osim, tmp_path, capsys, monkeypatch):
    step = SecondaryMotion.step

    def fails(self, frame, *rest):
        if frame == 3:
            raise PoseError("no balance")
        return step(self, frame, *rest)

    monkeypatch.setattr(SecondaryMotion, "step", fails)
    sets = ("forward.coordinates={}", "forward.start_s=0.0", "forward.stop_s=0.04")
    words = [word for text in sets for word in ("--set", text)]
    out = tmp_path / "out"
    config = str(CONFIGS / "passive_flexion.toml")
    assert main(["run", config, *words, "--out", str(out), "--quiet"]) == 1
    told = capsys.readouterr().err
    assert "error: 0.03 s: no balance; choose a smaller forward.step_s" in told
    assert f"{out} has the 3 instants up to 0.02 s" in told
    assert {path.name for path in out.iterdir()} - {".lock"} == FILES
    summary = json.loads((out / "forward.json").read_text())
    assert summary["failure"].startswith("0.03 s: no balance; choose a smaller forward.step_s")
    assert summary["instants"] == len(read_motion_table(out / "states.sto").time) == 3
    assert "0.03 s: no balance" in (out / "forward.html").read_text()


def test_settings_of_the_tool_need_no_configuration(jam_folder, knee_data, tmp_path):
    settings = tmp_path / "forsim_settings.xml"
    settings.write_text(
        "<D><ForsimTool><model_file>knee.osim</model_file><results_file_basename>anterior laxity"
        "</results_file_basename><unconstrained_coordinates>/jointset/knee_r/knee_tx_r"
        "</unconstrained_coordinates></ForsimTool></D>"
    )
    model = jam_folder / "models/lenhart2015/lenhart2015.osim"
    with pytest.raises(InputError, match=r"knee\.osim does not exist; state --model FILE\.osim"):
        jam_file(settings)
    with pytest.raises(InputError, match=r"cartilage\.stl does not exist; state --geometry FOLDER"):
        jam_file(settings, model=model)
    geometry = knee_data / "jam_lenhart2015_knee"
    with pytest.warns(UserWarning, match="is taken"):
        found = jam_file(settings, ("forward.step_s=0.02",), model=model, geometry=geometry).forward
    assert (found.name, found.surface, found.single_wraps_slide) == (
        "anterior_laxity",
        "flat",
        True,
    )
    assert found.step_s == 0.02
    meshes = {name: path.name for name, path in found.mesh_files.items()}
    assert meshes["lenhart2015-R-femur-cartilage.stl"] == "ACLC01-R-femur-cart.obj"
    assert found.mesh_files["lenhart2015-R-femur-cartilage.stl"].is_file()


def test_a_forward_simulation_writes_its_folder(pulled):
    assert {path.name for path in pulled.iterdir()} - {".lock"} == FILES
    summary = json.loads((pulled / "forward.json").read_text())
    assert summary["instants"] == 5
    assert summary["secondary"]["knee_tx_r"]["end"] > summary["secondary"]["knee_tx_r"]["start"]
    page = (pulled / "forward.html").read_text()
    assert "knee_tx_r" in page
    assert "tf_contact" in page


def test_states_play_in_opensim(osim, pulled):
    model = osim.Model(str(pulled / "model.osim"))
    model.initSystem()
    table = osim.TimeSeriesTable(str(pulled / "states.sto"))
    states = osim.StatesTrajectory.createFromStatesTable(model, table, True, True, True)
    assert states.getSize() == 5
    knee = model.getCoordinateSet().get("knee_tx_r")
    played = [knee.getValue(states.get(k)) for k in range(5)]
    shown = read_motion_table(pulled / "kinematics.mot").column("knee_tx_r")
    assert_allclose(played, shown, atol=1e-12)


def test_settings_of_the_tool_are_changed_by_keys(osim, tmp_path):
    (tmp_path / "settings.xml").write_text(
        "<D><ForsimTool><model_file>x.osim</model_file><constant_muscle_control>0.05"
        "</constant_muscle_control><ignore_activation_dynamics>true</ignore_activation_dynamics>"
        "<unconstrained_coordinates>/jointset/knee_r/knee_tx_r</unconstrained_coordinates>"
        "<integrator_acuracy>1</integrator_acuracy></ForsimTool></D>"
    )
    sets = (
        f'forward.settings="{tmp_path}/settings.xml"',
        "forward.step_s=0.02",
        "forward.activation=0.1",
        'forward.kind="equilibrium"',
    )
    setup = prepare_forward(load_study(CONFIGS / "passive_flexion.toml", sets).forward)
    assert setup.settings.step == 0.02
    assert setup.settings.activation == 0.1
    assert len(setup.settings.secondary) == 11
    assert_allclose(setup.plant.motion.speeds, 0.0)
    assert_allclose(setup.drive.activations, 0.1)
    tendons, unknown = setup.warnings
    assert tendons.startswith("settings.xml, use_tendon_compliance: ")
    assert unknown == (
        "settings.xml: unknown setting integrator_acuracy; did you mean integrator_accuracy?"
    )
    flexion = setup.plant.motion.values[:, setup.plant.motion.index(("knee_flex_r",))[0]]
    assert_allclose(np.degrees(flexion[[0, 25, -1]]), [0.0, 0.0, 90.0], atol=1e-9)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("forward.coordinates.hip_x.deg=[1.0]", "forward.coordinates.hip_x: expected a coordinate"),
        (
            "forward.coordinates.knee_add_r.deg=[0.0]",
            "forward.coordinates: expected courses .* not secondary, found knee_add_r; leave out",
        ),
    ],
)
def test_wrong_names_are_refused(osim, override, told, tmp_path):
    file = load_study(
        CONFIGS / "passive_flexion.toml", ("forward.stop_s=0.01", "forward.start_s=0.0", override)
    )
    with pytest.raises(ValueError, match=told):
        carry_out(file, tmp_path / "out")


def test_only_tables_that_end_early_are_held_constant():
    course = Course(np.array([0.0, 1.0]), np.zeros(2))
    single = Course(np.zeros(1), np.zeros(1))
    time = 0.1 * np.arange(11.0)
    assert held_constant(Path("a.sto"), {"x": course}, time) == ()
    assert held_constant(Path("a.sto"), {"x": single}, 2.0 * time) == ()
    assert held_constant(None, {}, time) == ()
    for wrong in (time + 0.1, time - 0.1):
        (told,) = held_constant(Path("a.sto"), {"x": course}, wrong)
        assert told.startswith("a.sto: expected rows from ")


def test_states_of_opensim_state_where_secondary_coordinates_start():
    course, at = {"knee_add_r": Course(np.zeros(1), np.zeros(1))}, np.zeros(1)
    states = MotionTable(("/jointset/knee_r/knee_add_r/value",), at, np.zeros((1, 1)))
    (note,) = _start_notes(states, course, ("knee_add_r",))
    assert "forces move knee_add_r; of their values in the table, the first instant alone" in note
    assert _start_notes(states, course, ("knee_rot_r",)) == ()
    motion = MotionTable(("knee_add_r",), at, np.zeros((1, 1)))
    with pytest.raises(InputError, match="found knee_add_r; leave out the course"):
        _start_notes(motion, course, ("knee_add_r",))


@pytest.mark.slow
def test_fibre_forces_are_those_of_settings_or_keys(osim, tmp_path):
    (tmp_path / "settings.xml").write_text(
        "<D><ForsimTool><model_file>x.osim</model_file><use_muscle_physiology>false"
        "</use_muscle_physiology><unconstrained_coordinates>/jointset/knee_r/knee_tx_r"
        "</unconstrained_coordinates></ForsimTool></D>"
    )
    sets = (f'forward.settings="{tmp_path}/settings.xml"', "forward.stop_s=0.02")
    setup = prepare_forward(load_study(CONFIGS / "passive_flexion.toml", sets).forward)
    assert setup.warnings == ()
    assert_allclose(setup.drive.forces[1], 0.02 * setup.plant.muscles.max_force)
    sets += ("forward.fibre_forces=true",)
    setup = prepare_forward(load_study(CONFIGS / "passive_flexion.toml", sets).forward)
    assert np.isnan(setup.drive.forces).all()
