"""The input file of CalculiX for a layer under a rigid femur (`*` cards, in mm, N and MPa)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from benchmarks.peers.solids import facet_normals
from foundation.base.checks import FloatArray, IntArray
from foundation.base.errors import InputError

SOLVERS = ("SPOOLES", "ITERATIVE CHOLESKY", "ITERATIVE SCALING")

#: Corners of the faces S1 to S6 of a hexahedron.
_FACES = ((0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0))
#: Wedges give the femoral triangles a body; all their nodes are held, the depth has no influence.
_DEPTH = 0.1e-3
#: Stress with which the spring of an open node pulls, over Young's modulus.
_PULL = 1e-8
#: Clearance below which a node has a spring, over the square root of its area.
_CLEARANCE = 0.1
#: Part of the penalty in the first of two steps. At the start of a step, the springs press with
#: their whole overlap times the penalty. On a curved femur such a force acts as a negative
#: stiffness along the surface; with the overlap of the pose, a stiff penalty then diverges.
_SOFT = 0.01
#: Residual force and correction of displacement at which the iterations end, relative.
_RESIDUAL, _CORRECTION = 1e-6, 1e-5

_CARDS = """*MATERIAL,NAME=LAYER
*ELASTIC
{modulus:.12g},{ratio:.12g}
*SOLID SECTION,ELSET=LAYER,MATERIAL=LAYER
*SOLID SECTION,ELSET=FEMUR,MATERIAL=LAYER
*BOUNDARY
BASE,1,3
FEMUR,1,3
*SURFACE INTERACTION,NAME=NORMAL
*SURFACE BEHAVIOR,PRESSURE-OVERCLOSURE=LINEAR
{soft:.12g},{pull:.12g},{clearance:.12g}
*CONTACT PAIR,INTERACTION=NORMAL,TYPE=NODE TO SURFACE,SMALL SLIDING
BEARING,FEMUR
*STEP,INC=1
*STATIC,DIRECT,SOLVER={solver}
1.,1.
*CONTROLS,PARAMETERS=FIELD
{residual:g},{correction:g}
*NODE PRINT,NSET=BEARING
U
*END STEP
*STEP,INC=1
*CHANGE SURFACE BEHAVIOR,INTERACTION=NORMAL
*SURFACE BEHAVIOR,PRESSURE-OVERCLOSURE=LINEAR
{penalty:.12g},{pull:.12g},{clearance:.12g}
*STATIC,DIRECT,SOLVER={solver}
1.,1.
*NODE PRINT,NSET=BASE
RF
*CONTACT PRINT
CSTR
*END STEP
"""


@dataclass(frozen=True, eq=False)
class HexahedralMesh:
    """A layer of hexahedra in the tibial frame.

    Parameters
    ----------
    nodes : (N, 3) float64
        Positions [m].
    hexahedra : (E, 8) int64
        Nodes of each element: a face counter-clockwise seen from inside the element, then the
        opposite face in the same order, as in VTK and Abaqus.
    fixed : (K,) int64
        Nodes on the rigid base.
    bearing : (Q, 4) int64
        Faces of elements that may touch the femur, nodes in order around each.
    """

    nodes: FloatArray
    hexahedra: IntArray
    fixed: IntArray
    bearing: IntArray


@dataclass(frozen=True, eq=False)
class Contact:
    """The rigid femur and how contact with it is solved.

    Parameters
    ----------
    vertices : (V, 3) float64
        Tibial frame, at the pose [m].
    triangles : (T, 3) or (T, 6) int64
        Counter-clockwise seen from outside the femur; the middles of the edges last.
    penalty : float
        Pressure per overlap [Pa/m].
    solver : str
        One of `SOLVERS`.
    """

    vertices: FloatArray
    triangles: IntArray
    penalty: float
    solver: str


def write_deck(
    path: Path, mesh: HexahedralMesh, material: tuple[float, float], contact: Contact
) -> None:
    """Write the input file.

    Parameters
    ----------
    path : Path
        The file.
    mesh : HexahedralMesh
        The layer [m].
    material : tuple of float
        Young's modulus [Pa] and Poisson's ratio [1].
    contact : Contact
        The femur.

    Raises
    ------
    InputError
        If a bearing face is not a face of an element.
    """
    count, elements = len(mesh.nodes), len(mesh.hexahedra)
    sheets, wedges = _wedges(contact)
    points = np.concatenate([mesh.nodes, sheets])
    wedges = wedges + count
    with path.open("w", encoding="ascii") as file:
        numbers = np.concatenate([np.arange(count), np.unique(wedges)])
        file.write("*NODE\n")
        rows = np.column_stack([numbers + 1, 1e3 * points[numbers]])
        np.savetxt(file, rows, fmt="%d,%.11e,%.11e,%.11e")
        _elements(file, "C3D8I", "LAYER", 0, mesh.hexahedra)
        kind = "C3D15" if wedges.shape[1] == 15 else "C3D6"
        _elements(file, kind, "FEMUR", elements, wedges)
        _listed(file, "*NSET,NSET=BASE", mesh.fixed)
        _listed(file, "*NSET,NSET=FEMUR", np.unique(wedges))
        _listed(file, "*NSET,NSET=BEARING", np.unique(mesh.bearing))
        file.write("*SURFACE,NAME=BEARING\n")
        np.savetxt(file, bearing_faces(mesh) + 1, fmt="%d,S%d")
        file.write("*SURFACE,NAME=FEMUR\n")
        np.savetxt(file, elements + 1 + np.arange(len(wedges)), fmt="%d,S2")
        file.write(
            _CARDS.format(
                modulus=1e-6 * material[0],
                ratio=material[1],
                soft=1e-9 * _SOFT * contact.penalty,
                penalty=1e-9 * contact.penalty,
                pull=1e-6 * _PULL * material[0],
                clearance=_CLEARANCE,
                solver=contact.solver,
                residual=_RESIDUAL,
                correction=_CORRECTION,
            )
        )


def bearing_faces(mesh: HexahedralMesh) -> IntArray:
    """Return element and number of the face, 0 to 5, of each bearing face, (Q, 2).

    Raises
    ------
    InputError
        If a bearing face is not a face of an element.
    """
    sides = np.concatenate([np.sort(mesh.hexahedra[:, list(face)], axis=1) for face in _FACES])
    at = {tuple(side): k for k, side in enumerate(sides.tolist())}
    found = [at.get(tuple(sorted(face)), -1) for face in mesh.bearing.tolist()]
    if min(found) < 0:
        missing = mesh.bearing[found.index(-1)].tolist()
        raise InputError(
            f"bearing: {missing} is not a face of a hexahedron; "
            "give the four nodes of one face of one element"
        )
    number, element = np.divmod(np.array(found), len(mesh.hexahedra))
    return np.stack([element, number], axis=1)


def _wedges(contact: Contact) -> tuple[FloatArray, IntArray]:
    """Return nodes [m] and wedges with the femoral triangles as the faces S2."""
    outer, triangles = contact.vertices, contact.triangles
    normals, count = facet_normals(outer, triangles[:, :3]), len(outer)
    middles = triangles[:, 3:]
    if middles.shape[1]:
        normals = _at_middles(normals, triangles)
    sheets = np.concatenate([outer - part * _DEPTH * normals for part in (0.0, 1.0, 0.5)])
    corners = triangles[:, :3]
    wedges = [corners + count, corners]
    if middles.shape[1]:
        wedges += [middles + count, middles, corners + 2 * count]
    return sheets, np.concatenate(wedges, axis=1)


def _at_middles(normals: FloatArray, triangles: IntArray) -> FloatArray:
    """Return the normals of all nodes; at the middle of an edge, the mean of the edge's ends."""
    whole = normals.copy()
    for k in range(3):
        ends = normals[triangles[:, k]] + normals[triangles[:, (k + 1) % 3]]
        whole[triangles[:, 3 + k]] = ends / np.linalg.norm(ends, axis=1)[:, None]
    return whole


def _elements(file: TextIO, kind: str, name: str, before: int, nodes: IntArray) -> None:
    file.write(f"*ELEMENT,TYPE={kind},ELSET={name}\n")
    rows = np.column_stack([before + 1 + np.arange(len(nodes)), nodes + 1])
    np.savetxt(file, rows, fmt="%d", delimiter=",")


def _listed(file: TextIO, card: str, numbers: IntArray) -> None:
    file.write(card + "\n")
    np.savetxt(file, numbers + 1, fmt="%d")
