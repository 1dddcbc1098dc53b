"""Simulation of a study: reference path, simulator, waveforms by name, comparison."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from studies import SMOKE, TINY, WAVEFORMS

from dynamics.simulator.waveform_tables import ACTIVITIES
from foundation.base.pose import Pose
from pipeline.config.reading import load_config
from pipeline.config.simulation_schema import SimulationConfig
from pipeline.originals.contact_original import build_knee
from pipeline.simulation import (
    COMPARED,
    build_simulator,
    compare_cycles,
    gait_cycle,
)
from pipeline.store.samples import POSE_COLUMNS, read_table

TABLE = (
    "space.path.kind='table'",
    "space.path.flexion_deg=[0, 30, 60]",
    "space.path.adduction_deg=[0, 1, 2]",
    "space.path.rotation_deg=[0, -2, -4]",
    "space.path.anterior_mm=[1, 2, 3]",
    "space.path.superior_mm=[30, 31, 32]",
    "space.path.lateral_mm=[0.5, 0, -0.5]",
)


def test_table_of_a_path_is_taken_in_si_units():
    config = load_config(SMOKE, (*TINY, *TABLE))
    path = build_knee(config).reference_path(config)
    pose = path.poses(np.radians([30.0]))[0]
    expected = [*np.radians([30.0, 1.0, -2.0]), 2e-3, 31e-3, 0.0]
    np.testing.assert_allclose(pose, expected, rtol=0.0, atol=1e-12)


def test_settled_path_carries_the_axial_force(tiny_run):
    config = load_config(tiny_run / "config.toml")
    knee = build_knee(config)
    path = knee.reference_path(config)
    np.testing.assert_allclose(np.degrees(path.flexion[[0, -1]]), [-3.0, 63.0], rtol=1e-12, atol=0)
    for pose in path.poses(path.flexion):
        loads = knee.model.loads(Pose.from_array(pose))
        assert loads.force[1] == pytest.approx(config.space.path.axial_force_N, rel=1e-4)


def test_simulator_gets_si_units():
    config = SimulationConfig(
        medial_offset_mm=4.0,
        ap_stiffness_N_per_mm=20.0,
        lateral_stiffness_N_per_mm=10.0,
        rotation_stiffness_Nm_per_deg=0.5,
        adduction_stiffness_Nm_per_deg=2.0,
    )
    simulator = build_simulator(config, Pose(superior=0.03))
    assert simulator.medial_offset == pytest.approx(4e-3, rel=1e-12)
    assert simulator.anterior_stiffness == pytest.approx(20e3, rel=1e-12)
    assert simulator.lateral_stiffness == pytest.approx(10e3, rel=1e-12)
    assert simulator.rotation_stiffness == pytest.approx(0.5 * 180.0 / np.pi, rel=1e-12)
    assert simulator.adduction_stiffness == pytest.approx(2.0 * 180.0 / np.pi, rel=1e-12)


def test_axial_scale_and_period_reach_the_cycle():
    one, half = (
        gait_cycle(SimulationConfig(waveforms=str(WAVEFORMS), period_s=p, axial_scale=s))
        for p, s in ((1.0, 1.0), (2.0, 0.5))
    )
    np.testing.assert_allclose(half.axial_force, 0.5 * one.axial_force, rtol=1e-14, atol=0.0)
    np.testing.assert_array_equal(half.ap_force, one.ap_force)
    assert half.at(1.0)[0] == pytest.approx(one.at(0.5)[0], rel=1e-12)


def cycles(difference: dict[str, np.ndarray]) -> pd.DataFrame:
    original = pd.DataFrame({name: np.linspace(-1.0, 3.0, 5) for name in COMPARED})
    surrogate = original.copy()
    for name, values in difference.items():
        surrogate[name] += values
    return pd.concat([original.assign(model="original"), surrogate.assign(model="surrogate")])


def test_compared_cycles_are_in_the_units_for_people():
    error = np.array([0.0, 3e-3, 0.0, -4e-3, 0.0])
    rows = {row.column: row for row in compare_cycles(cycles({"anterior_m": error}))}
    assert set(rows) == set(COMPARED)
    found = rows["anterior_m"]
    assert found.unit == "mm"
    assert found.rms_difference == pytest.approx(np.sqrt(5.0), rel=1e-9)
    assert found.largest_difference == pytest.approx(4.0, rel=1e-9)
    assert found.range == pytest.approx(4000.0, rel=1e-12)
    assert found.peak == pytest.approx(3000.0, rel=1e-12)
    assert found.rms_over_range == pytest.approx(np.sqrt(5.0) / 4000.0, rel=1e-9)
    assert rows["superior_m"].rms_difference == 0.0


def test_constant_quantity_has_no_relative_difference():
    table = cycles({})
    table["lateral_m"] = np.where(table["model"] == "original", 0.0, 1e-3)
    rows = {row.column: row for row in compare_cycles(table)}
    assert rows["lateral_m"].rms_over_range is None
    assert rows["lateral_m"].rms_difference == pytest.approx(1.0, rel=1e-12)


def test_table_of_the_simulation_has_both_models_at_the_same_instants(tiny_run):
    table = read_table(tiny_run / "simulation.parquet")
    models = {name: rows.reset_index(drop=True) for name, rows in table.groupby("model")}
    assert set(models) == {"original", "surrogate"}
    for name in ("time_s", "gait_percent", "flexion_rad", "input_axial_force_N"):
        assert models["original"][name].equals(models["surrogate"][name])
    assert len(models["original"]) == 21
    poses = models["original"][list(POSE_COLUMNS)]
    assert np.isfinite(poses.to_numpy()).all()
    np.testing.assert_allclose(
        models["original"]["total_force_y_N"],
        models["original"]["medial_force_y_N"] + models["original"]["lateral_force_y_N"],
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize("name", ACTIVITIES)
def test_shipped_activities_are_selected_by_name(name):
    cycle = gait_cycle(SimulationConfig(waveforms=name, axial_scale=1.1))
    table = pd.read_csv(ACTIVITIES[name], comment="#")
    assert_allclose(cycle.percent, table["gait_percent"])
    # The first and the last row of a table are averaged.
    expected = 1.1 * table["axial_force_N"].to_numpy()
    assert_allclose(cycle.axial_force[1:-1], expected[1:-1], rtol=1e-12)


def test_iso_tables_are_read_with_their_reversals(tmp_path):
    phase = np.linspace(0.0, 2.0 * np.pi, 21)
    columns = (100 * phase / phase[-1], 20 - 20 * np.cos(phase), 900 + 0 * phase, np.sin(phase))
    rows = [",".join(f"{cell:.9f}" for cell in (*row, 0.0)) for row in np.column_stack(columns)]
    file = tmp_path / "own.csv"
    head = "cycle (%),flexion (deg),axial force (N),AP displacement (mm),rotation (deg)"
    file.write_text("\n".join([head, *rows]))
    keys = {"waveforms": str(file), "waveform_layout": "iso14243"}
    cycle = gait_cycle(SimulationConfig(**keys))
    assert_allclose(1e3 * cycle.anterior, -np.sin(phase), atol=1e-6)
    cycle = gait_cycle(SimulationConfig(**keys, waveform_reversed=("ap",)))
    assert_allclose(1e3 * cycle.anterior, np.sin(phase), atol=1e-6)
