"""Walks of OpenSim models: OpenSim-JAM's example, files and page of a walk, replays, studies."""

import json
import re
import shutil
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from studies import ROOT

from dynamics.musculoskeletal import (
    Comak,
    MarkerMotion,
    MuscleWeight,
    OpenSimSystem,
    OsimModel,
    RecordedPlant,
    read_motion,
)
from dynamics.musculoskeletal.external_loads import applied_forces
from dynamics.musculoskeletal.joint_kinematics import Placement
from dynamics.musculoskeletal.marker_fits import MarkerFit
from dynamics.musculoskeletal.opensim_balance import ground_balance
from dynamics.simulator.equations import SimulationError
from dynamics.walking import read_motion_table
from dynamics.walking.motion_tables import MotionTable, write_motion_table
from foundation.base.errors import InputError
from foundation.surfaces.triangle_mesh import MeshError
from pipeline.cli.main import main
from pipeline.config.data_folder import data_file
from pipeline.config.reading import ConfigError
from pipeline.originals.articular_contacts import articular_contacts
from pipeline.studies.muscle_walks import setup as walk_setup
from pipeline.studies.muscle_walks import study as walk_study
from pipeline.studies.muscle_walks import walk as walk_module
from pipeline.studies.muscle_walks.schema import MuscleWalkFile
from pipeline.studies.muscle_walks.setup import _rigid_notes, prepare_walk
from pipeline.studies.muscle_walks.study import WalkTask, replayed
from pipeline.studies.muscle_walks.summary import (
    contact_flags,
    marker_errors,
    marker_text,
    summary_text,
)
from pipeline.studies.muscle_walks.tables import _placed
from pipeline.studies.muscle_walks.variation import varied_walk, walk_factors
from pipeline.studies.muscle_walks.walk import load_muscle_walk, simulate_muscle_walk
from pipeline.studies.muscle_walks.walk_outputs import walk_catalogue

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("jam_folder", "opensim")]
SHIPPED = ROOT / "configs" / "comak_walking.toml"
#: OpenSim-JAM's example: plane triangles.
AS_JAM = ("walk.surface=flat",)
FILES = {
    *("config.toml", "states.sto", "kinematics.mot", "forces.sto", "contact.sto", "frames.csv"),
    *("model.osim", "plant.npz", "walk.json", "walk.html"),
}
DEGREE = np.pi / 180.0


@pytest.fixture(scope="module")
def example(jam_folder, opensim):
    """Return OpenSim-JAM's example from its own settling: the setup and the result."""
    setup = prepare_walk(load_muscle_walk(SHIPPED, AS_JAM))
    return setup, setup.comak.run(setup.first_values())


@pytest.fixture(scope="module")
def done(jam_folder, opensim, tmp_path_factory):
    """Return the folder of the first frames of the example; not to be written to."""
    folder = tmp_path_factory.mktemp("walk") / "out"
    changes = [f"--set={key}" for key in (*AS_JAM, "comak.stop_s=1.24")]
    assert main(["walk", str(SHIPPED), *changes, "--out", str(folder), "--quiet"]) == 0
    return folder


def reference(jam_folder, name, columns):
    """Return columns (N, K) of a result of OpenSim-JAM, by the ends of their names."""
    table = read_motion_table(jam_folder / "examples/walking/results/comak" / name)
    places = [next(k for k, n in enumerate(table.names) if n.endswith(c)) for c in columns]
    return table.values[:, places]


@pytest.mark.slow
def test_the_example_of_jam_is_reproduced(example, jam_folder):
    setup, result = example
    motion = setup.plant.motion
    assert len(result.time) == 112
    assert not result.flags
    assert not contact_flags(result)
    assert (result.errors < 1.0).all()
    names = [f"/{name}/value" for name in result.secondary]
    theirs = reference(jam_folder, "walking_states.sto", names)
    rotational = np.array(motion.rotational)[motion.index(result.secondary)]
    apart = np.abs(result.values - theirs) / np.where(rotational, DEGREE, 1e-3)
    assert np.median(apart.max(axis=1)) <= 0.02
    assert np.quantile(apart.max(axis=1), 0.95) <= 0.15
    activations = reference(
        jam_folder, "walking_activation.sto", [f"/{name}" for name in result.muscles]
    )
    assert np.median(np.abs(result.activations - activations).max(axis=1)) <= 1e-3
    contacts = setup.comak.contacts
    forces = np.array([f[0].force for f in result.loads])
    at_theirs = np.array([contacts.at(k, row).loads[0].force for k, row in enumerate(theirs)])
    away = np.linalg.norm(forces - at_theirs, axis=1) / (setup.model.mass * 9.80665)
    assert np.quantile(away, 0.95) <= 0.005
    assert away.max() <= 0.01
    reserves = reference(
        jam_folder, "walking_force.sto", [f"{name}_reserve" for name in result.free]
    )
    volumes = 1e6 * setup.plant.muscles.volumes()
    cost = (volumes * activations**2).sum(axis=1) + 1e3 * (reserves**2).sum(axis=1)
    assert (result.costs <= 1.005 * cost).all()


