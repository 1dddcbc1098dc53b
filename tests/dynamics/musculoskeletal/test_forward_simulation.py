"""Forward simulations and what they prescribe."""

import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from dynamics.motion.motion_tables import read_motion_table
from dynamics.musculoskeletal.forward_simulation import simulate_forward
from dynamics.musculoskeletal.joint_contact import PlantContacts
from dynamics.musculoskeletal.plant import (
    Contractions,
    CoordinateMotion,
    LigamentSet,
    MuscleSet,
    PlantForces,
    length_derivatives,
)
from dynamics.musculoskeletal.prescribed_motion import (
    BodyForce,
    Course,
    instants,
    prescribe_motion,
    read_prescribed,
    write_external_loads,
)
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

    def ligament_tensions(self, frame, values, speeds):
        return np.zeros(0)


def pulled_mass(count=200, step=0.002, end=0.05):
    """Return the mass, without contact, while its spring moves steadily from zero to an end."""
    time = step * np.arange(count)
    return PlantContacts(PulledMass(time, end * time / time[-1]), ())


def test_an_equilibrium_is_where_spring_and_muscle_balance():
    contacts = pulled_mass()
    found = simulate_forward(
        contacts, np.array([30.0 / MAX_FORCE]), np.zeros(1), kind="equilibrium"
    )
    expected = contacts.plant.motion.values[:, 0] + ARM * 30.0 / STIFFNESS
    assert_allclose(found.values[:, 0], expected, rtol=0, atol=1e-12)
    assert_allclose(found.speeds, 0.0)
    assert_allclose(found.muscle_forces, 30.0)


def test_an_active_muscle_balances_the_spring_by_its_length():
    contacts = pulled_mass()
    found = simulate_forward(
        contacts, np.array([0.6]), np.zeros(1), fibre_forces=True, kind="equilibrium"
    )
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
        found = simulate_forward(contacts, np.array([activation]), np.zeros(1), fibre_forces=True)
        plant = contacts.plant
        exact = solve_ivp(
            *(rates, (0.0, 0.4), np.zeros(2)),
            **{"args": (plant,), "t_eval": plant.motion.time, "rtol": 1e-9, "atol": 1e-12},
        )
        errors.append(np.abs(found.values[:, 0] - exact.y[0]).max())
    assert errors[1] < 0.6 * errors[0] < 2e-3


def test_a_muscle_does_not_push():
    plant = PulledMass([0.0, 0.1], [0.0, 0.0])
    rest = plant.contractions
    plant.contractions = lambda *at: rest(*at)._replace(damping=np.array([-500.0]))
    found = simulate_forward(
        PlantContacts(plant, ()), np.array([0.5]), np.zeros(1), fibre_forces=True
    )
    assert_allclose(found.muscle_forces, 0.0)


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
    pull = np.array([9.0 / MAX_FORCE])
    found = simulate_forward(PlantContacts(plant, ()), pull, np.zeros(1), kind=kind)
    assert found.failure.startswith("0.4 s: no ")
    assert_allclose(found.time, [0.0, 0.1, 0.2, 0.3])
    assert [len(rows) for rows in (found.values, found.muscle_forces, found.loads)] == [4, 4, 4]
    plant.forces = lambda *at: whole(plant, *at)
    undisturbed = simulate_forward(PlantContacts(plant, ()), pull, np.zeros(1), kind=kind)
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
    found = simulate_forward(
        PlantContacts(plant, ()), np.array([pull / MAX_FORCE]), np.zeros(1), kind=kind
    )
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
    pull = np.array([30.0 / MAX_FORCE])
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


SYSTEM = SimpleNamespace(
    coordinates=("flex", "ty", "other"),
    rotational=(True, False, True),
    defaults=np.array([0.1, 0.04, -0.3]),
)


def constant(value):
    return Course(np.zeros(1), np.array([value]))


def test_a_course_holds_between_equal_points_and_does_not_overshoot():
    course = Course.through(np.array([0.0, 0.5, 2.5]), np.array([0.0, 0.0, 90.0]), 0.01)
    assert_allclose(course.time, np.linspace(0.0, 2.5, 251))
    assert_allclose(course.values[:51], 0.0, atol=0)
    assert (np.diff(course.values[50:]) > 0.0).all()
    # A cubic of slope 0 at its start and 3/2 of the mean slope at its end, plus the pause's part.
    part = np.array([0.25, 0.5, 1.0])
    end_slope = (2.0 * 2.0 + 0.5) / 2.5
    cubic = part**2 * (3.0 - end_slope) + part**3 * (end_slope - 2.0)
    assert_allclose(course.at(0.5 + 2.0 * part), 90.0 * cubic, rtol=1e-12)
    assert_allclose(course.at(np.array([-1.0, 9.0])), [0.0, 90.0])


