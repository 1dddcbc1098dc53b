"""Eight-node hexahedra with incompatible modes, and their quality.

Three quadratic modes per displacement component are condensed out of each element (Wilson et al.
1973; Taylor, Beresford & Wilson 1976, Int J Numer Methods Eng 10:1211-1219, with their correction
for the patch test), so that an element locks neither in bending nor near incompressibility.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from foundation.base.checks import FloatArray, IntArray

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
        others = [k for k in range(3) if k != axis]
        slopes[:, :, axis] = 0.125 * CORNERS[:, axis] * factors[:, :, others].prod(axis=2)
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
