"""Muscle forces by activation, on a mass on a spring and a damper: a plant with known equations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from dynamics.musculoskeletal import (
    Contractions,
    CoordinateMotion,
    LigamentSet,
    MuscleDrive,
    MuscleSet,
    PlantContacts,
    PlantForces,
    simulate_forward,
)
from dynamics.musculoskeletal.plant import length_derivatives
from foundation.base.errors import InputError, PoseError

MASS, STIFFNESS, DAMPING, MAX_FORCE = 0.5, 800.0, 6.0, 120.0
#: The muscle is this long at zero, and pulls towards positive values by this arm.
LENGTH, ARM = 0.3, 0.8


class PulledMass:
    """The mass moves along `x` [m]; a driven coordinate `drive` [m] pulls at the spring's end."""

    free = secondary = ("x",)
    muscles = MuscleSet(
        ("pull",), np.array([MAX_FORCE]), np.array([0.1]), np.array([[0.01], [1.0]])
    )
    ligaments = LigamentSet((), *(np.zeros(0) for _ in range(4)))

    def __init__(self, time, drive):
        values = np.column_stack([np.asarray(drive, dtype=float), np.zeros(len(time))])
        rest = np.zeros_like(values)
        self.motion = CoordinateMotion(
            ("drive", "x"), (False, False), np.asarray(time, dtype=float), values, rest, rest
        )

    def forces(self, frame, values, speeds):
        stretch = values - self.motion.values[frame, :1]
        return PlantForces(STIFFNESS * stretch + DAMPING * speeds, np.array([[ARM]]))

    def columns(self, frame, values, speeds, tensions):
        return np.array([[-STIFFNESS]])

    def mass(self, frame, values):
        return np.array([[MASS]])

    def contractions(self, frame, values, speeds):
        length, rate = LENGTH - ARM * values, -ARM * speeds
        active = MAX_FORCE * (1.0 - 4.0 * (length - LENGTH) ** 2) / (1.0 - 2.0 * rate)
        return Contractions(active, 300.0 * np.maximum(length - 0.25, 0.0), 5.0 * rate)

    def outside(self, values):
        return np.zeros(values.shape, dtype=np.bool_)

    def ligament_tensions(self, frame, values, speeds):
        return np.zeros(0)


def pulled_mass(count=200, step=0.002, end=0.05):
    """Return the mass, without contact, while its spring moves steadily from zero to an end."""
    time = step * np.arange(count)
    return PlantContacts(PulledMass(time, end * time / time[-1]), ())


def drive(activation, count=200):
    return MuscleDrive(np.full((count, 1), activation), np.full((count, 1), np.nan))


def test_an_equilibrium_is_where_spring_and_muscle_balance():
    contacts = pulled_mass()
    found = simulate_forward(contacts, np.array([30.0]), np.zeros(1), kind="equilibrium")
    expected = contacts.plant.motion.values[:, 0] + ARM * 30.0 / STIFFNESS
    assert_allclose(found.values[:, 0], expected, rtol=0, atol=1e-12)
    assert_allclose(found.speeds, 0.0)
    assert_allclose(found.muscle_forces, 30.0)


def test_an_active_muscle_balances_the_spring_by_its_length():
    contacts = pulled_mass()
    found = simulate_forward(contacts, drive(0.6), np.zeros(1), kind="equilibrium")
    for frame in (0, 77, 199):
        active, passive, damping = contacts.plant.contractions(
            frame, found.values[frame], np.zeros(1)
        )
        tension = 0.6 * active + passive + damping
        assert_allclose(found.muscle_forces[frame], tension)
        stretch = found.values[frame] - contacts.plant.motion.values[frame, 0]
        assert_allclose(STIFFNESS * stretch, ARM * tension, rtol=1e-9)
    assert_allclose(found.activations, 0.6)


