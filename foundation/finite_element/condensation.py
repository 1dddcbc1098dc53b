"""Static condensation of hexahedra to the retained unknowns of the bearing surface.

Multilevel substructuring, the dense form of nested dissection (George 1973, SIAM J Numer Anal
10:345-363), by the dense Cholesky factorisations of LAPACK.

The hexahedra have eight nodes and incompatible modes: three quadratic modes per displacement
component are condensed out of each (Wilson et al. 1973; Taylor, Beresford & Wilson 1976, Int J
Numer Methods Eng 10:1211-1219, with their correction for the patch test), so that an element locks
neither in bending nor near incompressibility.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.base.threads import one_thread
from foundation.core import lapack

#: Reference coordinates of the nodes: the lower face counter-clockwise, then the upper face.
CORNERS = np.array(
    [(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1),
     (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)],
    dtype=np.float64,
)  # fmt: skip
#: Gauss points of the 2 x 2 x 2 rule; all weights are 1.
_GAUSS = np.array([*product((-1.0, 1.0), repeat=3)]) / np.sqrt(3.0)
#: Elements whose stiffness is computed at a time, which bounds the memory.
_BATCH = 2048


def stiffness(nodes: FloatArray, youngs_modulus: float, poissons_ratio: float) -> FloatArray:
    """Return stiffness matrices (E, 24, 24) [N/m] of linear-elastic hexahedra (E, 8, 3) [m]."""
    material = elasticity(youngs_modulus, poissons_ratio)
    parts = [
        _stiffness(nodes[start : start + _BATCH], material)
        for start in range(0, len(nodes), _BATCH)
    ]
    return np.concatenate(parts)


def elasticity(youngs_modulus: float, poissons_ratio: float) -> FloatArray:
    """Return the isotropic elasticity matrix (6, 6) [Pa] for strains (xx, yy, zz, xy, yz, zx)."""
    shear = youngs_modulus / (2.0 * (1.0 + poissons_ratio))
    lame = 2.0 * shear * poissons_ratio / (1.0 - 2.0 * poissons_ratio)
    material = np.diag([2.0 * shear] * 3 + [shear] * 3)
    material[:3, :3] += lame
    return material


def _stiffness(nodes: FloatArray, material: FloatArray) -> FloatArray:
    middle = np.linalg.inv(_mapping(nodes, shape_slopes(np.zeros((1, 3)))))[:, 0]
    slopes = shape_slopes(_GAUSS)
    mapping = _mapping(nodes, slopes)
    volume = np.linalg.det(mapping)
    gradients = np.einsum("qna,eqab->eqnb", slopes, np.linalg.inv(mapping))
    # The modes 1 - r^2 have the slope -2 r along their own axis. They are mapped with the jacobian
    # of the middle and weighted with its determinant, so that a constant strain does not excite
    # them (patch test).
    by_mode = -2.0 * _GAUSS[None, :, :, None] * middle[:, None]
    at_middle = np.linalg.det(_mapping(nodes, shape_slopes(np.zeros((1, 3)))))
    by_mode = by_mode * (at_middle / volume)[:, :, None, None]
    strain = _strain_matrix(np.concatenate([gradients, by_mode], axis=2))
    weighted = np.einsum("eq,ij,eqjk->eqik", volume, material, strain, optimize=True)
    count = len(nodes)
    full = strain.reshape(count, -1, 33).transpose(0, 2, 1) @ weighted.reshape(count, -1, 33)
    coupling, modes = full[:, :24, 24:], full[:, 24:, 24:]
    return full[:, :24, :24] - coupling @ np.linalg.solve(modes, coupling.transpose(0, 2, 1))


def shape_slopes(points: FloatArray) -> FloatArray:
    """Return d(shape function)/d(reference coordinate) at points (Q, 3), (Q, 8, 3) [1]."""
    factors = 1.0 + points[:, None] * CORNERS
    slopes = np.empty((len(points), 8, 3))
    for axis in range(3):
        other_axes = [k for k in range(3) if k != axis]
        slopes[:, :, axis] = 0.125 * CORNERS[:, axis] * factors[:, :, other_axes].prod(axis=2)
    return slopes


def _mapping(nodes: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return dr/dx inverse's inverse: d(x)/d(reference), rows reference, (E, Q, 3, 3) [m]."""
    return np.einsum("qna,eni->eqia", slopes, nodes)


