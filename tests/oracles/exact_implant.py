"""Converged loads of the built-in implant's analytic surfaces, and poses to take them at.

The patch is where points of the dish lie inside the condyle. Its edge is the zero line of the
condyle's signed distance, found along spokes from a point inside; so that it is met exactly,
Gauss-Legendre nodes along each spoke and the trapezoidal rule round the spokes converge fast, and
no load suffers from cells cut by the edge.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from foundation import LinearLaw
from foundation.base.checks import check_in, check_number
from foundation.base.loads import COMPARTMENTS, ContactLoads
from foundation.base.pose import Pose
from foundation.implant.condyle import Condyle, Dish
from tests.oracles import exact_condyle

#: Polyethylene 8 mm thick under a rigid femur [Pa, -, m].
MODULUS, RATIO, THICKNESS = 463e6, 0.46, 8e-3

_SIGNS = {"medial": -1.0, "lateral": 1.0}
_STEP = 0.1e-3  # m, of the search for the height

#: What stands for the force of a spring bed; see `exact_loads`.
RULES = ("customary", "consistent", "nearest", "hydroelastic")

#: Where poses are drawn: half-ranges [m, rad] about the dwell point, and the flexion range [rad].
_AP, _ML, _ROTATION, _ADDUCTION = 4e-3, 0.7e-3, np.radians(6.0), np.radians(1.0)
_FLEXION = (0.0, np.radians(60.0))
_REACH = 20e-3
_SCAN = 0.5e-3  # m, finer than any patch that carries some newtons
_RUNGS = 40
_HALVINGS = 32


class PatchError(ValueError):
    """A contact patch that reaches a rim, or that some spoke leaves more than once."""


@dataclass(frozen=True, eq=False)
class CondyleOnDish:
    """One condyle on its dish at a pose; parameters (N, 2) are arc lengths from the bottom [m]."""

    condyle: Condyle
    dish: Dish
    sign: float
    half_spacing: float
    bottom: float
    pose: Pose

    @property
    def limits(self):
        """Lowest and highest parameters, (2, 2) [m]."""
        along = self.dish.sagittal_radius * self.dish.limits
        across = self.dish.coronal_radius * self.dish.half_angle
        return np.array([[along[0], -across], [along[1], across]])

    def points(self, at):
        """Return points [m] and upward normals of the dish, tibial frame, (N, 3) each."""
        u, v = at[:, 0] / self.dish.sagittal_radius, at[:, 1] / self.dish.coronal_radius
        points, normals = self.dish.surface(u, v, self.bottom)
        points[:, 2] += self.half_spacing
        return points * (1.0, 1.0, self.sign), normals * (1.0, 1.0, self.sign)

    def stretch(self, at):
        """Return the area of the dish per area of its parameters, (N,)."""
        outer, inner = self.dish.sagittal_radius, self.dish.coronal_radius
        return (outer - inner + inner * np.cos(at[:, 1] / inner)) / outer

    def spread(self, at, depth):
        """Return the area of the surface parallel to the dish at a depth, per area of it, (N,)."""
        inner = self.dish.coronal_radius
        other = (self.dish.sagittal_radius - inner) / np.cos(at[:, 1] / inner) + inner
        return (1.0 + depth / inner) * (1.0 + depth / other)

    def distance(self, at):
        """Return the signed distance of dish points to the condyle, (N,) [m], negative inside."""
        return exact_condyle.locate(self.condyle, self._to_condyle(self.points(at)[0]))[0]

    def depth(self, at):
        """Return the indentation along minus the dish's normal, (N,) [m]."""
        points, normals = self.points(at)
        return self.depth_of(points, -normals)

    def depth_of(self, points, directions):
        """Return the distance of points (N, 3) [m] to the exit along directions [1], (N,) [m]."""
        along = directions @ self.pose.rotation_matrix * (1.0, 1.0, self.sign)
        return exact_condyle.depth(self.condyle, self._to_condyle(points), along, _REACH)

    def femoral_normal(self, points):
        """Return the condyle's outward normal at points on it, tibial frame, (N, 3)."""
        gradient = exact_condyle.locate(self.condyle, self._to_condyle(points))[1]
        return gradient * (1.0, 1.0, self.sign) @ self.pose.rotation_matrix.T

    def _to_condyle(self, points):
        """Return tibial points as (x, y, across) of the condyle."""
        femoral = (points - self.pose.translation) @ self.pose.rotation_matrix
        return femoral * (1.0, 1.0, self.sign) - (0.0, 0.0, self.half_spacing)


def deepest_point(side):
    """Return the parameters of the point of the dish deepest in the condyle, or None."""
    low, high = side.limits
    scan = _grid(low, high, np.ceil((high - low) / _SCAN).astype(int) + 1)
    start = scan[np.argmin(side.distance(scan))]
    deepest, value = largest(lambda at: -side.distance(at), start, side.limits, zooms=6)
    return deepest if value > 0.0 else None


def largest(function, start, limits, zooms=12):
    """Return place and value of the maximum next to `start`, by ever finer grids round the best."""
    best, half = start, 2.0 * _SCAN
    value = -np.inf
    for _ in range(zooms):
        low, high = np.clip([best - half, best + half], *limits)
        at = _grid(low, high, np.array([9, 9]))
        values = function(at)
        best, value = at[np.argmax(values)], float(values.max())
        half *= 0.4
    return best, value