@pytest.mark.parametrize("activation", [0.0, 0.7])
def test_motion_converges_to_that_of_a_fine_integrator(activation):
    def rates(time, state, plant):
        frame, values, speeds = 0, state[:1], state[1:]
        active, passive, damping = plant.contractions(frame, values, speeds)
        tension = np.maximum(activation * active + passive + damping, 0.0)
        at = plant.motion.values[-1, 0] * time / plant.motion.time[-1]
        force = ARM * tension - STIFFNESS * (values - at) - DAMPING * speeds
        return np.concatenate([speeds, force / MASS])

    errors = []
    for count in (200, 400):
        contacts = pulled_mass(count, 0.4 / (count - 1))
        found = simulate_forward(contacts, drive(activation, count), np.zeros(1))
        plant = contacts.plant
        exact = solve_ivp(
            *(rates, (0.0, 0.4), np.zeros(2)),
            **{"args": (plant,), "t_eval": plant.motion.time, "rtol": 1e-9, "atol": 1e-12},
        )
        errors.append(np.abs(found.values[:, 0] - exact.y[0]).max())
    assert errors[1] < 0.6 * errors[0] < 2e-3


def test_a_muscle_does_not_push():
    plant = PulledMass([0.0, 0.1], [0.0, 0.0])
    tension = drive(0.01, 2).tensions(plant, 0, np.array([0.2]), np.array([3.0]))
    active, passive, damping = plant.contractions(0, np.array([0.2]), np.array([3.0]))
    assert (0.01 * active + passive + damping < 0.0).all()
    assert_allclose(tension, 0.0)


def test_derivatives_by_length_are_those_of_each_muscle():
    rng = np.random.default_rng(3)
    arms = rng.normal(size=(4, 5))
    arms[:, 2] = 0.0  # A muscle of another joint.
    slopes, viscosities = rng.normal(size=5), rng.normal(size=5)

    def tensions(values, speeds):
        return 7.0 + slopes * -(values @ arms) + viscosities * -(speeds @ arms)

    found = length_derivatives(tensions, arms, rng.normal(size=4), rng.normal(size=4))
    crossing = np.array([1, 1, 0, 1, 1])
    assert_allclose(found.by_length, crossing * slopes, atol=1e-6)
    assert_allclose(found.by_rate, crossing * viscosities, atol=1e-6)
    moments = rng.normal(size=(6, 5))
    by_value = -(moments * slopes * crossing) @ arms.T
    by_speed = -(moments * viscosities * crossing) @ arms.T
    assert_allclose(found.columns(moments, arms), by_value, atol=1e-5)
    assert_allclose(found.columns(moments, arms, 100.0), by_value + 100.0 * by_speed, atol=1e-3)
    assert_allclose(found.speed_columns(moments, arms), by_speed, atol=1e-5)


@pytest.mark.parametrize("kind", ["equilibrium", "dynamic"])
def test_instants_before_one_without_balance_are_kept(kind):
    plant = PulledMass(0.1 * np.arange(6.0), np.zeros(6))
    whole = PulledMass.forces

    def forces(frame, values, speeds):
        if frame < 4:
            return whole(plant, frame, values, speeds)
        return PlantForces(np.full(1, 1e6) + 1e12 * values**2, np.array([[ARM]]))

    plant.forces = forces
    found = simulate_forward(PlantContacts(plant, ()), np.array([9.0]), np.zeros(1), kind=kind)
    assert found.failure.startswith("0.4 s: no ")
    assert_allclose(found.time, [0.0, 0.1, 0.2, 0.3])
    assert [len(rows) for rows in (found.values, found.muscle_forces, found.loads)] == [4, 4, 4]
    plant.forces = lambda *at: whole(plant, *at)
    undisturbed = simulate_forward(
        PlantContacts(plant, ()), np.array([9.0]), np.zeros(1), kind=kind
    )
    assert undisturbed.failure is None
    assert_allclose(found.values, undisturbed.values[:4], rtol=0, atol=0)


