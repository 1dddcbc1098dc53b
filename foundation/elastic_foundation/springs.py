"""Springs of a bed at a pose of the femur: what the library computes.

Independent springs of a layer that hardly changes its volume are too stiff: their confined modulus
is infinite at Poisson's ratio 0.5. Such a layer gives to a pressure on a patch of half width a
about as to a wave of the wave number 2/a (Hayes et al., `foundation.layer_theory`).

On flat facets, an *element* of the bed is a triangle with one node, its centroid. On a curved
surface, it has six nodes, and six quadrature points of degree 4 (Dunavant 1985, Int J Numer Methods
Eng 21:1129-1148), or those of its four quarters where the edge of the contact cuts the element.

A point near the edge represents its surroundings up to a distance r. With a linear indentation h +
r x, a pressure c d^m enters as c r^m T_m(h/r), and the area of the point with the fraction
T_0(h/r), where T_m(t) is the integral of (t + x)^m w(x) dx over -1 < x < 1, t + x > 0. The second
moment of the kernel is zero: w(x) = 45/32 (1 - x²) (1 - 7/3 x²).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.interpolate import PPoly, make_interp_spline

from foundation.base.checks import FloatArray, IntArray, frozen
from foundation.base.errors import InputError
from foundation.base.flags import Flag, FlagKind
from foundation.base.loads import AREA, CENTRE, MEAN_PRESSURE, PEAK_PRESSURE
from foundation.base.pose import Pose
from foundation.core.library import (
    CONSTANTS,
    CONTACT_SUMS,
    CORE,
    LANES,
    LOGARITHMIC,
    SCRATCH,
    Record,
    address,
)
from foundation.elastic_foundation.laws import (
    LayerArrays,
    LayerLaw,
    LinearLaw,
    SpringLaw,
    single_laws,
)
from foundation.layer_theory.flat_layer import wave_compliance
from foundation.surfaces.smooth_surface import NODES, SmoothSurface, shape_functions
from foundation.surfaces.tree import build_tree, node_groups
from foundation.surfaces.triangle_mesh import TriangleMesh

#: Places of the largest indentation [m], the largest strain [1], the energy [J] and the offset of
#: the patch [m]; before them, the sums have the order of the loads.
DEPTH, STRAIN, ENERGY, OFFSET = range(12, CONTACT_SUMS)


class SpringSums(NamedTuple):
    """Sums (SUMS,) [SI] of a compartment, and derivative (6, 6) of its wrench by the pose."""

    sums: FloatArray
    jacobian: FloatArray

    @property
    def loads(self) -> FloatArray:
        """Loads (12,) [N, N m, m², Pa, m]."""
        s = self.sums.tolist()
        # The library sums pressure times area, and that times the place; loads have the means.
        area, carried = s[AREA], s[MEAN_PRESSURE]
        mean = carried / area if area > 0.0 else 0.0
        centre = [m / carried for m in s[CENTRE]] if carried > 0.0 else [np.nan] * 3
        return np.array([*s[:MEAN_PRESSURE], mean, *centre])

    @property
    def depth(self) -> FloatArray:
        """Largest indentation [m] and largest strain [1], (2,)."""
        return self.sums[DEPTH:ENERGY]

    @property
    def energy(self) -> float:
        """Elastic energy [J]."""
        return float(self.sums[ENERGY])


def motion(
    twist: FloatArray | None = None,
    damping: float = 0.0,
    friction: float = 0.0,
    transition_speed: float = 1.0,
) -> Record:
    """Return the struct `dissipation` of a twist (6,) [m/s, rad/s]; None at rest."""
    moving = twist is not None and (damping > 0.0 or friction > 0.0)
    return Record(
        "dissipation",
        moving=moving,
        twist=np.zeros(6) if twist is None else twist,
        damping=damping,
        friction=friction,
        transition_speed=transition_speed,
    )


AT_REST = motion()


@dataclass(frozen=True, eq=False)
class Springs:
    """Femur, bed and law, structs of `foundation/core/contact.h`."""

    femur: Record
    bed: Record
    law: Record
    #: Largest indentation of the search [m].
    reach: float
    #: Whether loads are the gradient of the energy instead of along the bed's normals.
    conservative: bool

    @cached_property
    def _size(self) -> int:
        return int(CORE.contact_scratch(self.bed.address))

    def evaluate(
        self,
        pose: Pose,
        chosen: NDArray[np.bool_],
        moving: Record = AT_REST,
        *,
        jacobian: bool = False,
        energy: bool = False,
        field: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return sums (C, CONTACT_SUMS) and Jacobians by the twist (C, 6, 6) [SI], if `chosen`."""
        # `field` (2, F), zero before, receives indentation and pressure at the middle of each
        # element.
        sums, slopes = np.zeros((len(chosen), CONTACT_SUMS)), np.zeros((len(chosen), 6, 6))
        rotation, translation = pose.rotation_matrix, pose.translation
        shared = self.femur.address, self.bed.address
        place = address(rotation), address(translation)
        CORE.spring_contact(
            *shared, self.law.address, moving.address, *place, address(chosen), self.reach,
            self.conservative, energy, address(sums), address(slopes) if jacobian else 0,
            0 if field is None else address(field), SCRATCH.of(self._size),
        )  # fmt: skip
        return sums, slopes


