"""Frames of the knee through the cycle and its wear: what the report draws, as arrays in files.

A report is made from the files of a run alone, so that the surfaces and the pressures on them are
stored with it. Fine surfaces are thinned out, since a picture a few hundred pixels wide shows no
more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dynamics.simulator.result import SimulationResult
from dynamics.wear.cycle_wear import bed_wear, surrogate_wear
from dynamics.wear.wear_law import WearLaw
from dynamics.wear.wear_map import measured_patch, wear_map
from foundation.checks import FloatArray, check_number
from foundation.elastic_foundation.model import ElasticFoundation
from foundation.loads import LOAD_COLUMNS
from foundation.pose import Pose
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.files import replacing

#: Instants of the frames [% of the cycle].
FRAME_INSTANTS = tuple(np.linspace(0.0, 100.0, 51).tolist())
#: A femur, and a plateau, of more triangles are thinned out.
MOST_TRIANGLES, MOST_OF_PLATEAU = 12000, 20000
_PEAK, _CENTRE = LOAD_COLUMNS.index("peak_pressure_Pa"), LOAD_COLUMNS.index("cop_x_m")
_MODELS = ("original", "surrogate")


@dataclass(frozen=True, eq=False)
class Frames:
    """The knee at instants of the cycle.

    Parameters
    ----------
    gait_percent : (K,) float64
        Instants [% of the cycle].
    poses : (K, 6) float64
        Of the cycle driven by the original model [rad, m].
    femur_vertices : (V, 3) float64
        Thinned out, femoral frame [m].
    femur_faces : (G, 3) int64
        Its triangles.
    tibia_vertices : (U, 3) float64
        Tibial frame [m].
    tibia_faces : (F, 3) int64
        Triangles of the plateau.
    pressure_Pa : (K, F) float32
        Of the original model at these poses [Pa].
    peak_Pa : (2, K) float64
        Largest pressure of either compartment, as the original and the surrogate give it on
        their own cycles [Pa].
    centre_m : (2, K, 2, 3) float64
        Centres of pressure of each model, medial and lateral [m]; NaN without contact.
    surrogate_poses : (K, 6) float64, optional
        Of the cycle driven by the surrogate [rad, m]. Files of earlier versions have none.
    surrogate_pressure_Pa : (K, F) float32, optional
        Of the original model at the surrogate's poses [Pa].
    """

    gait_percent: FloatArray
    poses: FloatArray
    femur_vertices: FloatArray
    femur_faces: NDArray[np.int64]
    tibia_vertices: FloatArray
    tibia_faces: NDArray[np.int64]
    pressure_Pa: NDArray[np.float32]
    peak_Pa: FloatArray
    centre_m: FloatArray
    surrogate_poses: FloatArray | None = None
    surrogate_pressure_Pa: NDArray[np.float32] | None = None


@dataclass(frozen=True, eq=False)
class WearOfCycle:
    """Wear of one cycle by both models, each on its own motion.

    Parameters
    ----------
    factor_per_Pa, density_kg_per_m3 : () float64
        Of the insert.
    volume_m3 : (2, 2) float64
        By the springs of the original and from the loads of the surrogate, medial and lateral.
    depth_m : (2, F) float64
        Worn off each tibial triangle.
    aspect : (2,) float64
        AP over ML axis of the pressure fields that the surrogate's wear is spread by, medial and
        lateral.
    ratio : (2,) float64
        Pressure's integral over force, with which the surrogate's forces are taken.
    """

    factor_per_Pa: FloatArray
    density_kg_per_m3: FloatArray
    volume_m3: FloatArray
    depth_m: FloatArray
    aspect: FloatArray
    ratio: FloatArray


def frames_of(model: ElasticFoundation, results: Mapping[str, SimulationResult]) -> Frames:
    """Return the frames of a cycle that both models were taken through.

    Parameters
    ----------
    model : ElasticFoundation
        The original model.
    results : mapping
        "original" and "surrogate" -> result at the same instants.
    """
    original = results["original"]
    percent = original.gait_percent
    chosen = np.unique([np.argmin(np.abs(percent - instant)) for instant in FRAME_INSTANTS])
    loads = np.array([results[name].compartment_loads[:, chosen] for name in _MODELS])
    femur, tibia = thinned(model.femur, MOST_TRIANGLES), thinned(model.tibia, MOST_OF_PLATEAU)
    shown = nearest_faces(model.tibia, *tibia)
    poses = [results[name].poses[chosen] for name in _MODELS]
    pressure = [
        np.array([model.spring_state(Pose.from_array(q)).pressure[shown] for q in each], np.float32)
        for each in poses
    ]
    return Frames(
        gait_percent=percent[chosen],
        poses=poses[0],
        femur_vertices=femur[0],
        femur_faces=femur[1],
        tibia_vertices=tibia[0],
        tibia_faces=tibia[1],
        pressure_Pa=pressure[0],
        peak_Pa=loads[..., _PEAK].max(axis=1),
        centre_m=np.moveaxis(loads[..., _CENTRE : _CENTRE + 3], 1, 2),
        surrogate_poses=poses[1],
        surrogate_pressure_Pa=pressure[1],
    )


def wear_of_cycle(
    model: ElasticFoundation, results: Mapping[str, SimulationResult], law: WearLaw
) -> WearOfCycle:
    """Return the wear of a cycle by both models, each on its own motion."""
    worn = bed_wear(model, results["original"], law)
    patch = measured_patch(model, results["original"])
    told = surrogate_wear(results["surrogate"], law, **patch._asdict())
    spread = wear_map(results["surrogate"], law, model.tibia, **patch._asdict())
    return WearOfCycle(
        factor_per_Pa=np.array(law.factor),
        density_kg_per_m3=np.array(law.density),
        volume_m3=np.array([worn.volume, told.volume]),
        depth_m=np.array([worn.depth, spread]),
        aspect=patch.aspect,
        ratio=np.array(patch.ratio),
    )


def write_arrays(path: Path, content: Frames | WearOfCycle) -> None:
    """Write the arrays of a dataclass by the names of its fields; those that are None are not."""
    arrays = {each.name: getattr(content, each.name) for each in fields(content)}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    with replacing(path) as partial, partial.open("wb") as stream:
        np.savez_compressed(stream, **arrays)


def thinned(mesh: TriangleMesh, most: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return vertices (V, 3) and triangles (F, 3) of a mesh, thinned out to about `most`.

    Vertices that share a cell of a cubic grid become one at their mean; triangles that collapse
    are left out (vertex clustering, Rossignac & Borrel 1993, Multi-resolution 3D approximations
    for rendering complex scenes). The cell grows by a tenth until few enough triangles are left.

    Parameters
    ----------
    mesh : TriangleMesh
        What is thinned out.
    most : int
        Triangles allowed, >= 4.
    """
    check_number("most", most, at_least=4)
    vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces, dtype=np.int64)
    cell = float(np.sqrt(np.median(mesh.areas)))
    while len(faces) > most:
        vertices, faces = _clustered(mesh, cell)
        cell *= 1.1
    return vertices, faces


def nearest_faces(
    mesh: TriangleMesh, vertices: FloatArray, faces: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the triangle of a mesh (F,) whose middle is nearest to that of each of a thinned one.

    Parameters
    ----------
    mesh : TriangleMesh
        What was thinned out.
    vertices, faces : (V, 3) float64, (F, 3) int64
        What `thinned` returned of it.
    """
    if len(faces) == len(mesh.faces):
        return np.arange(len(faces))
    middles = np.asarray(mesh.vertices)[np.asarray(mesh.faces)].mean(axis=1)
    return np.asarray(cKDTree(middles).query(vertices[faces].mean(axis=1))[1], dtype=np.int64)


def _clustered(mesh: TriangleMesh, cell: float) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return a mesh whose vertices within each cell of a grid [m] are one."""
    keys = np.floor(np.asarray(mesh.vertices) / cell).astype(np.int64)
    _, group, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    sums = [np.bincount(group, mesh.vertices[:, k]) / count for k in range(3)]
    faces = group[np.asarray(mesh.faces)]
    a, b, c = faces.T
    return np.column_stack(sums), faces[(a != b) & (b != c) & (c != a)]
