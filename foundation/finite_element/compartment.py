"""Contact of the femur with the condensed layer of one compartment."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import PoseError
from foundation.base.loads import (
    AREA,
    CENTRE,
    LOAD_COLUMNS,
    MEAN_PRESSURE,
    PEAK_PRESSURE,
    WRENCH,
)  # fmt: skip
from foundation.base.pose import Pose, twist_jacobian
from foundation.base.threads import one_thread
from foundation.core import lapack
from foundation.core.library import CORE, SCRATCH, Integers, Record, address, addresses, integers
from foundation.finite_element.condensed_layer import MARGIN, MeshedLayer
from foundation.finite_element.femoral_layer import FemoralLayer, LazyCompliance, add_block
from foundation.layer_theory.flat_layer import NodalContact, solve_contact

#: Distance of the edge found from nodal pressures outside the true edge, in node spacings. Near any
#: smooth edge the pressure has the same form; on paraboloids 0.05 to 0.12 were measured at spacings
#: of 0.5 and 1 mm (make bench ARGS=accuracy.finite_elements).
EDGE_OFFSET = 0.08


class Exits(NamedTuple):
    """Where the lines of nodes (n,) leave the femur."""

    #: Overlaps (n,) [m], and their derivatives (n, 6) with respect to the femoral twist [1, m].
    overlaps: FloatArray
    gradients: FloatArray
    #: Facets (n,), and places (n, 2) on them [1].
    facets: Integers
    places: FloatArray

    def chosen(self, rows: IntArray) -> Exits:
        """Return some of the lines, (k,)."""
        return Exits(
            self.overlaps[rows], self.gradients[rows], self.facets[rows], self.places[rows]
        )


class Overlap(NamedTuple):
    """Overlaps (n,) [m] of the femur with the candidates near it."""

    #: Candidates near the femur (n,).
    nodes: Integers
    #: Their overlaps (n,), raised for the straight sides of the elements, times their weights [m].
    overlaps: FloatArray
    #: Derivatives (n, 6) of the overlaps with respect to the femoral twist [1, m].
    gradients: FloatArray
    #: Wrenches (n, 6) on the femur over minus the force of each overlap [1, m].
    directions: FloatArray
    #: Derivatives (n, 3) of a length by a femoral translation: normals m over -m . n [1].
    across: FloatArray
    #: Neighbours (n, 2, 2) that enter each overlap, and their parts (n, 2) [1] (`raise_overlaps` of
    #: `foundation/core`).
    pairs: Integers
    parts: FloatArray
    exits: Exits


class PatchState(NamedTuple):
    """Contact of one compartment at a pose, with loads (12,) [N, N m, m², Pa, m]."""

    #: Tibial layer of the compartment.
    layer: MeshedLayer
    #: Candidates near the femur.
    near: Overlap
    #: Solution over the candidates near the femur; None out of contact.
    contact: NodalContact | None
    #: Compliance of the femoral layer between the points of contact; None if the femur is rigid.
    femoral: LazyCompliance | None
    loads: FloatArray
    #: Wrench by pose (6, 6), zero unless it is asked for [N, N m; rad, m].
    jacobian: FloatArray
    #: 1/a² of a patch that is a node spacings wide on either side of its peak pressure [1].
    sharpness: float = 0.0

    @property
    def active(self) -> IntArray:
        """Candidates in contact, (A,)."""
        if self.contact is None:
            return np.zeros(0, dtype=np.int64)
        return self.near.nodes[self.contact.active].astype(np.int64)

    @property
    def leaves_femur(self) -> IntArray:
        """Nearest femoral nodes of the points of contact beyond these nodes, (k, 4)."""
        if self.contact is None or self.femoral is None:
            return np.zeros((0, 4), dtype=np.int64)
        points, active = self.femoral.at, self.contact.active
        return points.cells[active[points.outside[active]]]

    @property
    def forces(self) -> FloatArray:
        """Force at each candidate in contact, (A,) [N]."""
        return np.zeros(0) if self.contact is None else self.contact.forces

    @property
    def depth(self) -> FloatArray:
        """Largest overlap in contact [m] and largest strain [1], (2,)."""
        if self.contact is None:
            return np.zeros(2)
        overlap = self.near.overlaps[self.contact.active]
        thickness = self.layer.thickness[self.active]
        if self.femoral is not None:
            thickness = thickness + self.femoral.at.thickness[self.contact.active]
        return np.array([overlap.max(), (overlap / thickness).max()])

    @property
    def energy(self) -> float:
        """Elastic energy of the layers [J]."""
        if self.contact is None:
            return 0.0
        return 0.5 * float(self.contact.forces @ self.near.overlaps[self.contact.active])

    @property
    def pressures(self) -> FloatArray:
        """Pressure at all candidates, (C,) [Pa]; 0 out of contact."""
        pressures = np.zeros(len(self.layer.candidates))
        pressures[self.active] = self.layer.pressures(self.active, self.forces)
        return pressures

    @property
    def overlaps(self) -> FloatArray:
        """Overlap at all candidates, in contact or not, (C,) [m]; 0 where they are apart."""
        overlaps = np.zeros(len(self.layer.candidates))
        overlaps[self.near.nodes] = np.maximum(self.near.overlaps, 0.0)
        return overlaps

    @property
    def overlaps_in_contact(self) -> FloatArray:
        """Overlap at all candidates, (C,) [m]; 0 out of contact."""
        overlaps = np.zeros(len(self.layer.candidates))
        if self.contact is not None:
            overlaps[self.active] = self.near.overlaps[self.contact.active]
        return overlaps


def measured_patch(
    neighbours: Integers,
    quads: Integers,
    quads_at: Integers,
    points: FloatArray,
    active: IntArray,
    squares: FloatArray,
) -> list[float]:
    """Return area [m²], edge [m], peak pressure [Pa], sharpness [1] of points (C, 3) [m]."""
    (level, weight), ring = np.zeros((2, len(points))), np.empty(4 * len(points), np.intc)
    nodes, measures = integers(active), np.empty(4)
    CORE.measure_patch(
        *addresses(neighbours, quads, quads_at, points), len(nodes), *addresses(nodes, squares),
        *addresses(level, weight, ring, measures),
    )  # fmt: skip
    return list(measures)


def spread_forces(
    pairs: Integers, parts: FloatArray, active: IntArray, forces: FloatArray
) -> FloatArray:
    """Return the forces (n,) at nodes [N] that forces (A,) on raised overlaps are."""
    # With pairs (n, 2, 2), -1 for none, and parts (n, 2) of `raise_overlaps`.
    beside, count = pairs[active], len(active)
    moved = np.where(beside[..., 0] < 0, 0.0, parts[active]) * forces[:, None]
    shares = moved[..., None] * [2.0, -1.0, -1.0]
    places = np.concatenate([np.tile(active[:, None, None], (1, 2, 1)), beside], axis=2)
    spread = np.zeros(len(pairs))
    places, shares = places.reshape(count, 6), shares.reshape(count, 6)
    np.add.at(spread, np.c_[active, places].ravel(), np.c_[forces, shares].ravel())
    return spread


class CompartmentContact:
    """Contact with the layer of one compartment, of compliance (C, C) [m/N]."""

    def __init__(
        self,
        layer: MeshedLayer,
        compliance: Callable[[], FloatArray],
        reach: float,
        femoral: FemoralLayer | None = None,
    ) -> None:
        self.layer, self.femoral = layer, femoral
        self._compliance = compliance
        self._reach = reach
        self._size = int(CORE.contact_scratch(layer.bed.address))

    def state(self, pose: Pose, femur: Record, *, jacobian: bool) -> PatchState:
        """Return the contact; `PoseError` if the compliance is not positive definite."""
        by_twist, loads = np.zeros((6, 6)), np.zeros(len(LOAD_COLUMNS))
        loads[CENTRE] = np.nan
        with one_thread:
            near = self._overlap(pose, femur)
            contact, femoral = self._solved(pose, near)
            state = PatchState(self.layer, near, contact, femoral, loads, by_twist)
            if jacobian and contact is not None:
                spread = spread_forces(near.pairs, near.parts, contact.active, contact.forces)
                self._add_turns(pose, femur, near.nodes, near.exits, spread, by_twist)
                slopes = self._slopes(pose, femur, state, contact)
                solved = lapack.solve_factored(contact.factor, slopes)
        if contact is None:
            return state
        # The forces act along normals of the femur that are continuous from facet to facet.
        directions = near.directions[contact.active]
        loads[WRENCH] = -state.forces @ directions
        state = state._replace(sharpness=self._measure(state))
        if jacobian:
            by_pose = (by_twist - directions.T @ solved) @ twist_jacobian(pose)
            state = state._replace(jacobian=by_pose)
        return state

    def indentation(self, pose: Pose, femur: Record) -> float:
        """Return the largest overlap at a pose [m], 0 out of contact; arguments as of `state`."""
        near = self._overlap(pose, femur)
        return max(float(near.overlaps.max(initial=0.0)), 0.0)

    def _overlap(self, pose: Pose, femur: Record) -> Overlap:
        bed, count = self.layer.bed, len(self.layer.candidates)
        rotation, translation = pose.rotation_matrix, pose.translation
        nodes, facets = np.empty((2, count), np.intc)
        (overlaps, weights), places = np.empty((2, count)), np.empty((count, 2))
        gradients, directions, slopes = np.empty((3, count, 6))
        hits = CORE.find_overlaps(
            femur.address, bed.address, address(rotation), address(translation), self._reach,
            -MARGIN,
            *addresses(nodes, overlaps, gradients, directions, weights, slopes, facets, places),
            SCRATCH.of(self._size),
        )  # fmt: skip
        nodes, pairs = nodes[:hits], np.empty((hits, 2, 2), np.intc)
        parts, place = np.empty((hits, 2)), np.full(count, -1, np.intc)
        raised, (by_twist, along) = np.empty(hits), np.empty((2, hits, 6))
        CORE.raise_overlaps(
            address(self.layer.regular_neighbours), hits, address(nodes), -MARGIN,
            *addresses(overlaps, gradients, directions, weights, slopes, place, pairs, parts),
            *addresses(raised, by_twist, along),
        )  # fmt: skip
        exits = Exits(overlaps[:hits], gradients[:hits], facets[:hits], places[:hits])
        across = directions[:hits, :3]
        return Overlap(nodes, raised, by_twist, along, across, pairs, parts, exits)

    def _add_turns(
        self,
        pose: Pose,
        femur: Record,
        nodes: Integers,
        exits: Exits,
        forces: FloatArray | None,
        out: FloatArray,
    ) -> None:
        """Write derivatives (n, 6, 6) of directions; with forces, add their wrenches' (6, 6)."""
        rotation = pose.rotation_matrix
        CORE.direction_slopes(
            femur.address, self.layer.bed.address, address(rotation), len(nodes),
            *addresses(nodes, *exits), 0 if forces is None else address(forces), address(out),
        )  # fmt: skip

    def _solved(
        self, pose: Pose, near: Overlap
    ) -> tuple[NodalContact | None, LazyCompliance | None]:
        """Return the nodal forces, None out of contact, and the compliance of the femoral layer."""
        if not (near.overlaps > 0.0).any():
            return None, None
        compliance = self._compliance()
        femoral = None if self.femoral is None else self._between(pose, near, self.femoral)

        def block(rows: IntArray, columns: IntArray) -> FloatArray:
            matrix = np.zeros((len(rows), len(columns)))
            # Of a symmetric block, the factor reads the lower triangle alone.
            lower = rows is columns
            add_block(compliance, near.nodes[rows], near.nodes[columns], matrix, lower=lower)
            if femoral is not None:
                femoral.add_block(rows, columns, matrix)
            return matrix

        try:
            return solve_contact(block, near.overlaps), femoral
        except lapack.LinAlgError as error:
            raise PoseError(
                f"the surfaces overlap by {1e3 * near.overlaps.max():.2f} mm, where the compliance "
                "of the layers is not positive definite: expected less overlap, or closer nodes"
            ) from error

    def _between(self, pose: Pose, near: Overlap, femoral: FemoralLayer) -> LazyCompliance:
        """Return the compliance of the femoral layer between the points of contact."""
        nodes, layer = near.nodes, self.layer
        touched = layer.points[nodes] - near.exits.overlaps[:, None] * layer.normals[nodes]
        return femoral.compliance(nodes, femoral.touched(pose, touched, near.across))

    def _slopes(
        self, pose: Pose, femur: Record, state: PatchState, contact: NodalContact
    ) -> FloatArray:
        """Return (A, 6) [1, m]: the derivatives of overlaps, less those of C at constant forces."""
        active, near, femoral = contact.active, state.near, state.femoral
        gradients = near.gradients[active]
        if femoral is None:
            return gradients
        turns, across = np.empty((len(active), 6, 6)), near.across[active]
        exits = near.exits.chosen(active)
        self._add_turns(pose, femur, near.nodes[active], exits, None, turns)
        by_factors = np.einsum("ni,nit->nt", across, turns[:, :3])
        by_factors /= (across**2).sum(axis=1, keepdims=True)
        motion = self._motion(pose, near.nodes[active], exits)
        return gradients - femoral.slopes(active, contact.forces, motion, by_factors)

    def _motion(self, pose: Pose, nodes: Integers, exits: Exits) -> FloatArray:
        """Return d(points of contact)/d(femoral twist), (A, 3, 6) [1, m], in the femoral frame."""
        normals = self.layer.normals[nodes]
        points = self.layer.points[nodes] - exits.overlaps[:, None] * normals
        motion = -normals[:, :, None] * exits.gradients[:, None]
        motion[:, :, :3] -= np.eye(3)
        # The velocity of the femur by unit angular velocities: e x point.
        motion[:, :, 3:] -= np.cross(np.eye(3), points[:, None]).transpose(0, 2, 1)
        return np.asarray(pose.rotation_matrix.T @ motion)

    def _measure(self, state: PatchState) -> float:
        """Write area, pressures and centre of a contact; return the sharpness of the peak."""
        layer, active, forces, loads = self.layer, state.active, state.forces, state.loads
        squares = layer.pressures(active, forces) ** 2
        inside, edge, peak, sharpness = measured_patch(
            layer.neighbours, layer.quads, layer.quads_at, layer.points, active, squares
        )
        total = float(forces.sum())
        area = inside - EDGE_OFFSET * layer.spacing * edge
        if total <= 0.0 or area <= 0.0:
            return 0.0
        loads[AREA], loads[PEAK_PRESSURE] = area, peak
        loads[MEAN_PRESSURE] = total / area
        loads[CENTRE] = forces @ layer.points[active] / total
        return float(sharpness)
