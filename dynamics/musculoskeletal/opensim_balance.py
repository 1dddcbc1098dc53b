"""Balance of a model in OpenSim along a motion with external loads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynamics.musculoskeletal.ground_balance import GroundBalance
from dynamics.musculoskeletal.load_causes import LoadedMotion
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.plant import CoordinateMotion
from foundation.base.checks import FloatArray

#: Least height of a centre of mass, for models that lie [m].
_LEAST_HEIGHT = 0.1


def ground_balance(system: OpenSimSystem, motion: CoordinateMotion) -> GroundBalance | None:
    """Return the residual of a motion, with flags; None for a model that no coordinates move."""
    body, places = system.root
    mass = system.body_mass
    if not places or not mass > 0.0:
        return None
    forces = () if system.external_loads is None else system.external_loads.forces
    up, known = system.up, system.bodies
    feet: dict[str, list[FloatArray]] = {name: [] for name in known} if forces else {}
    wrenches, origins, heights = [], [], []
    for time, values, speeds, accelerations in zip(
        motion.time.tolist(), motion.values, motion.speeds, motion.accelerations, strict=True
    ):
        system.set(time, values, speeds)
        loaded = system.needed_forces(accelerations)
        with system.unloaded():
            bare = system.needed_forces(accelerations)
        wrenches.append(system.wrench_on(body, places, np.array([loaded, bare])))
        origins.append(system.origin(body))
        heights.append(float(system.mass_centre() @ up))
        for name, path in feet.items():
            path.append(system.mass_centre(name))
    system.set(float(motion.time[0]), motion.values[0], motion.speeds[0])
    lowest = min(float(system.origin(name) @ up) for name in known)
    residual, needed = np.array(wrenches).transpose(1, 0, 2)
    found = GroundBalance(
        body,
        motion.time,
        residual,
        (needed - residual)[:, :3],
        np.maximum(np.array(heights) - lowest, _LEAST_HEIGHT),
        up,
        mass,
    )
    paths = {name: np.array(path) for name, path in feet.items()}
    loads = LoadedMotion(found, np.array(origins), forces, paths)
    return replace(found, flags=loads.flags())
