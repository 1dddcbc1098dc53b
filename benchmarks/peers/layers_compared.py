"""The finite-element model of this project beside CalculiX, on the same meshes at a pose.

Peak pressure and area of both come from the nodal pressures by `benchmarks.peers.nodal_pressures`,
so that the way in which they are reconstructed makes no difference. The model raises its overlaps
for the straight sides of the elements; CalculiX gets bearing nodes that are higher by as much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

from benchmarks.peers.calculix import CalculixResult, solve
from benchmarks.peers.calculix_deck import HexahedralMesh
from benchmarks.peers.nodal_pressures import contact_area, peak_pressure
from benchmarks.peers.solids import curved_facets
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS, PEAK_PRESSURE, WRENCH
from foundation.base.pose import Pose
from foundation.finite_element.condensed_layer import MeshedLayer
from foundation.finite_element.model import FiniteElementContact
from foundation.kernels.overlaps import RAISED


@dataclass(frozen=True, eq=False)
class Compared:
    """One compartment at a pose.

    Parameters
    ----------
    compartment : str
        "medial" or "lateral".
    nodes : int
        Nodes of the mesh.
    wrench : (6,) float64
        Force [N] and moment about the tibial origin [N m] on the femur by this project.
    peak_pressure, area : float
        From the nodal pressures of this project [Pa, m²].
    calculix : CalculixResult
        By CalculiX.
    """

    compartment: str
    nodes: int
    wrench: FloatArray
    peak_pressure: float
    area: float
    calculix: CalculixResult

    @property
    def load_difference(self) -> float:
        """Distance of the two forces over CalculiX's force [1]."""
        theirs = self.calculix.force
        return float(np.linalg.norm(self.wrench[:3] - theirs) / np.linalg.norm(theirs))

    @property
    def peak_difference(self) -> float:
        """Relative difference of the peak pressure from CalculiX's [1]."""
        return self.peak_pressure / self.calculix.peak_pressure - 1.0

    @property
    def area_difference(self) -> float:
        """Relative difference of the contact area from CalculiX's [1]."""
        return self.area / self.calculix.area - 1.0


def compare(model: FiniteElementContact, pose: Pose, *, timeout: float = 3600.0) -> list[Compared]:
    """Solve each compartment in contact by CalculiX as well.

    CalculiX gets the model's hexahedra, base, candidate faces and femoral patches.

    Parameters
    ----------
    model : FiniteElementContact
        The model.
    pose : Pose
        Pose of the femur.
    timeout : float
        Time that CalculiX may take for a compartment [s].

    Raises
    ------
    RuntimeError
        If CalculiX is absent or fails, see `benchmarks.peers.calculix.solve`.
    """
    points, triangles = curved_facets(model.femur)
    placed = points @ pose.rotation_matrix.T + pose.translation
    material = model.layer.youngs_modulus, model.layer.poissons_ratio
    found = []
    for side, name in enumerate(COMPARTMENTS):
        loads = model.compartment_loads(pose, name)[0]
        if not loads[PEAK_PRESSURE] > 0.0:
            continue
        mesh = hexahedral_mesh(model.layers[side])
        mesh = replace(mesh, nodes=mesh.nodes + _rises(model, pose, side, len(mesh.nodes)))
        theirs = solve(mesh, material, placed, triangles, timeout=timeout)
        peak, area = _reconstructed(model, pose, side, mesh)
        found.append(Compared(name, len(mesh.nodes), loads[WRENCH], peak, area, theirs))
    return found


def _rises(model: FiniteElementContact, pose: Pose, side: int, count: int) -> FloatArray:
    """Return how far each node must be moved for overlaps as high as the model's, (N, 3) [m]."""
    layer, contact = model.layers[side], model.contacts[side]
    with contact._scratch.borrowed() as work:
        near = contact._overlap(pose, model.femoral_handle(), work)
    size = len(near.nodes)
    bends = sparse.lil_array((size, size))
    for node, axis in np.argwhere(near.pairs[:, :, 0] >= 0):
        bends[node, node] += 2.0
        for beside in near.pairs[node, axis]:
            bends[node, beside] -= 1.0
    # The raised overlaps are those of the nodes plus this part of their second differences.
    whole = sparse.csc_array(sparse.eye_array(size) + RAISED * bends)
    rises = near.overlaps - spsolve(whole, near.overlaps)
    moves = np.zeros((count, 3))
    at = layer.mesh.surface[layer.candidates[near.nodes]]
    moves[at] = rises[:, None] * layer.normals[near.nodes]
    return moves


def _reconstructed(
    model: FiniteElementContact, pose: Pose, side: int, mesh: HexahedralMesh
) -> tuple[float, float]:
    """Return peak pressure [Pa] and area [m²] from the model's nodal pressures."""
    layer = model.layers[side]
    pressures, _ = model.contacts[side].pressures(pose, model.femoral_handle())
    at = np.zeros(len(mesh.nodes))
    at[layer.mesh.surface[layer.candidates]] = pressures
    arguments = mesh.nodes, mesh.bearing, at
    return peak_pressure(*arguments), contact_area(*arguments)


def hexahedral_mesh(layer: MeshedLayer) -> HexahedralMesh:
    """Return the mesh of a layer with the faces between its candidate nodes."""
    mesh = layer.mesh
    bearing = mesh.surface[layer.candidates][layer.quads]
    return HexahedralMesh(mesh.nodes, mesh.hexahedra, np.flatnonzero(mesh.fixed), bearing)
