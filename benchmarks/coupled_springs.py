"""Coupled springs on flat layers beside exact contact.

`python -m benchmarks.coupled_springs` prints errors of force, stiffness, peak pressure and area at
the exact approach, over numbers of nodes across the patch, and under balls on layers under wide
patches or that hardly change their volume; there also how many times too stiff linear springs are.
"""

from __future__ import annotations

import numpy as np

from benchmarks.exact_layer import CASES, Case, ExactContact, exact_contact, paraboloid
from benchmarks.exact_layer_axisymmetric import AxisymmetricContact
from benchmarks.exact_layer_compliance import Layer
from benchmarks.flat_layer import paraboloid as paraboloid_mesh
from benchmarks.flat_layer import sheet
from benchmarks.frame import Rows, alike, measured, run
from foundation.base.checks import FloatArray
from foundation.base.flags import FlagKind
from foundation.base.loads import AREA, AXIAL_FORCE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.elastic_foundation import CoupledLaw, ElasticFoundation, LinearLaw, SpringLaw
from foundation.surfaces.mesh import TriangleMesh

_NODES = (6, 8, 12)
_FIGURES = alike(("force [%]", "stiffness [%]", "peak pressure [%]", "area [%]"), "+.2f")
#: Half width of the plate over that of the patch, places of the femur [m], cells of the plate, and
#: distance of the other plate [m].
_MARGIN, _APART = 1.6, 1.0
_PLACES = ((0.0, 0.0), (0.1e-3, 0.2e-3), (-0.3e-3, 0.1e-3), (0.2e-3, -0.4e-3))
_CELLS = 48
#: Poisson's ratio, thickness [m], half width of the patch in thicknesses, and radius [m] of balls.
BALLS = (
    (0.3, 1e-3, 8.0, 0.3),
    (0.43, 2e-3, 5.0, 0.3),
    (0.45, 2e-3, 5.0, 0.3),
    (0.45, 2.5e-3, 3.5, 0.1),
    (0.46, 8e-3, 1.0, 0.1),
    (0.46, 4e-3, 2.0, 0.1),
    (0.46, 2.5e-3, 3.5, 0.1),
    (0.47, 1e-3, 8.0, 0.3),
    (0.48, 2e-3, 6.0, 0.3),
    (0.49, 4e-3, 2.0, 0.1),
    (0.49, 2e-3, 3.5, 0.1),
    (0.499, 2.5e-3, 5.0, 0.3),
    (0.4999, 4e-3, 1.0, 0.1),
    (0.4999, 2e-3, 2.0, 0.1),
    (0.4999, 2e-3, 8.0, 0.3),
)


@measured(
    "Coupled springs on flat layers, at the exact approach",
    {"case": "", "nodes across": "d", **_FIGURES},
)
def errors() -> Rows:
    """Errors at the exact approach, mean over some places."""
    for case in CASES[:4]:
        exact = exact_contact(case.layer, paraboloid(*case.radii), load=case.load, cells=96)
        bed = flat_contact(case, exact)
        for nodes in _NODES:
            found = _errors(bed.with_law(law_of(case, nodes)), exact)
            yield f"{case.name}, {case.load:.0f} N", nodes, *found


@measured(
    "Springs under balls on flat layers, at the exact approach",
    {"ν": "g", "h [mm]": "g", "a/h": "g", **_FIGURES,
     "linear springs, times too stiff": ".3g", "as flagged": ""},
)  # fmt: skip
def ball_errors() -> Rows:
    """Errors under `BALLS` at the exact approach, mean over some places."""
    for ratio, thickness, size, radius in BALLS:
        case, exact = ball(ratio, thickness, size, radius)
        bed = flat_contact(case, exact)
        pose = Pose(superior=-exact.approach)
        linear = bed.with_law(LinearLaw(case.layer.youngs_modulus, ratio, thickness)).loads(pose)
        flagged = next(
            (
                f"{flag.values[1]:.15g}"
                for flag in linear.flags
                if flag.kind is FlagKind.STIFF_SPRINGS
            ),
            "no flag",
        )
        excess = linear.force[1] / exact.load
        yield ratio, thickness, size, *_errors(bed, exact), excess, flagged


def ball(
    ratio: float, thickness: float, size: float, radius: float
) -> tuple[Case, AxisymmetricContact]:
    """Return a case of `BALLS` and its exact contact."""
    exact = AxisymmetricContact(Layer(463e6, ratio, thickness), radius, size * thickness)
    return Case(f"ball, ν {ratio:g}", (radius, radius), exact.layer, exact.load), exact


def law_of(case: Case, nodes: int = 8) -> SpringLaw:
    """Return the coupled law of the layer of a case."""
    layer = case.layer
    return CoupledLaw(
        layer.youngs_modulus, layer.poissons_ratio, layer.thickness, nodes_across=nodes
    )


def flat_contact(case: Case, exact: ExactContact | AxisymmetricContact) -> ElasticFoundation:
    """Return the rigid paraboloid of a case on a flat bed; its lateral plate is far away."""
    half = _MARGIN * float(np.sqrt(2.0 * exact.approach * max(case.radii)))
    lines = list(np.linspace(-half, half, _CELLS + 1))
    medial = sheet(lines, lines)
    lateral = sheet([-half, half], [_APART - half, _APART + half])
    faces = np.concatenate([medial[1], lateral[1] + len(medial[0])])
    tibia = TriangleMesh(np.concatenate([medial[0], lateral[0]]), faces, "flat layer")
    labels = (tibia.centroids[:, 2] > 0.5 * _APART).astype(np.int8)
    femur = paraboloid_mesh(case.radii, half)
    return ElasticFoundation(femur, tibia, law_of(case), compartments=labels)


def _errors(bed: ElasticFoundation, exact: ExactContact | AxisymmetricContact) -> FloatArray:
    """Return relative errors of force, stiffness, peak pressure and area (4,) [1]."""
    found = []
    for x, z in _PLACES:
        loads, jacobian, _ = bed.compartment_loads(Pose(0, 0, 0, x, -exact.approach, z), "medial")
        found.append(
            (
                loads[AXIAL_FORCE] / exact.load,
                -jacobian[1, 4] / exact.stiffness,
                loads[PEAK_PRESSURE] / exact.peak_pressure,
                loads[AREA] / exact.area,
            )
        )
    return np.mean(found, axis=0) - 1.0


TABLES = (errors, ball_errors)

if __name__ == "__main__":
    run(__doc__, TABLES)
