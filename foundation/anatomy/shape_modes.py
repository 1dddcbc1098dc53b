"""Modes of shape of corresponding knees: principal components, or given displacements.

The meshes of corresponding knees have the same triangles, and a vertex is at the same place of the
anatomy in every knee. The vertices of femur and tibia of a knee are one vector, so that a mode of a
population changes both bodies together (statistical shape models: Cootes et al. 1995, Comput Vis
Image Underst 61:38-59).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import svd
from scipy.spatial.transform import Rotation

from foundation.base.checks import FloatArray, check_array, check_count, check_fields, frozen
from foundation.base.errors import InputError
from foundation.base.wording import counted
from foundation.surfaces.triangle_mesh import MeshError, TriangleMesh, area_vectors

#: Standard deviation of a mode, over that of the first, below which the mode is rounding.
_ROUNDING = 1e-9
#: Part of the area of a surface up to which triangles that fold are slivers, as at a rim.
_SLIVERS = 1e-3
#: Largest deviation of the length of a mode from 1.
_UNIT = 1e-9


@dataclass(frozen=True, eq=False)
class ShapeModes:
    """A knee and the modes by which its shape varies, V vertices of both bodies in all.

    Parameters
    ----------
    femur, tibia : TriangleMesh
        Surfaces at weights of zero: the mean of a set, or the base of given displacements [m].
    modes : (K, V, 3) float64
        Modes of unit length over all coordinates, vertices of the femur first [1]. Those of a set
        are orthogonal to each other.
    deviations : (K,) float64
        Displacement of a weight of 1, over the mode [m]: the standard deviation of a set.
    shares : (K,) float64, optional
        Share of each mode in the variance of the set [1]; None for given displacements.

    Raises
    ------
    InputError
        If a mode has not unit length, or a deviation is not positive.
    """

    femur: TriangleMesh
    tibia: TriangleMesh
    modes: FloatArray
    deviations: FloatArray
    shares: FloatArray | None = None

    def __post_init__(self) -> None:
        count, size = len(self.modes), len(self.femur.vertices) + len(self.tibia.vertices)
        check_fields(self, modes=(count, size, 3), deviations=(count,), shares=(count,))
        lengths = np.linalg.norm(self.modes, axis=(1, 2))
        if count == 0 or np.abs(lengths - 1.0).max() > _UNIT or not (self.deviations > 0.0).all():
            raise InputError(
                "modes: expected modes of length 1 with positive deviations, found lengths "
                f"{lengths.tolist()} and deviations {self.deviations.tolist()}"
            )

    @classmethod
    def of_knees(
        cls,
        femur: TriangleMesh,
        tibia: TriangleMesh,
        femurs: ArrayLike,
        tibias: ArrayLike,
        kept: int | None = None,
    ) -> ShapeModes:
        """Return mean and principal components of N corresponding knees.

        The largest component of each mode is positive, so that the signs do not depend on the
        order of the knees.

        Parameters
        ----------
        femur, tibia : TriangleMesh
            Triangles of the surfaces, with their names; the vertices are not used.
        femurs, tibias : (N, V, 3) array
            Vertices of the knees [m], each body in one frame for all knees.
        kept : int, optional
            Number of modes, at most N - 1 (default: all).

        Raises
        ------
        InputError
            If there are fewer than two knees, or the knees have fewer modes.
        """
        bodies = _both(femur, tibia, "femurs", femurs, "tibias", tibias)
        if len(bodies) < 2:
            raise InputError(f"femurs: expected two knees or more, found {len(bodies)}")
        mean = bodies.mean(axis=0)
        _, values, modes = svd((bodies - mean).reshape(len(bodies), -1), full_matrices=False)
        rank = min(int((values > _ROUNDING * values[0]).sum()), len(bodies) - 1)
        if rank == 0:
            raise InputError(f"femurs: expected knees that differ, found {len(bodies)} equal knees")
        count = rank if kept is None else check_count("kept", kept)
        if count > rank:
            raise InputError(
                f"{{name}}: expected at most {rank}, since {len(bodies)} knees differ in "
                f"{counted(rank, 'mode')} only, found {count}",
                "kept",
            )
        modes = modes[:count]
        largest = np.take_along_axis(modes, np.abs(modes).argmax(axis=1)[:, None], axis=1)
        modes = (np.sign(largest) * modes).reshape(count, -1, 3)
        deviations = values[:count] / np.sqrt(len(bodies) - 1.0)
        shares = values[:count] ** 2 / (values**2).sum()
        means = np.split(mean, [len(femur.vertices)])
        return cls(*_moved(femur, tibia, *means), modes, deviations, shares)

    @classmethod
    def of_displacements(
        cls, femur: TriangleMesh, tibia: TriangleMesh, femoral: ArrayLike, tibial: ArrayLike
    ) -> ShapeModes:
        """Return K given displacements of a knee as modes; their weights are in units of them.

        Parameters
        ----------
        femur, tibia : TriangleMesh
            The knee without displacements [m].
        femoral, tibial : (K, V, 3) array
            Displacement of each vertex of the body [m].

        Raises
        ------
        InputError
            If a displacement is zero at all vertices of both bodies.
        """
        both = _both(femur, tibia, "femoral", femoral, "tibial", tibial)
        lengths = np.linalg.norm(both, axis=(1, 2))
        if not lengths.all():
            which = int(np.flatnonzero(lengths == 0.0)[0]) + 1
            raise InputError(
                f"displacement {which}: expected a vertex that moves, found zero at all vertices"
            )
        return cls(femur, tibia, both / lengths[:, None, None], lengths)

    @cached_property
    def displacements(self) -> FloatArray:
        """Displacement of each vertex by a weight of 1 of each mode, (K, V, 3) [m]."""
        return frozen(self.deviations[:, None, None] * self.modes)

    def vertices(self, weights: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the vertices (V, 3) [m] of femur and tibia at weights (K,) [1].

        Weights are in standard deviations, or in units of the given displacements.
        """
        checked = check_array("weights", weights, (len(self.modes),))
        moved = np.tensordot(checked, self.displacements, axes=1)
        femoral, tibial = np.split(moved, [len(self.femur.vertices)])
        return self.femur.vertices + femoral, self.tibia.vertices + tibial

    def meshes(self, weights: ArrayLike) -> tuple[TriangleMesh, TriangleMesh]:
        """Return the surfaces of femur and tibia [m] at weights (K,) [1].

        Raises
        ------
        MeshError
            If triangles fold, that is turn by more than 90 degrees, except slivers.
        """
        meshes = _moved(self.femur, self.tibia, *self.vertices(weights))
        for body, before, after in zip(
            ("femur", "tibia"), (self.femur, self.tibia), meshes, strict=True
        ):
            folds = folded(before, after.vertices)
            if before.areas[folds].sum() > _SLIVERS * before.areas.sum():
                raise MeshError(
                    f"{counted(int(folds.sum()), 'triangle')} of the {body} fold at the weights "
                    f"{np.round(np.asarray(weights, dtype=float), 3).tolist()} of the modes of "
                    "shape; choose smaller weights"
                )
        return meshes