@pytest.mark.slow
@pytest.mark.parametrize("frame", [0, 40, 80])
def test_columns_are_derivatives_of_the_forces_of_the_whole_model(example, frame):
    """Muscles and ligaments that a joint does not move are left out of differences: they add 0."""
    setup, result = example
    plant, values, speeds = setup.plant, result.values[frame], result.speeds[frame]
    tensions = result.muscle_forces[frame]

    def surplus(moved):
        forces = plant.forces(frame, moved, speeds)
        return forces.arms @ tensions - forces.needed

    columns = plant.columns(frame, values, speeds, tensions)
    for k in range(len(values)):
        step = 1e-6 * (np.arange(len(values)) == k)
        wanted = (surplus(values + step) - surplus(values - step)) / 2e-6
        assert_allclose(columns[:, k], wanted, atol=2e-4 * np.abs(wanted).max(), rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("frame", "draw"), [(8, 42), (42, 56), (24, 68)])
def test_displaced_starts_converge_to_the_same_solution(example, frame, draw):
    """Each of these takes slow steps at first, and then needs whole ones."""
    setup, result = example
    before = result.solution(frame - 1)
    motion = setup.plant.motion
    unit = np.where(np.array(motion.rotational)[motion.index(result.secondary)], DEGREE, 1e-3)
    rng = np.random.default_rng(1)
    for _ in range(draw + 1):
        drawn, signs = rng.integers(5, len(result.time) - 2), rng.choice([-1.0, 1.0], len(unit))
    assert drawn == frame
    start = before.values + motion.step * before.speeds + 2.0 * unit * signs
    found, flag = setup.comak.solve(frame, before, start=start)
    assert not flag
    assert np.abs((found.values - result.values[frame]) / unit).max() < 0.05


def test_a_walk_writes_its_folder(done):
    assert {path.name for path in done.iterdir()} == FILES
    summary = json.loads((done / "walk.json").read_text())
    assert summary["frames"] == summary["converged"] == 4
    assert summary["mass_kg"] == pytest.approx(62.0)
    assert set(summary["contact"]) == {"tf_contact", "pf_contact"}
    assert set(summary["contact"]["tf_contact"]) == {"total", "medial", "lateral"}
    assert set(summary["contact"]["pf_contact"]) == {"total"}
    assert 0.5 < summary["contact"]["tf_contact"]["total"]["peak_BW"] < 4.0
    assert not summary["flags"]
    assert summary["sides"]["tf_contact"]["leg"] == "right"
    assert summary["sides"]["tf_contact"]["medial"] == "left"
    residuals = summary["residuals"]
    # Measured forces of a person of 73 kg on a model of 62 kg: large, but no flag.
    assert residuals["force_max_percent"] == pytest.approx(20.0, abs=2.0)
    assert residuals["moment_max_percent"] == pytest.approx(4.0, abs=1.0)
    page = (done / "walk.html").read_text()
    told = ("right leg (the places of the joints hip_r and hip_l), medial is to the left",)
    for word in ("tf_contact", "4 of 4", "knee_add_r", "PCLal", "Resolved walk", "Hicks", *told):
        assert word in page
    assert not re.search(r"\bnan\b", page.lower())
    frames = pd.read_csv(done / "frames.csv")
    assert frames.converged.all()
    assert_allclose(frames.time_s, [1.21, 1.22, 1.23, 1.24])


