"""Contact of a compartment by two contact models at poses of a cycle, at equal axial load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dynamics.simulator.result import SimulationResult
from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import PoseError
from foundation.base.loads import AREA, AXIAL_FORCE, MEAN_PRESSURE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.statics.height import pose_at_load
from foundation.surface_contact import SurfaceContact

#: Poses of the cycle, spread evenly, besides that of the largest peak pressure.
POSES = 20
#: Least part of the largest load of a compartment that counts: at a light touch few springs bear.
LEAST_LOAD = 0.2


class Contact(NamedTuple):
    """Contact of one compartment at a pose.

    `figures` (5,) are peak pressure, mean pressure [Pa], area [m²], stiffness [N/m] and approach
    [m]; `strain` is the largest strain of the layer [1].
    """

    pose: Pose
    load: float
    figures: FloatArray
    strain: float

    @property
    def peak(self) -> float:
        """Peak pressure [Pa]."""
        return float(self.figures[0])


class Pair(NamedTuple):
    """Contact by a model and by its reference at equal axial load, at an instant of the cycle."""

    instant: int
    model: Contact
    layer: Contact


def chosen_instants(result: SimulationResult, side: int) -> IntArray:
    """Return the places (N,) of the instants of a cycle at which a compartment is compared.

    The instants are spread evenly over the cycle and bear at least a fifth of the largest load of
    the compartment; that of the largest peak pressure is one of them. None without contact.
    """
    loads = result.compartment_loads[side]
    spread = np.linspace(0, len(loads), POSES, endpoint=False).astype(int)
    chosen = np.unique([*spread, int(np.argmax(loads[:, PEAK_PRESSURE]))])
    force = loads[chosen, AXIAL_FORCE]
    return chosen[(force > 0.0) & (force >= LEAST_LOAD * loads[:, AXIAL_FORCE].max())]


def contact_at(model: SurfaceContact, pose: Pose, name: str) -> Contact:
    """Return the contact of a compartment at a pose; raises as `compartment_loads`."""
    loads, jacobian, depth = model.compartment_loads(pose, name)
    quantities = loads[[PEAK_PRESSURE, MEAN_PRESSURE, AREA]]
    figures = np.array([*quantities, -jacobian[AXIAL_FORCE, 4], depth[0]])
    return Contact(pose, float(loads[AXIAL_FORCE]), figures, float(depth[1]))


def at_load_of(layer: SurfaceContact, own: Contact, name: str) -> Contact:
    """Return the contact of a layer that carries the load of another contact, at another height.

    Raises as `foundation.statics.pose_at_load`.
    """
    return contact_at(layer, pose_at_load(layer, own.pose, name, own.load).pose, name)


def equal_loads(
    model: SurfaceContact, layer: SurfaceContact, result: SimulationResult, side: int
) -> Iterator[Pair]:
    """Yield the contact by both models of a compartment at equal axial load.

    The poses are those of the cycle for `model`; for `layer` the femur is higher or lower. Poses at
    which no height of the layer carries the load are left out.
    """
    name = model.compartment_names[side]
    for k in chosen_instants(result, side):
        own = contact_at(model, Pose.from_array(result.poses[k]), name)
        try:
            yield Pair(int(k), own, at_load_of(layer, own, name))
        except PoseError:
            continue


def peak_area(result: SimulationResult) -> float:
    """Return the smallest area of the compartments at their largest peak pressures [m²]."""
    rows = [loads[int(np.argmax(loads[:, PEAK_PRESSURE]))] for loads in result.compartment_loads]
    return float(min((row[AREA] for row in rows if row[AREA] > 0.0), default=1e-4))