def _strain_matrix(gradients: FloatArray) -> FloatArray:
    """Return the strains (E, Q, 6, 3 N) of unit displacements from gradients (E, Q, N, 3) [1/m]."""
    elements, points, nodes, _ = gradients.shape
    strain = np.zeros((elements, points, 6, nodes, 3))
    for axis in range(3):
        strain[:, :, axis, :, axis] = gradients[..., axis]
    for row, (i, j) in enumerate(((0, 1), (1, 2), (2, 0))):
        strain[:, :, 3 + row, :, i] = gradients[..., j]
        strain[:, :, 3 + row, :, j] = gradients[..., i]
    return strain.reshape(elements, points, 6, 3 * nodes)


def scaled_jacobian(nodes: FloatArray, hexahedra: IntArray) -> FloatArray:
    """Return the least scaled jacobian (E,) [1] over corners; nodes (N, 3) [m], elements (E, 8)."""
    # 1 for a cuboid, <= 0 if folded (Knupp 2000, Int J Numer Methods Eng 48:1165-1185).
    corners = nodes[hexahedra]
    worst = np.full(len(hexahedra), np.inf)
    for k, corner in enumerate(CORNERS):
        edges = []
        for axis in range(3):
            other = corner.copy()
            other[axis] *= -1.0
            neighbour = int(np.flatnonzero((other == CORNERS).all(axis=1))[0])
            edge = -corner[axis] * (corners[:, neighbour] - corners[:, k])
            edges.append(edge / np.linalg.norm(edge, axis=1, keepdims=True))
        worst = np.minimum(worst, np.linalg.det(np.stack(edges, axis=1)))
    return worst


#: Elements of a part that is not bisected.
_LEAF = 96
#: Compliance, times Young's modulus and the extent of the body, above which a body is not held.
_LOOSE = 1e8


@dataclass(frozen=True, eq=False)
class ElasticBody:
    """Hexahedra of nodes (N, 3) [m], fixed at their base, with unknowns retained at the surface."""

    nodes: FloatArray
    #: Nodes (E, 8) of each element, in the order of `CORNERS`.
    hexahedra: IntArray
    #: Nodes (N,) that do not move.
    fixed: NDArray[np.bool_]
    #: Nodes of the retained unknowns (C,).
    retained: IntArray
    #: Unit direction of the retained displacement of each of these nodes (C, 3) [1].
    directions: FloatArray
    #: Young's modulus [Pa].
    youngs_modulus: float
    poissons_ratio: float


def compliance(body: ElasticBody) -> FloatArray:
    """Return displacements [m] per unit force [N] of retained unknowns, (C, C), or `InputError`."""
    # Several threads of BLAS wait for each other where a core is taken by another process.
    with one_thread:
        matrix, unknowns = _Substructures(body).condensed(np.arange(len(body.hexahedra)))
        place = np.searchsorted(unknowns, 3 * body.retained + 2)
        factor = _factor(matrix[np.ix_(place, place)])
        del matrix
        inverse = lapack.solve_lower(factor, np.eye(len(factor)))
        # The product of a matrix and its transpose is symmetric to the last bit.
        condensed = inverse.T @ inverse
    size = body.youngs_modulus * float(np.ptp(body.nodes, axis=0).max())
    # NaN counts as loose.
    if not ((condensed.diagonal() > 0.0) & (size * condensed.diagonal() < _LOOSE)).all():
        raise _singular()
    return condensed


def _frames(body: ElasticBody) -> FloatArray:
    """Return the axes of each node's unknowns, (N, 3, 3), the third its direction."""
    frames = np.tile(np.eye(3), (len(body.nodes), 1, 1))
    third = body.directions
    across = np.eye(3)[np.abs(third).argmin(axis=1)]
    first = np.cross(across, third)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    frames[body.retained] = np.stack([first, np.cross(third, first), third], axis=1)
    return frames


def _element_stiffness(body: ElasticBody, elements: IntArray, frames: FloatArray) -> FloatArray:
    """Return the stiffness of elements in the axes of their nodes, (E, 24, 24) [N/m]."""
    nodes = body.hexahedra[elements]
    plain = stiffness(body.nodes[nodes], body.youngs_modulus, body.poissons_ratio)
    axes = frames[nodes]
    blocks = plain.reshape(-1, 8, 3, 8, 3)
    turned = np.einsum("enai,enimj->enamj", axes, blocks, optimize=True)
    turned = np.einsum("enamj,embj->enamb", turned, axes, optimize=True)
    return turned.reshape(-1, 24, 24)


