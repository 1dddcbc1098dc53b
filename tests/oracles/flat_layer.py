"""A flat layer under a rigid paraboloid, as finite elements and as springs, with two plates.

model = FlatLayer(POLYETHYLENE, (78e-3, 183e-3), spacing=0.5e-3, half=(8e-3, 10e-3))
model.at_load(1000.0)
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from foundation import ElasticFoundation, LinearLaw, TriangleMesh
from foundation.base.pose import Pose
from foundation.finite_element.layer import ElasticLayer, PlaneBase
from foundation.finite_element.model import FiniteElementContact
from tests.oracles.exact_layer import Case
from tests.oracles.exact_layer_axisymmetric import AxisymmetricContact
from tests.oracles.exact_layer_compliance import Layer

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

    load: float  # Normal load [N].
    approach: float  # Approach since first touch [m].
    peak_pressure: float  # Largest pressure [Pa].
    area: float  # Contact area [m²].
    stiffness: float  # Slope of the load over the approach [N/m].


class FlatLayer:
    """A flat layer and a rigid paraboloid of radii (2,) [m], which presses on its medial plate.

    The nodes are a spacing [m] apart in the rectangle of half extents (2,) [m] that the body may
    touch; below and beside it the elements grow by a factor. Options are those of
    `FiniteElementContact`.
    """

    def __init__(self, layer, radii, *, spacing, half, growth=1.1, **options):
        self.thickness = layer.thickness
        tibia, candidates = plates(half, BEYOND * layer.thickness, layer.thickness, 8.0 * spacing)
        elastic = ElasticLayer(layer.youngs_modulus, layer.poissons_ratio, PlaneBase())
        self.contact = FiniteElementContact(
            paraboloid_mesh(radii, 1.2 * max(half)),
            tibia,
            elastic,
            spacing=spacing,
            growth=growth,
            compartments=tibia.centroids[:, 2] > 0.5 * _APART,
            candidates=candidates,
            **options,
        )

    def pose(self, approach, *, turn=0.0, x=0.0, z=0.0):
        """Return the pose of an approach [m], a turn about y [rad] and a place [m]."""
        return Pose(0.0, 0.0, turn, x, self.thickness - approach, z)

    def at(self, approach, **place):
        """Return the contact at an approach [m] and a place as of `pose`."""
        loads = self.contact.loads(self.pose(approach, **place), 1)
        found = loads.medial
        stiffness = -float(loads.total_jacobian[1, 4])
        load = float(found.force[1])
        return FlatContact(load, approach, found.peak_pressure, found.area, stiffness)

    def force(self, approach, **place):
        """Return the load [N] at an approach [m] and a place as of `pose`."""
        return float(self.contact.loads(self.pose(approach, **place)).force[1])

    def at_load(self, load, **place):
        """Return the contact at a load [N] and a place as of `pose`."""
        low = high = 1e-3 * self.thickness
        while self.force(high, **place) < load:
            low, high = high, 1.5 * high
            if high > _DEEPEST * self.thickness:
                raise RuntimeError(f"load of {load:g} N: not reached")
        found = brentq(lambda d: self.force(d, **place) - load, low, high, xtol=1e-12)
        return self.at(float(found), **place)


def plates(half, beyond, height, lateral_half):
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


def sheet(x, z):
    """Return vertices (V, 3) [m] and faces (F, 3) of a plane grid that faces up."""
    grid = np.stack(np.meshgrid(x, [0.0], z, indexing="ij"), axis=-1).reshape(-1, 3)
    index = np.arange(len(grid)).reshape(len(x), len(z))
    a, b = index[:-1, :-1].ravel(), index[1:, :-1].ravel()
    c, d = index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    return grid, np.concatenate([np.column_stack([a, c, b]), np.column_stack([a, d, c])])


def paraboloid_mesh(radii, half):
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


#: Half width of the plate of springs over that of the patch, and cells of the plate.
_MARGIN, _CELLS = 1.6, 48


def ball(ratio, thickness, size, radius):
    """Return a ball of a radius [m] on a layer of ν and thickness [m], and its exact contact.

    The half width of the patch is `size` times the thickness.
    """
    exact = AxisymmetricContact(Layer(463e6, ratio, thickness), radius, size * thickness)
    return Case(f"ball, ν {ratio:g}", (radius, radius), exact.layer, exact.load), exact


def flat_bed(case, exact):
    """Return the rigid paraboloid of a case on flat linear springs; the lateral plate is apart."""
    half = _MARGIN * float(np.sqrt(2.0 * exact.approach * max(case.radii)))
    lines = list(np.linspace(-half, half, _CELLS + 1))
    medial = sheet(lines, lines)
    lateral = sheet([-half, half], [_APART - half, _APART + half])
    faces = np.concatenate([medial[1], lateral[1] + len(medial[0])])
    points = np.concatenate([medial[0], lateral[0]]) + np.array([0.0, case.layer.thickness, 0.0])
    tibia = TriangleMesh(points, faces, "flat layer")
    labels = (tibia.centroids[:, 2] > 0.5 * _APART).astype(np.int8)
    layer = case.layer
    law = LinearLaw(layer.youngs_modulus, layer.poissons_ratio, layer.thickness)
    return ElasticFoundation(paraboloid_mesh(case.radii, half), tibia, law, compartments=labels)


def flat_elements(ratio, thickness, size, radius, spacing):
    """Return relative errors of force and area of finite elements under a `ball`, and flags."""
    _, exact = ball(ratio, thickness, size, radius)
    reach = 1.25 * exact.contact_radius + 2.0 * spacing
    flat = FlatLayer(exact.layer, (radius, radius), spacing=spacing, half=(reach, reach))
    loads = flat.contact.loads(flat.pose(exact.approach, x=0.3 * spacing, z=0.2 * spacing))
    found = np.array([loads.medial.force[1] / exact.load, loads.medial.area / exact.area]) - 1.0
    return float(found[0]), float(found[1]), loads.flags
