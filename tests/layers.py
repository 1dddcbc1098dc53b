"""Small finite-element models: flat layers and the built-in implant."""

from functools import cache

import numpy as np
import shapes

from foundation.finite_element.layer import ElasticLayer, PlaneBase, ThicknessBase
from foundation.finite_element.model import FiniteElementContact
from foundation.implant.condylar_implant import CondylarImplant
from foundation.surfaces.mesh import TriangleMesh
from tests.oracles.exact_layer_compliance import Layer
from tests.oracles.flat_layer import FlatLayer

POLYETHYLENE = Layer(463e6, 0.46, 8e-3)
RADII = (78e-3, 183e-3)


@cache
def flat(spacing=1.5e-3, half=7.5e-3):
    """Flat layer of polyethylene under a paraboloid."""
    return FlatLayer(POLYETHYLENE, RADII, spacing=spacing, half=(half, 1.5 * half))


@cache
def implant(spacing=2e-3, edge=3e-3, **options):
    """Built-in implant of one sagittal radius, and its finite-element contact."""
    shape = CondylarImplant.single_radius(25e-3)
    femur, tibia, labels = shape.tessellate(edge)
    base = PlaneBase(float(tibia.vertices[:, 1].min()) - 6e-3)
    layer = ElasticLayer(463e6, 0.46, base)
    return shape, FiniteElementContact(
        femur, tibia, layer, spacing=spacing, compartments=labels, **options
    )


def two_plates(width=20e-3, cells=10, height=6e-3):
    """Two square plates side by side as one surface at a height, and their labels."""
    sides = [shapes.plate(width, cells, (0.0, height, z)) for z in (-width, width)]
    faces = np.concatenate([sides[0].faces, sides[1].faces + len(sides[0].vertices)])
    tibia = TriangleMesh(np.concatenate([side.vertices for side in sides]), faces, "plates")
    return tibia, (tibia.centroids[:, 2] > 0.0).astype(np.int8)


@cache
def plates():
    """The model of `plate_contact` by default, made once."""
    return plate_contact()


def plate_contact(base=None, spacing=2e-3, femur=None, **options):
    """Ball of 40 mm, by default, over two plates of 6 mm of cartilage."""
    tibia, labels = two_plates()
    ball = shapes.ellipsoid((0.04, 0.04, 0.04), 3) if femur is None else femur
    layer = ElasticLayer(10e6, 0.45, ThicknessBase(6e-3) if base is None else base)
    options = {"compartments": labels} | options
    return FiniteElementContact(ball, tibia, layer, spacing=spacing, **options)
