"""Simulation against closed forms, conservation laws and other integrators."""

from dataclasses import replace

import naive_simulator
import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

import dynamics.simulator.integrator
from dynamics import (
    AppliedLoads,
    EquilibriumError,
    KneeSimulator,
    Ligament,
    SimulationError,
    gait,
    load_gait_cycle,
    settle,
    simulate,
)
from dynamics.simulator.knee_simulator import FREE_COORDINATES
from dynamics.simulator.waveform_tables import LEVEL_WALKING
from foundation.base.errors import InputError
from foundation.base.loads import LOAD_COLUMNS
from foundation.base.pose import Pose

PLANE = {"along": np.inf, "across": np.inf}
HELD = KneeSimulator(medial_offset=0.0, lateral_stiffness=1e4)


@pytest.fixture(scope="module")
def walking():
    return load_gait_cycle(LEVEL_WALKING, 1.0)


def linear(knee):
    """Two springs of 10 N/um that also pull."""
    return knee(stiffness=1e7, exponent=1.0, always=True, **PLANE)


@pytest.mark.parametrize("damping", [0.0, 500.0, 4000.0])
def test_free_vibration_is_that_of_the_textbook(knee, constant, damping):
    """m y'' + c y' + 2 k y = 0 from rest at y0 (Rao, Mechanical Vibrations, section 2.6)."""
    simulator = replace(HELD, superior_damping=damping)
    rest = -1000.0 / 2e7
    start = Pose(superior=rest + 1e-5)
    options = {"rtol": 1e-7, "samples": 101}
    result = simulate(linear(knee), simulator, constant(0.02), initial=start, **options)
    decay = damping / (2.0 * simulator.superior_mass)
    natural = np.sqrt(2e7 / simulator.superior_mass)
    damped = np.sqrt(natural**2 - decay**2)
    t = result.time
    envelope = 1e-5 * np.exp(-decay * t)
    expected = envelope * (np.cos(damped * t) + decay / damped * np.sin(damped * t))
    assert_allclose(result.poses[:, 4] - rest, expected, rtol=0.0, atol=1e-9)
    # All other coordinates stay.
    assert_allclose(result.poses[:, [1, 2, 3, 5]], 0.0, rtol=0.0, atol=1e-12)


#: Two collaterals and a cruciate, taut: they press the condyles into their dishes.
BUNDLES = (
    Ligament("mcl", [0.0, 5e-3, -40e-3], [-4e-3, -60e-3, -34e-3], 55.5e-3, 60e3, "linear"),
    Ligament("lcl", [2e-3, 4e-3, 40e-3], [-9e-3, -55e-3, 38e-3], 52e-3, 8e6, "quadratic"),
    Ligament("pcl", [-2e-3, 2e-3, 3e-3], [-20e-3, -25e-3, 0.0], 27.6e-3, 9e6, "quadratic"),
)


def test_energy_is_kept_without_damping(knee, constant):
    """Drift below 1e-6 of what is exchanged; contact, springs with a gap, ligaments, loads."""
    dishes, cycle = knee(stiffness=1e7), constant(0.03, flexion=0.4, axial=0.0, ap=40.0, torque=1.0)
    simulator = replace(
        HELD, adduction_stiffness=50.0, ligaments=BUNDLES, anterior_gap=1e-3,
        **{f"{name}_damping": 0.0 for name in FREE_COORDINATES},
    )  # fmt: skip
    start = Pose(0.4, 0.01, 0.05, 2e-3, -1.7e-3, 5e-4)  # a knock to all coordinates
    result = simulate(dishes, simulator, cycle, initial=start, samples=51, rtol=1e-9)
    assert (result.loads[:, 1] > 100.0).all()
    assert np.ptp(result.poses[:, 3]) > 1e-3
    potential = [
        dishes.energy(pose)
        + naive_simulator.stored_energy(simulator, pose)
        + naive_simulator.load_energy(pose, AppliedLoads(*result.applied[0]))
        for pose in map(Pose.from_array, result.poses)
    ]
    kinetic = 0.5 * result.rates[:, 1:] ** 2 @ simulator.inertia
    drift = kinetic + potential - kinetic[0] - potential[0]
    assert np.abs(drift).max() < 1e-6 * np.ptp(kinetic)


