"""The examples: each is run on the tiny run, and what it finds is checked against the library."""

import importlib.util
import runpy
import sys
from dataclasses import replace

import mujoco
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from studies import ROOT

import pipeline
import surrogates
from dynamics import KneeSimulator, height_at_load, settle
from foundation.base.errors import InputError
from foundation.base.pose import COORDINATES, Pose, generalised_force, twist_jacobian
from pipeline.store.samples import read_table

EXAMPLES = ROOT / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def knee(tiny_run):
    return surrogates.load(tiny_run / "knee.npz")


def test_everyday_tasks_as_a_script(tiny_run, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["everyday.py", str(tiny_run)])
    found = runpy.run_path(str(EXAMPLES / "everyday.py"))["main"](tiny_run)
    out = capsys.readouterr().out
    assert "1500 N are carried" in out
    assert "flexion by 109 deg beyond" in out
    run = pipeline.open_run(tiny_run)
    knee, model = run.surrogate, run.reference_model
    pose = knee.reference_pose(flexion_deg=20.0)
    pose = replace(pose, superior=height_at_load(knee, pose, 1500.0))
    assert found["height"] == pose.superior
    assert found["axial_force"] == pytest.approx(1500.0, abs=1e-3)
    # Linear springs are proportional to their modulus.
    assert found["share"] == pytest.approx(0.5, rel=1e-9)
    assert found["pressed"] == pytest.approx(0.5e-3, abs=1e-8)
    assert found["peak"] == pytest.approx(model.spring_state(pose).pressure.max(), rel=1e-12)
    assert found["q2"] > 0.5
    assert found["forward"] > 0.0
    assert found["turned"] > 0.0


def test_pictures_of_a_run_show_its_tables(tiny_run):
    run = pipeline.open_run(tiny_run)
    assert run.figures.value["knee.medial_peak_pressure_MPa"] > 1.0
    axes = run.plot("medial_force", over="flexion", axes=Figure().subplots())
    assert [line.get_label() for line in axes.lines] == ["surrogate", "original"]
    cycle = read_table(tiny_run / "simulation.parquet", ("model", "medial_force_y_N"))
    wanted = cycle.medial_force_y_N[cycle.model == "original"]
    assert_allclose(axes.lines[1].get_ydata(), wanted, rtol=1e-12)
    axes = run.plot_held_out("area_m2", axes=Figure().subplots())
    names = [line.get_label() for line in axes.lines[:2]]
    assert names == ["medial", "lateral"]
    predicted = np.concatenate([line.get_ydata() for line in axes.lines[:2]])
    table = read_table(tiny_run / "samples" / "heldout_prediction.parquet", ("predicted_area_m2",))
    assert sorted(predicted) == sorted(table.predicted_area_m2)
    pressure = run.pressure_map(run.surrogate.reference_pose(20.0))
    shades = pressure.plot(Figure().subplots()).collections[0]
    assert_allclose(shades.get_array(), 1e-6 * pressure.pressure, rtol=1e-12)
    with pytest.raises(InputError, match="train the surrogate with a section"):
        run.pressure_map(run.surrogate.reference_pose(20.0), model="surrogate")
    with pytest.raises(InputError, match=r"column: expected one of .*found .heat"):
        run.plot("heat")
    assert (run.compare(run).difference == 0.0).all()


@pytest.mark.slow
def test_scipy_knee_rests_where_settle_finds_it(tiny_run, knee):
    figures = example("scipy_knee").main(tiny_run)
    assert figures["residual"] < 1e-4
    start = knee.reference_pose(20.0)
    simulator = KneeSimulator(neutral=start, rotation_stiffness=35.0)
    rest = settle(knee, simulator, flexion=start.flexion, axial_force=1000.0, start=start)
    assert figures["height"] == pytest.approx(rest.superior, abs=1e-9)
    assert 0.1 < figures["deepest"] < 50.0
    assert abs(figures["away"]) < 0.01