def test_prescribed_coordinates_follow_quintics_and_others_their_defaults():
    time = np.linspace(0.0, 1.0, 21)
    polynomial = np.polynomial.Polynomial([0.2, -1.0, 0.5, 2.0, -1.5, 0.3])
    at = np.linspace(0.0, 1.0, 11)
    motion = prescribe_motion(SYSTEM, {"flex": Course(time, polynomial(time))}, at)
    assert_allclose(motion.values[:, 0], polynomial(at), atol=1e-12)
    assert_allclose(motion.speeds[:, 0], polynomial.deriv()(at), atol=1e-10)
    assert_allclose(motion.accelerations[:, 0], polynomial.deriv(2)(at), atol=1e-8)
    assert_allclose(motion.values[:, 1:], np.tile(SYSTEM.defaults[1:], (11, 1)))
    assert_allclose(motion.speeds[:, 1:], 0.0)


def test_a_coordinate_rests_beyond_its_course():
    course = Course(np.linspace(0.0, 1.0, 9), np.linspace(0.0, 2.0, 9))
    motion = prescribe_motion(SYSTEM, {"ty": course}, np.array([0.5, 1.0, 1.5]))
    assert_allclose(motion.values[:, 1], [1.0, 2.0, 2.0])
    assert_allclose(motion.speeds[:, 1], [2.0, 2.0, 0.0], atol=1e-12)
    assert_allclose(motion.resting.speeds, 0.0)


@pytest.mark.parametrize(
    ("name", "in_degrees", "expected"),
    [
        ("flex", None, np.radians(90.0)),
        ("/jointset/knee/flex", None, np.radians(90.0)),
        ("/jointset/knee/flex/value", None, 1.5),
        ("flex", False, 1.5),
        ("/jointset/knee/flex/value", True, np.radians(90.0)),
        ("ty", True, 90.0),
        ("ty", False, 90.0),
    ],
)
def test_angles_have_the_unit_that_table_or_column_states(tmp_path, name, in_degrees, expected):
    path = tmp_path / "prescribed.sto"
    head = "" if in_degrees is None else f"inDegrees={'yes' if in_degrees else 'no'}\n"
    value = 1.5 if expected == 1.5 else 90
    path.write_text(f"{head}endheader\ntime\t{name}\n0\t{value}\n1\t{value}\n")
    (course,) = read_prescribed(path, SYSTEM).values()
    assert_allclose(course.values, expected)


def test_instants_span_the_courses():
    courses = [constant(1.0), Course(np.array([0.2, 1.0]), np.zeros(2))]
    assert_allclose(instants(courses, 0.2, None, None), [0.2, 0.4, 0.6, 0.8, 1.0])
    assert_allclose(instants(courses, 0.5, 0.0, 1.2), [0.0, 0.5, 1.0])
    with pytest.raises(InputError, match="start and stop"):
        instants(courses[:1], 0.1, None, 1.0)
    with pytest.raises(InputError, match="found 2 to 1 s"):
        instants(courses, 0.1, 2.0, None)


def test_external_loads_name_body_point_and_force(tmp_path):
    force = tuple(Course(np.array([0.0, 1.0]), np.array([0.0, x])) for x in (100.0, 0.0, -4.0))
    load = BodyForce("tibia", np.array([0.0, -0.1, 0.2]), force)
    path = write_external_loads(tmp_path, {"pull": load}, np.array([0.0, 0.5, 1.0]))
    element = ET.parse(path).getroot().find("ExternalLoads/objects/ExternalForce")
    assert element.find("applied_to_body").text == "tibia"
    table = read_motion_table(tmp_path / "external_loads.sto")
    columns = [table.column(element.find("force_identifier").text + axis) for axis in "xyz"]
    assert_allclose(np.transpose(columns), [[0, 0, 0], [50, 0, -2], [100, 0, -4]])
    points = [table.column(element.find("point_identifier").text + axis) for axis in "xyz"]
    assert_allclose(np.transpose(points), np.tile(load.point, (3, 1)))
