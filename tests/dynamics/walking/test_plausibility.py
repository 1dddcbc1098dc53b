"""What no walk can do is an error, what few do is told: units, signs, columns, the subject."""

import re
from dataclasses import replace

import numpy as np
import pytest
from walks import HEIGHT, MASS, walk_tables

from dynamics.walking import MotionTable, check_walk, gait_trial, inverse_dynamics, leg_segments

STRIDE = (0.11, 1.21)


def changed(table, factor, *names):
    """Return a table with some of its columns multiplied."""
    factors = np.where([name in names for name in table.names], factor, 1.0)
    return MotionTable(table.names, table.time, factors * table.values, table.in_degrees)


def judged(motion, ground, *, mass=MASS, side="right", **options):
    trial = gait_trial(motion, ground, side, **({"stride": STRIDE} | options))
    return check_walk(trial, inverse_dynamics(trial, leg_segments(mass, HEIGHT)), mass)


FORCE = [f"ground_force_v{axis}" for axis in "xyz"]
POINT = [f"ground_force_p{axis}" for axis in "xyz"]
ANGLES = ["pelvis_tilt", "hip_flexion_r", "knee_angle_r", "ankle_angle_r"]


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_walk_is_nothing_unusual(side):
    assert judged(*walk_tables(side=side), side=side) == ()


@pytest.mark.parametrize(
    ("factor", "names", "message"),
    [
        (180.0 / np.pi, ANGLES, r"pelvis_tilt: expected -60 to 60 deg, found 114\.6 deg at"),
        (-1.0, ["knee_angle_r"], r"knee_flexion: expected -10 to 120 deg, found -\d+\.. deg at"),
        (np.pi / 180.0, ANGLES, r"of at least 3 deg, found 0\.\d and \d\.\d deg"),
        (-1.0, ["hip_flexion_r"], r"centre of pressure: .* ahead of or behind the foot"),
        (1e3, POINT, r"centre of pressure: .* ahead of or behind the foot .*found \d+ m"),
        (1e3, ["pelvis_ty"], r"centre of pressure: .* above or below the sole .*found 9\d\d m"),
        (-1.0, FORCE, r"mean over the stride of about 0\.5 body weights, found -0\.\d+ of 441 N"),
        (1e-3, FORCE, r"of about 0\.5 body weights, found 0\.00 of 441 N"),
        (1e3, ["ground_torque_y"], r"ground torque: expected less than 22 N m .*found \d{4} N m"),
    ],
)
def test_what_no_walk_can_do_is_an_error(factor, names, message):
    motion, ground = (changed(table, factor, *names) for table in walk_tables())
    with pytest.raises(ValueError, match=message):
        judged(motion, ground)


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        ({"mass": 2.0 * MASS}, ["vertical ground force"]),
        ({"pelvis_z": 0.1}, ["centre of pressure: .* beside the ankle"]),
        ({"stride": (0.31, 1.41)}, ["the only heel strike at the start, found .* 82 %"]),
        ({"stride": (0.11, 0.71)}, ["vertical", "equal first and last angles", "found none"]),
    ],
)
def test_what_few_walks_do_is_told(change, messages):
    found = judged(*walk_tables(), **change)
    text = "\n".join(found)
    for message in messages:
        assert any(re.search(message, line) for line in found), text


def test_a_reversed_fore_aft_force_is_told():
    motion, ground = walk_tables()
    (text,) = judged(motion, changed(ground, -1.0, "ground_force_vx"))
    assert text.startswith(
        "fore-aft ground force: expected braking before propulsion, found means of +"
    )


def test_a_short_contact_is_told():
    motion, ground = walk_tables()
    bears = (ground.time < STRIDE[0] + 0.3 * 1.1)[:, None]
    short = MotionTable(ground.names, ground.time, bears * ground.values, True)
    assert re.search("toe-off between 40 and 80 %, found 3. %", "\n".join(judged(motion, short)))


def test_an_unloaded_foot_and_bad_masses_are_named():
    trial = gait_trial(*walk_tables(), stride=STRIDE)
    leg = inverse_dynamics(trial, leg_segments(MASS, HEIGHT))
    with pytest.raises(ValueError, match=r"found 0\.00 of 441 N; check unit and sign"):
        check_walk(replace(trial, force=np.zeros((201, 3))), leg, MASS)
    with pytest.raises(ValueError, match="mass: expected > 0 kg"):
        check_walk(trial, leg, 0.0)