#: Poisson's ratio above which a layer flows aside under a patch.
NEARLY_INCOMPRESSIBLE = 0.46
#: Wave number of the layer times half width of the patch.
_WAVE = 2.0
#: Excess of the force over that of the wave: the estimate is within 10 % under the balls of
#: `make bench ARGS=accuracy.confined_springs`.
_SHARE = 0.78
#: Least excess that is said.
_SAID = 1.1


def soft_layers(law: SpringLaw, thicknesses: FloatArray) -> tuple[tuple[LayerLaw, float], ...]:
    """Return nearly incompressible layers and mean thicknesses [m], of thicknesses (L, F) [m]."""
    laws = single_laws(law)
    if max(each.poissons_ratio for each in laws) <= NEARLY_INCOMPRESSIBLE:
        return ()
    return tuple(zip(laws, thicknesses.mean(axis=1).tolist(), strict=True))


def confinement_flags(
    name: str, layers: tuple[tuple[LayerLaw, float], ...], sums: FloatArray
) -> tuple[Flag, ...]:
    """Return the flag of a compartment with sums (SUMS,) [SI], if its springs are too stiff."""
    area, peak, depth = sums[AREA], sums[PEAK_PRESSURE], sums[DEPTH]
    if not layers or area <= 0.0 or depth <= 0.0:
        return ()
    excess = _excess(peak * _compliance(layers, _WAVE / float(np.sqrt(area / np.pi))) / depth)
    if excess < _SAID:
        return ()
    ratio = max(law.poissons_ratio for law, _ in layers)
    return (Flag(FlagKind.STIFF_SPRINGS, name, (ratio, two_digits(excess))),)


def confined_excess(poissons_ratio: float) -> float:
    """Return how many times too stiff springs are on a patch twice as wide as the layer [1]."""
    law = LinearLaw(1.0, poissons_ratio, 1e-3)
    return _excess(_compliance(((law, 1e-3),), _WAVE / 1e-3) * law.confined_modulus / 1e-3)


def times(excess: float) -> str:
    """Return an excess in words."""
    return f"about {two_digits(excess):.15g} times"


def two_digits(excess: float) -> float:
    """Return an excess to two digits, or to a whole number from 10 up [1]."""
    return float(f"{excess:.0f}" if excess >= 10.0 else f"{excess:.2g}")


def _excess(peak: float) -> float:
    """Return the excess of force from that of a wave [1]."""
    return 1.0 + _SHARE * (peak - 1.0)


