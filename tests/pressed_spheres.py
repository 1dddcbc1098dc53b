"""Two spheres on flat beds, whose indentations and pressures are known in closed form."""

from typing import NamedTuple

import numpy as np

from foundation.base.pose import Pose
from surrogates.fields.field_fit import FieldSamples, Places

RADIUS, STIFFNESS = 25e-3, 2e11
#: Centres of the spheres in the femoral frame [m], medial and lateral.
CENTRES = np.array([[2e-3, 0.0, -24e-3], [1e-3, 0.0, 24e-3]])
NAMES = ("medial", "lateral")


class Bed(NamedTuple):
    """Points with their unit normals, areas [m²] and compartments."""

    centroids: np.ndarray
    normals: np.ndarray
    areas: np.ndarray
    compartments: np.ndarray


class State(NamedTuple):
    indentation: np.ndarray
    pressure: np.ndarray


def bed(step=0.7e-3):
    """Points on the plane y = 0 below both spheres."""
    x, z = (
        np.ravel(v)
        for v in np.meshgrid(np.arange(-14e-3, 14e-3, step), np.arange(-36e-3, 36e-3, step))
    )
    chosen = np.abs(z) > 8e-3
    places = np.column_stack([x, 0.0 * x, z])[chosen]
    normals = np.zeros_like(places)
    normals[:, 1] = 1.0
    areas = np.full(len(places), step**2)
    return Bed(places, normals, areas, (places[:, 2] > 0.0).astype(np.int8))


def indentations(places, pose):
    """Distance (N,) [m] below the points at which the vertical leaves a sphere; 0 outside."""
    found = np.zeros(len(places))
    for centre in CENTRES:
        x, y, z = (pose.rotation_matrix @ centre + pose.translation).tolist()
        squared = (places[:, 0] - x) ** 2 + (places[:, 2] - z) ** 2
        found += np.maximum(np.sqrt(np.maximum(RADIUS**2 - squared, 0.0)) - y, 0.0)
    return found


def springs(own, law=lambda depth, largest: STIFFNESS * depth):
    """State of springs of a law p(d, d0) at a pose, as a function."""

    def state(pose):
        depth = indentations(own.centroids, pose)
        pressure = np.zeros(len(depth))
        for side in range(2):
            at = own.compartments == side
            pressure[at] = law(depth[at], depth[at].max())
        return State(depth, pressure)

    return state


def layer(own, modulus=1e9):
    """State of a layer at a pose, in which half of the overlap is pressed as in Hertz's contact.

    The peak is in proportion to the largest overlap, so that no spring law gives the pressures.
    """

    def state(pose):
        depth = indentations(own.centroids, pose)
        pressure = np.zeros(len(depth))
        for side in range(2):
            at = own.compartments == side
            largest = depth[at].max()
            if largest > 0.0:
                edge = np.sqrt(np.maximum(2.0 * depth[at] / largest - 1.0, 0.0))
                pressure[at] = modulus * largest / RADIUS * edge
        return State(depth, pressure)

    return state


def poses(count, seed=0, deepest=0.3e-3):
    """Poses (N, 6) at which both spheres are pressed."""
    rng = np.random.default_rng(seed)
    found = rng.uniform(-1.0, 1.0, (count, 6)) * [0.3, 2e-3, 0.1, 3e-3, 0.0, 1e-3]
    lowest = [
        max((Pose.from_array(p).rotation_matrix @ c)[1] for c in CENTRES) - RADIUS for p in found
    ]
    found[:, 4] = -np.array(lowest) - rng.uniform(0.5, 1.0, count) * deepest
    return found


def loads(state, own, places):
    """Loads (2, N, 12) of which the axial force alone is given."""
    found = np.zeros((2, len(places), 12))
    for i, place in enumerate(places):
        pressure = state(Pose.from_array(place)).pressure
        for side in range(2):
            at = own.compartments == side
            found[side, i, 1] = pressure[at] @ own.areas[at]
    return found


def samples(state, own, places):
    """Fields of both compartments at poses (N, 6), by the compartment."""
    forces = loads(state, own, places)
    found = {}
    for side, name in enumerate(NAMES):
        bearing = forces[side, :, 1] > 0.0
        found[name] = FieldSamples.of(state, places[bearing], chosen(own, side))
    return found


def chosen(own, side):
    return np.flatnonzero(own.compartments == side)


def places_of(own):
    """Points of both compartments as places of fields, by the compartment."""
    rows = [chosen(own, side) for side in range(2)]
    return {
        name: Places(own.centroids[at], own.normals[at], own.areas[at], at)
        for name, at in zip(NAMES, rows, strict=True)
    }
