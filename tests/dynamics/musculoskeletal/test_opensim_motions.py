"""Motions in OpenSim: files, filter, held coordinates, functions."""

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.motion.motion_tables import MotionTable, write_motion_table
from dynamics.musculoskeletal.marker_kinematics import (
    ConstraintFunctions,
    MarkerSettings,
    follow_markers,
)
from dynamics.musculoskeletal.measured_markers import MeasuredMarkers
from dynamics.musculoskeletal.motion_input import CoordinateTable, read_motion
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.osim_model import OsimModel
from dynamics.musculoskeletal.prescribed_motion import BodyForce, Course, write_external_loads
from foundation.base.errors import InputError
from tests.dynamics.musculoskeletal.synthetic import settings

ROOT = Path(__file__).resolve().parents[3]
#: A bar that hangs on two hinges; the second coordinate may follow the first.
AXES = "".join(
    f'<TransformAxis name="rotation{k}"><coordinates>{name}</coordinates><axis>{axis}</axis>'
    f"{function}</TransformAxis>"
    for k, name, axis, function in (
        (1, "swing", "0 0 1", "<LinearFunction><coefficients>1 0</coefficients></LinearFunction>"),
        (2, "tilt", "1 0 0", "<LinearFunction><coefficients>1 0</coefficients></LinearFunction>"),
        (3, "", "0 1 0", "<Constant><value>0</value></Constant>"),
    )
)
PENDULUM = f"""<?xml version="1.0" encoding="UTF-8"?>
<OpenSimDocument Version="40000"><Model name="pendulum"><gravity>0 -10 0</gravity>
<BodySet><objects><Body name="bar"><mass>2</mass><mass_center>0 -0.5 0</mass_center>
<inertia>0.1 0.1 0.1 0 0 0</inertia></Body></objects></BodySet>
<JointSet><objects><CustomJoint name="hinge">
<socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/bar</socket_child_frame>
<coordinates><Coordinate name="swing"><default_value>0</default_value></Coordinate>
<Coordinate name="tilt"><default_value>0</default_value></Coordinate></coordinates>
<SpatialTransform>{AXES}</SpatialTransform></CustomJoint></objects></JointSet>
<MarkerSet name="markers"><objects>
<Marker name="end"><socket_parent_frame>/bodyset/bar</socket_parent_frame>
<location>0 -1 0</location></Marker>
<Marker name="side"><socket_parent_frame>/bodyset/bar</socket_parent_frame>
<location>0.3 -0.4 0.2</location></Marker></objects></MarkerSet></Model></OpenSimDocument>"""
POINTS = np.array([[0.0, -1.0, 0.0], [0.3, -0.4, 0.2]])


def turned(swing, tilt):
    """Return the markers (2, 3) [m] of the pendulum in the ground."""
    c, s = np.cos(swing), np.sin(swing)
    about_z = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    c, s = np.cos(tilt), np.sin(tilt)
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    return POINTS @ (about_z @ about_x).T


def write_trc(path, swing, tilt):
    positions = np.array([turned(a, b) for a, b in zip(swing, tilt, strict=True)])
    time = 0.01 * np.arange(len(positions))
    path.write_text(MeasuredMarkers(("end", "side"), time, positions, path).text())


SETTINGS = MarkerSettings((("end", 2.0), ("side", 1.0)), accuracy=1e-9)


def test_markers_of_a_pendulum_give_its_angles(opensim, tmp_path):
    swing, tilt = np.linspace(0.1, 0.6, 12), np.linspace(-0.2, 0.3, 12)
    write_trc(tmp_path / "pendulum.trc", swing, tilt)
    found = follow_markers(PENDULUM, tmp_path / "pendulum.trc", SETTINGS)
    assert_allclose(np.radians(found.motion.column("swing")), swing, atol=1e-6)
    assert_allclose(np.radians(found.motion.column("tilt")), tilt, atol=1e-6)
    assert found.errors.column("marker_error_max").max() < 1e-6