def _grid(low, high, counts):
    axes = [np.linspace(a, b, n) for a, b, n in zip(low, high, counts, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)


def patch_rule(side, spokes, nodes):
    """Return nodes (N, 2) [m] and weights (N,) [m²] over the patch's parameters, None without."""
    centre = deepest_point(side)
    if centre is None:
        return None
    angle = 2.0 * np.pi * np.arange(spokes) / spokes
    directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    low, high = side.limits
    with np.errstate(divide="ignore"):
        ahead = np.where(directions > 0.0, high - centre, low - centre) / directions
    rim = np.min(np.where(directions == 0.0, np.inf, ahead), axis=1)
    edge = _edge(side, centre, directions, rim)
    abscissa, gauss = np.polynomial.legendre.leggauss(nodes)
    along = 0.5 * (abscissa + 1.0)
    radius = edge[:, None] * along
    at = centre + radius[:, :, None] * directions[:, None, :]
    weights = (2.0 * np.pi / spokes) * 0.5 * gauss * edge[:, None] * radius
    return at.reshape(-1, 2), weights.reshape(-1)


def _edge(side, centre, directions, rim):
    """Return how far the patch reaches along each spoke, (N,) [m]."""
    steps = np.arange(1, _RUNGS + 1) / _RUNGS
    lengths = rim[:, None] * steps
    ladder = centre + lengths[:, :, None] * directions[:, None, :]
    inside = side.distance(ladder.reshape(-1, 2)).reshape(lengths.shape) < 0.0
    if inside[:, -1].any():
        raise PatchError("exact loads: the patch is cut by the rim of the dish")
    if (inside[:, 1:] & ~inside[:, :-1]).any():
        raise PatchError("exact loads: a spoke leaves the patch more than once")
    rung = inside.sum(axis=1)
    near, far = rim * rung / _RUNGS, rim * np.minimum((rung + 1) / _RUNGS, 1.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (near + far)
        within = side.distance(centre + middle[:, None] * directions) < 0.0
        near, far = np.where(within, middle, near), np.where(within, far, middle)
    return 0.5 * (near + far)


def polyethylene(thickness=THICKNESS):
    """Return the spring law, uniform over the insert."""
    return LinearLaw(MODULUS, RATIO, thickness)


def stiffness_of(law):
    """Return K = C E / h of a law of uniform thickness [Pa/m]."""
    return float(law.confined_modulus / float(np.asarray(law.thickness)))


def exact_loads(implant, pose, stiffness=None, *, rule="customary", spokes=256, nodes=24):
    """Return the loads of the analytic surfaces at a pose, converged to about 1e-6.

    K of p = K d [Pa/m] is by default that of `polyethylene`. With d the indentation along minus the
    dish's upward normal n, m the femur's outward normal where that line leaves the femur, and per
    area of the dish, the rules are
    "customary": K d n at the dish;
    "consistent": the gradient of the energy, the integral of K d²/2, which is K d m/(m.n) where the
    line leaves the femur (on the line, d changes by -(m.w)/(m.n) when the femur moves by w);
    "nearest": K times the distance to the femur, along its normal at the nearest point, the rule of
    Simbody's ElasticFoundationForce;
    "hydroelastic": K times the distance to the dish, integrated over the femur along its normals,
    the rule of Drake's hydroelastic contact (Elandt et al. 2019, IROS) for a pressure field linear
    in depth; area and mean pressure are then those of the femur.
    A patch that a rim cuts, or that a spoke of the integration leaves twice, is a `PatchError`.
    """
    scale = stiffness_of(polyethylene()) if stiffness is None else stiffness
    check_number("stiffness", scale, above=0.0, unit="Pa/m")
    check_in("rule", rule, RULES)
    parts = [
        _side_loads(_side(implant, name, pose), scale, rule, spokes, nodes) for name in COMPARTMENTS
    ]
    return ContactLoads(parts)


def contact_poses(implant, count, seed, low=100.0, high=4000.0):
    """Return random poses in contact, log-uniform in the exact total axial force.

    Flexion 0 to 60 degrees, 4 mm anterior or posterior of the dwell point, 0.7 mm to the sides,
    6 degrees of rotation and 1 degree of adduction either way; the height carries the drawn force
    to 1e-5, the limits being forces [N] and the law `polyethylene`. Poses whose patch is cut by a
    rim are drawn again.
    """
    check_number("low", low, above=0.0, below=high, unit="N")
    generator = np.random.default_rng(seed)
    poses = []
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


def _at_force(implant, start, force):
    """Return the pose at the height that carries an axial force [N]."""

    def excess(height):
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


def _side(implant, name, pose):
    return CondyleOnDish(
        getattr(implant, name),
        getattr(implant, f"{name}_dish"),
        _SIGNS[name],
        0.5 * implant.spacing,
        implant.minimum_thickness,
        pose,
    )


def _axial_force(side):
    """Return the customary axial force of one compartment [N], to about 1e-5."""
    patch = patch_rule(side, 64, 16)
    if patch is None:
        return 0.0
    at, weights = patch
    depth, _, normals = _springs(side, at, "customary")
    return stiffness_of(polyethylene()) * float(
        (weights * side.stretch(at) * depth) @ normals[:, 1]
    )


def _side_loads(side, stiffness, rule, spokes, nodes):
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


def _springs(side, at, rule):
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
