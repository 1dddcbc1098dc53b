"""External loads: files, force plates under feet, residuals, and causes of misfits."""

import re
from dataclasses import replace

import numpy as np
import pytest
from c3d_files import corners, plate, write_c3d
from numpy.testing import assert_allclose

from dynamics.motion.plates import Plate
from dynamics.musculoskeletal.external_loads import AppliedForce, read_external_loads
from dynamics.musculoskeletal.ground_balance import (
    GroundBalance,
    ground_balance,
    load_flags,
    loaded_by_plates,
)
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.plant import CoordinateMotion
from foundation.base.errors import InputError

MASS, HEIGHT = 60.0, 1.0
WEIGHT = MASS * 9.80665
TABLE = np.linspace(-1.0, 3.0, 401)
TIME = TABLE[110:211]
UP = np.array([0.0, 1.0, 0.0])


def steps():
    """Return the forces of two feet that walk forward with a stride of a second."""
    forces = []
    for body, first, side in (("calcn_r", 0.0, 0.1), ("calcn_l", 0.5, -0.1)):
        since = np.mod(TABLE - first, 1.0)
        part = np.clip(since / 0.6, 0.0, 1.0)
        share = np.clip(np.minimum(part, 1.0 - part) * 0.6 / 0.1, 0.0, 1.0)
        vertical = WEIGHT * share * (1.0 + 0.2 * np.cos(4.0 * np.pi * part))
        force = np.column_stack(
            [-0.2 * vertical * np.cos(np.pi * part), vertical, -0.5 * side * vertical]
        )
        along = 1.2 * (TABLE - since) + 0.3 * part
        point = np.column_stack([along, np.zeros_like(along), np.full_like(along, side)])
        torque = np.column_stack([0.0 * part, 4.0 * share, 0.0 * part])
        plate = Plate(body[-1].upper(), force, point, torque)
        forces.append(AppliedForce(body, TABLE, plate, True))
    return forces


def foot(first, side):
    """Return the path of the middle of a foot, which stands for 0.6 s and swings for 0.4 s."""
    begins = first + np.arange(-3.0, 4.0)
    at = np.column_stack([begins, begins + 0.6]).ravel()
    along = np.interp(TIME, at, np.repeat(1.2 * begins + 0.15, 2))
    return np.column_stack([along, np.zeros_like(along), np.full_like(along, side)])


def walking(forces):
    """Return balance and flags of a body that the true forces carry, with other given forces."""
    origins = np.column_stack([1.2 * TIME, np.full_like(TIME, HEIGHT), np.zeros_like(TIME)])
    wrenches = [
        sum(
            np.hstack([p.force, np.cross(p.point - origins, p.force) + p.torque])
            for p in (force.at(TIME) for force in each)
        )
        for each in (steps(), forces)
    ]
    needed, given = (np.zeros((len(TIME), 6)) + w for w in wrenches)
    balance = GroundBalance(
        "pelvis", TIME, needed - given, given[:, :3], np.full(len(TIME), HEIGHT), UP, MASS
    )
    feet = {"calcn_r": foot(0.0, 0.1), "calcn_l": foot(0.5, -0.1), "pelvis": origins}
    feet |= {f"toes_{end}": feet[f"calcn_{end}"] + [0.15, 0.0, 0.0] for end in "rl"}
    return balance, load_flags(balance, forces, feet)


def changed(force=1.0, point=1.0, torque=1.0, shift=0.0, order=(0, 1, 2)):
    forces = []
    for each in steps():
        p, rows = each.plate, list(order)
        plate = Plate(
            p.name, (force * p.force)[:, rows], (point * p.point)[:, rows], torque * p.torque
        )
        forces.append(replace(each, plate=plate, time=each.time + shift))
    return forces


def exchanged():
    other = {"calcn_r": "calcn_l", "calcn_l": "calcn_r"}
    return [replace(force, body=other[force.body]) for force in steps()]


CHECK = "; check unit, sign, axes, time and plates of the external loads"
WRONG = {
    "kilonewtons": (lambda: changed(1e-3, torque=1e-3), f"residual force on pelvis.*{CHECK}"),
    "reversed": (lambda: changed(-1.0, torque=-1.0), f"residual force on pelvis.*{CHECK}"),
    "none": (list, "no external loads are stated"),
    "right plate": (lambda: [f for f in steps() if f.body == "calcn_l"], CHECK),
    "early": (lambda: changed(shift=-0.4), CHECK),
    "exchanged feet": (exchanged, "under calcn_l, found a mean .* from calcn_r; check applied_to"),
    "N mm": (lambda: changed(torque=1e3), f"residual moment on pelvis.*{CHECK}"),
    "millimetres": (lambda: changed(point=1e3), f"residual moment on pelvis.*{CHECK}"),
    "vertical z": (lambda: changed(order=(0, 2, 1)), CHECK),
    "fore-aft": (lambda: changed([-1.0, 1.0, 1.0]), CHECK),
    "pelvis": (
        lambda: [replace(force, body="pelvis") for force in steps()],
        "under pelvis, found a mean .* from calcn_r; check applied_to_body",
    ),
    "heavy": (lambda: changed(1.3, torque=1.3), f"60.0 kg needs, found 1.30 times{CHECK}"),
}


