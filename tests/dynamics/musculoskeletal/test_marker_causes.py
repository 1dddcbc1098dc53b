"""Wrong units, axes, sides and names of measured markers, by a made person of 13 markers."""

from pathlib import Path

import numpy as np
import pytest

from dynamics.musculoskeletal.measured_markers import (
    MarkerFit,
    MeasuredMarkers,
    check_placed,
    misfit,
)
from dynamics.musculoskeletal.motion_input import check_seconds
from foundation.base.errors import InputError

UP = np.array([0.0, 1.0, 0.0])
#: Places of the right side [m]; z is to the right.
RIGHT = {
    "Shoulder": (0.0, 1.45, 0.18),
    "Asis": (0.1, 1.0, 0.13),
    "Psis": (-0.1, 1.0, 0.06),
    "Knee": (0.03, 0.5, 0.14),
    "Heel": (-0.05, 0.05, 0.1),
    "Toe": (0.17, 0.05, 0.12),
}
PLACES = {"Thigh": np.array([0.08, 0.75, 0.15])} | {
    f"{side}_{name}": np.array([x, y, sign * z])
    for side, sign in (("R", 1.0), ("L", -1.0))
    for name, (x, y, z) in RIGHT.items()
}
TIME = np.linspace(0.0, 1.0, 21)


def walking(turn=20.0):
    """Return markers of a person whose legs swing, and who walks at an angle [deg] to x."""
    c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    rotation = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    rows = []
    for t in TIME:
        row = []
        for name, place in PLACES.items():
            swing = 0.3 * max(0.0, 1.0 - place[1]) * np.sin(2.0 * np.pi * t)
            forward = 1.2 * t + swing * (-1.0 if name.startswith("L") else 1.0)
            row.append(rotation @ (place + forward * np.eye(3)[0]))
        rows.append(row)
    shape = len(TIME), len(PLACES)
    return MeasuredMarkers(
        tuple(PLACES), TIME, np.array(rows), np.zeros(shape, dtype=bool), Path("walk.trc")
    )


def changed(order=(0, 1, 2), signs=(1.0, 1.0, 1.0), *, names=None):
    found = walking()
    positions = found.positions[:, :, list(order)] * np.array(signs)
    return MeasuredMarkers(names or found.names, TIME, positions, found.at_origin, found.source)


OTHER = {"R": "L", "L": "R"}
EXCHANGED = tuple(n if n == "Thigh" else OTHER[n[0]] + n[1:] for n in PLACES)


@pytest.mark.parametrize("turn", [0.0, 20.0, 90.0, 180.0, 250.0])
def test_a_walk_in_any_direction_has_no_fault(turn):
    check_placed(walking(turn), PLACES, UP)


def test_markers_of_one_leg_and_gaps_have_no_fault():
    found = walking()
    check_placed(found.only([n for n in found.names if n.startswith("R")]), PLACES, UP)
    found.positions[3:9, 2] = np.nan
    check_placed(found, PLACES, UP)
    check_placed(found.only(["R_Heel"]), PLACES, UP)


@pytest.mark.parametrize(
    ("markers", "told"),
    [
        (changed(signs=(10.0,) * 3), "millimetres, stated as centimetres"),
        (changed(signs=(0.1,) * 3), "centimetres, stated as millimetres"),
        (changed(signs=(2.54,) * 3), "centimetres, stated as inches"),
        (changed(signs=(5.0,) * 3), "times as far apart; check the unit"),
        (changed(signs=(1.0, 1.0, -1.0)), "mirrored: the sign of z looks reversed"),
        (changed(signs=(-1.0, 1.0, 1.0)), "mirrored: the sign of x looks reversed"),
        (changed(signs=(1.0, -1.0, 1.0)), "found -y upwards; the sign of y looks reversed"),
        (changed(signs=(1.0, -1.0, -1.0)), "found -y upwards; turn the axes"),
        (changed((2, 1, 0)), "mirrored: x and z look exchanged"),
        (changed((0, 2, 1), (1.0, -1.0, 1.0)), "found z upwards; turn the axes so that x is forw"),
        (changed((1, 2, 0)), "found x upwards"),
        (changed(names=EXCHANGED), "left and right look exchanged in the names of the markers"),
    ],
)
def test_wrong_markers_are_refused_with_their_cause(markers, told):
    with pytest.raises(InputError, match=rf"walk\.trc: expected markers .*({told})"):
        check_placed(markers, PLACES, UP)


def fit(name, *distances):
    return MarkerFit(name, 1.0, 0.0, max(distances), 0.0, 0, distances)


def test_names_that_are_exchanged_are_found_by_trying():
    found = walking()

    def follow(markers):
        exchanged = markers.names.index("L_Heel") == found.names.index("R_Heel")
        return (fit("R_Heel", 0.01 if exchanged else 0.3),)

    far = [fit("R_Heel", *[0.3] * 21), fit("L_Heel", *[0.25] * 21), fit("R_Toe", *[0.1] * 21)]
    error = str(misfit(found, tuple(far), follow))
    assert "found R_Heel 300 mm at 0 s, L_Heel 250 mm at 0 s (2" in error
    assert error.endswith(
        "names of R_Heel and L_Heel look exchanged: the markers then fit within 10 mm RMS"
    )
    never = str(misfit(found, tuple(far), lambda _: (fit("R_Heel", 0.3),)))
    assert never.endswith("the weight 0 (inverse_kinematics.weights)")


def test_a_marker_that_jumps_is_told_and_a_near_one_is_no_error():
    jump = fit("R_Heel", 0.4, *[0.02] * 20)
    assert "jump at few instants" in str(misfit(walking(), (jump,), None))
    assert misfit(walking(), (fit("R_Heel", 0.19),), None) is None


@pytest.mark.parametrize(
    ("time", "unit"),
    [
        (np.arange(100.0, 200.0), "numbers of frames"),
        (np.arange(0.0, 900.0, 1000.0 / 120.0), "milliseconds"),
    ],
)
def test_times_that_are_no_seconds_are_refused(time, unit):
    with pytest.raises(InputError, match=rf"a\.mot: expected times in seconds, .* like {unit}"):
        check_seconds("a.mot", time)
    check_seconds("a.mot", 0.001 * time)
    check_seconds("a.mot", time[:1])