@pytest.mark.parametrize("jump", [1e-3, 0.5, 40.0])
@pytest.mark.parametrize("kind", ["equilibrium", "dynamic"])
def test_a_jump_of_forces_is_where_they_change_sign(kind, jump):
    """Newton's method steps back and forth across the jump."""
    place, pull = 0.01, STIFFNESS * 0.01 / ARM  # The spring balances the muscle at the jump.
    plant = PulledMass(np.linspace(0.0, 6.0, 60), np.zeros(60))
    whole = PulledMass.forces

    def forces(frame, values, speeds):
        needed, arms = whole(plant, frame, values, speeds)
        return PlantForces(needed + jump * np.where(values > place, 1.5, -0.5), arms)

    plant.forces = forces
    found = simulate_forward(PlantContacts(plant, ()), np.array([pull]), np.zeros(1), kind=kind)
    assert found.failure is None
    assert_allclose(found.values[-1], place, rtol=0, atol=1e-6)
    assert 0.49 * jump < np.abs(found.imbalance[-1, 0]) < 1.51 * jump
    if kind == "equilibrium":
        assert_allclose(found.values, place, rtol=0, atol=1e-6)
        assert (np.abs(found.imbalance) > 0.49 * jump).all()


def test_an_equilibrium_that_is_lost_leads_to_another_one():
    """Two wells, of which the load empties the first: a snap like that of a tilting patella."""
    stiffness, width = 8e6, 1e-4
    loads = np.linspace(-5.0, 5.0, 11)
    plant = PulledMass(0.1 * np.arange(11.0), np.zeros(11))
    plant.forces = lambda frame, values, speeds: PlantForces(
        stiffness * (values**3 - width * values) + DAMPING * speeds - loads[frame],
        np.array([[ARM]]),
    )
    plant.columns = lambda frame, values, *_: -stiffness * np.diag(3.0 * values**2 - width)
    found = simulate_forward(
        PlantContacts(plant, ()), np.zeros(1), -0.01 * np.ones(1), kind="equilibrium"
    )
    assert found.failure is None
    assert_allclose(found.imbalance, 0.0)
    assert (np.diff(found.values[:, 0]) > 0.0).all()
    assert (found.values[:8] < 0.0).all()
    assert (found.values[9:] > 0.01).all()
    left = stiffness * (found.values[:, 0] ** 3 - width * found.values[:, 0]) - loads
    assert_allclose(left, 0.0, atol=1e-3)


def equilibrium(forces, slopes, start):
    """Return the equilibrium of a mass on a spring with a force (1,) [N] of its place."""
    plant = PulledMass([0.0, 0.1], [0.0, 0.0])
    plant.forces = lambda _, values, __: PlantForces(forces(values), np.array([[ARM]]))
    plant.columns = lambda _, values, *__: -np.atleast_2d(slopes(values))
    contacts = PlantContacts(plant, ())
    pull = np.array([30.0])
    found = simulate_forward(contacts, pull, np.array([start]), kind="equilibrium")
    return float(found.values[0, 0])


def test_whole_steps_that_diverge_are_shortened():
    """Newton's method on an arc tangent leaves its root from beyond 1.4 widths."""
    width = 1e-3

    def forces(values):
        return ARM * 30.0 + 50.0 * np.arctan((values - 0.02) / width)

    found = equilibrium(forces, lambda x: 50.0 * width / (width**2 + (x - 0.02) ** 2), 0.024)
    assert found == pytest.approx(0.02, abs=1e-9)


def test_no_balance_at_the_first_instant_is_named():
    plant = PulledMass([0.0, 0.1, 0.2], [0.0, 0.0, 0.0])
    plant.forces = lambda frame, values, speeds: PlantForces(5.0 + values**2, np.array([[ARM]]))
    with pytest.raises(PoseError, match=r"^0 s: no "):
        simulate_forward(PlantContacts(plant, ()), np.zeros(1), np.zeros(1), kind="equilibrium")


def test_drives_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"expected shape \(1\) or \(200, 1\), found \(3, 1\)"):
        simulate_forward(pulled_mass(), drive(0.5, 3), np.zeros(1))
    with pytest.raises(InputError, match="tensions"):
        simulate_forward(pulled_mass(), np.full(4, MAX_FORCE), np.zeros(1))
    with pytest.raises(InputError, match=r"found 1\.2"):
        MuscleDrive(np.full((2, 1), 1.2), np.full((2, 1), np.nan))
    with pytest.raises(InputError, match="200"):
        MuscleDrive(np.zeros((2, 1)), np.zeros((200, 1)))