def test_loads_that_fit_the_motion_have_no_flag():
    balance, flags = walking(steps())
    assert balance.parts == (0.0, 0.0)
    assert flags == ()
    # 15 % of the force and 20 ms are those of good measurements.
    assert walking(changed(1.15, torque=1.15))[1] == ()
    assert walking(changed(shift=0.02))[1] == ()


@pytest.mark.parametrize("name", WRONG)
def test_wrong_loads_are_flagged(name):
    make, cause = WRONG[name]
    _, flags = walking(make())
    assert all(": expected " in flag and ", found " in flag for flag in flags)
    assert any(re.search(cause, flag) for flag in flags), flags


BODY = """<OpenSimDocument Version="40000"><Model name="body"><gravity>0 -10 0</gravity>
<BodySet><objects><Body name="trunk"><mass>2</mass><mass_center>0.1 0.2 0</mass_center>
<inertia>0.1 0.1 0.1 0 0 0</inertia></Body></objects></BodySet>
<JointSet><objects><{joint} name="root"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/trunk</socket_child_frame></{joint}></objects></JointSet>
</Model></OpenSimDocument>"""
LOADS = """<OpenSimDocument Version="40000"><ExternalLoads><objects><ExternalForce name="plate">
<applied_to_body>trunk</applied_to_body><force_identifier>f</force_identifier>
<point_identifier>p</point_identifier></ExternalForce></objects><datafile>grf.sto</datafile>
</ExternalLoads></OpenSimDocument>"""


def resting(system, turned):
    """Return a motion of a free body at rest, 1 m up and turned about x [rad]."""
    count = len(system.coordinates)
    values = np.zeros((4, count))
    if count:
        values[:, 0], values[:, 4] = turned, 1.0
    time, still = np.linspace(0.0, 0.3, 4), np.zeros((4, count))
    return CoordinateMotion(system.coordinates, system.rotational, time, values, still, still)


def test_the_residual_is_what_weight_and_load_leave(opensim, tmp_path):
    rows = "\n".join(f"{t} 3 12 1 0.5 0 0.25" for t in (0.0, 0.1, 0.2, 0.3))
    (tmp_path / "grf.sto").write_text(
        "grf\nversion=1\nnRows=4\nnColumns=7\ninDegrees=no\nendheader\n"
        f"time fx fy fz px py pz\n{rows}\n".replace(" ", "\t")
    )
    (tmp_path / "loads.xml").write_text(LOADS)
    system = OpenSimSystem(BODY.format(joint="FreeJoint"), tmp_path / "loads.xml")
    turn = 0.7
    found = ground_balance(system, resting(system, turn))
    place, load = np.array([0.5, -1.0, 0.25]), np.array([3.0, 12.0, 1.0])
    arm = np.array([0.1, 0.2 * np.cos(turn), 0.2 * np.sin(turn)])
    weight = np.array([0.0, -20.0, 0.0])
    moment = -np.cross(place, load) - np.cross(arm, weight)
    assert_allclose(found.residual, np.tile([*(-load - weight), *moment], (4, 1)), atol=1e-9)
    assert_allclose(found.external, np.tile(load, (4, 1)), atol=1e-9)
    assert (found.body, found.mass) == ("trunk", 2.0)
    # A body that the ground holds has no residual.
    held = OpenSimSystem(BODY.format(joint="WeldJoint"))
    assert ground_balance(held, resting(held, 0.0)) is None


LOADS_XML = """<OpenSimDocument Version="40000"><ExternalLoads><objects><ExternalForce name="right">
<applied_to_body>calcn_r</applied_to_body><force_identifier>force_v</force_identifier>
<point_identifier>force_p</point_identifier><torque_identifier>torque_</torque_identifier>
</ExternalForce></objects><datafile>grf.csv</datafile></ExternalLoads></OpenSimDocument>"""
FORCES = "time,force_vx,force_vy,force_vz,unused\n0.5,1,800,2,nan\n0.6,1,790,2,nan\n"


@pytest.fixture
def read(edited):
    def read(old="", new="", bodies=None):
        edited(FORCES, name="grf.csv")
        return read_external_loads(edited(LOADS_XML, old, new, "loads.xml"), bodies)

    return read


def test_the_columns_of_the_forces_are_read(read):
    loads = read(bodies=["tibia_r", "calcn_r"])
    assert loads.table.names == ("force_vx", "force_vy", "force_vz")
    (force,) = loads.forces
    assert (force.body, force.plate.name, force.in_ground) == ("calcn_r", "right", True)
    assert_allclose(force.plate.force, [[1.0, 800.0, 2.0], [1.0, 790.0, 2.0]])
    assert_allclose([force.plate.point, force.plate.torque], 0.0)


