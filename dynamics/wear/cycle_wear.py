"""Wear of the tibial insert over a simulated gait cycle by Archard's law.

V = k int int p |s| dA dt (Archard 1953, J Appl Phys 24:981-988; for the knee Fregly, Sawyer, Harman
& Banks 2005, J Biomech 38:305-314). `bed_wear` uses the pressures of the original model on the
triangles of the insert, `surrogate_wear` only the loads of the result.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.simulator.result import SimulationResult
from dynamics.wear.footprint import field_arms, field_speeds
from dynamics.wear.sliding import femoral_twists, sliding_speed
from dynamics.wear.wear_law import Wear, WearLaw
from foundation.base.checks import FloatArray, check_array, check_in
from foundation.base.errors import InputError
from foundation.base.loads import AREA, CENTRE, COMPARTMENTS, FORCE, MEAN_PRESSURE
from foundation.base.pose import Pose

__all__ = [
    "FIELDS",
    "SpringContact",
    "Surface",
    "Wear",
    "WearLaw",
    "bed_wear",
    "load_ratio",
    "surrogate_wear",
]

#: Distributions of the load of a compartment in `surrogate_wear`.
FIELDS = ("reconstructed", "centre")


class Surface(Protocol):
    """Tibial mesh as wear uses it (`foundation.surfaces.mesh.TriangleMesh`)."""

    @property
    def centroids(self) -> FloatArray:
        """Centroids of the triangles, (F, 3) [m], tibial frame."""
        ...

    @property
    def normals(self) -> FloatArray:
        """Unit normals of the triangles, (F, 3) [1], tibial frame."""
        ...

    @property
    def areas(self) -> FloatArray:
        """Areas of the triangles, (F,) [m²]."""
        ...


class SpringContact(Protocol):
    """Original contact model as `bed_wear` uses it (`foundation.surface_contact`)."""

    @property
    def tibia(self) -> Any:
        """Tibial mesh, a `Surface`."""
        ...

    @property
    def compartments(self) -> NDArray[np.int8]:
        """Compartment (F,) of each tibial triangle, 0 medial and 1 lateral [1]."""
        ...

    def spring_state(self, pose: Pose) -> Any:
        """Return the state of the surface, with the `pressure` (F,) [Pa] of the triangles."""
        ...


def bed_wear(model: SpringContact, result: SimulationResult, law: WearLaw) -> Wear:
    """Return the wear over the gait cycle of a result from the pressures of the original model.

    Parameters
    ----------
    model : SpringContact
        The original model (`foundation.surface_contact.SurfaceContact`).
    result : SimulationResult
        Simulated cycle with the poses of the contact: add the offset of a
        `dynamics.simulator.variation.VariedContact` to its poses.
    law : WearLaw
        Material of the insert.

    Returns
    -------
    Wear
        Wear of one cycle, with the depth of each tibial triangle.
    """
    tibia, sides = model.tibia, np.asarray(model.compartments)
    twists, weights = femoral_twists(result.poses, result.rates), time_weights(result.time)
    depth = np.zeros(len(tibia.areas))
    for i, pose in enumerate(result.poses):
        pressure = model.spring_state(Pose.from_array(pose)).pressure
        pressure = scaled_pressure(pressure, result.compartment_loads[:, i], tibia, sides)
        at = np.flatnonzero(pressure)
        speed = sliding_speed(twists[i], tibia.centroids[at], tibia.normals[at])
        depth[at] += law.factor * weights[i] * pressure[at] * speed
    return Wear(volumes(depth, tibia, sides), law.density, depth)


def surrogate_wear(
    result: SimulationResult,
    law: WearLaw,
    field: str = "reconstructed",
    *,
    aspect: ArrayLike = (1.0, 1.0),
    ratio: ArrayLike | None = None,
) -> Wear:
    """Return the wear over the gait cycle of a result from its loads.

    The normals are those of the compartment forces, and the integral of the pressure is the force
    times one ratio.

    Parameters
    ----------
    result : SimulationResult
        Simulated cycle of any contact model, with poses as in `bed_wear`.
    law : WearLaw
        Material of the insert.
    field : {"reconstructed", "centre"}
        Sliding speed averaged over the pressure field of the loads (`dynamics.wear.footprint`),
        or the speed at the centre of pressure.
    aspect : (2,) float64
        AP over ML axis of the medial and the lateral field [1], > 0.
    ratio : (2,) float64, optional
        Integral of the pressure over force [1], medial and lateral (`load_ratio`), preferably of
        the original model over any cycle of the same knee; by default of the result.

    Returns
    -------
    Wear
        Wear of one cycle, without depths.

    Raises
    ------
    InputError
        If `field` is unknown, an aspect or a ratio is not positive, or a compartment with load has
        no centre of pressure.
    """
    check_in("field", field, FIELDS)
    aspects = check_sides("aspect", aspect)
    twists, weights = femoral_twists(result.poses, result.rates), time_weights(result.time)
    force = load_carried(result, ratio)
    sides, at = np.nonzero(force)
    loads = result.compartment_loads[sides, at]
    if field == "centre":
        arms, shares = np.zeros((len(at), 2, 1)), np.ones(1)
    else:
        arms, shares = field_arms(loads, aspects[sides])
    speed = field_speeds(loads, twists[at], arms) @ shares
    worn = weights[at] * force[sides, at] * speed
    volume = law.factor * np.bincount(sides, worn, len(COMPARTMENTS))
    return Wear(volume, law.density)


def time_weights(time: FloatArray) -> FloatArray:
    """Return the weights (N,) [s] of the trapezoidal rule over instants `time` (N,) [s]."""
    steps = np.diff(time)
    return 0.5 * (np.concatenate([[0.0], steps]) + np.concatenate([steps, [0.0]]))


def load_ratio(result: SimulationResult) -> FloatArray:
    """Return the pressure integral over the force, both integrated over time, (2,) [1], >= 1."""
    # The normals of a patch differ; the ratio depends on the knee and hardly on the load.
    weights = time_weights(result.time)
    sizes = np.maximum(result.compartment_loads[..., [AREA, MEAN_PRESSURE]], 0)
    impulse, pressure = _force(result) @ weights, sizes.prod(axis=-1) @ weights
    ratio = np.divide(pressure, impulse, out=np.ones(2), where=impulse > 0.0)
    return np.maximum(ratio, 1.0)


def load_carried(result: SimulationResult, ratio: ArrayLike | None = None) -> FloatArray:
    """Return the load of each compartment as its force times a ratio (2,) [1], (2, N) [N]."""
    # A simulation balances the force; area and mean pressure of a surrogate have their own errors.
    force = _force(result)
    lost = (force > 0.0) & ~np.isfinite(result.compartment_loads[..., CENTRE]).all(axis=-1)
    if lost.any():
        side, instant = (int(k) for k in np.argwhere(lost)[0])
        raise InputError(
            f"compartment_loads: expected a centre of pressure at every force, found none in the "
            f"{COMPARTMENTS[side]} compartment at instant {instant}"
        )
    factors = load_ratio(result) if ratio is None else check_sides("ratio", ratio)
    return factors[:, None] * force


def check_sides(name: str, values: ArrayLike) -> FloatArray:
    """Return a medial and a lateral value (2,) [1]; raise InputError unless both are positive."""
    return check_array(name, values, (2,), above=0.0)


def _force(result: SimulationResult) -> FloatArray:
    """Return the magnitudes of the compartment forces, (2, N) [N]."""
    return np.linalg.norm(result.compartment_loads[..., FORCE], axis=-1)


def scaled_pressure(
    pressure: FloatArray, loads: FloatArray, tibia: Surface, sides: NDArray[np.int8]
) -> FloatArray:
    """Return pressures (F,) [Pa], scaled so that each compartment carries its load (2, 12)."""
    # Centroids represent the field, loads are its integrals; the sums differ slightly, mostly in
    # small patches. A patch without a centroid is assigned to the triangle nearest to its centre of
    # pressure.
    scaled = np.zeros(len(pressure))
    for side, (area, mean) in enumerate(np.maximum(loads[:, [AREA, MEAN_PRESSURE]], 0.0)):
        own = np.where(sides == side, pressure, 0.0)
        if not own.any() and area * mean > 0.0:
            own[nearest_triangle(tibia, loads[side, CENTRE])] = 1.0
        total = own @ tibia.areas
        if total > 0.0:
            scaled += area * mean / total * own
    return scaled


def nearest_triangle(tibia: Surface, point: FloatArray) -> int:
    """Return the index of the triangle with the centroid nearest to a point (3,) [m]."""
    return int(np.argmin(((tibia.centroids - point) ** 2).sum(axis=1)))


def volumes(depth: FloatArray, tibia: Surface, sides: NDArray[np.int8]) -> FloatArray:
    """Return the worn volumes (2,) [m³] of the compartments from the depths (F,) [m]."""
    worn = depth * tibia.areas
    return np.array([worn[sides == side].sum() for side in range(2)])