def test_opensim_plays_the_states(done):
    import opensim

    model = opensim.Model(str(done / "model.osim"))
    storage = opensim.Storage(str(done / "states.sto"))
    assert storage.getSize() == 4
    labels = storage.getColumnLabels()
    names = [labels.get(k) for k in range(1, labels.getSize())]
    model.initSystem()
    known = model.getStateVariableNames()
    known = {known.get(k) for k in range(known.getSize())}
    assert {n for n in names if n.endswith(("value", "speed", "activation"))} <= known
    table = read_motion_table(done / "states.sto")
    kinematics = read_motion_table(done / "kinematics.mot")
    flexion = table.column("/jointset/knee_r/knee_flex_r/value")
    assert_allclose(flexion, kinematics.angle("knee_flex_r"), rtol=1e-12)
    height = table.column("/jointset/knee_r/knee_ty_r/value")
    assert_allclose(height, kinematics.column("knee_ty_r"), rtol=1e-12)


def test_forces_of_the_tables_agree(done):
    contact = read_motion_table(done / "contact.sto")
    parts = [contact.column(f"tf_contact_{p}_force_y_N") for p in ("medial", "lateral")]
    assert_allclose(contact.column("tf_contact_total_force_y_N"), sum(parts), rtol=1e-9)
    forces = read_motion_table(done / "forces.sto")
    states = read_motion_table(done / "states.sto")
    record = RecordedPlant.load(done / "plant.npz")
    for name, strongest in zip(record.muscles.names, record.muscles.max_force, strict=True):
        activation = states.column(f"/forceset/{name}/activation")
        assert_allclose(forces.column(name), strongest * activation, rtol=1e-12)


@pytest.mark.slow
def test_a_replay_is_the_walk(done, tmp_path):
    out = tmp_path / "again"
    arguments = ["walk", str(done / "config.toml"), "--out", str(out), "--quiet"]
    assert main([*arguments, f"--set=walk.replay={done / 'plant.npz'}"]) == 0
    assert {path.name for path in out.iterdir()} == FILES - {"plant.npz"}
    one, other = (read_motion_table(f / "contact.sto").values for f in (done, out))
    assert_allclose(other[:, :3], one[:, :3], atol=1.5)
    one, other = (read_motion_table(f / "kinematics.mot").values for f in (done, out))
    assert_allclose(other, one, atol=2e-3)


def test_a_record_keeps_the_residuals_and_a_study_their_flags(done, tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(
        walk_module, "prepare_walk", lambda f: made.append(prepare_walk(f)) or made[0]
    )
    file = load_muscle_walk(done / "config.toml")
    record = RecordedPlant.load(done / "plant.npz")
    assert record.balance.flags == ()
    flag = "residual force on pelvis: expected less, found more; check the plates"
    with (tmp_path / "plant.npz").open("wb") as stream:
        replace(record, balance=replace(record.balance, flags=(flag,))).save(stream)
    walk = file.walk.model_copy(update={"replay": str(tmp_path / "plant.npz")})
    again = MuscleWalkFile(walk=walk, comak=file.comak)
    summary = simulate_muscle_walk(again, tmp_path / "out")
    before = json.loads((done / "walk.json").read_text())["residuals"]
    assert summary["residuals"] == before
    assert summary["flags"] == [flag]
    assert flag in summary_text(summary, tmp_path)
    assert flag in (tmp_path / "out" / "walk.html").read_text()
    frames = pd.read_csv(tmp_path / "out" / "frames.csv")
    assert frames.residual_force_N.max() == pytest.approx(before["force_max_N"])
    (setup,) = made
    result = setup.comak.run(setup.first_values())
    assert flag in walk_catalogue(setup, result).note
    assert walk_study._simulated(WalkTask("", "flag", ""), setup)["flagged_instants"] == 4


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("calcn_l", "calcn_r", "look exchanged"),
        ("overground_17_grf.mot", "early.mot", "s early against the motion"),
        ("overground_17_grf.mot", "kilonewtons.mot", "look like kilonewtons"),
        (None, None, "no external loads are stated"),
    ],
)
def test_wrong_loads_of_the_example_are_flagged(opensim, tmp_path, jam_folder, old, new, cause):
    data = jam_folder / "models/lenhart2015/motion_data"
    table = read_motion_table(data / "overground_17_grf.mot")
    table = replace(table, time=table.time[::20], values=table.values[::20])
    forces = np.array(["force" in name and name[-2] == "v" for name in table.names])
    write_motion_table(tmp_path / "early.mot", replace(table, time=table.time - 0.6))
    smaller = replace(table, values=table.values * np.where(forces, 1e-3, 1.0))
    write_motion_table(tmp_path / "kilonewtons.mot", smaller)
    write_motion_table(tmp_path / "overground_17_grf.mot", table)
    text = (data / "overground_17_ext_loads.xml").read_text()
    path = tmp_path / "loads.xml"
    if old is not None:
        other = {old: new, new: old}
        path.write_text(re.sub(f"{old}|{new}", lambda found: other[found[0]], text))
    file = load_muscle_walk(SHIPPED)
    model = OsimModel(data_file(file.walk.model))
    settings, files = walk_setup.walk_settings(file, viscosities=model.viscosities)
    system = OpenSimSystem(model.without_contact(), None if old is None else path)
    times = replace(settings, start=1.3, stop=1.34)
    motion = read_motion(files.motion, system, times)
    loads = () if old is None else applied_forces(path, system.load_table)
    flags = ground_balance(system, motion, loads).flags
    assert any(cause in flag for flag in flags), flags