def test_a_coupled_coordinate_follows_its_function(opensim, tmp_path):
    at = np.linspace(0.0, 1.0, 8)
    model = ConstraintFunctions("swing", ("tilt",), at, (at**2)[:, None]).add_to(PENDULUM)
    swing = np.linspace(0.1, 0.6, 12)
    write_trc(tmp_path / "pendulum.trc", swing, swing**2)
    exact = follow_markers(model, tmp_path / "pendulum.trc", SETTINGS)
    assert_allclose(np.radians(exact.motion.column("swing")), swing, atol=1e-5)
    write_trc(tmp_path / "pendulum.trc", swing, swing**2 + 0.05)
    off = follow_markers(model, tmp_path / "pendulum.trc", SETTINGS)
    angles = [np.radians(off.motion.column(name)) for name in ("swing", "tilt")]
    assert_allclose(angles[1], angles[0] ** 2, atol=1e-5)
    assert off.errors.column("marker_error_max").min() > 5e-3


def test_a_written_force_acts_at_its_point(opensim, tmp_path):
    course = tuple(Course(np.array([0.0, 1.0]), np.array([0.0, x])) for x in (8.0, 0.0, 0.0))
    load = BodyForce("bar", np.array([0.0, -1.0, 0.0]), course)
    path = write_external_loads(tmp_path, {"push": load}, np.linspace(0.0, 1.0, 11))
    system = OpenSimSystem(PENDULUM, path)
    needed = []
    for time in (0.0, 0.5, 1.0):
        system.set(time, np.zeros(2), np.zeros(2))
        needed.append(system.needed_forces(np.zeros(2))[0])
    # A force to the front at the end of the bar turns the bar by 1 N m per newton.
    assert_allclose(needed, [0.0, -4.0, -8.0], atol=1e-9)


@pytest.fixture(scope="module")
def walker(opensim, jam_folder):
    model = OsimModel(jam_folder / "models/lenhart2015/lenhart2015.osim")
    return OpenSimSystem(model.without_contact(single_wraps_slide=True))


def test_fibres_give_active_passive_and_viscous_forces(walker):
    rest = np.zeros(len(walker.coordinates))
    knee = walker.coordinates.index("knee_flex_r")
    still = walker.contractions(0.0, walker.defaults, rest)
    assert_allclose(still.damping, 0.0, atol=1e-9)
    assert (still.passive >= -1e-9).all()
    assert (still.active <= 1.02 * walker.muscles.max_force).all()
    flexing = rest.copy()
    flexing[knee] = 3.0
    moved = walker.contractions(0.0, walker.defaults, flexing)
    # The passive part depends on the length alone.
    assert_allclose(moved.passive, still.passive, atol=1e-6)
    changed = np.abs(moved.active - still.active) > 1.0
    names = {n for n, c in zip(walker.muscles.names, changed, strict=True) if c}
    assert {"semimem_r", "bflh_r"} <= names
    assert "soleus_r" not in names
    shortening = walker.muscles.names.index("semimem_r")
    assert moved.active[shortening] < still.active[shortening]
    assert moved.damping[shortening] < 0.0