def _compliance(layers: tuple[tuple[LayerLaw, float], ...], wave_number: float) -> float:
    return sum(
        wave_compliance(law.youngs_modulus, law.poissons_ratio, thickness, wave_number)
        for law, thickness in layers
    )


#: Where the splines end.
EDGE_END = CONSTANTS["EDGE_END"]
#: Pieces of the splines, of width 1/100; the weak singularities at -1 and 1 are nodes.
_PIECES = 500


def edge_kernel(x: float) -> float:
    """Return w(x) of -1 <= x <= 1 [1]."""
    return 45.0 / 32.0 * (1.0 - x * x) * (1.0 - 7.0 / 3.0 * x * x)


def smoothed_power(exponent: float, t: float) -> float:
    """Return T_m(t) [1] for an exponent m >= 0, by adaptive quadrature."""
    if t <= -1.0:
        return 0.0
    # With y² = t + x the integrand is smooth at the edge for all m in use.
    low, high = np.sqrt(max(t - 1.0, 0.0)), np.sqrt(t + 1.0)

    def integrand(y: float) -> float:
        return float(2.0 * y ** (2.0 * exponent + 1.0) * edge_kernel(y * y - t))

    return float(quad(integrand, low, high, epsabs=1e-14, epsrel=1e-12)[0])