def test_result_has_every_quantity_and_counts_what_it_cost(knee, walking):
    dishes, simulator = knee(), KneeSimulator()
    flexion, applied = walking.at(0.0)
    start = settle(
        dishes, simulator, flexion=flexion, axial_force=applied.axial_force, start=Pose()
    )
    dishes.calls.clear()
    seen = []
    result = simulate(dishes, simulator, walking, samples=31, initial=start, progress=seen.append)
    cost = result.statistics
    # A Jacobian at the beginning of a step and at the end of the last, seven more stages each; and
    # one evaluation per reported instant, of which the last is that of the last state.
    assert cost.jacobians == cost.steps + 1
    assert cost.derivatives <= cost.jacobians + 7 * (cost.steps + cost.rejected)
    assert cost.derivatives >= cost.jacobians + 7 * cost.steps
    assert cost.evaluations <= cost.derivatives
    assert len(dishes.calls) - cost.evaluations in (30, 31)
    assert dishes.calls.count("loads") <= 7 * (cost.steps + cost.rejected)
    assert 100 <= cost.steps < 400
    assert 0 <= cost.rejected < 0.3 * cost.steps
    assert cost.evaluations < 2500
    assert cost.elapsed > 0.0
    assert len(seen) == cost.steps + 2
    assert seen[0] == 0.0
    assert seen[-1] == 1.0
    assert seen == sorted(seen)
    assert result.poses.shape == result.rates.shape == (31, 6)
    assert result.loads.shape == (31, 12)
    assert result.compartment_loads.shape == (2, 31, 12)
    assert_allclose(result.gait_percent, np.linspace(0, 100, 31), rtol=1e-12)
    assert_allclose(result.applied, walking.applied(result.time), rtol=1e-12)
    assert_allclose(result.poses[:, 0], walking.motion("flexion", result.time)[0], rtol=1e-12)
    for k in (0, 17):
        loads = dishes.loads(Pose.from_array(result.poses[k]))
        assert_allclose(result.loads[k], loads.total.array, rtol=1e-12)
        assert_allclose(result.compartment_loads[1, k], loads.lateral.array, rtol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        result.poses[0, 0] = 1.0


def test_columns_carry_every_array_with_its_unit(knee, constant):
    result = simulate(knee(), KneeSimulator(), constant(0.01), samples=3)
    table = result.columns()
    assert all(column.shape == (3,) for column in table.values())
    assert len(table) == 2 + 12 + 3 + 3 * len(LOAD_COLUMNS)
    assert_allclose(table["superior_m"], result.poses[:, 4], rtol=0.0)
    assert_allclose(table["superior_rate_m_per_s"], result.rates[:, 4], rtol=0.0)
    assert_allclose(table["axial_force_N"], 1000.0, rtol=1e-12)
    assert_allclose(table["medial_force_y_N"], result.compartment_loads[0, :, 1], rtol=0.0)
    assert_allclose(table["total_peak_pressure_Pa"], result.loads[:, 7], rtol=0.0)


@pytest.mark.slow
def test_last_cycle_of_several_is_returned(knee, walking):
    one = simulate(knee(), KneeSimulator(), walking, samples=21)
    two = simulate(knee(), KneeSimulator(), walking, samples=21, cycles=2)
    assert_allclose(two.time, 1.0 + one.time, rtol=1e-12)
    assert_allclose(two.gait_percent, one.gait_percent, rtol=1e-12)
    # The start is forgotten: the second cycle ends as it began, up to tolerance.
    assert_allclose(two.poses[-1], two.poses[0], rtol=0.0, atol=1e-4)
    assert_allclose(two.poses[-1], one.poses[-1], rtol=0.0, atol=1e-5)


def test_failure_of_the_model_is_chained_with_time_and_pose(knee, walking):
    class Failing(knee):
        def loads(self, pose, order=0):
            if pose.flexion > 0.8:
                raise ArithmeticError("no such surface")
            return super().loads(pose, order)

    with pytest.raises(SimulationError, match=r"failed at 0\.6\d* s, flexion 4[5-9]\.") as caught:
        simulate(Failing(), KneeSimulator(), walking)
    assert isinstance(caught.value.__cause__, ArithmeticError)


def test_jacobian_that_is_not_finite_is_refused(knee, walking):
    class Undefined(knee):
        def loads(self, pose, order=0):
            loads = super().loads(pose, 1)
            if pose.flexion > 0.8:
                loads.__dict__["total_jacobian"] = np.full((6, 6), np.nan)
            return loads

    with pytest.raises(SimulationError, match=r"not finite at 0\.6"):
        simulate(Undefined(), KneeSimulator(), walking)


def test_knee_that_nothing_holds_dislocates(knee, constant):
    simulator = replace(HELD, anterior_stiffness=0.0)
    cycle = constant(2.0, ap=100.0)
    start = Pose(superior=-((500.0 / 1.3e9) ** (2 / 3)))
    with pytest.raises(SimulationError, match=r"dislocated at .*anterior -") as caught:
        simulate(knee(**PLANE), simulator, cycle, initial=start)
    assert "mm" in str(caught.value)
    with pytest.raises(EquilibriumError, match="no restoring force on anterior"):
        simulate(knee(**PLANE), simulator, cycle)


def test_too_many_steps_are_reported_with_time_and_pose(knee, walking, monkeypatch):
    monkeypatch.setattr(dynamics.simulator.integrator, "_MOST_STEPS", 20)
    with pytest.raises(
        SimulationError, match=r"stopped at 0\.0\d+ s, flexion .* mm: the end .* after 20 steps"
    ):
        simulate(knee(), KneeSimulator(), walking)


def test_start_is_where_the_equilibrium_is_looked_for(knee, constant):
    class Shifted(knee):
        def loads(self, pose, order=0):
            return super().loads(replace(pose, superior=pose.superior - 0.041), order)

    with pytest.raises(EquilibriumError, match="nearer to contact"):
        simulate(Shifted(), KneeSimulator(), constant(0.01))
    result = simulate(
        Shifted(), KneeSimulator(), constant(0.01), start=Pose(superior=0.042), samples=3
    )
    assert_allclose(result.loads[:, 1], 1000.0, rtol=1e-3)


def test_gait_is_the_shipped_cycle_about_the_reference_pose(knee, walking):
    class Known(type(linear(knee))):
        def reference_pose(self, flexion_deg):
            return Pose(adduction=0.01, rotation=0.02, anterior=flexion_deg, superior=1e-3)

    model = linear(knee)
    neutral = Pose(superior=1e-3)
    expected = simulate(model, KneeSimulator(neutral=neutral), walking, samples=11)
    model.__class__ = Known
    result = gait(model, samples=11)
    assert np.array_equal(result.poses, expected.poses)
    assert result.to_frame().shape == (11, len(result.columns()))
    axes = result.plot("anterior", over="flexion", axes=Figure().subplots())
    assert np.array_equal(axes.lines[0].get_ydata(), result.poses[:, 3])
    with pytest.raises(InputError, match=r"simulator: expected one .* KneeSimulator\(neutral"):
        gait(linear(knee))
