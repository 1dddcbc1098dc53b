"""Balance of a model in OpenSim along a motion with external loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dynamics.musculoskeletal.external_loads import AppliedForce
from dynamics.musculoskeletal.ground_balance import GroundBalance
from dynamics.musculoskeletal.leg_sides import counterpart
from dynamics.musculoskeletal.load_causes import LoadedMotion
from dynamics.musculoskeletal.opensim_system import OpenSimSystem
from dynamics.musculoskeletal.plant import CoordinateMotion


def ground_balance(
    system: OpenSimSystem, motion: CoordinateMotion, forces: Sequence[AppliedForce]
) -> GroundBalance | None:
    """Return the residual wrench of a motion, with flags on loads that do not fit.

    Parameters
    ----------
    system : OpenSimSystem
        The model with its external loads; muscles, which act between its bodies, do not matter.
    motion : CoordinateMotion
        Motion of all coordinates.
    forces : sequence of AppliedForce
        The same external loads.

    Returns
    -------
    GroundBalance or None
        None if the ground carries the model by a joint without coordinates, or nothing has mass.
    """
    body, places = system.root
    mass = system.body_mass
    if not places or not mass > 0.0:
        return None
    of_forces = [force.body for force in forces]
    feet = {
        name: []
        for name in dict.fromkeys([*of_forces, *map(counterpart, of_forces)])
        if name in system.bodies
    }
    residuals, needs, origins, heights = [], [], [], []
    up = system.up
    for time, values, speeds, accelerations in zip(
        motion.time.tolist(), motion.values, motion.speeds, motion.accelerations, strict=True
    ):
        system.set(time, values, speeds)
        loaded = system.needed_forces(accelerations)
        with system.unloaded():
            bare = system.needed_forces(accelerations)
        residuals.append(system.wrench_on(body, places, loaded))
        needs.append(system.wrench_on(body, places, bare))
        origins.append(system.origin(body))
        lowest = min(float(system.origin(name) @ up) for name in system.bodies)
        heights.append(float(system.mass_centre() @ up) - lowest)
        for name, path in feet.items():
            path.append(system.mass_centre(name))
    residual = np.array(residuals)
    external = (np.array(needs) - residual)[:, :3]
    found = GroundBalance(body, motion.time, residual, external, np.array(heights), up, mass)
    loads = LoadedMotion(
        found, np.array(origins), forces, {name: np.array(path) for name, path in feet.items()}
    )
    return replace(found, flags=loads.flags())
