"""All combinations of inputs, wear and frames: compared, stored, and told by the report."""

import json
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from shapes import plate

from dynamics.simulator.equations import SimulationError
from dynamics.simulator.result import CountedFlag, SimulationResult, Statistics
from dynamics.simulator.waveform_tables import LEVEL_WALKING, load_gait_cycle
from dynamics.wear.cycle_wear import Wear, WearLaw
from foundation.base.flags import Flag, FlagKind
from pipeline.reports.gait_section import combinations_of, load_shares, wear_of
from pipeline.reports.inputs import read_run
from pipeline.simulation import ModelCycle
from pipeline.stages.gait_cycle import COMBINATIONS, compare_combinations, frames_of, nearest_faces
from pipeline.store.documents import read_document
from pipeline.store.run_documents import COMPARED, LOADS, PRESSURES, Combinations, Difference

INSTANTS = 21
STATISTICS = Statistics(**{each.name: 7 for each in fields(Statistics)})


def result_of(shift=0.0, factor=1.0):
    """Return a cycle whose positions are shifted and whose loads are multiplied."""
    u = np.linspace(0.0, 1.0, INSTANTS)
    poses = np.zeros((INSTANTS, 6))
    poses[:, 2] = 0.1 * u + shift
    poses[:, 3] = 4e-3 * u + shift
    loads = np.zeros((2, INSTANTS, 12))
    loads[:, :, 1] = factor * np.array([1200.0, 800.0])[:, None] * np.sin(np.pi * u)
    loads[:, :, 7] = factor * np.array([20e6, 15e6])[:, None] * np.sin(np.pi * u)
    return SimulationResult(
        time=u,
        gait_percent=100.0 * u,
        poses=poses,
        rates=np.gradient(poses, u, axis=0),
        compartment_loads=loads,
        loads=loads.sum(axis=0),
        applied=np.zeros((INSTANTS, 3)),
        statistics=STATISTICS,
        flags=(CountedFlag(Flag(FlagKind.RIM, "medial"), 0.5, 3),),
    )


@pytest.fixture(autouse=True)
def dry(monkeypatch):
    """Put known volumes in the place of wear, which has tests of its own."""

    def worn(cycle):
        medial = 3e-15 if cycle.model == MODELS[0] else 3.03e-15
        return Wear(np.array([medial, 1e-15]))

    monkeypatch.setattr(ModelCycle, "wear", property(worn))


MODELS = ("the original", "the surrogate")


def compared(drive, **known):
    cycle = load_gait_cycle(LEVEL_WALKING, 1.0)
    return compare_combinations(*MODELS, drive, cycle, WearLaw(), **known)


def drive_both(model, cycle):
    """Take the surrogate along with positions 0.1 mm off and loads 1 % too high."""
    del cycle
    return result_of() if model == "the original" else result_of(1e-4, 1.01)


def test_eleven_with_the_nominal_first():
    assert len(COMBINATIONS) == len({c.name for c in COMBINATIONS}) == 11
    assert set(COMBINATIONS[0].factors.values()) == {1.0}
    changed = [[f for f in c.factors.values() if f != 1.0] for c in COMBINATIONS[1:]]
    assert [len(c) for c in changed] == [1] * 8 + [3] * 2


@pytest.mark.parametrize("combination", COMBINATIONS, ids=lambda c: c.name)
def test_waveforms_are_multiplied(combination):
    cycle = load_gait_cycle(LEVEL_WALKING, 1.3)
    varied = combination.applied_to(cycle)
    assert varied.period == cycle.period
    for name, factor in combination.factors.items():
        assert_allclose(getattr(varied, name), factor * getattr(cycle, name), rtol=1e-14)
    for time in np.linspace(0.0, 1.3, 8):
        found, given = varied.at(time)[0], cycle.at(time)[0]
        assert_allclose(found, combination.flexion * given, rtol=1e-9, atol=1e-12)


def test_differences():
    rows = compared(drive_both)
    assert [row.name for row in rows] == [c.name for c in COMBINATIONS]
    axial = rows[0].differences["total_force_y_N"]
    assert_allclose(axial.peak, 2000.0, rtol=1e-12)
    # The root mean square of a half sine over its 21 samples.
    shape = np.sqrt(np.mean(np.sin(np.pi * np.linspace(0.0, 1.0, INSTANTS)) ** 2))
    assert_allclose(axial.rms, 0.01 * 2000.0 * shape, rtol=1e-9)
    anterior = rows[0].differences["anterior_m"]
    assert_allclose([anterior.rms, anterior.range], [1e-4, 4e-3], rtol=1e-9)
    pressure = rows[0].differences["lateral_peak_pressure_Pa"]
    assert_allclose([pressure.peak, pressure.surrogate_peak], [15e6, 15.15e6], rtol=1e-9)
    assert rows[0].wear == {"original": [3e-15, 1e-15], "surrogate": [3.03e-15, 1e-15]}
    assert rows[0].flags["surrogate"] == [
        "medial: contact reaches the rim, where the peak pressure has no limit at 0.500 s, the "
        "first of 3 instants (14 % of the cycle)"
    ]
    assert set(rows[0].differences) == set(COMPARED)
    json.dumps([row.content() for row in rows], allow_nan=False)