class _Substructures:
    """Condensation of parts of a body, each a set of its elements."""

    def __init__(self, body: ElasticBody) -> None:
        self.body = body
        self.frames = _frames(body)
        self.centroids = body.nodes[body.hexahedra].mean(axis=1)
        #: Number of elements at each node.
        self.elements_at = np.bincount(body.hexahedra.ravel(), minlength=len(body.nodes))
        unknowns = 3 * len(body.nodes)
        self.kept = np.zeros(unknowns, dtype=np.bool_)
        self.kept[3 * body.retained + 2] = True
        self.free = ~np.repeat(body.fixed, 3)

    def condensed(self, elements: IntArray) -> tuple[FloatArray, IntArray]:
        """Return the condensed stiffness (K, K) [N/m] of a part and its unknowns (K,), sorted."""
        if len(elements) <= _LEAF:
            parts = [self._assembled(elements)]
        else:
            parts = [self.condensed(half) for half in self._halves(elements)]
        return self._without_inner(parts, elements)

    def _halves(self, elements: IntArray) -> tuple[IntArray, IntArray]:
        """Return the elements on either side of the median plane across their longest extent."""
        centroids = self.centroids[elements]
        axis = int(np.ptp(centroids, axis=0).argmax())
        order = elements[np.argsort(centroids[:, axis], kind="stable")]
        middle = len(order) // 2
        return order[:middle], order[middle:]

    def _assembled(self, elements: IntArray) -> tuple[FloatArray, IntArray]:
        nodes = self.body.hexahedra[elements]
        element_unknowns = (3 * nodes[:, :, None] + np.arange(3)).reshape(-1, 24)
        unknowns, place = np.unique(element_unknowns, return_inverse=True)
        place = place.reshape(element_unknowns.shape)
        size = len(unknowns)
        blocks = _element_stiffness(self.body, elements, self.frames)
        flat = (place[:, :, None] * size + place[:, None]).ravel()
        matrix = np.bincount(flat, blocks.ravel(), size * size).astype(np.float64)
        free = self.free[unknowns]
        return matrix.reshape(size, size)[np.ix_(free, free)], unknowns[free]

    def _without_inner(
        self, parts: list[tuple[FloatArray, IntArray]], elements: IntArray
    ) -> tuple[FloatArray, IntArray]:
        """Add parts and condense out unknowns that are not retained and that no other part has."""
        unknowns = np.unique(np.concatenate([own for _, own in parts]))
        nodes = self.body.hexahedra[elements].ravel()
        count = np.bincount(nodes, minlength=len(self.body.nodes))
        complete = (count == self.elements_at)[unknowns // 3]
        inner = complete & ~self.kept[unknowns]
        own, boundary = unknowns[inner], unknowns[~inner]
        eliminated = _sum(parts, own, own)
        coupling, remaining = _sum(parts, own, boundary), _sum(parts, boundary, boundary)
        parts.clear()
        if len(own):
            factor = _factor(eliminated)
            solved = lapack.solve_lower(factor, coupling)
            remaining -= solved.T @ solved
        return remaining, boundary


def _sum(parts: list[tuple[FloatArray, IntArray]], rows: IntArray, columns: IntArray) -> FloatArray:
    """Return the block of the sum of matrices (K, K) over sorted unknowns (K,)."""
    total = np.zeros((len(rows), len(columns)))
    for matrix, unknowns in parts:
        at_rows, own_rows = np.intersect1d(rows, unknowns, True, return_indices=True)[1:]
        at_columns, own_columns = np.intersect1d(columns, unknowns, True, return_indices=True)[1:]
        total[np.ix_(at_rows, at_columns)] += matrix[np.ix_(own_rows, own_columns)]
    return total


def _factor(matrix: FloatArray) -> FloatArray:
    """Return the Cholesky factor (K, K), lower triangle, of a stiffness (K, K)."""
    try:
        return lapack.cholesky(matrix)
    except lapack.LinAlgError as error:
        raise _singular() from error


def _singular() -> InputError:
    return InputError(
        "the stiffness of the layer is not positive definite: an element is folded, or a part of "
        "the layer is not connected with the base; check surface and base"
    )