FOOT = """<Body name="{0}"><mass>{1}</mass><mass_center>0 0 0</mass_center>
<inertia>1 1 1 0 0 0</inertia></Body>"""
SLIDE = """<SliderJoint name="slide_{0}"><coordinates><Coordinate name="{0}_x"/></coordinates>
<socket_parent_frame>/ground</socket_parent_frame><socket_child_frame>/bodyset/{0}
</socket_child_frame></SliderJoint>"""
BODIES = ("trunk", "foot_r", "foot_l")
MODEL = (
    '<OpenSimDocument Version="40000"><Model name="feet"><BodySet><objects>'
    + "".join(FOOT.format(name, 1.0) for name in BODIES)
    + "</objects></BodySet><JointSet><objects>"
    + "".join(SLIDE.format(name) for name in BODIES)
    + "</objects></JointSet></Model></OpenSimDocument>"
)
#: Middles of two plates in a laboratory with z up, and the places of the feet on them [m].
FIRST, SECOND = 0.3, 1.1
PLATE_TIME = 0.01 * np.arange(120)


def motion():
    """Return the feet: the right one stays on the first plate, then on the second."""
    right = np.where(PLATE_TIME < 0.6, FIRST, SECOND)
    values = np.stack([np.full(120, 0.3), right, np.where(PLATE_TIME < 0.3, -1.0, 1.3)], axis=1)
    zero = np.zeros_like(values)
    names = tuple(f"{name}_x" for name in BODIES)
    return CoordinateMotion(names, (False,) * 3, PLATE_TIME, values, zero, zero)


def walk(path, shift=0.0):
    """Write two plates: the right foot steps on the first from 0.1 to 0.5 s, then both on both."""
    places = [corners([x, 0.0, 0.0], 0.0) for x in (FIRST, SECOND)]
    loads = [(PLATE_TIME > 0.1) & (PLATE_TIME < 0.5), (PLATE_TIME > 0.705) & (PLATE_TIME < 1.1)]
    plates = []
    for corner, bears, x in zip(places, loads, (FIRST, SECOND), strict=True):
        force = np.outer(700.0 * bears, [0.1, 0.0, 1.0])
        point = np.tile([x + 0.05 + shift, 0.02, 0.0], (120, 1))
        plates.append(plate(2, corner, [0, 0, -0.03], force, point, 2.0 * bears))
    return write_c3d(path, None, plates)


@pytest.fixture
def system(opensim):
    return OpenSimSystem(MODEL)


def test_each_contact_acts_on_the_nearest_foot(system, tmp_path):
    path = walk(tmp_path / "walk.c3d")
    found = loaded_by_plates(MODEL, system, motion(), path).external_loads
    assert found.path == path
    assert found.notes == ()
    # The trunk is as near as the foot, and no foot; the left foot is 0.2 m beside the second plate.
    assert [(each.body, each.plate.name) for each in found.forces] == [
        ("foot_r", "plate_1_foot_r"),
        ("foot_r", "plate_2_foot_r"),
    ]
    for each, (x, instant) in zip(found.forces, ((FIRST, 0.3), (SECOND, 0.9)), strict=True):
        there = each.at(np.array([instant]))
        assert_allclose(there.force, [[70.0, 700.0, 0.0]], atol=1e-3)
        assert_allclose(there.point, [[x + 0.05, 0.0, -0.02]], atol=1e-6)
        assert_allclose(there.torque, [[0.0, -2.0, 0.0]], atol=1e-3)
    # The force reaches the model: the load is what the motion does not need.
    loaded = loaded_by_plates(MODEL, system, motion(), path)
    loaded.set(0.3, *(values[30] for values in (motion().values, motion().speeds)))
    assert loaded.needed_forces(np.zeros(3))[1] == pytest.approx(-70.0, abs=1e-3)


def test_plates_without_a_foot_are_named(system, tmp_path):
    path = walk(tmp_path / "walk.c3d")
    short = motion()
    values = short.values + np.where(PLATE_TIME > 0.6, 0.9, 0.0)[:, None]
    away = CoordinateMotion(
        short.names, short.rotational, PLATE_TIME, values, short.speeds, short.accelerations
    )
    (note,) = loaded_by_plates(MODEL, system, away, path).external_loads.notes
    assert note.startswith("walk.c3d: a contact with force plate 2 at 0.71 s is 0.85 m from foot_r")
    far = CoordinateMotion(
        short.names, short.rotational, PLATE_TIME, values + 3.0, short.speeds, short.accelerations
    )
    with pytest.raises(InputError, match=r"expected a foot on a force plate from 0 to 1\.19 s"):
        loaded_by_plates(MODEL, system, far, path)
