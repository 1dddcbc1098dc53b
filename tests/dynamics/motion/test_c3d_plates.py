"""Force plates of C3D files: forces, points and free torques against those that were written."""

import numpy as np
import pytest
from c3d_files import Z_UP, axes_of, corners, plate, write_c3d
from numpy.testing import assert_allclose

from dynamics.motion.c3d import read_plates
from dynamics.motion.plates import find_plates
from foundation.base.errors import InputError

PLACES = corners([1.2, -0.3, 0.02], 0.6)
ORIGINS = {1: [0, 0, 0], 2: [0.003, -0.002, -0.045], 3: [0.12, 0.2, -0.06], 4: [-0.001, 0, -0.04]}
MATRIX = np.diag([300.0, 310.0, 900.0, 2e5, 2.1e5, 1e5]) + 5.0 * np.arange(36.0).reshape(6, 6)


def step(count=60):
    """Return the forces (N, 3), points (N, 3), free moments (N,) of a step on the plate, z up."""
    s = np.linspace(0.0, 1.0, count)
    force = np.stack([90.0 * np.sin(2 * np.pi * s), 40.0 * np.sin(3 * s), 50.0 + 800.0 * s], axis=1)
    local = np.stack([0.1 * np.cos(4 * s), 0.2 * s - 0.1, np.zeros(count)], axis=1)
    return force, PLACES.mean(axis=0) + local @ axes_of(PLACES).T, 5.0 * np.cos(3 * s)


def expected(force, point, free, places=PLACES):
    """Return force, point and free torque in the axes of OpenSim, all columns (N, 9)."""
    torque = np.outer(free, axes_of(places)[:, 2])
    return np.hstack([each @ Z_UP.T for each in (force, point, torque)])


def made(kind):
    """Return a plate of the step."""
    matrix = MATRIX if kind == 4 else None
    return plate(kind, PLACES, ORIGINS[kind], *step(), matrix)


@pytest.mark.parametrize("unit", ["mm", "m"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_a_step_comes_back_in_the_laboratory(tmp_path, kind, unit):
    path = write_c3d(tmp_path / "step.c3d", None, [made(kind), made(2)], unit=unit)
    found = read_plates(path)
    assert_allclose(found.values, np.hstack([expected(*step())] * 2), atol=2e-3)
    assert_allclose(found.values[:, 3:6], expected(*step())[:, 3:6], atol=2e-6)
    assert_allclose(found.time, np.arange(60) / 100.0, atol=1e-12)
    first, second = find_plates(found)
    assert_allclose(first.torque, second.torque, atol=2e-3)
    assert np.ptp(first.torque[:, 1]) > 5.0


def test_signals_that_are_forces_on_the_plate_are_turned(tmp_path):
    there = made(2)
    path = write_c3d(tmp_path / "step.c3d", None, [there._replace(signals=-there.signals)])
    assert_allclose(read_plates(path).values, expected(*step()), atol=2e-3)


@pytest.mark.parametrize("kind", [2, 4])
def test_an_origin_above_the_sensors_is_turned(tmp_path, kind):
    there = made(kind)
    path = write_c3d(tmp_path / "step.c3d", None, [there._replace(origin=-there.origin)])
    assert_allclose(read_plates(path).values, expected(*step()), atol=2e-3)


def test_signals_of_another_unit_are_told(tmp_path):
    there = made(2)
    wrong = there._replace(signals=there.signals * [1, 1, 1, 1e3, 1e3, 1e3])
    path = write_c3d(tmp_path / "step.c3d", None, [wrong])
    with pytest.raises(InputError, match=r"step\.c3d, force plate 1: expected centres of pressure"):
        read_plates(path)
    units = ["N", "N", "N", "N.m", "Nm", "N-m"]
    path = write_c3d(tmp_path / "step.c3d", None, [there], analog_units=units)
    with pytest.raises(InputError, match=r"UNITS of force plate 1: expected N and N mm, found nm;"):
        read_plates(path)


@pytest.mark.parametrize("screen", [("+X", "+Z"), (), ("+X", "+Y"), ("+x", "z")])
def test_up_is_the_normal_of_the_plates(tmp_path, screen):
    path = write_c3d(tmp_path / "step.c3d", None, [made(2)], screen=screen)
    assert_allclose(read_plates(path).values, expected(*step()), atol=2e-3)
    path = write_c3d(tmp_path / "step.c3d", None, [made(2)], screen=("-Y", "+Z"))
    turned = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
    assert_allclose(read_plates(path).values[:, :3], step()[0] @ turned.T, atol=2e-3)


def test_the_point_waits_where_nobody_stands(tmp_path):
    force, point, free = step()
    force[20:40] *= 0.0
    force[40:44, 2] = 15.0  # below the threshold
    there = plate(2, PLACES, ORIGINS[2], force, point, free)
    found = read_plates(write_c3d(tmp_path / "step.c3d", None, [there]))
    wanted = expected(force, point, free)
    assert_allclose(found.values[:20], wanted[:20], atol=2e-3)
    assert_allclose(found.values[:, :3], wanted[:, :3], atol=2e-3)
    points, ends = found.values[:, 3:6], wanted[[19, 44], 3:6]
    between = np.linspace(0.0, 1.0, 26)[:, None]
    assert_allclose(points[19:45], ends[0] + between * (ends[1] - ends[0]), atol=1e-4)
    moment = found.values[:, 6:] + np.cross(points, found.values[:, :3])
    assert_allclose(moment, wanted[:, 6:] + np.cross(wanted[:, 3:6], wanted[:, :3]), atol=5e-3)


@pytest.mark.parametrize("bears", [False, True])
def test_zero_frames_hold_unless_somebody_stands(tmp_path, bears):
    force, point, free = step()
    rest = force.copy()
    rest[:10] = [0.0, 0.0, 300.0] if bears else 0.0
    free = np.where(np.arange(60) < 10, 0.0, free)
    there = plate(2, PLACES, ORIGINS[2], rest, point, free)
    drift = np.zeros(6) if bears else np.array([3.0, -2.0, -25.0, 1.0, 2.0, 0.5])
    zero = [("FORCE_PLATFORM", "ZERO", [3.0, 8.0])]
    path = write_c3d(
        tmp_path / "step.c3d", None, [there._replace(signals=there.signals + drift)], more=zero
    )
    assert_allclose(read_plates(path).values[:, :3], rest @ Z_UP.T, atol=2e-3)
