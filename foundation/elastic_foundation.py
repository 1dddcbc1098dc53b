"""The original model: elastic-foundation contact of the femur on the tibia."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation import kernels
from foundation.checks import FloatArray, check_array, check_in, check_number, frozen
from foundation.compartments import find_compartments
from foundation.laws import SpringLaw
from foundation.loads import COMPARTMENTS, ContactLoads
from foundation.mesh import TriangleMesh
from foundation.pose import Pose, twist_jacobian
from foundation.tree import BoxTree, build_tree

#: Ways in which the femoral surface between the vertices is taken.
SURFACES = ("flat",)

_FACETS_PER_LEAF = 4
_SPRINGS_PER_CLUSTER = 16


@dataclass(frozen=True, eq=False)
class SpringState:
    """State of every spring of the bed at one pose, in the order of the tibial triangles.

    Parameters
    ----------
    indentation : (F,) float64
        Indentation along minus the tibial normal [m], 0 out of contact.
    pressure : (F,) float64
        Pressure [Pa], 0 out of contact.
    """

    indentation: FloatArray
    pressure: FloatArray


@dataclass(frozen=True, eq=False)
class _SpringBed:
    """Springs in clusters of neighbours, medial compartment first."""

    triangle: NDArray[np.int64]
    points: FloatArray
    normals: FloatArray
    areas: FloatArray
    clusters: NDArray[np.int64]
    cluster_centre: FloatArray
    cluster_half: FloatArray
    compartments: NDArray[np.int64]


def _spring_bed(tibia: TriangleMesh, labels: NDArray[np.int8], reach: float) -> _SpringBed:
    """Order the springs by compartment and neighbourhood and box their rays cluster by cluster."""
    order: list[NDArray[np.int64]] = []
    firsts: list[int] = []
    boundaries = [0]
    for compartment in range(2):
        members = np.flatnonzero(labels == compartment)
        ends = tibia.centroids[members]
        tree = build_tree(ends, ends, _SPRINGS_PER_CLUSTER)
        start = sum(len(o) for o in order)
        firsts.extend(start + int(f) for f in tree.first[tree.count > 0])
        order.append(members[tree.order])
        boundaries.append(len(firsts))
    triangle = np.concatenate(order)
    points = np.ascontiguousarray(tibia.centroids[triangle])
    normals = np.ascontiguousarray(tibia.normals[triangle])
    starts = np.array(firsts)
    tips = points - reach * normals
    low = np.minimum.reduceat(np.minimum(points, tips), starts)
    high = np.maximum.reduceat(np.maximum(points, tips), starts)
    return _SpringBed(
        triangle,
        points,
        normals,
        np.ascontiguousarray(tibia.areas[triangle]),
        np.append(starts, len(triangle)),
        0.5 * (low + high),
        0.5 * (high - low),
        np.array(boundaries),
    )


def _facet_tree(femur: TriangleMesh) -> tuple[BoxTree, tuple[FloatArray, ...]]:
    """Return the tree over the femoral facets and (corner, edge 1, edge 2, normal) in its order."""
    corners = femur.vertices[femur.faces]
    tree = build_tree(corners.min(axis=1), corners.max(axis=1), _FACETS_PER_LEAF)
    corners = corners[tree.order]
    facets = (
        corners[:, 0],
        corners[:, 1] - corners[:, 0],
        corners[:, 2] - corners[:, 0],
        femur.normals[tree.order],
    )
    return tree, tuple(np.ascontiguousarray(f) for f in facets)


class ElasticFoundation:
    """Elastic-foundation contact between two triangulated condyle surfaces.

    The tibial surface carries one independent spring per triangle, at its centroid and along its
    normal; the indentation of a spring is the distance along minus that normal at which its line
    leaves the femur. The force of a spring is its pressure times the triangle's area along its
    normal (the rule of OpenSim-JAM, Smith et al. 2016, J Biomech Eng 138:021017).

    Parameters
    ----------
    femur, tibia : TriangleMesh
        Articular surfaces [m], each in its own body frame, normals out of the bone or component.
    law : SpringLaw
        Spring law; with a thickness per spring its order is that of the tibial triangles.
    surface : {"flat"}
        How the femoral surface runs between its vertices: plane facets.
    compartments : (F,) int8, optional
        0 for the medial and 1 for the lateral compartment, per tibial triangle; by default found
        from the mesh (`foundation.compartments.find_compartments`).
    search_depth : float
        Largest indentation looked for [m].

    Raises
    ------
    ValueError
        If an argument is out of its range or the sizes do not fit.
    """

    def __init__(
        self,
        femur: TriangleMesh,
        tibia: TriangleMesh,
        law: SpringLaw,
        *,
        surface: str = "flat",
        compartments: ArrayLike | None = None,
        search_depth: float = 20e-3,
    ) -> None:
        self.femur = femur
        self.tibia = tibia
        self.law = law
        self.surface = check_in("surface", surface, SURFACES)
        self.search_depth = check_number(
            "search_depth", search_depth, above=0.0, at_most=0.1, unit="m"
        )
        self.compartments = frozen(_check_labels(tibia, compartments))
        self._bed = _spring_bed(tibia, self.compartments, self.search_depth)
        tree, facets = _facet_tree(femur)
        layers = law.layers(len(tibia.faces))
        bed = self._bed
        self._arguments = (
            bed.points,
            bed.normals,
            bed.areas,
            bed.clusters,
            bed.cluster_centre,
            bed.cluster_half,
            bed.compartments,
        )
        self._tree_arguments = (tree.low, tree.high, tree.next, tree.first, tree.count, *facets)
        self._law_arguments = (
            layers.kinds,
            layers.exponents,
            layers.offsets,
            np.ascontiguousarray(layers.coefficients[:, bed.triangle]),
            np.ascontiguousarray(layers.thicknesses[:, bed.triangle]),
        )

    def evaluate(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose; see `foundation.loads` for frames and signs.

        Same pose, same loads: nothing is remembered between calls, and calls from several threads
        do not disturb each other.
        """
        sums, _, _ = self._run(pose, jacobian=False)
        return _contact_loads(sums)

    def loads(self, pose: Pose) -> ContactLoads:
        """Return the loads at a pose (`dynamics.protocol.ContactModel`)."""
        return self.evaluate(pose)

    def loads_and_jacobian(self, pose: Pose) -> tuple[ContactLoads, FloatArray]:
        """Return the loads and d(total wrench)/d(pose coordinates).

        Returns
        -------
        ContactLoads
            The loads.
        (6, 6) float64
            Row: component of the total wrench [N, N m]; column: pose coordinate [rad, m].
        """
        sums, jacobian, _ = self._run(pose, jacobian=True)
        return _contact_loads(sums), jacobian.sum(axis=0)

    def compartment_loads(
        self, pose: Pose, compartment: str
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the loads of one compartment alone; the other one is not evaluated.

        Parameters
        ----------
        pose : Pose
            Where to evaluate.
        compartment : {"medial", "lateral"}
            Which compartment.

        Returns
        -------
        loads : (12,) float64
            In the order of `foundation.loads.LOAD_COLUMNS`.
        jacobian : (6, 6) float64
            d(wrench)/d(pose coordinates).
        depth : (2,) float64
            Largest indentation [m] and largest strain [-].
        """
        index = COMPARTMENTS.index(check_in("compartment", compartment, COMPARTMENTS))
        chosen = np.arange(2) == index
        sums, jacobian, _ = self._run(pose, jacobian=True, chosen=chosen)
        return _quantities(sums[index]), jacobian[index], sums[index, 12:14]

    def spring_state(self, pose: Pose) -> SpringState:
        """Return indentation and pressure of every spring, in the order of the triangles."""
        _, _, springs = self._run(pose, jacobian=False)
        state = np.zeros((2, len(self.tibia.faces)))
        state[:, self._bed.triangle] = springs
        return SpringState(frozen(state[0]), frozen(state[1]))

    def _run(
        self, pose: Pose, *, jacobian: bool, chosen: NDArray[np.bool_] | None = None
    ) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
        """Return sums (2, SUMS), jacobians by pose (2, 6, 6), and (depth, pressure) per spring."""
        springs = len(self._bed.triangle)
        depth, pressure = np.zeros(springs), np.zeros(springs)
        facet = np.full(springs, -1)
        sums = np.zeros((2, kernels.SUMS))
        by_twist = np.zeros((2, 6, 6))
        kernels.evaluate_contact(
            pose.rotation_matrix,
            pose.translation,
            *self._arguments,
            np.ones(2, dtype=np.bool_) if chosen is None else chosen,
            self.search_depth,
            *self._tree_arguments,
            *self._law_arguments,
            jacobian,
            depth,
            facet,
            pressure,
            sums,
            by_twist,
        )
        by_pose = by_twist @ twist_jacobian(pose) if jacobian else by_twist
        return sums, by_pose, (depth, pressure)


def _check_labels(tibia: TriangleMesh, labels: ArrayLike | None) -> NDArray[np.int8]:
    if labels is None:
        return find_compartments(tibia)
    array = check_array("compartments", labels, (len(tibia.faces),))
    if not np.isin(array, (0.0, 1.0)).all():
        raise ValueError("compartments: expected only 0 (medial) and 1 (lateral)")
    for value, name in enumerate(COMPARTMENTS):
        if not (array == value).any():
            raise ValueError(f"compartments: no triangle is {name} ({value})")
    return array.astype(np.int8)


def _quantities(sums: FloatArray) -> FloatArray:
    """Return the (12,) values of `LOAD_COLUMNS` from the kernel's sums of one compartment."""
    area, carried = sums[6], sums[8]
    values = np.empty(12)
    values[:8] = sums[:8]
    values[8] = carried / area if area > 0.0 else 0.0
    values[9:] = sums[9:12] / carried if carried > 0.0 else np.nan
    return values


def _contact_loads(sums: FloatArray) -> ContactLoads:
    flags = tuple(
        f"{name}: strain {sums[c, 13]:.2f} exceeds {kernels.STRAIN_LIMIT}, "
        "the femur is pressed through the layer"
        for c, name in enumerate(COMPARTMENTS)
        if sums[c, 13] > kernels.STRAIN_LIMIT
    )
    return ContactLoads.trusted(_quantities(sums[0]), _quantities(sums[1]), flags)
