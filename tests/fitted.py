"""Knees of given smooth surfaces: an ellipsoid over a quadric in each compartment."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation
from shapes import labels, plate

from foundation.base.pose import Pose
from foundation.fitted_surfaces.compartment import FittedCompartment
from foundation.fitted_surfaces.fits import Ellipsoid, Quadric
from foundation.fitted_surfaces.model import FittedSurfaceContact

MODULUS = 1e8
#: Columns x, z, y... of the tibial frame as axes u₁ = z, u₂ = x and w = y, right-handed.
UPRIGHT = np.eye(3)[:, [2, 0, 1]]
HALF_WIDTH = 23e-3
#: Coefficients of a quadric without symmetries: c; g; H; b, e.
TILTED = [1e-4, 0.02, -0.03, 12.0, 2.0, 9.0, 3.0, -2.0, 15.0]
POSE = Pose(0.3, 0.01, 0.1, 2e-3, 0.0, 1e-3)


def sphere(radius, top=(0.0, 0.0, 0.0)):
    """Upper side of a ball about a point below `top`, or the socket of a negative radius."""
    curvature = -1.0 / radius
    return Quadric(np.array(top), UPRIGHT, [0, 0, 0, curvature, 0, curvature, 0, 0, curvature])


def ball(radius, centre=(0.0, 0.0, 0.0)):
    return Ellipsoid(np.array(centre), np.eye(3) / radius**2)


def knee_of(medial, lateral, *, cells=8, law=None, **options):
    """Knee of two pairs of surfaces, its tibial mesh a plate of `cells` squares a side."""
    tibia = plate(80e-3, cells)
    return FittedSurfaceContact(
        plate(80e-3, 2, up=False),
        tibia,
        MODULUS,
        law=law,
        surfaces=(FittedCompartment(*medial), FittedCompartment(*lateral)),
        compartments=labels(tibia),
        **options,
    )


def balls(radius, socket, **options):
    """Two equal balls, fixed in the femur, over balls or sockets whose tops lie in y = 0."""
    pairs = [
        (ball(radius, (0, 0, z)), sphere(socket, (0, 0, z))) for z in (-HALF_WIDTH, HALF_WIDTH)
    ]
    return knee_of(*pairs, **options)


def general(seed=0, **options):
    """Knee of turned ellipsoids with different axes over tilted quadrics."""
    rng = np.random.default_rng(seed)
    pairs = []
    for z in (-HALF_WIDTH, HALF_WIDTH):
        turn = Rotation.random(random_state=rng).as_matrix()
        matrix = turn @ np.diag(1.0 / np.array([24e-3, 29e-3, 34e-3]) ** 2) @ turn.T
        axes = Rotation.from_rotvec(0.1 * rng.normal(size=3)).as_matrix() @ UPRIGHT
        centre = np.array([1e-3, 2e-3, z])
        pairs.append((Ellipsoid(centre, matrix), Quadric(centre, axes, TILTED)))
    return knee_of(*pairs, **options)


def pressed(model, pose, depth, compartment="medial"):
    """The pose lowered until a compartment overlaps by about a depth [m]."""
    x = pose.array
    x[4] = 60e-3
    while (found := model.indentation(Pose.from_array(x), compartment)) < depth:
        x[4] -= 0.1e-3 if found == 0.0 else 0.5 * (depth - found) + 1e-6
    return Pose.from_array(x)
