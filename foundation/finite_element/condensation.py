"""Static condensation of hexahedra to the retained unknowns of the bearing surface.

Multilevel substructuring, the dense form of nested dissection (George 1973, SIAM J Numer Anal
10:345-363), by the dense Cholesky factorisations of LAPACK.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError
from foundation.base.threads import one_thread
from foundation.core import lapack
from foundation.finite_element.hexahedra import stiffness

#: Elements of a part that is not bisected.
_LEAF = 96
#: Compliance, times Young's modulus and the extent of the body, above which a body is not held.
_LOOSE = 1e8


@dataclass(frozen=True, eq=False)
class ElasticBody:
    """Hexahedra of nodes (N, 3) [m], fixed at their base, with unknowns retained at the surface."""

    nodes: FloatArray
    #: Nodes (E, 8) of each element, as `foundation.finite_element.hexahedra.CORNERS`.
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
        found = inverse.T @ inverse
    size = body.youngs_modulus * float(np.ptp(body.nodes, axis=0).max())
    # NaN counts as loose.
    if not ((found.diagonal() > 0.0) & (size * found.diagonal() < _LOOSE)).all():
        raise _singular()
    return found


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
        at = self.centroids[elements]
        axis = int(np.ptp(at, axis=0).argmax())
        order = elements[np.argsort(at[:, axis], kind="stable")]
        middle = len(order) // 2
        return order[:middle], order[middle:]

    def _assembled(self, elements: IntArray) -> tuple[FloatArray, IntArray]:
        nodes = self.body.hexahedra[elements]
        own = (3 * nodes[:, :, None] + np.arange(3)).reshape(-1, 24)
        unknowns, place = np.unique(own, return_inverse=True)
        place = place.reshape(own.shape)
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
        own, rest = unknowns[inner], unknowns[~inner]
        eliminated = _sum(parts, own, own)
        coupling, remaining = _sum(parts, own, rest), _sum(parts, rest, rest)
        parts.clear()
        if len(own):
            factor = _factor(eliminated)
            solved = lapack.solve_lower(factor, coupling)
            remaining -= solved.T @ solved
        return remaining, rest


def _sum(parts: list[tuple[FloatArray, IntArray]], rows: IntArray, columns: IntArray) -> FloatArray:
    """Return the block of the sum of matrices (K, K) over sorted unknowns (K,)."""
    total = np.zeros((len(rows), len(columns)))
    for matrix, unknowns in parts:
        at_rows, own_rows = np.intersect1d(rows, unknowns, True, return_indices=True)[1:]
        at, own = np.intersect1d(columns, unknowns, True, return_indices=True)[1:]
        total[np.ix_(at_rows, at)] += matrix[np.ix_(own_rows, own)]
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