def folded(mesh: TriangleMesh, vertices: FloatArray) -> NDArray[np.bool_]:
    """Return which triangles turn by more than 90 degrees if the vertices (V, 3) [m] move, (F,)."""
    turned = (area_vectors(vertices, mesh.faces) * mesh.area_vectors).sum(axis=1)
    return np.asarray(turned <= 0.0)


def moved_onto(points: FloatArray, target: FloatArray) -> FloatArray:
    """Return points (V, 3) [m], turned and moved as a rigid body to fit points (V, 3) [m] best.

    The sum of the squared distances is the least (Kabsch 1976, Acta Crystallogr A 32:922-923).
    """
    centre, goal = points.mean(axis=0), target.mean(axis=0)
    turn, _ = Rotation.align_vectors(target - goal, points - centre)
    return turn.apply(points - centre) + goal


def rigid_share(points: FloatArray, displacement: FloatArray) -> float:
    """Return the share of a motion as a rigid body in the squares of a displacement [1].

    The body has vertices (V, 3) [m] with the displacement (V, 3) [m].
    """
    target = points + displacement
    total = float((displacement**2).sum())
    if total == 0.0:
        return 0.0
    return 1.0 - float(((target - moved_onto(points, target)) ** 2).sum()) / total


def _both(
    femur: TriangleMesh,
    tibia: TriangleMesh,
    femoral_name: str,
    femoral: ArrayLike,
    tibial_name: str,
    tibial: ArrayLike,
) -> FloatArray:
    """Return arrays of both bodies as one, (N, V, 3) [m], after checks."""
    first = check_array(femoral_name, femoral, (None, *femur.vertices.shape))
    second = check_array(tibial_name, tibial, (len(first), *tibia.vertices.shape))
    return np.concatenate([first, second], axis=1)


def _moved(
    femur: TriangleMesh, tibia: TriangleMesh, femoral: FloatArray, tibial: FloatArray
) -> tuple[TriangleMesh, TriangleMesh]:
    """Return femur and tibia with other vertices (V, 3) [m]; normals are estimated anew."""
    return (
        TriangleMesh(femoral, femur.faces, femur.name),
        TriangleMesh(tibial, tibia.faces, tibia.name),
    )