@pytest.mark.slow
def test_a_replay_needs_no_opensim(done, tmp_path, monkeypatch):
    from dynamics.musculoskeletal import wheel as module

    module.opensim.cache_clear()
    monkeypatch.setitem(sys.modules, "opensim", None)
    out = tmp_path / "again"
    arguments = ["walk", str(done / "config.toml"), "--out", str(out), "--quiet"]
    assert main([*arguments, f"--set=walk.replay={done / 'plant.npz'}"]) == 0
    module.opensim.cache_clear()


@pytest.mark.parametrize("name", ["comak_walking", "comak_markers"])
def test_without_opensim_the_command_says_what_to_install(name, tmp_path, monkeypatch, capsys):
    from dynamics.musculoskeletal import wheel as module

    module.opensim.cache_clear()
    monkeypatch.setitem(sys.modules, "opensim", None)
    config = SHIPPED.with_stem(name)
    assert main(["walk", str(config), "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert 'pip install "knee-contact[opensim]"' in told
    assert not (tmp_path / "out").exists()
    module.opensim.cache_clear()


def test_variations_change_what_they_name(done):
    file = load_muscle_walk(done / "config.toml")
    setup = replayed(file, str(done / "plant.npz"))
    factors = walk_factors(setup)
    start = setup.first_values()
    nominal = setup.comak.run(start)
    softer = varied_walk(setup, {"tf_contact_modulus_scale": 0.5})
    loads = [s.contacts[0].evaluate(np.zeros(6)).loads for s in (setup, softer)]
    assert_allclose(loads[1].wrench, 0.5 * loads[0].wrench, rtol=1e-12)
    thicker = varied_walk(setup, {"tf_contact_thickness_scale": 2.0})
    thick = thicker.contacts[0].evaluate(np.zeros(6)).loads
    assert_allclose(thick.wrench, loads[1].wrench, rtol=1e-9)
    stiff = varied_walk(setup, {"ligament_ACLpl_stiffness_scale": 2.0})
    ratio = stiff.plant.ligaments.stiffness / setup.plant.ligaments.stiffness
    chosen = [name.startswith("ACLpl") for name in setup.plant.ligaments.names]
    assert_array_equal(ratio, np.where(chosen, 2.0, 1.0))
    weak = varied_walk(setup, {"muscle_all_strength_scale": 0.8, "muscle_recfem_r_weight": 3.0})
    assert_allclose(weak.plant.muscles.max_force, 0.8 * setup.plant.muscles.max_force)
    assert weak.settings.muscle_weight(("recfem_r", "soleus_r"), 0.0).tolist() == [3.0, 1.0]
    moved = varied_walk(setup, {"tf_contact_bed_up_mm": -0.1})
    up = setup.contacts[0].pose(np.zeros(6)).translation
    down = moved.contacts[0].pose(np.zeros(6)).translation
    assert_allclose(down - up, [0.0, 1e-4, 0.0], atol=1e-15)
    turned = varied_walk(setup, {"tf_contact_bed_about_forward_deg": 2.0})
    assert abs(turned.contacts[0].pose(np.zeros(6)).adduction) == pytest.approx(2.0 * DEGREE)
    result = turned.comak.run(start)
    assert np.abs(result.values - nominal.values).max() > 1e-3
    # Tilting the bed turns the tibia back: contact alone follows the surfaces.
    assert not result.flags
    assert all(factor.text for factor in factors.values())


STUDY = """
[study]
name = "spread"
walk = "{walk}"
kind = "latin_hypercube"
runs = 4
workers = 1

[[study.factor]]
name = "ligament_all_stiffness_scale"
distribution = "uniform"
low = 0.8
high = 1.2

[[study.factor]]
name = "tf_contact_modulus_scale"
distribution = "lognormal"
mean = 1.0
sd = 0.2
"""


def test_a_study_varies_a_recorded_walk(done, tmp_path, capsys):
    config = tmp_path / "study.toml"
    config.write_text(STUDY.format(walk=done))
    out = tmp_path / "out"
    assert main(["study", str(config), "--out", str(out), "--quiet"]) == 0
    runs = pd.read_parquet(out / "runs.parquet")
    assert (runs.status == "ok").all()
    assert (runs.flagged_instants == 0).all()
    assert runs.tf_contact_total_peak_pressure_MPa.nunique() == 4
    order = runs.sort_values("tf_contact_modulus_scale").tf_contact_total_peak_pressure_MPa
    assert order.is_monotonic_increasing
    summary = json.loads((out / "summary.json").read_text())
    assert summary["model"] == "recorded walk"
    assert summary["nominal"]["tf_contact_total_force_peak_BW"] > 0.5
    assert "BW are body weights" in (out / "study.html").read_text()
    assert "tf_contact force, peak" in capsys.readouterr().out


def test_inputs_of_a_walk_are_listed_and_checked(done, tmp_path, capsys):
    assert main(["study", "--factors", "--walk", str(done)]) == 0
    told = capsys.readouterr().out
    for name in ("ligament_PCLal_slack_scale", "muscle_soleus_r_weight", "pf_contact_target_up_mm"):
        assert name in told
    config = tmp_path / "study.toml"
    text = STUDY.format(walk=done)
    config.write_text(text.replace("tf_contact_modulus_scale", "tf_modulus_scale"))
    assert main(["study", str(config), "--out", str(tmp_path / "out")]) == 2
    assert "similar names are tf_contact_modulus_scale" in capsys.readouterr().err
    config.write_text(STUDY.format(walk=tmp_path))
    assert main(["study", str(config), "--out", str(tmp_path / "out")]) == 2
    assert "expected the folder of a walk" in capsys.readouterr().err


def test_a_walk_needs_its_coordinates(tmp_path):
    config = tmp_path / "walk.toml"
    config.write_text('[walk]\nmodel = "m.osim"\n')
    with pytest.raises(ConfigError, match=r"walk\.settings.*walk\.motion, comak\.primary"):
        load_muscle_walk(config)


def test_files_and_names_that_are_wrong_are_named(done, tmp_path, jam_folder):
    file = load_muscle_walk(SHIPPED)

    def changed(**keys):
        return MuscleWalkFile(walk=file.walk.model_copy(update=keys), comak=file.comak)

    with pytest.raises(InputError, match=r"missing\.mot: no such file"):
        prepare_walk(changed(motion=str(tmp_path / "missing.mot")))
    with pytest.raises(InputError, match=r"missing\.npz: no such file"):
        prepare_walk(changed(replay=str(tmp_path / "missing.npz")))
    comak = file.comak.model_copy(update={"primary": ("hip_flex_r", "nonsense")})
    with pytest.raises(InputError, match="nonsense"):
        prepare_walk(replace_comak(file, comak))


def test_a_replay_names_what_the_record_decides(done, tmp_path):
    file, record = load_muscle_walk(done / "config.toml"), str(done / "plant.npz")
    later = file.comak.model_copy(update={"stop_s": 1.3})
    with pytest.raises(
        InputError, match=r"comak\.stop_s: expected 1\.24 as in the record, found 1\.3"
    ):
        replayed(replace_comak(file, later), record)
    update = {"replay": record, "motion": "other.mot"}
    moved = MuscleWalkFile(walk=file.walk.model_copy(update=update), comak=file.comak)
    with pytest.warns(UserWarning, match=r"no effect of walk\.motion"):
        summary = simulate_muscle_walk(moved, tmp_path / "out")
    assert any("walk.motion" in text for text in summary["warnings"])


def test_a_replay_tells_other_times_and_takes_coordinates_in_any_order(done, tmp_path, jam_folder):
    file = load_muscle_walk(done / "config.toml")
    xml = (jam_folder / "examples/walking/inputs/comak_settings.xml").read_text()
    folder = jam_folder / "examples/walking/inputs"
    xml = re.sub(r">(\.\./[^<]*)<", lambda m: f">{(folder / m[1]).resolve()}<", xml)
    start = xml.index("<objects>") + len("<objects>")
    end = xml.index("</objects>")
    first = xml.index("</COMAKSecondaryCoordinate>") + len("</COMAKSecondaryCoordinate>")
    swapped = xml[:start] + xml[first:end] + xml[start:first] + xml[end:]
    (tmp_path / "s.xml").write_text(swapped.replace("<comak_damping>200<", "<comak_damping>100<"))
    update = {"settings": str(tmp_path / "s.xml")}
    walk = file.walk.model_copy(update=update | {"replay": str(done / "plant.npz")})
    moved = MuscleWalkFile(walk=walk, comak=file.comak.model_copy(update={"stop_s": None}))
    with pytest.warns(UserWarning, match="no effect of stop"):
        setup = prepare_walk(moved)
    text = " ".join(setup.warnings)
    assert "no effect of stop 2.32 (1.24)" in text
    assert "found knee_tx_r 100 (200 in the model)" in text
    assert "knee_add_r" not in text
    assert setup.comak.run(setup.first_values()).secondary[0] == "knee_add_r"


@pytest.mark.slow
def test_an_earlier_walk_stays_until_the_next_is_simulated(done, tmp_path, monkeypatch):
    folder = shutil.copytree(done, tmp_path / "out")
    file, record = load_muscle_walk(folder / "config.toml"), str(done / "plant.npz")
    again = MuscleWalkFile(
        walk=file.walk.model_copy(update={"replay": record}),
        comak=file.comak.model_copy(update={"settle": False}),
    )
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Comak, "run", stopped)
    with (
        pytest.warns(UserWarning, match=r"no effect of comak\.settle"),
        pytest.raises(KeyboardInterrupt),
    ):
        simulate_muscle_walk(again, folder, replace=True)
    assert {name: (folder / name).read_bytes() for name in before} == before


@pytest.mark.slow
def test_a_record_of_another_model_is_told(done, tmp_path, jam_folder):
    file = load_muscle_walk(done / "config.toml")
    text = (jam_folder / "models/lenhart2015/lenhart2015.osim").read_text()
    path = jam_folder / "models/lenhart2015/Geometry/lenhart2015-R-patella-cartilage.stl"
    meshes = {**file.walk.meshes, path.name: str(path)}

    def of(model):
        (tmp_path / "m.osim").write_text(model)
        update = {"model": str(tmp_path / "m.osim"), "meshes": meshes}
        changed = file.walk.model_copy(update=update)
        return replayed(MuscleWalkFile(walk=changed, comak=file.comak), str(done / "plant.npz"))

    assert of(text).warnings == ()
    assert of(text.replace("<elastic_modulus>", "<elastic_modulus> ")).warnings == ()
    with pytest.warns(UserWarning, match=r"m\.osim is not the model of the record"):
        of(text.replace("<slack_length>", "<slack_length>1.0", 1))
    with pytest.raises(InputError, match=r"expected a record of m\.osim, found another model"):
        of(text.replace('"neck_rot"', '"neck_turn"'))


@pytest.mark.slow
def test_coordinates_without_a_column_are_told(tmp_path, jam_folder):
    inverse = jam_folder / "examples/walking/results/comak-inverse-kinematics"
    text = (inverse / "overground_17_ik.mot").read_text()
    (tmp_path / "ik.mot").write_text(text.replace("neck_rot", "neck_turn"))
    changes = (f"walk.motion={tmp_path / 'ik.mot'}", "comak.stop_s=1.24")
    with pytest.warns(UserWarning, match=r"ik\.mot: no column of neck_rot"):
        setup = prepare_walk(load_muscle_walk(SHIPPED, changes))
    assert "neck_rot" in setup.warnings[0]


@pytest.mark.slow
def test_a_motion_in_radians_that_says_degrees_is_told(tmp_path, jam_folder):
    inverse = jam_folder / "examples/walking/results/comak-inverse-kinematics"
    table = read_motion_table(inverse / "overground_17_ik.mot")
    lengths = [re.search(r"_t[xyz](_r)?$", name) is not None for name in table.names]
    values = np.where(lengths, table.values, DEGREE * table.values)
    write_motion_table(tmp_path / "ik.mot", replace(table, values=values))
    changes = (f"walk.motion={tmp_path / 'ik.mot'}", "comak.stop_s=1.24")
    with pytest.warns(UserWarning, match=r"ik\.mot: the angles look like radians"):
        setup = prepare_walk(load_muscle_walk(SHIPPED, changes))
    assert "inDegrees=no" in setup.warnings[0]


def test_a_mesh_in_millimetres_is_refused(tmp_path, knee_data):
    name = "ACLC01-R-femur-cart.obj"
    lines = (knee_data / "jam_lenhart2015_knee" / name).read_text().splitlines()
    wide = (
        " ".join(["v", *(str(1e3 * float(x)) for x in line.split()[1:4])])
        if line.startswith("v ")
        else line
        for line in lines
    )
    (tmp_path / name).write_text("\n".join(wide))
    file = load_muscle_walk(SHIPPED)
    meshes = file.walk.meshes | {"lenhart2015-R-femur-cartilage.stl": str(tmp_path / name)}
    with pytest.raises(MeshError, match="expected a mesh in metres"):
        articular_contacts(
            OsimModel(data_file(file.walk.model)),
            meshes={key: data_file(path) for key, path in meshes.items()},
        )


def swapped(file):
    """Return a walk whose meshes of femur and tibia are swapped."""
    femur, tibia = (f"lenhart2015-R-{bone}-cartilage.stl" for bone in ("femur", "tibia"))
    meshes = file.walk.meshes
    update = {"meshes": meshes | {femur: meshes[tibia], tibia: meshes[femur]}}
    return MuscleWalkFile(walk=file.walk.model_copy(update=update), comak=file.comak)


@pytest.mark.slow
def test_swapped_meshes_are_refused_with_and_without_opensim(done):
    file = swapped(load_muscle_walk(done / "config.toml"))
    message = r"pf_contact: expected surfaces of .* face each other .*walk\.meshes"
    with pytest.raises(MeshError, match=message):
        prepare_walk(file)
    with pytest.raises(MeshError, match=message):
        replayed(file, str(done / "plant.npz"))


@pytest.mark.slow
def test_a_contact_that_never_touches_is_told_in_terminal_file_and_page(
    done, tmp_path, monkeypatch
):
    """Also in a replay, before the flags of frames and coordinates."""
    monkeypatch.setattr(walk_setup, "check_facing", lambda *_: None)
    file = swapped(load_muscle_walk(done / "config.toml"))
    update = {"replay": str(done / "plant.npz")}
    file = MuscleWalkFile(walk=file.walk.model_copy(update=update), comak=file.comak)
    summary = simulate_muscle_walk(file, tmp_path)
    told = "tf_contact: the surfaces touch in none of 4 frames; check its mesh files"
    assert summary["flags"][0].startswith(told)
    assert told in summary_text(summary, tmp_path)
    assert told in (tmp_path / "walk.html").read_text()


def replace_comak(file, comak):
    return MuscleWalkFile(walk=file.walk, comak=comak)


def test_weights_of_unknown_muscles_are_told(done):
    file = load_muscle_walk(done / "config.toml")
    weighted = file.comak.model_copy(update={"muscle_weights": {"nobody": 2.0}})
    with pytest.warns(UserWarning, match="nobody"):
        setup = replayed(replace_comak(file, weighted), str(done / "plant.npz"))
    assert any("nobody" in text for text in setup.warnings)


def test_a_weight_that_becomes_negative_is_refused_before_the_first_frame(done, monkeypatch):
    falling = MuscleWeight("soleus_r", (1.2, 1.21), (3.0, 1.0))
    read = walk_setup.walk_settings

    def with_weight(*arguments):
        settings, files = read(*arguments)
        return replace(settings, muscle_weights=(falling,)), files

    monkeypatch.setattr(walk_setup, "walk_settings", with_weight)
    file = load_muscle_walk(done / "config.toml")
    with pytest.raises(InputError, match=r"soleus_r: expected a weight >= 0 at 1\.22 s"):
        replayed(file, str(done / "plant.npz"))


def test_frames_that_do_not_converge_are_flagged_in_file_and_page(done, tmp_path):
    file = load_muscle_walk(done / "config.toml")
    few = file.comak.model_copy(update={"iterations": 1, "tolerance": 1e-9})
    walk = file.walk.model_copy(update={"replay": str(done / "plant.npz")})
    with pytest.raises(SimulationError, match="none of 4 frames converged"):
        simulate_muscle_walk(MuscleWalkFile(walk=walk, comak=few), tmp_path)
    summary = json.loads((tmp_path / "walk.json").read_text())
    assert summary["converged"] == 0
    assert "1.21 s: not converged in 1 iterations" in summary["flags"][0]
    assert not pd.read_csv(tmp_path / "frames.csv").converged.any()
    page = (tmp_path / "walk.html").read_text()
    assert "Read this first" in page
    assert "1.21 s: not converged in 1 iterations" in page


@pytest.mark.slow
def test_settings_hold_for_a_changed_plant(example):
    """The contact energy as part of the cost keeps the surfaces less apart: its weight acts."""
    setup, result = example
    assert setup.settings.contact_energy_weight == 0.0
    with pytest.raises(InputError, match="tf_contact: expected the gradient of its energy"):
        _ = replace(setup, settings=replace(setup.settings, contact_energy_weight=1.0)).comak
    assert result.iterations.mean() < 5.0


def test_loads_of_a_surrogate_s_frame_stand_in_the_frame_of_the_bed():
    rng = np.random.default_rng(3)
    frame = Placement.of(np.array([0.3, -0.5, 1.2]), np.array([0.01, -0.02, 0.03]))
    at, force = rng.normal(size=3), rng.normal(size=3)
    row = np.concatenate([force, np.cross(at, force), [1.0, 2.0, 3.0], at])
    (found,) = _placed(row[None], frame)
    there = frame.rotation @ at + frame.origin
    assert_allclose(found[:3], frame.rotation @ force)
    assert_allclose(found[3:6], np.cross(there, frame.rotation @ force), atol=1e-12)
    assert_array_equal(found[6:9], row[6:9])
    assert_allclose(found[9:], there)


def test_distances_of_markers_are_in_summary_and_text():
    fits = (
        MarkerFit("R.Knee", 10.0, 0.03, 0.05, 1.4, 2, (0.05, 0.01)),
        MarkerFit("R.Heel", 5.0, 0.01, 0.02, 1.5, 0, (0.02, 0.01)),
    )
    names = ("marker_error_max", "marker_error_RMS")
    errors = MotionTable(names, np.array([1.4, 1.5]), np.array([[0.05, 0.03], [0.02, 0.01]]))
    content = marker_errors(MarkerMotion(errors, errors, fits, ("told",), ("L.Ear",)))
    assert list(content["fits"]) == ["R.Knee", "R.Heel"]
    knee = {"weight": 10.0, "rms_mm": 30.0, "largest_mm": 50.0, "largest_at_s": 1.4, "missing": 2}
    assert content["fits"]["R.Knee"] == knee
    (told,) = marker_text({"markers": content})
    assert told.endswith("at most 50 mm (R.Knee at 1.4 s); not in the model: L.Ear")
    assert marker_text({"markers": marker_errors(None)}) == []


@pytest.mark.slow
def test_a_walk_from_markers_shows_their_distances(jam_folder, tmp_path):
    functions = "examples/walking/results/comak-inverse-kinematics"
    functions = jam_folder / functions / "secondary_coordinate_constraint_functions.xml"
    changes = (
        f'inverse_kinematics.functions="{functions}"',
        *("inverse_kinematics.start_s=1.3", "inverse_kinematics.stop_s=1.40"),
        *("comak.start_s=1.34", "comak.stop_s=1.37"),
        "inverse_kinematics.weights={L_Ear=1.0}",
    )
    file = load_muscle_walk(SHIPPED.with_stem("comak_markers"), changes)
    with pytest.warns(UserWarning, match=r"the frames from 1.37 s are doubtful"):
        summary = simulate_muscle_walk(file, tmp_path / "out")
    assert "L_Ear" in summary["markers"]["unknown"]
    assert len(summary["markers"]["fits"]) == 39
    page = (tmp_path / "out" / "walk.html").read_text()
    assert 'id="markers"' in page
    assert '<th scope="row">R.Heel</th>' in page


def test_a_coordinate_that_the_configuration_leaves_out_is_told():
    """The file of settings lists the coordinate as secondary, the configuration does not."""
    settings, _ = walk_setup.walk_settings(load_muscle_walk(SHIPPED))
    names = [coordinate.name for coordinate in settings.secondary]
    joint = SimpleNamespace(coordinates=("knee_flex_r", *names))
    contacts = (SimpleNamespace(name="tf_contact", joint=joint),)
    assert _rigid_notes(contacts, settings, set()) == ()
    kept = tuple(s for s in settings.secondary if s.name != "knee_tz_r")
    left = replace(settings, secondary=kept)
    (told,) = _rigid_notes(contacts, left, set())
    assert told.startswith("knee_tz_r (tf_contact): these coordinates of joints with contact")
    assert _rigid_notes(contacts, left, {"knee_tz_r"}) == ()
