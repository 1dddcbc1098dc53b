"""What errors of measured forces and of the mass, which residuals do not exclude, change in a walk.

A centre of pressure that is some centimetres off, plates that are turned by some degrees, and
another mass of the body have residuals of their own. Where these are smaller than the residuals of
a walk, nothing tells that they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from dynamics.motion.plates import Plate
from dynamics.musculoskeletal.ground_balance import GroundBalance
from dynamics.musculoskeletal.opensim_plant import OpenSimPlant
from foundation.base.checks import FloatArray

#: Sizes of usual errors: points of application [m], directions of forces [deg], mass [1].
POINT, ANGLE, MASS = 0.03, 10.0, 0.1
#: Least way of a person who walks forward, rather than on a treadmill [m].
_WAY = 0.3


class MeasurementError(NamedTuple):
    """An error of usual size or less, with its change of the needed forces (N, F) [N m, N]."""

    name: str
    unit: str
    #: Size, in `unit`, at which the error alone has at most the residuals of the walk.
    size: float
    #: Largest residual force and moment of the error over their scales [1].
    force: float
    moment: float
    needed: FloatArray


def measurement_errors(plant: OpenSimPlant) -> tuple[MeasurementError, ...]:
    """Return usual errors of measured forces and mass; none without loads in axes of the ground."""
    system, motion, balance = plant.system, plant.motion, plant.balance
    loads = system.external_loads
    if balance is None or loads is None or not all(each.in_ground for each in loads.forces):
        return ()
    body, places = system.root
    paths = np.array([_origin(plant, frame, body) for frame in (0, len(motion.time) - 1)])
    changes = list(_changes(_axes(balance, paths[1] - paths[0])))
    plates = [(force.body, force.at(motion.time)) for force in loads.forces]
    count = len(motion.time)
    needed = np.zeros((len(changes) + 1, count, len(motion.names)))
    wrenches = np.zeros((len(changes) + 1, count, 6))
    for frame in range(count):
        plant.place(frame)
        for k, (*_, change) in enumerate(changes):
            for name, plate in plates:
                before, origin = _at(plate, frame), system.origin(name)
                off = _wrench(change(before), origin) - _wrench(before, origin)
                needed[k, frame] -= system.body_forces(name, off)
        needed[-1, frame] = MASS * system.forces_of_mass(motion.accelerations[frame])
        wrenches[:, frame] = system.wrench_on(body, places, needed[:, frame])
    heads = [*(change[:3] for change in changes), ("mass of the body", "%", 100.0 * MASS)]
    found = []
    for (name, unit, size), each, wrench in zip(heads, needed, wrenches, strict=True):
        force = float(np.linalg.norm(wrench[:, :3], axis=1).max()) / balance.force_scale
        moment = float(np.linalg.norm(wrench[:, 3:], axis=1).max()) / balance.moment_scale
        part = min(1.0, balance.parts[0] / max(force, 1e-9), balance.parts[1] / max(moment, 1e-9))
        free = part * each[:, motion.index(plant.free)]
        found.append(MeasurementError(name, unit, part * size, part * force, part * moment, free))
    return tuple(found)


def _origin(plant: OpenSimPlant, frame: int, body: str) -> FloatArray:
    plant.place(frame)
    return plant.system.origin(body)


def _axes(balance: GroundBalance, way: FloatArray) -> FloatArray:
    """Return unit vectors forward, up and to the right (3, 3), by the way of the pelvis (3,)."""
    up = balance.up
    level = way - (way @ up) * up
    if np.linalg.norm(level) < _WAY:
        level = np.eye(3)[0] - up[0] * up
    forward = level / np.linalg.norm(level)
    return np.array([forward, up, np.cross(forward, up)])


class _Load(NamedTuple):
    """Force, point and torque (3,) of a plate at an instant [N, m, N m]."""

    force: FloatArray
    point: FloatArray
    torque: FloatArray


def _changes(axes: FloatArray) -> Iterator[tuple[str, str, float, Callable[[_Load], _Load]]]:
    """Yield name, unit and size of each error of the plates, and the change of a plate."""
    for k, where in ((0, "forward"), (2, "sideways")):
        name = f"points of application, {where}"
        yield name, "mm", 1e3 * POINT, partial(_moved, POINT * axes[k])
    for k, where in ((1, "the vertical"), (0, "the fore-aft axis"), (2, "the lateral axis")):
        turn = Rotation.from_rotvec(np.radians(ANGLE) * axes[k]).as_matrix()
        yield f"forces, turned about {where}", "deg", ANGLE, partial(_turned, turn)


def _moved(shift: FloatArray, load: _Load) -> _Load:
    return load._replace(point=load.point + shift)


def _turned(turn: FloatArray, load: _Load) -> _Load:
    return load._replace(force=turn @ load.force)


def _at(plate: Plate, frame: int) -> _Load:
    return _Load(plate.force[frame], plate.point[frame], plate.torque[frame])


def _wrench(load: _Load, origin: FloatArray) -> FloatArray:
    """Return force, and moment about an origin (3,), of a load (6,) [N, N m]."""
    moment = np.cross(load.point - origin, load.force) + load.torque
    return np.concatenate([load.force, moment])
