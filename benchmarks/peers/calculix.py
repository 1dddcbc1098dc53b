"""CalculiX as a finite-element peer: a layer of hexahedra under a rigid femur at a pose.

CalculiX (`ccx`, Dhondt & Wittig; Debian's package `calculix-ccx`) runs as a program of its own.
The layer has linear hexahedra with incompatible modes (C3D8I) and small strains. Contact is
frictionless and by node-to-surface penalty: each node of the bearing surface has a spring towards
the nearest point of the femur. CalculiX then prints a pressure for each node, and a stiff penalty
approaches complementarity at the nodes. (With surface-to-surface penalty, a stiff penalty holds
whole bilinear faces off the curved femur, and the load grows beyond that of the nodes.)

Files are in mm, N and MPa.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

from benchmarks.peers.calculix_deck import SOLVERS, Contact, HexahedralMesh, write_deck
from benchmarks.peers.nodal_pressures import contact_area, nodal_areas, peak_pressure
from foundation.base.checks import FloatArray, IntArray, check_in, check_number
from foundation.base.errors import InputError

PROGRAM = "ccx"

#: Penalty stiffness over Young's modulus [1/m]. Twice as stiff a penalty changes the load of the
#: flat layer by less than 0.02 %.
_PENALTY = 2e6
#: Femoral triangles farther than this from the bearing surface are left out [m].
_REACH = 3e-3
_JOB = "layer"


@dataclass(frozen=True, eq=False)
class CalculixResult:
    """Contact of a layer with a rigid femur.

    Parameters
    ----------
    force : (3,) float64
        Force on the femur, tibial frame [N].
    moment : (3,) float64
        Moment on the femur about the tibial origin [N m], of nodal forces at undeformed nodes.
    peak_pressure : float
        Largest pressure [Pa], `nodal_pressures.peak_pressure`.
    area : float
        Contact area [m²], `nodal_pressures.contact_area`.
    nodes : (C,) int64
        Nodes of the bearing faces.
    pressures : (C,) float64
        Normal nodal force over nodal area [Pa].
    seconds : float
        Wall time of the program [s].
    iterations : int
        Equilibrium iterations.
    """

    force: FloatArray
    moment: FloatArray
    peak_pressure: float
    area: float
    nodes: IntArray
    pressures: FloatArray
    seconds: float
    iterations: int


def unavailable() -> str | None:
    """Return why CalculiX cannot be run here, or None."""
    if shutil.which(PROGRAM) is None:
        return f"the program {PROGRAM} is not installed (Debian: apt-get install calculix-ccx)"
    return None


def program_version() -> str:
    """Return the version that the program prints, such as "2.20"."""
    shown = subprocess.run([PROGRAM, "-v"], capture_output=True, text=True, check=False).stdout
    return shown.split()[-1]


def solve(
    mesh: HexahedralMesh,
    material: tuple[float, float],
    femur_vertices: FloatArray,
    femur_triangles: IntArray,
    *,
    penalty: float | None = None,
    solver: str = "SPOOLES",
    timeout: float = 3600.0,
) -> CalculixResult:
    """Return the contact of a layer with a rigid femur that overlaps it.

    The femur is placed at its pose at once. CalculiX takes the normal at the nearest point of the
    femur, and the displacement of a node along this normal, also for its tangential part.

    Parameters
    ----------
    mesh : HexahedralMesh
        The layer.
    material : tuple of float
        Young's modulus [Pa] and Poisson's ratio [1] of the layer.
    femur_vertices : (V, 3) float64
        Femoral vertices at the pose, tibial frame [m].
    femur_triangles : (T, 3) or (T, 6) int64
        Triangles, counter-clockwise seen from outside the femur. Six nodes are three corners and
        the middles of the edges 1-2, 2-3 and 3-1 on the smooth surface (`solids.curved_facets`);
        flat triangles must be far smaller than the elements.
    penalty : float, optional
        Pressure per overlap [Pa/m]; by default 2e6 times Young's modulus per metre.
    solver : {"SPOOLES", "ITERATIVE CHOLESKY", "ITERATIVE SCALING"}
        Of the linear equations. The iterative solvers are faster on fine meshes and fail, with a
        message, if the penalty times the node spacing exceeds some 500 times Young's modulus.
    timeout : float
        Time after which the program is ended [s].

    Returns
    -------
    CalculixResult
        Force, moment, pressures and area.

    Raises
    ------
    InputError
        If a bearing face is not a face of an element, or no femoral triangle is near the layer.
    RuntimeError
        If the program is absent, fails, does not converge or takes too long.
    """
    reason = unavailable()
    if reason:
        raise RuntimeError(f"CalculiX: {reason}")
    check_in("solver", solver, SOLVERS)
    stiffness = _PENALTY * material[0] if penalty is None else check_number("penalty", penalty)
    vertices, triangles = _near(femur_vertices, femur_triangles, mesh)
    contact = Contact(vertices, triangles, stiffness, solver)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_deck(folder / f"{_JOB}.inp", mesh, material, contact)
        said, seconds = _run(folder, timeout)
        path = folder / f"{_JOB}.dat"
        printed = path.read_text(encoding="ascii") if path.is_file() else ""
    return _result(mesh, printed, said, seconds)


def _near(
    vertices: FloatArray, triangles: IntArray, mesh: HexahedralMesh
) -> tuple[FloatArray, IntArray]:
    """Return the femoral triangles near the bearing surface, and the vertices of these alone."""
    tree = cKDTree(mesh.nodes[np.unique(mesh.bearing)])
    close = tree.query(vertices, distance_upper_bound=_REACH)[0] < np.inf
    kept = triangles[close[triangles].any(axis=1)]
    if len(kept) == 0:
        raise InputError(
            f"femur_vertices: none is within {1e3 * _REACH:g} mm of the bearing surface; "
            "place the femur at a pose where it touches the layer"
        )
    used, at = np.unique(kept, return_inverse=True)
    return vertices[used], at.reshape(kept.shape)


def _run(folder: Path, timeout: float) -> tuple[str, float]:
    """Run the program in a folder; return its output and its wall time [s]."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", CCX_NPROC_STIFFNESS="1")
    start = time.perf_counter()
    try:
        done = subprocess.run(
            [PROGRAM, _JOB],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise RuntimeError(f"CalculiX: not finished after {timeout:g} s") from late
    seconds = time.perf_counter() - start
    errors = [line.strip() for line in done.stdout.splitlines() if "*ERROR" in line]
    if done.returncode != 0 or errors:
        reason = errors[0] if errors else f"ended with status {done.returncode}"
        raise RuntimeError(f"CalculiX: {reason}")
    return done.stdout, seconds


def _result(mesh: HexahedralMesh, printed: str, said: str, seconds: float) -> CalculixResult:
    reactions = _section(printed, "forces (fx,fy,fz)")
    if len(reactions) != len(mesh.fixed) or not np.isfinite(reactions).all():
        raise RuntimeError("CalculiX: no finite reaction forces; try the solver SPOOLES")
    # The base holds the layer with the force that the layer presses on the femur with.
    at = mesh.nodes[reactions[:, 0].astype(int) - 1]
    nodes, corners = np.unique(mesh.bearing, return_inverse=True)
    points, faces = mesh.nodes[nodes], corners.reshape(-1, 4)
    moved = points + 1e-3 * _section(printed, "displacements (vx,vy,vz)")[:, 1:]
    pressures = np.zeros(len(nodes))
    found = _section(printed, "contact stress")
    rows = np.searchsorted(nodes, found[:, 0].astype(int) - 1)
    # The springs of open nodes pull with the small stress of `calculix_deck`.
    pressures[rows] = 1e6 * np.maximum(found[:, 1], 0.0)
    # CalculiX takes the areas of the nodes after its first step, linear theory those at rest.
    pressures *= nodal_areas(moved, faces) / nodal_areas(points, faces)
    return CalculixResult(
        force=reactions[:, 1:].sum(axis=0),
        moment=np.cross(at, reactions[:, 1:]).sum(axis=0),
        peak_pressure=peak_pressure(points, faces, pressures),
        area=contact_area(points, faces, pressures),
        nodes=nodes,
        pressures=pressures,
        seconds=seconds,
        iterations=said.count("average force="),
    )


def _section(printed: str, title: str) -> FloatArray:
    """Return the rows (node number, three values) that follow a title, (R, 4); R may be 0."""
    start = printed.find(f" {title}")
    rows = []
    for line in printed[start:].splitlines()[1:] if start >= 0 else []:
        if line.strip() and line.split()[0].isdigit():
            rows.append([float(word) for word in line.split()])
        elif line.strip():
            break
    return np.array(rows).reshape(-1, 4)
