"""A femoral layer whose thickness varies over the femur.

The last layer of a spring is as thick as the femoral layer is where the spring meets the femur
(the rule of OpenSim-JAM for a target mesh of measured thickness). On flat facets, each facet has
one thickness. On curved surfaces, the thickness is linear between the vertices, so that loads are
continuous in the pose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from foundation import kernels
from foundation.base.checks import FloatArray, IntArray, check_array
from foundation.base.errors import InputError
from foundation.base.pose import cross_matrix
from foundation.kernels.arrays import Bed, Femur, Scratch, Work, new_work
from foundation.kernels.contact import LUMPED
from foundation.surfaces.triangle_mesh import TriangleMesh


def corner_values(mesh: TriangleMesh, values: ArrayLike, *, curved: bool) -> FloatArray:
    """Return values at the corners of the triangles of a mesh, (F, 3) [any unit].

    Parameters
    ----------
    mesh : TriangleMesh
        The mesh.
    values : (F,) or (V,) float64
        A value per triangle or vertex.
    curved : bool
        Whether corners at the same vertex have the same value, the mean over the triangles by
        their areas; otherwise, corners of the same triangle have the same value.

    Raises
    ------
    InputError
        If the number of values is neither that of the triangles nor that of the vertices.
    """
    given, faces = check_array("femur_excess", values, (None,)), mesh.faces
    if len(given) not in (len(faces), len(mesh.vertices)):
        raise InputError(
            f"femur_excess: expected one per femoral triangle ({len(faces)}) or vertex "
            f"({len(mesh.vertices)}), found {len(given)}"
        )
    by_facet = len(given) == len(faces)
    if not curved:
        own = given if by_facet else given[faces].mean(axis=1)
        return np.repeat(own[:, None], 3, axis=1)
    if by_facet:
        count, places = len(mesh.vertices), faces.ravel()
        areas = np.repeat(mesh.areas, 3)
        total = np.bincount(places, weights=areas, minlength=count)
        weighted = np.bincount(places, weights=areas * np.repeat(given, 3), minlength=count)
        given = weighted / np.where(total > 0.0, total, 1.0)
    return given[faces]


class OpenScratch(Scratch):
    """Pool of scratch memory whose arrays Python reads, as the attribute `arrays` of a set."""

    def _new(self) -> Any:
        arrays = new_work(self._bed)
        work = kernels.handle(arrays)
        work.arrays = arrays
        return work


@dataclass(frozen=True, eq=False)
class FemoralThickness:
    """Thickness of the femoral layer beyond that of the law.

    Parameters
    ----------
    femur : kernels.Femur
        Patches of the femur.
    corners : (F, 3) float64
        Excess at the corners of the facets, in their order in the patches [m].
    bed : kernels.Bed
        Bed of springs.
    """

    femur: Femur
    corners: FloatArray
    bed: Bed

    def at(self, work: Work, active: int) -> tuple[IntArray, FloatArray]:
        """Return the active elements (K,) after an evaluation, and the excess at each (K,) [m].

        The mean over the nodes of an element, or that at its centroid where it is one spring.
        """
        elements, nodes = self._nodes(work, active)
        shares = _shares(work.place[nodes])
        values = (self.corners[work.met[nodes]] * shares).sum(axis=-1)
        return elements, values.mean(axis=1)

    def rates(self, rotation: FloatArray, work: Work, active: int) -> FloatArray:
        """Return the derivative of the excess at the active elements by the femoral twist, (K, 6).

        After an evaluation with derivatives, at the rotation (3, 3) of the femur [m/m, m/rad].
        """
        _, nodes = self._nodes(work, active)
        used, inverse = np.unique(nodes, return_inverse=True)
        facets, place = work.met[used], work.place[used]
        patch = self.femur.patch[facets] @ rotation.T
        u, v = place[:, :1], place[:, 1:]
        along_u = patch[:, 1] + 2.0 * u * patch[:, 3] + v * patch[:, 4]
        along_v = patch[:, 2] + u * patch[:, 4] + 2.0 * v * patch[:, 5]
        normals = self.bed.normals[used]
        points = self.bed.points[used] - work.depth[used, None] * normals
        # The point stays on the line of the spring while the femur moves under it.
        sliding = -normals[:, :, None] * work.gradient[used][:, None, :]
        sliding[:, :, :3] -= np.eye(3)
        sliding[:, :, 3:] += np.array([cross_matrix(point) for point in points])
        tangents = np.stack([along_u, along_v], axis=1)
        steps = np.linalg.solve(tangents @ tangents.transpose(0, 2, 1), tangents @ sliding)
        corners = self.corners[facets]
        slopes = corners[:, 1:] - corners[:, :1]
        by_node = np.einsum("nk,nkt->nt", slopes, steps)
        return by_node[inverse.reshape(nodes.shape)].mean(axis=1)

    def _nodes(self, work: Work, active: int) -> tuple[IntArray, IntArray]:
        """Return the active elements (K,) and their nodes (K, n)."""
        elements, bed = work.active[:active].copy(), self.bed
        nodes = bed.elements[elements].astype(np.int64)
        lumped = work.kind[:active] == LUMPED
        nodes[lumped] = (bed.centroid_first + elements[lumped])[:, None]
        return elements, nodes


def _shares(place: FloatArray) -> FloatArray:
    """Return the shares (..., 3) of corners at places (..., 2), (u, v), of facets [1]."""
    u, v = place[..., 0], place[..., 1]
    return np.stack([1.0 - u - v, u, v], axis=-1)