@cache
def edge_table(exponent: float) -> FloatArray:
    """Return quintics of T_m over -1 <= t <= `EDGE_END`, (N, 6) [1], highest power first."""
    step = (EDGE_END + 1.0) / _PIECES
    nodes = -1.0 + step * np.arange(_PIECES + 1)
    spline = make_interp_spline(nodes, [smoothed_power(exponent, float(t)) for t in nodes], k=5)
    pieces = PPoly.from_spline((spline.t, spline.c, spline.k))
    factorials = np.cumprod([1.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    derivatives = np.array([pieces(nodes[:-1], order) for order in range(6)])
    scaled = derivatives * (step ** np.arange(6) / factorials)[:, None]
    return frozen(np.ascontiguousarray(scaled[::-1].T))


#: By how much a quadratic field may rise over its nodes, over the element's size.
_BULGE = CONSTANTS["BULGE"]
#: Subdivisions of an element's edge in the rule for cut elements.
_CUT_PARTS = 2
#: Reach of the smoothing at the edge of the patch, in radii of a disc of the area of a point.
_EDGE_WIDTH = 1.8


@dataclass(frozen=True, eq=False)
class SpringBed:
    """Elements and nodes of the bed, ordered by compartment and neighbourhood."""

    #: The struct `bed` of `foundation/core/contact.h`.
    arrays: Record
    #: Tibial triangle of each element (F,).
    triangle: IntArray


def flat_bed(tibia: TriangleMesh, labels: NDArray[np.int8]) -> SpringBed:
    """Return a spring at the centroid of each triangle [m], in compartments `labels` (F,)."""
    order, groups = _ordered(tibia.vertices[tibia.faces], labels)
    points, normals = tibia.centroids[order], tibia.normals[order]
    elements = np.arange(len(order))[:, None]
    vectors = (tibia.areas[order][:, None] * normals)[:, None]
    return _assembled(
        tibia, order, groups, points, normals, elements, np.eye(1, 6), np.ones(1), vectors
    )


def curved_bed(tibia: TriangleMesh, surface: SmoothSurface, labels: NDArray[np.int8]) -> SpringBed:
    """Return the bed with a quadratic field of indentation [m] on each triangle; labels (F,)."""
    positions = np.concatenate([surface.corners, surface.middles], axis=1)
    order, groups = _ordered(positions, labels)
    positions, corner_normals = positions[order], surface.normals[order]
    middle_normals = corner_normals + np.roll(corner_normals, -1, axis=1)
    middle_normals /= np.linalg.norm(middle_normals, axis=2, keepdims=True)
    normals = np.concatenate([corner_normals, middle_normals], axis=1)
    elements, points, node_normals = _shared(positions, normals, labels[order])
    vectors = _area_vectors(positions, *shape_functions(NODES)[1:])
    third = shape_functions(np.full((1, 2), 1.0 / 3.0))
    centre = np.einsum("qn,fni->fi", third[0], positions)
    centre_vector = _area_vectors(positions, *third[1:])[:, 0]
    centre_normal = centre_vector / np.linalg.norm(centre_vector, axis=1, keepdims=True)
    rule = degree_four_rule()
    shape = shape_functions(rule[0])[0]
    return _assembled(
        tibia, order, groups,
        np.concatenate([points, centre]),
        np.concatenate([node_normals, centre_normal]),
        elements, shape, rule[1], vectors,
    )  # fmt: skip


def degree_four_rule() -> tuple[FloatArray, FloatArray]:
    """Return points (6, 2), (u, v), and weights (6,) [1] of sum 1/2 (Dunavant 1985, degree 4)."""
    points, weights = [], []
    for a, w in (
        (0.445948490915964886318, 0.223381589678011465812),
        (0.091576213509770743459, 0.109951743655321867521),
    ):
        points += [(a, a), (a, 1.0 - 2.0 * a), (1.0 - 2.0 * a, a)]
        weights += [0.5 * w] * 3
    return np.array(points), np.array(weights)


def composite_rule(parts: int) -> tuple[FloatArray, FloatArray]:
    """Return points (Q, 2) and weights (Q,) [1] of the degree-4 rule on `parts`² equal parts."""
    base, weight = degree_four_rule()
    points = []
    for i in range(parts):
        for j in range(parts - i):
            points.append((base + np.array([i, j])) / parts)
            if i + j + 1 < parts:
                points.append((np.array([i + 1.0, j + 1.0]) - base) / parts)
    return np.concatenate(points), np.tile(weight / parts**2, parts**2)


def layers_on_bed(law: SpringLaw, tibia: TriangleMesh, bed: SpringBed) -> LayerArrays:
    """Return the layers of each element; values per vertex enter by means over triangles."""
    triangles, vertices = len(tibia.faces), len(tibia.vertices)

    def on_elements(values: FloatArray) -> FloatArray:
        if len(values) == triangles:
            return values[bed.triangle]
        if len(values) == vertices:
            return values[tibia.faces].mean(axis=1)[bed.triangle]
        raise InputError(
            f"thickness: expected one per tibial triangle ({triangles}) or vertex ({vertices}), "
            f"found {len(values)}"
        )

    return law.mapped(on_elements).layers(triangles)


def law_on_bed(layers: LayerArrays, corners: FloatArray | None = None) -> Record:
    """Return the struct `law`; `corners` (F, 3) [m] of femoral facets add to the last layer."""
    moduli = None if corners is None else layers.moduli
    layers = layers.merged()
    # Pressed lightly, layers in series share the indentation as if only the layers of the largest
    # exponent m were present: d = sum of (p / c)^(1/m).
    m = float(layers.exponents.max())
    linear = layers.kinds == LOGARITHMIC
    stiffness = layers.coefficients / layers.thicknesses
    initial = np.where(linear[:, None], stiffness, layers.coefficients)
    lead = (initial[layers.exponents == m] ** (-1.0 / m)).sum(axis=0) ** -m
    table = edge_table(m)
    return layers.record(
        lead=lead, exponent=m, pieces=len(table), edge=table, corners=corners, moduli=moduli
    )


def _area_vectors(positions: FloatArray, slope_u: FloatArray, slope_v: FloatArray) -> FloatArray:
    """Return dx/du x dx/dv of six-node patches (F, 6, 3) at Q points, (F, Q, 3) [m²]."""
    # Quadratic over a patch: the values at its nodes determine the field.
    tangent_u = np.einsum("qn,fni->fqi", slope_u, positions)
    tangent_v = np.einsum("qn,fni->fqi", slope_v, positions)
    return np.ascontiguousarray(np.cross(tangent_u, tangent_v))


def _ordered(positions: FloatArray, labels: NDArray[np.int8]) -> tuple[IntArray, list[IntArray]]:
    """Return the triangles by compartment and neighbourhood, and sizes of groups <= `LANES`."""
    order, sizes = [], []
    for compartment in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == compartment)
        corners = positions[members]
        tree = build_tree(corners.min(axis=1), corners.max(axis=1), LANES)
        order.append(members[tree.order])
        sizes.append(tree.count[tree.count > 0])
    return np.concatenate(order), sizes


def _shared(
    positions: FloatArray, normals: FloatArray, labels: NDArray[np.int8]
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return elements (F, 6) over nodes, and positions and normals (N, 3) of the merged nodes."""
    # Nodes on a crease differ in the normal; nodes are in the order of their first element.
    compartment = np.repeat(labels, 6).astype(np.float64)[:, None]
    # Neighbours compute shared middles to the same bits; normals may differ in the last bits.
    rounded = np.round(normals.reshape(-1, 3), 9) + 0.0
    rows = np.concatenate([positions.reshape(-1, 3), rounded, compartment], axis=1)
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    appearance = np.argsort(first, kind="stable")
    rank[appearance] = np.arange(len(first))
    elements = rank[inverse.reshape(-1)].reshape(-1, 6)
    chosen = first[appearance]
    return elements, positions.reshape(-1, 3)[chosen], normals.reshape(-1, 3)[chosen]


def _assembled(
    tibia: TriangleMesh,
    order: IntArray,
    groups: list[IntArray],
    points: FloatArray,
    normals: FloatArray,
    elements: IntArray,
    whole_shape: FloatArray,
    whole_weight: FloatArray,
    vectors: FloatArray,
) -> SpringBed:
    corners = tibia.vertices[tibia.faces[order]]
    sizes = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    cut_points, cut_weight = composite_rule(_CUT_PARTS)
    count = np.concatenate(groups)
    nodes = elements.shape[1]
    arrays = node_groups(
        points, normals, elements, np.cumsum(count) - count, count,
        bulge=_BULGE * sizes + _sag(points[elements]) if nodes > 1 else 0.0 * sizes,
        centroid_first=len(points) - len(elements) if nodes > 1 else 0,
        sizes=sizes,
        area_vectors=vectors,
        metric=_slope_metric(corners),
        whole_points=len(whole_weight),
        whole_shape=whole_shape.T,
        whole_weight=whole_weight,
        cut_points=len(cut_weight),
        cut_shape=shape_functions(cut_points)[0].T,
        cut_weight=cut_weight,
        # Radius of the disc of a point's area, in an equilateral triangle of edge 1.
        cut_radius=_EDGE_WIDTH * np.sqrt(2.0 * cut_weight * 0.25 * np.sqrt(3.0) / np.pi),
        count_compartments=len(groups),
        compartments=np.cumsum([0, *map(len, groups)]),
    )  # fmt: skip
    return SpringBed(arrays, order)


def _slope_metric(corners: FloatArray) -> FloatArray:
    """Return G (F, 3, 3) [1/m²]: d·G d is the squared slope of corner values d of a triangle."""
    edge_1, edge_2 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    # The inverse of the edges' products, whose determinant is the square of the cross product.
    turned = np.stack([edge_2, -edge_1], axis=1)
    doubled = np.linalg.norm(np.cross(edge_1, edge_2), axis=1)
    gram = turned @ turned.transpose(0, 2, 1) / (doubled**2)[:, None, None]
    differences = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    return np.ascontiguousarray(differences.T @ gram @ differences)


def _sag(nodes: FloatArray) -> FloatArray:
    """Return the largest distance of a middle of elements (F, 6, 3) from its chord, (F,) [m]."""
    corners = nodes[:, :3]
    chords = 0.5 * (corners + np.roll(corners, -1, axis=1))
    return np.linalg.norm(nodes[:, 3:] - chords, axis=2).max(axis=1)