@pytest.mark.slow
def test_numba_loop_finds_the_heights_that_the_library_finds(tiny_run, knee):
    loop = example("numba_loop")
    figures = loop.main(tiny_run, count=200)
    assert figures["valid"] > 150
    assert 5.0 < figures["low"] < figures["middle"] < figures["high"] < 200.0
    poses = np.tile(knee.path([np.radians(20.0)]), (4, 1))
    poses[:, 3] += [-1e-3, 0.0, 1e-3, 0.0]
    poses[3, 4] += 3e-4  # out of contact
    solved = poses.copy()
    work = knee.packed.work()
    peaks, valid = loop.pressures(solved, knee.packed.address, loop.AXIAL, work)
    assert valid.all()
    for before, after, peak in zip(poses, solved, peaks, strict=True):
        height = height_at_load(knee, Pose.from_array(before), loop.AXIAL)
        assert after[4] == pytest.approx(height, abs=1e-10)
        loads = knee.loads(Pose.from_array(after))
        expected = [loads.medial.peak_pressure, loads.lateral.peak_pressure]
        assert_allclose(peak, expected, rtol=1e-12)


def test_joints_of_mujoco_are_the_pose():
    build_model = example("mujoco_knee").build_model
    model = build_model(KneeSimulator(), Pose())
    data = mujoco.MjData(model)
    names = [model.joint(k).name for k in range(model.njnt)]
    assert tuple(names[::-1]) == COORDINATES
    rng = np.random.default_rng(3)
    for _ in range(5):
        pose = Pose.from_array(rng.uniform(-1.0, 1.0, 6) * [1.0, 0.3, 0.5, 0.02, 0.03, 0.01])
        data.qpos = pose.array[::-1]
        mujoco.mj_forward(model, data)
        assert_allclose(data.body("femur").xmat.reshape(3, 3), pose.rotation_matrix, atol=1e-14)
        assert_allclose(data.body("femur").xpos, pose.translation, rtol=0, atol=1e-16)
        turning, moving = np.empty((3, 6)), np.empty((3, 6))
        body = model.body("femur").id
        mujoco.mj_jac(model, data, moving, turning, np.zeros(3), body)
        twist = np.concatenate([moving, turning])[:, ::-1]
        assert_allclose(twist, twist_jacobian(pose), rtol=0, atol=1e-14)
        # MuJoCo's own way from a force at a point to its joints gives the same.
        wrench, applied = rng.normal(size=6), np.zeros(6)
        mujoco.mj_applyFT(model, data, wrench[:3], wrench[3:], np.zeros(3), body, applied)
        assert_allclose(applied[::-1], generalised_force(pose, wrench), rtol=0, atol=1e-14)


@pytest.mark.slow
def test_mujoco_walks_as_the_simulator_does(tiny_run):
    figures = example("mujoco_knee").main(tiny_run, cycles=1)
    assert figures["steps"] == 5000
    assert 0.0 < figures["us_in_contact"] < figures["us_per_step"]
    # Measured: 0.006, 0.002, 0.023 degrees and 0.008, 0.001, 0.003 mm, most of it at the start,
    # where MuJoCo is at rest and the simulator moves already; a torque of the wrong sign gives 2.7
    # degrees.
    for name in ("flexion", "adduction", "rotation"):
        assert figures[name] < 0.04, name
    for name in ("anterior", "superior", "lateral"):
        assert figures[name] < 0.012, name
    assert mujoco.get_mjcb_passive() is None


def test_opensim_motion(tiny_run, tmp_path):
    figures = example("opensim_motion").main(tiny_run, tmp_path)
    table = read_table(tiny_run / "simulation.parquet")
    cycle = table[table["model"] == "surrogate"]
    assert figures["rows"] == len(cycle)
    assert figures["flagged"] == 0
    assert figures["largest"] == pytest.approx(cycle["total_force_y_N"].max(), rel=1e-6)
    written = {"cycle.mot", "loads.sto", "loads.xml", "loads.csv"}
    assert {path.name for path in tmp_path.iterdir()} == written
    loads = pd.read_csv(tmp_path / "loads.csv")
    assert_allclose(loads["total_force_y_N"], cycle["total_force_y_N"], rtol=1e-6, atol=1e-4)
