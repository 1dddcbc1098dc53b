"""Two elastic layers pressed on each other, against the exact solution.

Layers of equal thickness and Poisson's ratio add their compliances: for equal moduli the exact
contact is that of one layer of half the modulus. The femur is a paraboloid with forty times the
radii of the cartilage case under a fortieth of its load, which has the same patch, so that the
curvature of the femoral layer does not matter, which the exact solution leaves out.

`python -m benchmarks.two_layers` prints the table.
"""

from __future__ import annotations

from time import process_time

import numpy as np
from scipy.optimize import brentq

from benchmarks.exact_layer import ExactContact, exact_contact, paraboloid
from benchmarks.exact_layer_compliance import Layer
from benchmarks.flat_layer import sheet
from benchmarks.frame import Rows, alike, measured, run
from foundation.base.checks import FloatArray
from foundation.base.pose import Pose
from foundation.finite_element.base import ThicknessBase
from foundation.finite_element.layer import ElasticLayer
from foundation.finite_element.model import FiniteElementContact
from foundation.surfaces import TriangleMesh

E, NU, THICKNESS = 10e6, 0.45, 3e-3
_SCALE = 40.0
RADII, LOAD = (30e-3 * _SCALE, 25e-3 * _SCALE), 500.0 / _SCALE
#: Half width of both layers, of the lateral plates, and distance of the latter [m].
_HALF, _SMALL, _APART = 18e-3, 4e-3, 1.0
_SLIDE = np.linspace(-1.2e-3, 1.2e-3, 25)
_ALONG = 0.3  # rad


def _sheet(half: float, cells: int, across: float, sign: float) -> tuple[FloatArray, FloatArray]:
    """Return points (N, 3) and triangles (F, 3) of a square sheet facing up (1) or down (-1)."""
    line = np.linspace(-half, half, cells + 1)
    points, faces = sheet(line, line + across)
    return points, faces if sign > 0.0 else faces[:, ::-1]


def _two_sheets(cells: int, sign: float, curved: bool) -> TriangleMesh:
    """Return the medial sheet, a paraboloid if `curved`, and the lateral one, which is apart."""
    points, faces = _sheet(_HALF, cells, 0.0, sign)
    normals = np.zeros_like(points)
    normals[:, 1] = sign
    if curved:
        points[:, 1] = points[:, 0] ** 2 / (2.0 * RADII[0]) + points[:, 2] ** 2 / (2.0 * RADII[1])
        normals[:, 0], normals[:, 2] = points[:, 0] / RADII[0], points[:, 2] / RADII[1]
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    other, other_faces = _sheet(_SMALL, 4, _APART, sign)
    other[:, 1] -= 20e-3 * sign
    other_normals = np.tile([0.0, sign, 0.0], (len(other), 1))
    return TriangleMesh(
        np.concatenate([points, other]),
        np.concatenate([faces, other_faces + len(points)]),
        "sheets",
        np.concatenate([normals, other_normals]),
    )


def two_layers(spacing: float, femur_spacing: float) -> FiniteElementContact:
    """Return the contact of two equal layers; the distances of the nodes are in [m]."""
    tibia = _two_sheets(20, 1.0, curved=False)
    layer = ElasticLayer(E, NU, ThicknessBase(THICKNESS))
    return FiniteElementContact(
        _two_sheets(40, -1.0, curved=True),
        tibia,
        layer,
        femur_layer=layer,
        spacing=spacing,
        femur_spacing=femur_spacing,
        compartments=tibia.centroids[:, 2] > 0.5 * _APART,
    )


def ripple(contact: FiniteElementContact, approach: float, turn: float) -> FloatArray:
    """Return largest range and RMS of the force over 2.4 mm, in parts of its mean, (2,) [1].

    At an approach [m], with the femur turned about y [rad].
    """
    forces = np.array(
        [
            contact.evaluate(
                Pose(0.0, 0.0, turn, x * np.cos(_ALONG), -approach, x * np.sin(_ALONG))
            ).medial.force[1]
            for x in _SLIDE
        ]
    )
    return np.array([np.ptp(forces), forces.std()]) / forces.mean()


@measured(
    "Two equal layers: errors at the same load",
    {**alike(("tibial nodes [mm]", "femoral nodes [mm]"), "g"),
     **alike(("approach [%]", "peak [%]", "area [%]", "stiffness [%]"), "+.2f"),
     **alike(("range over a slide, femur turned by 0, 30, 77° [%]", "RMS [%]"),
             "{:.3f}, {:.3f}, {:.3f}"),
     "time of a pose [ms]": ".1f"},
)  # fmt: skip
def accuracy() -> Rows:
    """Errors, ripple and times."""
    exact = exact_contact(Layer(0.5 * E, NU, THICKNESS), paraboloid(*RADII), load=LOAD)
    for spacing, femoral in ((1e-3, 1e-3), (1e-3, 1.5e-3), (0.7e-3, 1e-3), (0.5e-3, 1e-3)):
        contact = two_layers(spacing, femoral)
        approach, ratios = _errors(contact, exact)
        ripples = [ripple(contact, approach, np.deg2rad(turn)) for turn in (0.0, 30.0, 77.0)]
        start = process_time()
        contact.evaluate(Pose(superior=-approach))
        spent = process_time() - start
        yield spacing, femoral, *(r - 1.0 for r in ratios), *zip(*ripples, strict=True), spent


def _errors(contact: FiniteElementContact, exact: ExactContact) -> tuple[float, list[float]]:
    """Return the approach at the load [m], and approach, peak, area, stiffness over the exact."""

    def missing(approach: float) -> float:
        return float(contact.evaluate(Pose(superior=-approach)).medial.force[1]) - LOAD

    approach = float(brentq(missing, 1e-6, 2e-4, xtol=1e-13))
    loads, jacobian = contact.loads_and_jacobian(Pose(superior=-approach))
    return approach, [
        approach / exact.approach,
        loads.medial.peak_pressure / exact.peak_pressure,
        loads.medial.area / exact.area,
        -float(jacobian[1, 4]) / exact.stiffness,
    ]


if __name__ == "__main__":
    run(__doc__, [accuracy])