@pytest.mark.slow
def test_no_file_or_output_stays_beside_the_motion(opensim, tmp_path):
    write_trc(tmp_path / "pendulum.trc", np.zeros(3), np.zeros(3))
    program = (
        "from dynamics.musculoskeletal.marker_kinematics import MarkerSettings, follow_markers\n"
        f"follow_markers({PENDULUM!r}, {str(tmp_path / 'pendulum.trc')!r}, {SETTINGS!r})\n"
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    path = os.pathsep.join([str(ROOT), *sys.path])
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=empty, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert [*empty.iterdir()] == []


@pytest.mark.parametrize(
    ("tags", "constraint", "expected"),
    [
        ("<default_value>0.3</default_value><locked>true</locked>", "", lambda time, swing: 0.3),
        (
            "<prescribed_function><LinearFunction><coefficients>2 0.1</coefficients>"
            "</LinearFunction></prescribed_function><prescribed>true</prescribed>",
            "",
            lambda time, swing: 2.0 * time + 0.1,
        ),
        ("", "<coefficients>3 0.2</coefficients>", lambda time, swing: 0.5 * (3.0 * swing + 0.2)),
        ("<default_value>0.3</default_value>", "", lambda time, swing: 0.0),
    ],
)
def test_coordinates_without_a_column_are_as_the_model_holds_them(
    opensim, tags, constraint, expected
):
    free = '<Coordinate name="tilt"><default_value>0</default_value></Coordinate>'
    model = PENDULUM.replace(free, f'<Coordinate name="tilt">{tags}</Coordinate>')
    if constraint:
        coupler = (
            '<ConstraintSet><objects><CoordinateCouplerConstraint name="c">'
            f"<coupled_coordinates_function><LinearFunction>{constraint}</LinearFunction>"
            "</coupled_coordinates_function><independent_coordinate_names>swing"
            "</independent_coordinate_names><dependent_coordinate_name>tilt"
            "</dependent_coordinate_name><scale_factor>0.5</scale_factor>"
            "</CoordinateCouplerConstraint></objects></ConstraintSet><JointSet>"
        )
        model = model.replace("<JointSet>", coupler)
    time = 0.1 * np.arange(8.0)
    table = MotionTable(("swing",), time, np.sin(time)[:, None], False)
    found = read_motion(table, OpenSimSystem(model), settings(primary=("swing",)))
    assert_allclose(found.values[:, 1], expected(time, np.sin(time)), atol=1e-12)


def test_a_locked_coordinate_keeps_its_default_value_whatever_the_motion_has(opensim):
    free = '<Coordinate name="tilt"><default_value>0</default_value></Coordinate>'
    tags = "<default_value>0.3</default_value><locked>true</locked>"
    locked = PENDULUM.replace(free, f'<Coordinate name="tilt">{tags}</Coordinate>')
    time = 0.1 * np.arange(8.0)
    table = MotionTable(("swing", "tilt"), time, np.sin(time)[:, None] * [1.0, 0.5], False)
    for model, wanted in ((PENDULUM, 0.5 * np.sin(time)), (locked, np.full(8, 0.3))):
        found = read_motion(table, OpenSimSystem(model), settings(primary=("swing",)))
        assert_allclose(found.values[:, 1], wanted, atol=1e-12)
        assert (np.abs(found.speeds[:, 1]).max() > 0.1) == (model is PENDULUM)


SYSTEM = SimpleNamespace(coordinates=("hip", "height"), rotational=(True, False), locked=())
TIME = 0.01 * np.arange(20.0)


def write(path, hip, time=TIME, *, in_degrees=False):
    values = np.column_stack([hip, np.ones_like(time)])
    write_motion_table(path, MotionTable(("hip", "height"), time, values, in_degrees))
    return path


def test_angles_of_the_other_unit_are_refused(tmp_path):
    hip = np.linspace(0.0, 40.0, len(TIME))
    with pytest.raises(InputError, match=r"in radians, found angles up to 40,.* inDegrees=yes"):
        read_motion(write(tmp_path / "a.mot", hip), SYSTEM, settings())
    found = read_motion(write(tmp_path / "b.mot", hip, in_degrees=True), SYSTEM, settings())
    assert found.values[-1, 0] == pytest.approx(np.radians(40.0))


@pytest.mark.parametrize(("largest", "refused"), [(0.05, False), (1.0, True), (4.0, False)])
def test_small_angles_stated_as_degrees_are_refused(largest, refused):
    """Three angles that move by less than 10 degrees, or by more than half a turn, are taken."""
    leg = SimpleNamespace(coordinates=("hip", "knee", "ankle"), rotational=(True, True, True))
    values = np.linspace(0.0, 1.0, len(TIME))[:, None] * [largest, -0.5 * largest, 0.1]
    table = CoordinateTable(MotionTable(leg.coordinates, TIME, values, True, "walk.mot"), leg)
    with pytest.raises(InputError, match="in degrees") if refused else nullcontext():
        table.check_angles()


@pytest.mark.parametrize(
    ("step", "lowpass", "told"),
    [
        (None, 50.0, r"a\.mot, rows: expected steps of at most 0.005 s, .*with more rows"),
        (0.02, 13.0, r"comak\.step_s: expected .* 0.0192 s, .*lowpass_Hz to at most 12.5"),
        (0.08, 6.0, r"comak\.step_s: expected .* 0.0417 s, .* to at most 3.12, or comak\.step_s"),
        (0.005, 30.0, r"a\.mot, rows: expected steps of at most 0.00833 s, .* found 0.01 s"),
    ],
)
def test_steps_that_do_not_resolve_the_filtered_motion_are_refused(tmp_path, step, lowpass, told):
    path = write(tmp_path / "a.mot", 0.1 * TIME)
    with pytest.raises(InputError, match=told):
        read_motion(path, SYSTEM, settings(lowpass=lowpass, step=step))
