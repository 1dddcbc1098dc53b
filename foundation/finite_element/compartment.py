"""Contact of the femur with the condensed layer of one compartment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve

from foundation import kernels
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
from foundation.finite_element.condensed_layer import MARGIN, MeshedLayer
from foundation.finite_element.femoral_layer import FemoralLayer, LazyCompliance
from foundation.kernels.scratch import Scratch
from foundation.layer_theory.complementarity import NodalContact, solve_contact
from foundation.layer_theory.single_thread import one_thread

#: Distance of the edge found from nodal pressures outside the true edge, in node spacings. Near any
#: smooth edge the pressure has the same form; on paraboloids 0.05 to 0.12 were measured at spacings
#: of 0.5 and 1 mm (python -m benchmarks.finite_element).
EDGE_OFFSET = 0.08


class Overlap(NamedTuple):
    """Overlap of the femur with the candidates near it.

    Parameters
    ----------
    nodes : (n,) int64
        Candidates near the femur.
    overlaps : (n,) float64
        Their overlaps, raised for the straight sides of the elements [m].
    gradients : (n, 6) float64
        Derivatives of the overlaps by the femoral twist [1, m].
    across : (n, 3) float64
        Derivatives of the overlaps, not raised, by a translation of the femur: the femoral normals
        m over -m . n [1].
    pairs : (n, 2, 2) int64
        Neighbours that enter each raised overlap, see `foundation.kernels.raise_overlaps`.
    """

    nodes: IntArray
    overlaps: FloatArray
    gradients: FloatArray
    across: FloatArray
    pairs: IntArray


class PatchState(NamedTuple):
    """Contact of one compartment at a pose.

    Parameters
    ----------
    near : Overlap
        Candidates near the femur.
    contact : NodalContact or None
        Solution over the candidates near the femur; None out of contact.
    femoral : LazyCompliance or None
        Compliance of the femoral layer between the points of contact; None if the femur is rigid.
    sharpness : float
        1/a² of a patch that is a node spacings wide on either side of its peak pressure [1].
    """

    near: Overlap
    contact: NodalContact | None
    femoral: LazyCompliance | None = None
    sharpness: float = 0.0

    @property
    def active(self) -> IntArray:
        """Candidates in contact, (A,)."""
        if self.contact is None:
            return np.zeros(0, dtype=np.int64)
        return self.near.nodes[self.contact.active]

    @property
    def leaves_femur(self) -> IntArray:
        """Nearest femoral nodes of the points of contact beyond these nodes, (k, 4)."""
        if self.contact is None or self.femoral is None:
            return np.zeros((0, 4), dtype=np.int64)
        at, active = self.femoral.at, self.contact.active
        return at.cells[active[at.outside[active]]]

    @property
    def forces(self) -> FloatArray:
        """Force at each candidate in contact, (A,) [N]."""
        return np.zeros(0) if self.contact is None else self.contact.forces


class CompartmentContact:
    """Contact of the femur with the layer of one compartment.

    Parameters
    ----------
    layer : MeshedLayer
        The layer.
    compliance : callable
        Returns the compliance (C, C) [m/N] of its candidates.
    reach : float
        Largest overlap of the search [m].
    femoral : FemoralLayer, optional
        Layer of the femur; by default the femur is rigid.
    """

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
        self._scratch = Scratch(layer.bed)
        self._bed: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_bed": None}

    def loads(
        self, pose: Pose, femur: Any, *, jacobian: bool
    ) -> tuple[FloatArray, FloatArray, PatchState]:
        """Return loads (12,) and Jacobian (6, 6) as `ElasticFoundation.compartment_loads`.

        And the contact. `femur` is a handle of the femur for the kernels; without `jacobian` the
        Jacobian is zero [N, N m per rad, m].
        """
        by_twist = np.zeros((6, 6))
        with one_thread(), self._scratch.borrowed() as work:
            near = self._overlap(pose, femur, work)
            state = self._solved(pose, near)
            if jacobian and state.contact is not None:
                spread = np.empty(len(near.nodes))
                kernels.spread_forces(near.pairs, state.contact.active, state.forces, spread)
                kernels.add_overlap_curvature(
                    pose.rotation_matrix, femur, self._handle(), work, near.nodes, spread, by_twist
                )
                slopes = self._slopes(pose, femur, work, state, state.contact)
        loads = np.zeros(len(LOAD_COLUMNS))
        loads[CENTRE] = np.nan
        contact = state.contact
        if contact is None:
            return loads, by_twist, state
        gradients = near.gradients[contact.active]
        # The loads are minus the gradient of the energy f . d - f . C f / 2, so that the forces act
        # along the normals of the femur, which is smooth.
        loads[WRENCH] = -state.forces @ gradients
        state = state._replace(sharpness=self._measure(state, loads))
        if jacobian:
            with one_thread():
                solved = cho_solve(contact.factor, slopes, check_finite=False)
            by_twist = (by_twist - gradients.T @ solved) @ twist_jacobian(pose)
        return loads, by_twist, state

    def energy(self, pose: Pose, femur: Any) -> float:
        """Return the elastic energy of the layer [J]; arguments as of `loads`."""
        with one_thread(), self._scratch.borrowed() as work:
            near = self._overlap(pose, femur, work)
            contact = self._solved(pose, near).contact
        if contact is None:
            return 0.0
        return 0.5 * float(contact.forces @ near.overlaps[contact.active])

    def indentation(self, pose: Pose, femur: Any) -> float:
        """Return the largest overlap at a pose [m], 0 out of contact; arguments as of `loads`."""
        with self._scratch.borrowed() as work:
            near = self._overlap(pose, femur, work)
        return max(float(near.overlaps.max(initial=0.0)), 0.0)

    def pressures(self, pose: Pose, femur: Any) -> tuple[FloatArray, FloatArray]:
        """Return pressure [Pa] and overlap [m] of all candidates, (C,); 0 out of contact."""
        _, _, state = self.loads(pose, femur, jacobian=False)
        overlap = np.zeros(len(self.layer.candidates))
        if state.contact is not None:
            overlap[state.active] = state.near.overlaps[state.contact.active]
        return self._nodal_pressure(state), overlap

    def nodal_values(self, pose: Pose, femur: Any) -> tuple[FloatArray, FloatArray]:
        """Return overlap [m] and pressure [Pa] of all candidates, (C,); 0 where they are apart."""
        _, _, state = self.loads(pose, femur, jacobian=False)
        overlap = np.zeros(len(self.layer.candidates))
        overlap[state.near.nodes] = np.maximum(state.near.overlaps, 0.0)
        return overlap, self._nodal_pressure(state)

    def _nodal_pressure(self, state: PatchState) -> FloatArray:
        """Return the pressure of all candidates, (C,) [Pa]."""
        pressure = np.zeros(len(self.layer.candidates))
        if state.contact is not None:
            pressure[state.active] = state.forces / self.layer.areas[state.active]
        return pressure

    def depth(self, state: PatchState) -> FloatArray:
        """Return the largest overlap in contact [m] and the largest strain [1], (2,)."""
        if state.contact is None:
            return np.zeros(2)
        overlap = state.near.overlaps[state.contact.active]
        thickness = self.layer.thickness[state.active]
        if state.femoral is not None:
            thickness = thickness + state.femoral.at.thickness[state.contact.active]
        strain = overlap / thickness
        return np.array([overlap.max(), strain.max()])

    def _handle(self) -> Any:
        if self._bed is None:
            self._bed = kernels.handle(self.layer.bed)
        return self._bed

    def _overlap(self, pose: Pose, femur: Any, work: Any) -> Overlap:
        bed, count = self.layer.bed, len(self.layer.candidates)
        nodes, overlaps = np.empty(count, dtype=np.int64), np.empty(count)
        gradients = np.empty((count, 6))
        found = kernels.find_overlaps(
            pose.rotation_matrix, pose.translation, femur, self._handle(), 0, len(bed.first),
            self._reach, -MARGIN, work, nodes, overlaps, gradients,
        )  # fmt: skip
        nodes, pairs = nodes[:found], np.empty((found, 2, 2), dtype=np.int64)
        raised, slopes = np.empty(found), np.empty((found, 6))
        beside, place = self.layer.regular_neighbours, np.full(count, -1)
        kernels.raise_overlaps(beside, nodes, overlaps, gradients, place, pairs, raised, slopes)
        return Overlap(nodes, raised, slopes, gradients[:found, :3], pairs)

    def _solved(self, pose: Pose, near: Overlap) -> PatchState:
        if not (near.overlaps > 0.0).any():
            return PatchState(near, None)
        compliance = self._compliance()
        femoral = None if self.femoral is None else self._between(pose, near, self.femoral)

        def block(rows: IntArray, columns: IntArray) -> FloatArray:
            # In double precision whatever is stored: the factor needs the digits.
            part = np.zeros((len(rows), len(columns)))
            kernels.add_block(compliance, near.nodes[rows], near.nodes[columns], part)
            if femoral is not None:
                femoral.add_block(rows, columns, part)
            return part

        try:
            return PatchState(near, solve_contact(block, near.overlaps), femoral)
        except LinAlgError as error:
            raise PoseError(
                f"the surfaces overlap by {1e3 * near.overlaps.max():.2f} mm, where the compliance "
                "of the layers is not positive definite: expected less overlap, or closer nodes"
            ) from error

    def _between(self, pose: Pose, near: Overlap, femoral: FemoralLayer) -> LazyCompliance:
        """Return the compliance of the femoral layer between the points of contact."""
        nodes, layer = near.nodes, self.layer
        touched = layer.points[nodes] - near.overlaps[:, None] * layer.normals[nodes]
        return femoral.compliance(nodes, femoral.touched(pose, touched, near.across))

    def _slopes(
        self, pose: Pose, femur: Any, work: Any, state: PatchState, contact: NodalContact
    ) -> FloatArray:
        """Return the derivatives (A, 6) of C f at changing forces [1, m].

        Those of the overlaps, less those of C at constant forces: the points of contact move over
        the femoral layer.
        """
        active, near, femoral = contact.active, state.near, state.femoral
        gradients = near.gradients[active]
        if femoral is None:
            return gradients
        hessians = np.zeros((len(active), 6, 6))
        kernels.write_overlap_hessians(
            pose.rotation_matrix, femur, self._handle(), work, near.nodes[active], hessians
        )
        across = near.across[active]
        by_factors = np.einsum("ni,nit->nt", across, hessians[:, :3])
        by_factors /= (across**2).sum(axis=1, keepdims=True)
        motion = self._motion(pose, near, active)
        return gradients - femoral.slopes(active, contact.forces, motion, by_factors)

    def _motion(self, pose: Pose, near: Overlap, active: IntArray) -> FloatArray:
        """Return the derivatives (A, 3, 6) of points of contact by the femoral twist.

        In the femoral frame [1, m]: a point stays on the line of its tibial node.
        """
        nodes = near.nodes[active]
        normals, gradients = self.layer.normals[nodes], near.gradients[active]
        points = self.layer.points[nodes] - near.overlaps[active, None] * normals
        motion = -normals[:, :, None] * gradients[:, None]
        motion[:, :, :3] -= np.eye(3)
        # The velocity of the femur by unit angular velocities: e x point.
        motion[:, :, 3:] -= np.cross(np.eye(3), points[:, None]).transpose(0, 2, 1)
        return np.asarray(pose.rotation_matrix.T @ motion)

    def _measure(self, state: PatchState, loads: FloatArray) -> float:
        """Write area, pressures and centre of a contact; return the sharpness of the peak."""
        layer, active, forces = self.layer, state.active, state.forces
        count, found = len(layer.candidates), np.zeros(4)
        squares = (forces / layer.areas[active]) ** 2
        kernels.measure_patch(
            layer.neighbours, layer.quads, layer.quads_at, layer.points, active, squares, 0.5,
            False, np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64), found,
        )  # fmt: skip
        total = float(forces.sum())
        area = found[0] - EDGE_OFFSET * layer.spacing * found[1]
        if total <= 0.0 or area <= 0.0:
            return 0.0
        loads[AREA], loads[PEAK_PRESSURE] = area, found[2]
        loads[MEAN_PRESSURE] = total / area
        loads[CENTRE] = forces @ layer.points[active] / total
        return float(found[3])
