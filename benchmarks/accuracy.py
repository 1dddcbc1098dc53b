"""Errors of the contact models against exact solutions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from time import process_time

import numpy as np
from scipy.optimize import brentq

from benchmarks.frame import Rows, alike, measured
from foundation import CondylarImplant, ElasticFoundation, TriangleMesh
from foundation.base.checks import FloatArray
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import ContactLoads
from foundation.base.pose import Pose
from foundation.finite_element.layer import ElasticLayer, ThicknessBase
from foundation.finite_element.model import FiniteElementContact
from tests.oracles.exact_implant import contact_poses, exact_loads, polyethylene
from tests.oracles.exact_layer import (
    CASES,
    Case,
    ExactContact,
    exact_contact,
    paraboloid,
    spring_bed,
)
from tests.oracles.exact_layer_compliance import Layer
from tests.oracles.flat_layer import FlatLayer, ball, flat_bed, flat_elements, sheet

#: Poses of the built-in implant, and longest edges of femur and insert [m]: 10,000 triangles each.
POSES, EDGES = 200, (0.95e-3, 0.71e-3)


@measured(
    f"Built-in implant, edges of 0.95 / 0.71 mm, {POSES} poses of 100-4000 N: error, RMS / "
    "largest, against the analytic surfaces",
    {"surface": "",
     **alike(("force [%]", "moment [%]", "area [%]", "peak pressure [%]"), "{:.3f} / {:.3f}")},
)  # fmt: skip
def implant() -> Rows:
    """Errors of all loads of springs against the analytic surfaces."""
    shape = CondylarImplant()
    femur, _, _ = shape.tessellate(EDGES[0])
    _, insert, labels = shape.tessellate(EDGES[1])
    poses = contact_poses(shape, POSES, seed=1)
    exact = [exact_loads(shape, pose) for pose in poses]
    consistent = [exact_loads(shape, pose, rule="consistent") for pose in poses]
    bare = [TriangleMesh(mesh.vertices, mesh.faces, mesh.name) for mesh in (femur, insert)]
    models: dict[str, tuple[list[TriangleMesh], dict[str, object], list[ContactLoads]]] = {
        "curved": ([femur, insert], {}, exact),
        "curved, normals estimated": (bare, {}, exact),
        "curved, conservative": ([femur, insert], {"conservative": True}, consistent),
        "flat": ([femur, insert], {"surface": "flat"}, exact),
    }
    for name, (meshes, options, truth) in models.items():
        model = ElasticFoundation(*meshes, polyethylene(), compartments=labels, **options)  # type: ignore[arg-type]
        errors = np.array(
            [_load_errors(model.loads(p), t) for p, t in zip(poses, truth, strict=True)]
        )
        yield name, *zip(np.sqrt((errors**2).mean(axis=0)), errors.max(axis=0), strict=True)


def _load_errors(loads: ContactLoads, truth: ContactLoads) -> list[float]:
    """Return relative errors: worst component of force and moment by their size, area, peak."""
    return [
        float(np.abs(loads.force - truth.force).max() / np.linalg.norm(truth.force)),
        float(np.abs(loads.moment - truth.moment).max() / np.linalg.norm(truth.moment)),
        abs(loads.area / truth.area - 1.0),
        abs(loads.peak_pressure / truth.peak_pressure - 1.0),
    ]


@measured(
    "Elastic foundation over the exact layer, at the same load",
    {"case": "", "load [N]": ".0f",
     **alike(("peak pressure", "area", "stiffness", "approach"), ".2f")},
)  # fmt: skip
def springs() -> Rows:
    """Independent springs under paraboloids, in closed form, over the exact layer."""
    for case in CASES[:4]:
        exact = exact_contact(case.layer, paraboloid(*case.radii), load=case.load, cells=96)
        ratios = (value / getattr(exact, name) for name, value in spring_bed(case).items())
        yield case.name, case.load, *ratios


#: Poisson's ratio, thickness [m], half width of the patch in thicknesses, and radius [m].
BALLS = (
    (0.3, 1e-3, 8.0, 0.3), (0.43, 2e-3, 5.0, 0.3), (0.45, 2e-3, 5.0, 0.3),
    (0.45, 2.5e-3, 3.5, 0.1), (0.46, 8e-3, 1.0, 0.1), (0.46, 4e-3, 2.0, 0.1),
    (0.46, 2.5e-3, 3.5, 0.1), (0.47, 1e-3, 8.0, 0.3), (0.48, 2e-3, 6.0, 0.3),
    (0.49, 4e-3, 2.0, 0.1), (0.49, 2e-3, 3.5, 0.1), (0.499, 2.5e-3, 5.0, 0.3),
    (0.4999, 4e-3, 1.0, 0.1), (0.4999, 2e-3, 2.0, 0.1), (0.4999, 2e-3, 8.0, 0.3),
)  # fmt: skip


@measured(
    "Springs under balls on flat layers, at the exact approach",
    {"ν": "g", "h [mm]": "g", "a/h": "g", "times too stiff": ".3g", "as flagged": ""},
)  # fmt: skip
def springs_under_balls() -> Rows:
    """How many times too stiff linear springs are under balls."""
    for ratio, thickness, size, radius in BALLS:
        case, exact = ball(ratio, thickness, size, radius)
        linear = flat_bed(case, exact).loads(Pose(superior=thickness - exact.approach))
        flagged = _flagged(linear.flags, FlagKind.STIFF_SPRINGS, "{1:.15g}")
        excess = linear.force[1] / exact.load
        yield ratio, thickness, size, excess, flagged


def _flagged(flags: tuple[Flag, ...], kind: FlagKind, form: str) -> str:
    """Return the values of the first flag of a kind in a form."""
    return next((form.format(*flag.values) for flag in flags if flag.kind is kind), "no flag")


#: Distances of the nodes of the finite elements [m].
SPACINGS = (2e-3, 1e-3, 0.5e-3)
FIGURES = ("approach", "peak_pressure", "area", "stiffness")
#: Half extent of the nodes over the long half axis of the patch, for turned paraboloids.
_MARGIN = 1.15
#: Turn about the vertical [rad] and place [spacings] of the patch with respect to the cells.
TURNS = (
    (0.0, 0.0, 0.0), (0.52, 0.25, 0.4), (1.1, 0.5, 0.1), (1.9, -0.3, 0.5), (2.6, 0.1, -0.2),
)  # fmt: skip


@measured(
    f"Finite elements on the flat layer: mean error of {len(TURNS)} places (largest)",
    {"case": "", "spacing [mm]": "g",
     **alike([f"{name.replace('_', ' ')} [%]" for name in FIGURES], "{:+.2f} ({:.2f})")},
)  # fmt: skip
def finite_elements() -> Rows:
    """Errors under paraboloids at the load: mean over the places, and largest."""
    for case, ratio, spacing in product(CASES[:4], (None, 0.49), SPACINGS):
        layer = case.layer if ratio is None else replace(case.layer, poissons_ratio=ratio)
        found = element_errors(replace(case, layer=layer), spacing)
        name = f"{case.name}, {case.load:.0f} N, ν {layer.poissons_ratio:g}"
        yield name, spacing, *zip(found.mean(axis=0), np.abs(found).max(axis=0), strict=True)


@measured(
    "Order of convergence, 78 × 183 mm, 1000 N",
    {"ν": "g", "spacing [mm]": "g", "approach [%]": "+.3f", "its order": ".1f",
     "peak pressure [%]": "+.3f", "order of the peak": ".1f"},
)  # fmt: skip
def order() -> Rows:
    """Order of convergence, all sizes of the elements halved at once."""
    for ratio in (0.46, 0.49):
        case = replace(CASES[0], layer=replace(CASES[0].layer, poissons_ratio=ratio))
        before = None
        for spacing in SPACINGS:
            # The growth over a distance stays the same.
            mean = element_errors(case, spacing, 1.15 ** (spacing / 1e-3)).mean(axis=0)[:2]
            orders = (None, None) if before is None else np.log2(np.abs(before / mean))
            yield ratio, spacing, mean[0], orders[0], mean[1], orders[1]
            before = mean


def element_errors(case: Case, spacing: float, growth: float = 1.1) -> FloatArray:
    """Return the relative errors (`TURNS`, `FIGURES`) of finite elements at the load of a case."""
    target = _exact(case)
    loads = [other.load for other in CASES if other.radii == case.radii]
    largest = _exact(replace(case, load=max(loads))).field
    patch = largest.pressure > 0.0
    reach = max(
        np.abs(largest.x[patch.any(axis=1)]).max(), np.abs(largest.y[patch.any(axis=0)]).max()
    )
    half = round(_MARGIN * float(reach) + 2.0 * spacing, 4)
    model = _elements(case.layer, case.radii, half, spacing, growth)
    contacts = [
        model.at_load(case.load, turn=turn, x=x * spacing, z=z * spacing) for turn, x, z in TURNS
    ]
    return np.array(
        [[getattr(c, name) / getattr(target, name) - 1.0 for name in FIGURES] for c in contacts]
    )


@cache
def _exact(case: Case) -> ExactContact:
    return exact_contact(case.layer, paraboloid(*case.radii), load=case.load)


@cache
def _elements(
    layer: Layer, radii: tuple[float, float], half: float, spacing: float, growth: float
) -> FlatLayer:
    return FlatLayer(layer, radii, spacing=spacing, half=(half, half), growth=growth)


#: Thickness [m], half width of the patch in thicknesses, radius of the ball [m], spacings [m].
_SMALL_BALLS = (
    (8e-3, 1.0, 0.1, (1e-3,)),
    (3e-3, 1.5, 0.1, (1.5e-3,)),
    (3e-3, 2.0, 0.1, (1e-3, 0.5e-3)),
    (1.5e-3, 3.0, 0.1, (0.75e-3, 0.35e-3)),
    (1e-3, 8.0, 0.3, (2e-3, 1e-3)),
)


@measured(
    "Finite elements under balls on flat layers, at the exact approach",
    {"ν": "g", "h [mm]": "g", "a/h": "g", "spacing [mm]": "g",
     "force [%]": "+.1f", "area [%]": "+.1f", "flag: up to, in %": ""},
)  # fmt: skip
def nearly_incompressible() -> Rows:
    """Errors of force and area up to ν 0.4999, and their bounds in the flag."""
    ratios = (0.3, 0.46, 0.48, 0.49, 0.499, 0.4999)
    for ratio, (thickness, size, radius, spacings) in product(ratios, _SMALL_BALLS):
        for spacing in spacings:
            force, area, flags = flat_elements(ratio, thickness, size, radius, spacing)
            bounds = _flagged(flags, FlagKind.COARSE_NODES, "{3:.0f}, {4:.0f}")
            yield ratio, thickness, size, spacing, force, area, bounds


#: Two equal layers [Pa, 1, m]. They add their compliances: the exact contact is that of one layer
#: of half the modulus. The femur is a paraboloid of forty times the radii of the cartilage case
#: under a fortieth of its load, which has the same patch, so that its curvature does not matter,
#: which the exact solution leaves out.
_E, _NU, _THICKNESS, _SCALE = 10e6, 0.45, 3e-3, 40.0
_RADII, _LOAD = (30e-3 * _SCALE, 25e-3 * _SCALE), 500.0 / _SCALE
#: Half width of both layers, of the lateral plates, and distance of the latter [m].
_HALF, _SMALL, _APART = 18e-3, 4e-3, 1.0
#: Places of a slide [m] and its direction [rad].
_SLIDE, _ALONG = np.linspace(-1.2e-3, 1.2e-3, 25), 0.3


@measured(
    "Two equal layers: errors at the same load",
    {**alike(("tibial nodes [mm]", "femoral nodes [mm]"), "g"),
     **alike(("approach [%]", "peak [%]", "area [%]", "stiffness [%]"), "+.2f"),
     **alike(("range over a slide, femur turned by 0, 30, 77° [%]", "RMS [%]"),
             "{:.3f}, {:.3f}, {:.3f}"),
     "time of a pose [ms]": ".1f"},
)  # fmt: skip
def two_layers() -> Rows:
    """Errors, ripple of the force as the femur slides, and times."""
    exact = exact_contact(Layer(0.5 * _E, _NU, _THICKNESS), paraboloid(*_RADII), load=_LOAD)
    for spacing, femoral in ((1e-3, 1e-3), (1e-3, 1.5e-3), (0.7e-3, 1e-3), (0.5e-3, 1e-3)):
        contact = _two_layers(spacing, femoral)

        def missing(approach: float, contact: FiniteElementContact = contact) -> float:
            return float(contact.loads(Pose(superior=-approach)).medial.force[1]) - _LOAD

        approach = float(brentq(missing, 1e-6, 2e-4, xtol=1e-13))
        loads = contact.loads(Pose(superior=-approach), order=1)
        errors = (
            approach / exact.approach - 1.0,
            loads.medial.peak_pressure / exact.peak_pressure - 1.0,
            loads.medial.area / exact.area - 1.0,
            -float(loads.total_jacobian[1, 4]) / exact.stiffness - 1.0,
        )
        ripples = [_ripple(contact, approach, np.deg2rad(turn)) for turn in (0.0, 30.0, 77.0)]
        start = process_time()
        contact.loads(Pose(superior=-approach))
        yield spacing, femoral, *errors, *zip(*ripples, strict=True), process_time() - start


def _two_layers(spacing: float, femur_spacing: float) -> FiniteElementContact:
    """Return the contact of two equal layers; the distances of the nodes are in [m]."""
    tibia = _two_sheets(20, 1.0)
    layer = ElasticLayer(_E, _NU, ThicknessBase(_THICKNESS))
    return FiniteElementContact(
        _two_sheets(40, -1.0), tibia, layer, femur_layer=layer, spacing=spacing,
        femur_spacing=femur_spacing, compartments=tibia.centroids[:, 2] > 0.5 * _APART,
    )  # fmt: skip


def _two_sheets(cells: int, sign: float) -> TriangleMesh:
    """Return a medial sheet and a lateral one apart, plane facing up (1), or curved (-1)."""
    parts = []
    for half, count, across in ((_HALF, cells, 0.0), (_SMALL, 4, _APART)):
        line = np.linspace(-half, half, count + 1)
        points, faces = sheet(line, line + across)
        normals = np.tile([0.0, sign, 0.0], (len(points), 1))
        if across:
            points[:, 1] -= 20e-3 * sign
        elif sign < 0.0:
            normals[:, 0], normals[:, 2] = points[:, 0] / _RADII[0], points[:, 2] / _RADII[1]
            points[:, 1] = 0.5 * (points * normals)[:, [0, 2]].sum(axis=1)
            normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        parts.append((points, faces if sign > 0.0 else faces[:, ::-1], normals))
    (points, faces, normals), (other, other_faces, other_normals) = parts
    return TriangleMesh(
        np.concatenate([points, other]),
        np.concatenate([faces, other_faces + len(points)]),
        "sheets",
        np.concatenate([normals, other_normals]),
    )


def _ripple(contact: FiniteElementContact, approach: float, turn: float) -> FloatArray:
    """Return range and RMS of the force over a slide, in parts of its mean, (2,) [1]."""
    places = [(x * np.cos(_ALONG), x * np.sin(_ALONG)) for x in _SLIDE]
    forces = np.array(
        [contact.loads(Pose(0, 0, turn, x, -approach, z)).medial.force[1] for x, z in places]
    )
    return np.array([np.ptp(forces), forces.std()]) / forces.mean()


TABLES = (
    implant, springs, springs_under_balls, finite_elements, order,
    nearly_incompressible, two_layers,
)  # fmt: skip
