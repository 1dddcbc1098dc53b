"""A flat layer under a rigid paraboloid, as a finite-element model with two plates.

model = FlatLayer(POLYETHYLENE, (78e-3, 183e-3), spacing=0.5e-3, half=(8e-3, 10e-3))
model.at_load(1000.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from benchmarks.exact_layer_compliance import Layer
from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from foundation.finite_element.base import PlaneBase
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.model import FiniteElementContact
from foundation.surfaces import TriangleMesh

#: Width of the layer beyond the nodes that the femur may touch, in thicknesses. A free side nearer
#: than that softens the layer.
BEYOND = 3.5
#: Cells across the femur.
CELLS = 24
#: Distance of the lateral plate, which nothing touches [m].
_APART = 1.0
#: Largest approach of the search, in thicknesses.
_DEEPEST = 0.6


@dataclass(frozen=True)
class FlatContact:
    """Figures of a contact."""

    load: float
    """Normal load [N]."""
    approach: float
    """Approach since first touch [m]."""
    peak_pressure: float
    """Largest pressure [Pa]."""
    area: float
    """Contact area [m²]."""
    stiffness: float
    """Slope of the load over the approach [N/m]."""


class FlatLayer:
    """A flat layer and a rigid body, which presses on its medial plate.

    Parameters
    ----------
    layer : Layer
        The layer.
    radii : (2,) float
        Radii of the paraboloid along x and z [m].
    spacing : float
        Distance of the nodes [m].
    half : (2,) float
        Half extents along x and z of the rectangle that the body may touch [m].
    growth : float
        Growth of the elements below and beside this rectangle [1].
    **options
        Passed to `FiniteElementContact`.
    """

    def __init__(
        self,
        layer: Layer,
        radii: tuple[float, float],
        *,
        spacing: float,
        half: tuple[float, float],
        growth: float = 1.1,
        **options: object,
    ) -> None:
        self.thickness = layer.thickness
        tibia, candidates = plates(half, BEYOND * layer.thickness, layer.thickness, 8.0 * spacing)
        elastic = ElasticLayer(layer.youngs_modulus, layer.poissons_ratio, PlaneBase())
        self.contact = FiniteElementContact(
            paraboloid(radii, 1.2 * max(half)),
            tibia,
            elastic,
            spacing=spacing,
            growth=growth,
            compartments=tibia.centroids[:, 2] > 0.5 * _APART,
            candidates=candidates,
            **options,
        )

    def pose(self, approach: float, *, turn: float = 0.0, x: float = 0.0, z: float = 0.0) -> Pose:
        """Return the pose of an approach [m], a turn about y [rad] and a place [m]."""
        return Pose(0.0, 0.0, turn, x, self.thickness - approach, z)

    def at(self, approach: float, **place: float) -> FlatContact:
        """Return the contact at an approach [m] and a place as of `pose`."""
        loads, jacobian = self.contact.loads_and_jacobian(self.pose(approach, **place))
        found = loads.medial
        stiffness = -float(jacobian[1, 4])
        load = float(found.force[1])
        return FlatContact(load, approach, found.peak_pressure, found.area, stiffness)

    def force(self, approach: float, **place: float) -> float:
        """Return the load [N] at an approach [m] and a place as of `pose`."""
        return float(self.contact.evaluate(self.pose(approach, **place)).force[1])

    def at_load(self, load: float, **place: float) -> FlatContact:
        """Return the contact at a load [N] and a place as of `pose`."""
        low = high = 1e-3 * self.thickness
        while self.force(high, **place) < load:
            low, high = high, 1.5 * high
            if high > _DEEPEST * self.thickness:
                raise RuntimeError(f"load of {load:g} N: not reached")
        found = brentq(lambda d: self.force(d, **place) - load, low, high, xtol=1e-12)
        return self.at(float(found), **place)


def plates(
    half: tuple[float, float], beyond: float, height: float, lateral_half: float
) -> tuple[TriangleMesh, FloatArray]:
    """Return two plates at a height [m] as one surface, and the triangles that may be touched.

    The medial one is a rectangle of half extents [m] in a frame of a width [m]; the lateral one,
    far away, is a square of another half extent [m].
    """
    x, z = ([-h - beyond, -h, h, h + beyond] for h in half)
    medial = sheet(x, z)
    lateral = sheet([-lateral_half, lateral_half], [_APART - lateral_half, _APART + lateral_half])
    faces = np.concatenate([medial[1], lateral[1] + len(medial[0])])
    points = np.concatenate([medial[0], lateral[0]]) + np.array([0.0, height, 0.0])
    tibia = TriangleMesh(points, faces, "flat layer", np.tile((0.0, 1.0, 0.0), (len(points), 1)))
    inside = (np.abs(tibia.centroids[:, [0, 2]]) < half).all(axis=1)
    return tibia, inside | (tibia.centroids[:, 2] > 0.5 * _APART)


def sheet(x: Sequence[float], z: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Return vertices (V, 3) [m] and faces (F, 3) of a plane grid that faces up."""
    grid = np.stack(np.meshgrid(x, [0.0], z, indexing="ij"), axis=-1).reshape(-1, 3)
    index = np.arange(len(grid)).reshape(len(x), len(z))
    a, b = index[:-1, :-1].ravel(), index[1:, :-1].ravel()
    c, d = index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    return grid, np.concatenate([np.column_stack([a, c, b]), np.column_stack([a, d, c])])


def paraboloid(radii: tuple[float, float], half: float) -> TriangleMesh:
    """Return the paraboloid y = x²/(2 R₁) + z²/(2 R₂) that faces down, with its normals.

    Its curved patches are the paraboloid itself.
    """
    line = half * np.linspace(-1.0, 1.0, CELLS + 1)
    x, z = (each.ravel() for each in np.meshgrid(line, line, indexing="ij"))
    slopes = np.column_stack([x / radii[0], z / radii[1]])
    y = 0.5 * (x * slopes[:, 0] + z * slopes[:, 1])
    numbers = [*range(CELLS + 1)]
    faces = sheet(numbers, numbers)[1][:, ::-1]
    normals = np.column_stack([slopes[:, 0], -np.ones(len(x)), slopes[:, 1]])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return TriangleMesh(np.column_stack([x, y, z]), faces, "paraboloid", normals)
