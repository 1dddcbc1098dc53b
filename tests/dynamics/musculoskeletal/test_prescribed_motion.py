"""Courses of coordinates, muscles and loads of forward simulations, and their settings."""

import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.motion.motion_tables import MotionTable, read_motion_table, write_motion_table
from dynamics.musculoskeletal import (
    BodyForce,
    Course,
    MuscleSet,
    drive_muscles,
    instants,
    prescribe_motion,
    read_muscle_inputs,
    read_prescribed,
    write_external_loads,
)
from foundation.base.errors import InputError

SYSTEM = SimpleNamespace(
    coordinates=("flex", "ty", "other"),
    rotational=(True, False, True),
    defaults=np.array([0.1, 0.04, -0.3]),
)
MUSCLES = MuscleSet(
    ("vas", "rec"), np.array([900.0, 700.0]), np.full(2, 0.1), np.array([[0.01] * 2, [1.0] * 2])
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


def test_a_table_without_coordinates_is_refused(tmp_path):
    path = tmp_path / "prescribed.sto"
    write_motion_table(path, MotionTable(("hip",), np.arange(2.0), np.zeros((2, 1)), True))
    with pytest.raises(InputError, match="found hip"):
        read_prescribed(path, SYSTEM)
    with pytest.raises(InputError, match="no such file"):
        read_prescribed(tmp_path / "none.sto", SYSTEM)


def test_instants_span_the_courses():
    courses = [constant(1.0), Course(np.array([0.2, 1.0]), np.zeros(2))]
    assert_allclose(instants(courses, 0.2, None, None), [0.2, 0.4, 0.6, 0.8, 1.0])
    assert_allclose(instants(courses, 0.5, 0.0, 1.2), [0.0, 0.5, 1.0])
    with pytest.raises(InputError, match="start and stop"):
        instants(courses[:1], 0.1, None, 1.0)
    with pytest.raises(InputError, match="found 2 to 1 s"):
        instants(courses, 0.1, 2.0, None)


def test_muscles_have_their_courses_or_the_constant_activation(tmp_path):
    path = tmp_path / "muscles.sto"
    table = MotionTable(
        ("vas_force", "rec_control"), np.arange(2.0), np.array([[0.0, 0.2], [500.0, 0.6]]), False
    )
    write_motion_table(path, table)
    drive = drive_muscles(MUSCLES, read_muscle_inputs(path), 0.02, np.array([0.0, 0.5, 1.0]))
    assert_allclose(drive.forces[:, 0], [0.0, 250.0, 500.0])
    assert np.isnan(drive.forces[:, 1]).all()
    assert_allclose(drive.activations[:, 1], [0.2, 0.4, 0.6])
    assert_allclose(drive.activations[:, 0], 0.02)
    with pytest.raises(InputError, match="sol_force"):
        drive_muscles(MUSCLES, {"sol_force": constant(1.0)}, 0.02, np.zeros(2))
    write_motion_table(path, MotionTable(("vas",), np.arange(2.0), np.zeros((2, 1)), False))
    with pytest.raises(InputError, match="_activation"):
        read_muscle_inputs(path)


def test_muscles_without_fibre_forces_pull_by_activation_times_largest_force():
    drive = drive_muscles(MUSCLES, {}, 0.02, np.arange(2.0), fibre_forces=False)
    assert_allclose(drive.forces, np.tile([18.0, 14.0], (2, 1)))


@pytest.mark.parametrize("kind", ["control", "activation"])
def test_muscles_with_an_activation_of_their_own_keep_fibre_forces(kind):
    courses = {f"rec_{kind}": constant(0.4)}
    drive = drive_muscles(MUSCLES, courses, 0.02, np.arange(2.0), fibre_forces=False)
    assert_allclose(drive.forces[:, 0], 18.0)
    assert np.isnan(drive.forces[:, 1]).all()
    assert_allclose(drive.activations[:, 1], 0.4)
    courses = {"rec_force": constant(30.0), **courses}
    drive = drive_muscles(MUSCLES, courses, 0.02, np.arange(2.0), fibre_forces=False)
    assert_allclose(drive.forces[:, 1], 30.0)


@pytest.mark.parametrize("fibre_forces", [True, False])
def test_muscles_without_control_have_their_least_activation(fibre_forces):
    least = np.array([[0.01, 0.05], [1.0, 1.0]])
    muscles = MuscleSet(MUSCLES.names, MUSCLES.max_force, MUSCLES.optimal_length, least)
    drive = drive_muscles(muscles, {}, None, np.arange(2.0), fibre_forces=fibre_forces)
    assert_allclose(drive.activations, np.tile([0.01, 0.05], (2, 1)))
    assert np.isnan(drive.forces).all()


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


@pytest.mark.parametrize("at", [[0.0, 0.0], [1.0], [1.0, 0.5]])
def test_a_course_without_increasing_times_is_refused(at):
    with pytest.raises(InputError, match="increasing times"):
        Course.through(np.array(at), np.array([1.0, 2.0]), 0.01)


def test_muscles_are_given_by_name_or_by_path():
    time = np.arange(2.0)
    by_path = {"/forceset/vas_force": constant(50.0), "/forceset/rec_activation": constant(0.3)}
    drive = drive_muscles(MUSCLES, by_path, 0.02, time)
    assert_allclose(drive.forces[:, 0], 50.0)
    assert_allclose(drive.activations[:, 1], 0.3)
    twice = {**by_path, "vas_force": constant(60.0)}
    with pytest.raises(InputError, match="found /forceset/vas_force and vas_force"):
        drive_muscles(MUSCLES, twice, 0.02, time)


def test_an_unknown_coordinate_is_refused():
    with pytest.raises(InputError, match="found hip"):
        prescribe_motion(SYSTEM, {"hip": constant(0.0)}, np.array([0.0, 1.0]))
