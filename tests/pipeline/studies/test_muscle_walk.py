"""OpenSim-JAM's example of a walk, its folder and the example script of its poses; refusals."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from jam_walks import AS_JAM, JAM_WALK, WALK_FILES
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.motion.motion_tables import read_motion_table
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.osim_joints import Placement
from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.simulator.equations import SimulationError
from foundation.base.errors import InputError
from pipeline.config.data_folder import data_file
from pipeline.studies.dispatch import carry_out, load_study
from pipeline.studies.muscle_walks import setup as walk_setup
from pipeline.studies.muscle_walks.frames import _placed, contact_flags
from pipeline.studies.muscle_walks.setup import prepare_walk

pytestmark = pytest.mark.usefixtures("jam_folder", "opensim")
DEGREE = np.pi / 180.0


@pytest.fixture(scope="module")
def example(jam_folder, opensim):
    """Return OpenSim-JAM's example from its own settling: the setup and the result."""
    setup = prepare_walk(load_study(JAM_WALK, AS_JAM))
    return setup, setup.comak.run(setup.first_values())


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
def test_columns_are_derivatives_of_the_forces_of_the_whole_model(example):
    """Muscles and ligaments that a joint does not move are left out of differences: they add 0."""
    (setup, result), frame = example, 40
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
def test_a_displaced_start_converges_to_the_same_solution(example):
    """It takes slow steps at first, and then needs whole ones."""
    (setup, result), frame, draw = example, 42, 56
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


def test_a_walk_writes_its_folder(jam_walk):
    assert {path.name for path in jam_walk.iterdir()} == WALK_FILES
    summary = json.loads((jam_walk / "walk.json").read_text())
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
    page = (jam_walk / "walk.html").read_text()
    assert all(word in page for word in ("tf_contact", "4 of 4", "knee_add_r", "PCLal"))
    assert not re.search(r"\bnan\b", page.lower())
    frames = pd.read_csv(jam_walk / "frames.csv")
    assert frames.converged.all()
    assert_allclose(frames.time_s, [1.21, 1.22, 1.23, 1.24])


def test_frames_that_do_not_converge_are_flagged_in_file_and_page(jam_walk, tmp_path):
    few = ("comak.iterations=1", "comak.tolerance=1e-9", "comak.settle=false")
    file = load_study(jam_walk / "config.toml", few)
    with pytest.raises(SimulationError, match="none of 4 frames converged"):
        carry_out(file, tmp_path)
    summary = json.loads((tmp_path / "walk.json").read_text())
    assert summary["converged"] == 0
    assert any("1.21 s: not converged in 1 iterations" in flag for flag in summary["flags"])
    assert not pd.read_csv(tmp_path / "frames.csv").converged.any()
    page = (tmp_path / "walk.html").read_text()
    assert "Read this first" in page
    assert "1.21 s: not converged in 1 iterations" in page


def test_opensim_plays_the_states(jam_walk):
    import opensim

    model = opensim.Model(str(jam_walk / "model.osim"))
    storage = opensim.Storage(str(jam_walk / "states.sto"))
    assert storage.getSize() == 4
    labels = storage.getColumnLabels()
    names = [labels.get(k) for k in range(1, labels.getSize())]
    model.initSystem()
    known = model.getStateVariableNames()
    known = {known.get(k) for k in range(known.getSize())}
    assert {n for n in names if n.endswith(("value", "speed", "activation"))} <= known
    table = read_motion_table(jam_walk / "states.sto")
    kinematics = read_motion_table(jam_walk / "kinematics.mot")
    flexion = table.column("/jointset/knee_r/knee_flex_r/value")
    assert_allclose(flexion, kinematics.angle("knee_flex_r"), rtol=1e-12)
    height = table.column("/jointset/knee_r/knee_ty_r/value")
    assert_allclose(height, kinematics.column("knee_ty_r"), rtol=1e-12)


def test_forces_of_the_tables_agree(jam_walk):
    contact = read_motion_table(jam_walk / "contact.sto")
    parts = [contact.column(f"tf_contact_{p}_force_y_N") for p in ("medial", "lateral")]
    assert_allclose(contact.column("tf_contact_total_force_y_N"), sum(parts), rtol=1e-9)
    forces = read_motion_table(jam_walk / "forces.sto")
    states = read_motion_table(jam_walk / "states.sto")
    muscles = OpenSimSystem((jam_walk / "model.osim").read_text()).muscles
    for name, strongest in zip(muscles.names, muscles.max_force, strict=True):
        activation = states.column(f"/forceset/{name}/activation")
        assert_allclose(forces.column(name), strongest * activation, rtol=1e-12)


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


@pytest.mark.parametrize(
    ("locked", "left"),
    [({"knee_flex_r": 0.0, "knee_ty_r": 0.01, "elbow_flex_r": 0.0}, True), (None, False)],
)
def test_locked_coordinates_are_not_solved_for(locked, left):
    file = load_study(JAM_WALK)
    stated = walk_setup.walk_settings(file, OsimModel(data_file(file.walk.model)))
    names = [*stated.settings.primary, *walk_setup.secondary_names(stated.settings)]
    assert not any("locked" in note for note in stated.notes)
    path = SimpleNamespace(name="m.osim")
    held = locked or dict.fromkeys(names, 0.0)
    model = SimpleNamespace(locked_coordinates=held, path=path, contacts=("tf",))
    if not left:
        with pytest.raises(InputError, match=r"m\.osim: expected primary .* set locked to false"):
            walk_setup._without_locked(stated.settings, model)
        return
    kept = walk_setup._without_locked(stated.settings, model)
    found = {*kept.primary, *walk_setup.secondary_names(kept)}
    assert found == set(names) - {"knee_flex_r", "knee_ty_r"}
