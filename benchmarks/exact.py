"""Converged loads of the built-in implant's analytic surfaces, and poses to take them at.

The integrals over the contact patches are those of `benchmarks.exact_patch`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from benchmarks.exact_patch import CondyleOnDish, PatchError, largest, patch_rule
from foundation.base.checks import FloatArray, check_in, check_number
from foundation.base.loads import COMPARTMENTS, ContactLoads
from foundation.base.pose import Pose
from foundation.elastic_foundation import LinearLaw
from foundation.implant import CondylarImplant

#: Polyethylene 8 mm thick under a rigid femur [Pa, -, m].
MODULUS, RATIO, THICKNESS = 463e6, 0.46, 8e-3

_SIGNS = {"medial": -1.0, "lateral": 1.0}
_STEP = 0.1e-3  # m, of the search for the height

#: What stands for the force of a spring bed; see `exact_loads`.
RULES = ("customary", "consistent", "nearest", "hydroelastic")

#: Where poses are drawn: half-ranges [m, rad] about the dwell point, and the flexion range [rad].
_AP, _ML, _ROTATION, _ADDUCTION = 4e-3, 0.7e-3, np.radians(6.0), np.radians(1.0)
_FLEXION = (0.0, np.radians(60.0))


def polyethylene(thickness: float = THICKNESS) -> LinearLaw:
    """Return the spring law of the benchmarks, uniform over the insert."""
    return LinearLaw(MODULUS, RATIO, thickness)


def stiffness_of(law: LinearLaw) -> float:
    """Return K = C E / h of a law of uniform thickness [Pa/m]."""
    return float(law.confined_modulus / float(np.asarray(law.thickness)))


def exact_loads(
    implant: CondylarImplant,
    pose: Pose,
    stiffness: float | None = None,
    *,
    rule: str = "customary",
    spokes: int = 256,
    nodes: int = 24,
) -> ContactLoads:
    """Return the loads of the analytic surfaces at a pose, converged to about 1e-6.

    Parameters
    ----------
    implant : CondylarImplant
        The shapes.
    pose : Pose
        Pose of the femur.
    stiffness : float, optional
        K of p = K d [Pa/m]; by default that of `polyethylene`.
    rule : {"customary", "consistent", "nearest", "hydroelastic"}
        With d the indentation along minus the dish's upward normal n, m the femur's outward normal
        where that line leaves the femur, and per area of the dish:
        "customary": K d n at the dish;
        "consistent": the gradient of the energy, the integral of K d²/2, which is K d m/(m.n)
        where the line leaves the femur (staying on the line, d changes by -(m.w)/(m.n) when the
        femur moves by w);
        "nearest": K times the distance to the femur, along its normal at the nearest point, the
        rule of Simbody's ElasticFoundationForce;
        "hydroelastic": K times the distance to the dish, integrated over the femur along its
        normals, the rule of Drake's hydroelastic contact (Elandt et al. 2019, IROS) for a
        pressure field linear in depth; area and mean pressure are then those of the femur.
    spokes, nodes : int
        Spokes of the integration and nodes on each.

    Returns
    -------
    ContactLoads
        Force [N] and moment [N m] on the femur in the tibial frame about the tibial origin,
        contact area of the dish, peak and mean pressure, centre of pressure.

    Raises
    ------
    PatchError
        If a patch is cut by a rim of the dish or of the condyle, or is not a single patch that
        every spoke leaves once.
    ValueError
        If the rule is unknown or the stiffness not positive.
    """
    scale = stiffness_of(polyethylene()) if stiffness is None else stiffness
    check_number("stiffness", scale, above=0.0, unit="Pa/m")
    check_in("rule", rule, RULES)
    medial, lateral = (
        _side_loads(_side(implant, name, pose), scale, rule, spokes, nodes) for name in COMPARTMENTS
    )
    return ContactLoads.from_compartments(medial, lateral)


def contact_poses(
    implant: CondylarImplant,
    count: int,
    seed: int,
    low: float = 100.0,
    high: float = 4000.0,
) -> list[Pose]:
    """Return random poses in contact, log-uniform in the exact total axial force.

    Flexion 0 to 60 degrees, 4 mm anterior or posterior of the dwell point, 0.7 mm to the sides,
    6 degrees of rotation and 1 degree of adduction either way; the height carries the drawn force
    to 1e-5. Poses whose patch is cut by a rim are drawn again.

    Parameters
    ----------
    implant : CondylarImplant
        The shapes; the law is `polyethylene`.
    count : int
        Number of poses.
    seed : int
        Of the random numbers; the same seed gives the same poses.
    low, high : float
        Limits of the force [N].

    Raises
    ------
    ValueError
        If the limits are not 0 < low < high.
    """
    check_number("low", low, above=0.0, below=high, unit="N")
    generator = np.random.default_rng(seed)
    poses: list[Pose] = []
    while len(poses) < count:
        force = float(np.exp(generator.uniform(np.log(low), np.log(high))))
        flexion = generator.uniform(*_FLEXION)
        turns = generator.uniform(-1.0, 1.0, 4) * (_ADDUCTION, _ROTATION, _AP, _ML)
        home = implant.home_pose(flexion)
        start = replace(
            home,
            adduction=turns[0],
            rotation=turns[1],
            anterior=home.anterior + turns[2],
            lateral=turns[3],
        )
        try:
            poses.append(_at_force(implant, start, force))
        except PatchError:
            continue
    return poses


def _at_force(implant: CondylarImplant, start: Pose, force: float) -> Pose:
    """Return the pose at the height that carries an axial force [N]."""

    def excess(height: float) -> float:
        pose = replace(start, superior=height)
        sides = [_side(implant, name, pose) for name in COMPARTMENTS]
        # √F is nearly straight in the height, which suits the secant.
        return float(np.sqrt(sum(_axial_force(side) for side in sides) / force) - 1.0)

    high = start.superior
    while excess(high) > -1.0:
        high += _STEP
    low = high
    while excess(low) < 0.0:
        low -= _STEP
    height = brentq(excess, low, min(low + _STEP, high), xtol=1e-12, rtol=1e-12)
    pose = replace(start, superior=float(height))
    exact_loads(implant, pose)  # raises where the fine rule finds a cut patch
    return pose


def _side(implant: CondylarImplant, name: str, pose: Pose) -> CondyleOnDish:
    return CondyleOnDish(
        getattr(implant, name),
        getattr(implant, f"{name}_dish"),
        _SIGNS[name],
        0.5 * implant.spacing,
        implant.minimum_thickness,
        pose,
    )


def _axial_force(side: CondyleOnDish) -> float:
    """Return the customary axial force of one compartment [N], to about 1e-5."""
    patch = patch_rule(side, 64, 16)
    if patch is None:
        return 0.0
    at, weights = patch
    depth, _, normals = _springs(side, at, "customary")
    return stiffness_of(polyethylene()) * float(
        (weights * side.stretch(at) * depth) @ normals[:, 1]
    )


def _side_loads(
    side: CondyleOnDish, stiffness: float, rule: str, spokes: int, nodes: int
) -> FloatArray:
    """Return the (12,) values of `LOAD_COLUMNS` of one compartment."""
    patch = patch_rule(side, spokes, nodes)
    if patch is None:
        return np.concatenate([np.zeros(9), np.full(3, np.nan)])
    at, weights = patch
    depth, applied, directions = _springs(side, at, rule)
    areas = weights * side.stretch(at)
    carried = stiffness * depth * areas
    forces = carried[:, None] * directions
    if rule == "hydroelastic":
        areas = areas * np.linalg.norm(directions, axis=1)
        carried = stiffness * depth * areas
    area, total = areas.sum(), carried.sum()
    deepest = at[np.argmax(depth)]
    # Zero off the patch, which the first grids may overlap.
    indentation = side.depth if rule != "nearest" else lambda p: -side.distance(p)
    peak = largest(indentation, deepest, side.limits)[1]
    return np.concatenate(
        [
            forces.sum(axis=0),
            np.cross(applied, forces).sum(axis=0),
            [area, stiffness * peak, total / area],
            carried @ side.points(at)[0] / total,
        ]
    )


def _springs(
    side: CondyleOnDish, at: FloatArray, rule: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return depths (N,) [m], points of application (N, 3) [m] and force directions (N, 3).

    A direction is the force over K times depth times the area of the dish.
    """
    points, normals = side.points(at)
    if rule == "nearest":
        depth = -side.distance(at)
        outward = side.femoral_normal(points)
        return depth, points + depth[:, None] * outward, -outward
    depth = side.depth(at)
    if (depth <= 0.0).any():
        raise PatchError("exact loads: the patch is cut by the edge of the condyle")
    if rule == "customary":
        return depth, points, normals
    hits = points - depth[:, None] * normals
    outward = side.femoral_normal(hits)
    directions = outward / (outward * normals).sum(axis=1)[:, None]
    if rule == "hydroelastic":
        directions *= side.spread(at, depth)[:, None]
    return depth, hits, directions
