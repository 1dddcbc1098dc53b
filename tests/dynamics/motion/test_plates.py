"""Force plates of tables: their names, units and contacts; heel strikes, toe-offs and strides."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.motion.motion_tables import MotionTable
from dynamics.motion.plates import contacts, find_plates, find_stride, foot_events
from foundation.base.errors import InputError

TIME = np.arange(0.0, 2.5, 0.001)
HEADS = ("ground_force_v", "ground_force_p", "ground_torque_")


def steps(spans, height=700.0):
    """Return half-sine pushes between pairs of instants."""
    force = np.zeros_like(TIME)
    for start, end in spans:
        phase = (TIME - start) / (end - start)
        force += np.where((phase > 0.0) & (phase < 1.0), height * np.sin(np.pi * phase), 0.0)
    return force


def ground(*pushes):
    """Return the table of plates of the two feet, or of one, with OpenSim's names."""
    columns = {}
    for prefix, push in zip(("", "1_"), pushes, strict=False):
        vectors = (0.1 * push, push, 0.05 * push), (TIME, 0.0 * TIME, 0.1 + 0.0 * TIME)
        turning = (0.0 * TIME, 0.01 * push, 0.0 * TIME)
        for head, parts in zip(HEADS, (*vectors, turning), strict=True):
            columns |= dict(zip((prefix + head + axis for axis in "xyz"), parts, strict=True))
    return MotionTable(tuple(columns), TIME, np.column_stack([*columns.values()]), False)


RIGHT, LEFT = steps([(0.3, 0.9), (1.4, 2.0)]), steps([(0.85, 1.5)])
BOTH = ground(RIGHT, LEFT)
#: How programs name the columns of the plates.
STYLES = {
    "numbers": lambda n: re.sub(
        r"^(1_)?ground_(force|torque)_", lambda m: f"ground_{m[2]}_{2 if m[1] else 1}_", n
    ),
    "sides": lambda n: re.sub(
        r"^(1_)?ground_(force|torque)_", lambda m: f"ground_{m[2]}_{'l' if m[1] else 'r'}_", n
    ),
    "sides first": lambda n: re.sub(
        r"^(1_)?ground_", lambda m: f"{'l' if m[1] else 'r'}_ground_", n
    ),
}


def renamed(table, change):
    return MotionTable(tuple(map(change, table.names)), table.time, table.values, False)


@pytest.mark.parametrize("style", STYLES)
def test_plates_of_any_style_are_found(style):
    for found, plain in zip(
        find_plates(renamed(BOTH, STYLES[style])), find_plates(BOTH), strict=True
    ):
        for part in ("force", "point", "torque"):
            assert_array_equal(getattr(found, part), getattr(plain, part))


def test_points_of_unloaded_plates_may_be_anywhere():
    """Some files divide noise by noise: points of hundreds of metres without a foot there."""
    values, idle = BOTH.values.copy(), RIGHT == 0.0
    values[idle, BOTH.names.index("ground_force_px")] = 346.0
    values[idle, BOTH.names.index("ground_force_vy")] = 2.0
    found = find_plates(MotionTable(BOTH.names, TIME, values, False))[0]
    assert_array_equal(found.force[:, 1], RIGHT)
    assert found.point[:, 0].max() < 3.0


def test_contacts_last_to_the_middle_of_the_gaps():
    found = contacts(BOTH, find_plates(BOTH))
    first, second, other = (TIME[[c.begin, c.end - 1]] for c in found)
    assert_allclose([*first, *second], [0.0, 1.15, 1.15, TIME[-1]], atol=0.01)
    assert_allclose(other, [0.0, TIME[-1]])
    assert contacts(ground(0.0 * TIME), find_plates(ground(0.0 * TIME))) == ()


def test_events_are_interpolated_and_noise_is_not_a_step():
    time = np.arange(0.0, 3.0, 0.01)
    force = np.where((time > 0.5) & (time < 1.1), 600.0, 0.0)
    strikes, offs = foot_events(time, force, threshold=60.0)
    # From 0 at 0.50 s to 600 N at 0.51 s, and back between 1.09 and 1.10 s.
    assert_allclose([*strikes, *offs], [0.501, 1.099], rtol=0.0, atol=1e-9)
    noisy = force.copy()
    noisy[[80, 200, 203]] = 0.0, 300.0, 300.0
    noisy[52:54] = 0.0
    found = np.ravel(foot_events(time, noisy, threshold=60.0))
    assert_allclose(found, [0.501, 1.099], atol=1e-9, rtol=0.0)


def test_records_that_begin_in_contact_have_no_strike_there():
    force = steps([(-0.3, 0.2), (0.6, 1.4), (1.85, 2.6)])
    strikes, offs = foot_events(TIME, force)
    assert (len(strikes), len(offs)) == (2, 2)
    assert_allclose(find_stride(TIME, force), strikes, rtol=0.0, atol=0.0)
    empty = foot_events(TIME, np.zeros_like(TIME))
    assert (empty[0].size, empty[1].size) == (0, 0)


def test_one_strike_and_two_toe_offs_give_a_stride():
    force = steps([(-0.5, 0.2), (0.6, 1.4)])
    strikes, offs = foot_events(TIME, force)
    assert_allclose(find_stride(TIME, force), [strikes[0], strikes[0] + np.ptp(offs)], rtol=1e-12)
    late = steps([(0.1, 0.7), (1.4, 2.0)])
    late[TIME < 0.3] = 400.0
    strikes, offs = foot_events(TIME, late)
    assert_allclose(find_stride(TIME, late), [strikes[0] - np.ptp(offs), strikes[0]], rtol=1e-12)
    with pytest.raises(
        InputError, match=r"expected two heel strikes .* 1 strikes and 1 toe.*start_s"
    ):
        find_stride(TIME, steps([(0.6, 1.4)]))