def test_known_results_are_not_simulated_again():
    driven = []

    def drive(model, cycle):
        driven.append(model)
        return drive_both(model, cycle)

    nominal = {"original": result_of(), "surrogate": result_of()}
    wear = SimpleNamespace(
        volume_m3=np.array([[5e-15, 4e-15], [3e-15, 2e-15]]),
        aspect=np.ones(2),
        ratio=np.ones(2),
    )
    done = []
    rows = compared(drive, nominal=nominal, wear=wear, done=lambda: done.append(1))
    assert len(driven) == 20
    assert len(done) == 11
    assert {difference.rms for difference in rows[0].differences.values()} == {0.0}
    assert rows[1].differences["total_force_y_N"].rms > 0.0
    assert rows[0].wear == {"original": [5e-15, 4e-15], "surrogate": [3e-15, 2e-15]}
    assert rows[1].wear == {"original": [3e-15, 1e-15], "surrogate": [3.03e-15, 1e-15]}


def test_failure_of_one_is_told_and_the_others_go_on():
    def drive(model, cycle):
        # Only flexion of 10 % more is beyond 60 degrees.
        if model == "the surrogate" and np.degrees(cycle.flexion.max()) > 60.0:
            raise SimulationError("the pose left the domain at 0.7 s")
        return drive_both(model, cycle)

    rows = compared(drive)
    (failed,) = (row for row in rows if row.failure is not None)
    assert failed.name == "flexion +10 %"
    reason = "the pose left the domain at 0.7 s"
    assert failed.failure.content() == {"model": "surrogate", "reason": reason}
    found = combinations_of(Combinations(wear_factor_per_Pa=1e-16, combinations=rows))
    assert [item["where"] for item in found["failures"]] == ["flexion +10 %"]


def test_a_small_load_is_not_compared():
    def off(rms, peak):
        return Difference(rms=rms, largest=rms, range=peak, peak=peak, surrogate_peak=peak)

    loads = {name: off(1.0, 100.0) for name in LOADS}
    loads["total_force_y_N"] = off(2.0, 2000.0)
    loads["total_force_z_N"] = off(0.1, 0.4)
    loads["total_moment_x_Nm"] = off(0.01, 10.0)
    loads["total_moment_y_Nm"] = off(0.01, 0.09)
    shown = load_shares(loads)
    # Forces are measured by the largest force, moments by the largest moment, 100 N m here.
    assert set(loads) - set(shown) == {"total_force_z_N", "total_moment_y_Nm"}
    assert_allclose(shown["total_moment_x_Nm"], 0.1, rtol=1e-12)


def test_triangles_of_a_coarse_copy_are_those_of_the_mesh_there():
    mesh = plate(40e-3, 60)
    assert (nearest_faces(mesh, mesh) == np.arange(len(mesh.faces))).all()
    coarse = plate(40e-3, 20)
    found = nearest_faces(mesh, coarse)
    fine, few = (m.vertices[m.faces].mean(axis=1) for m in (mesh, coarse))
    assert np.linalg.norm(fine[found] - few, axis=1).max() < 40e-3 / 60


def test_of_two_results():
    mesh = plate(40e-3, 5)
    state = SimpleNamespace(pressure=np.arange(50.0))
    model = SimpleNamespace(femur=mesh, tibia=mesh, spring_state=lambda pose: state)
    results = {"original": result_of(), "surrogate": result_of(1e-4, 1.01)}
    found = frames_of(model, results)
    # The results have an instant every 5 %.
    assert_allclose(found.gait_percent, np.linspace(0.0, 100.0, 21), rtol=0.0, atol=1e-12)
    assert found.centre_m.shape == (2, 21, 2, 3)
    assert found.pressure_Pa.shape == (21, 50)
    assert_allclose(found.poses, results["original"].poses, rtol=0.0, atol=0.0)


def test_figures_are_those_of_the_document(tiny_run):
    document = read_document(tiny_run / "combinations.json", Combinations)
    found = combinations_of(document)
    for row, stored in zip(found["rows"], document.combinations, strict=True):
        anterior, rotation = (stored.differences[key] for key in ("anterior_m", "rotation_rad"))
        assert_allclose(row["anterior_percent"], 100.0 * anterior.rms / anterior.range)
        assert_allclose(row["rotation_percent"], 100.0 * rotation.rms / rotation.range)
        pressures = [stored.differences[name] for name in PRESSURES]
        off = [100.0 * p.rms / p.peak for p in pressures]
        assert_allclose(row["peak_pressure_percent"], max(off), rtol=1e-9)
        truth, other = (sum(stored.wear[model]) for model in ("original", "surrogate"))
        assert_allclose(row["wear_percent"], 100.0 * (other / truth - 1.0), rtol=1e-9)


def test_wear_is_that_of_the_arrays(tiny_run):
    stored = read_run(tiny_run).wear
    assert stored is not None
    wear = wear_of(stored)
    total = 1e15 * stored.volume_m3[0].sum()
    assert_allclose(wear["per_million_cycles"]["original"]["total_mm3"], total, rtol=1e-12)
    one, _ = stored.depth_m
    deepest = wear["deepest_per_million_cycles"]["original_um"]
    assert_allclose(deepest, 1e12 * one.max(), rtol=1e-12)
    mass = 1e12 * 940.0 * stored.volume_m3[0].sum()
    assert_allclose(wear["per_million_cycles"]["original"]["mass_mg"], mass, rtol=1e-12)
