"""Wear depth over the tibial surface from loads, without an original model (`bed_wear`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics.simulator.result import SimulationResult
from dynamics.wear.cycle_wear import (
    SpringContact,
    Surface,
    WearLaw,
    check_sides,
    load_carried,
    load_ratio,
    nearest_triangle,
    time_weights,
)
from dynamics.wear.footprint import (
    femoral_twists,
    field_axes,
    field_exponent,
    semi_axes,
    sliding_speed,
)
from foundation.base.checks import FloatArray, check_count
from foundation.base.loads import CENTRE, FORCE
from foundation.base.pose import Pose


def wear_map(
    result: SimulationResult,
    law: WearLaw,
    tibia: Surface,
    *,
    aspect: ArrayLike = (1.0, 1.0),
    ratio: ArrayLike | None = None,
) -> FloatArray:
    """Return the worn depth along normals (F,) [m] of tibial triangles over a cycle."""
    # The fields of `dynamics.wear.footprint` are projected on the triangles along the force; the
    # sliding speed is tangential to each triangle. `aspect` (2,) [1] is AP over ML axis.
    aspects = check_sides("aspect", aspect)
    twists, weights = femoral_twists(result.poses, result.rates), time_weights(result.time)
    depth = np.zeros(len(tibia.areas))
    for side, force in enumerate(load_carried(result, ratio)):
        at = np.flatnonzero(force)
        loads = result.compartment_loads[side][at]
        pressed = _pressures(loads, force[at], aspects[side], tibia)
        for i, (triangles, pressure) in zip(at, pressed, strict=True):
            points, normals = tibia.centroids[triangles], tibia.normals[triangles]
            depth[triangles] += weights[i] * pressure * sliding_speed(twists[i], points, normals)
    return law.factor * depth


class Patch(NamedTuple):
    """Patches of the original, (2,) [1], which depend on surfaces: variations reuse them."""

    aspect: FloatArray
    ratio: FloatArray | None


def measured_patch(model: SpringContact, result: SimulationResult) -> Patch:
    """Return the patches of a cycle simulated with the original model."""
    return Patch(measured_aspect(model, result), load_ratio(result))


def measured_aspect(
    model: SpringContact, result: SimulationResult, *, instants: int = 21
) -> FloatArray:
    """Return AP over ML axis of the original's pressure fields, (2,) [1]; 1 without contact."""
    # From load-weighted second moments of the pressure at equally spaced instants of the cycle.
    count = check_count("instants", instants)
    tibia, sides = model.tibia, np.asarray(model.compartments)
    moments = np.zeros((2, 2))
    for i in np.unique(np.linspace(0, len(result.poses) - 1, count).round().astype(int)):
        pressure = model.spring_state(Pose.from_array(result.poses[i])).pressure
        for side in range(2):
            loads = result.compartment_loads[side, i : i + 1]
            at = np.flatnonzero((sides == side) & (pressure > 0.0))
            if not len(at) or not np.linalg.norm(loads[0, FORCE]) > 0.0:
                continue
            share = pressure[at] * tibia.areas[at]
            arms = tibia.centroids[at] - share @ tibia.centroids[at] / share.sum()
            for k, axis in enumerate(field_axes(loads)[:2]):
                moments[side, k] += share @ (arms @ axis[0]) ** 2
    seen = (moments > 0.0).all(axis=1)
    return np.sqrt(np.divide(moments[:, 0], moments[:, 1], out=np.ones(2), where=seen))


def _pressures(
    loads: FloatArray, force: FloatArray, aspect: float, tibia: Surface
) -> list[tuple[NDArray[np.int64], FloatArray]]:
    """Return triangles and pressures [Pa] under the fields, scaled to carry `force` (N,) [N]."""
    along, across, _ = field_axes(loads)
    axes, exponents = semi_axes(loads, aspect), field_exponent(loads)
    centroids, areas = tibia.centroids, tibia.areas
    fields = []
    for i, carried in enumerate(force):
        arms = centroids - loads[i, CENTRE]
        frame = np.stack([along[i], across[i]], axis=1)
        # An area of 0 has no triangle inside.
        squared = ((arms @ frame) ** 2 / np.maximum(axes[i], 1e-12) ** 2).sum(axis=1)
        triangles = np.flatnonzero(squared < 1.0)
        if not len(triangles):
            triangles = np.array([nearest_triangle(tibia, loads[i, CENTRE])])
            shape = np.ones(1)
        else:
            shape = (1.0 - squared[triangles]) ** exponents[i]
        fields.append((triangles, carried / (shape @ areas[triangles]) * shape))
    return fields
