"""Arrays that the report draws: pressures, the knee through the cycle, and wear.

A report is made from the files of a run alone, so these files contain the surfaces and the
pressures on them. Fine surfaces are simplified, since a picture a few hundred pixels wide shows no
more detail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from dynamics.simulator.result import SimulationResult
from dynamics.wear.cycle_wear import (
    FieldContact,
    WearLaw,
    bed_wear,
    measured_patch,
    surrogate_wear,
)
from foundation.base.checks import FloatArray, check_number
from foundation.base.loads import LOAD_COLUMNS
from foundation.base.pose import Pose
from foundation.surface_contact import SurfaceContact
from foundation.surfaces.triangle_mesh import TriangleMesh
from pipeline.files import write_npz
from pipeline.store.documents import Shape
from pipeline.store.run_documents import MODELS
from surrogates.formulations.contact_surrogate import ContactSurrogate

#: Instants of the frames [% of the cycle].
FRAME_INSTANTS = tuple(np.linspace(0.0, 100.0, 51).tolist())
#: A femur, and a plateau, with more triangles are simplified.
MOST_TRIANGLES, MOST_OF_PLATEAU = 12000, 20000
_PEAK, _CENTRE = LOAD_COLUMNS.index("peak_pressure_Pa"), LOAD_COLUMNS.index("cop_x_m")


@dataclass(frozen=True, eq=False)
class PressureMaps:
    """Pressures (2, K, F) [Pa] on the plateau at a few instants, `pressure_maps.npz`."""

    #: Vertices of the plateau, tibial frame [m].
    vertices: Annotated[FloatArray, ("V", 3)]
    faces: Annotated[NDArray[np.int64], ("F", 3)]
    #: Instants [% of the cycle].
    gait_percent: Annotated[FloatArray, ("K",)]
    #: Pressures at the poses of the original and of the surrogate.
    pressure_Pa: Annotated[FloatArray, (2, "K", "F")]


@dataclass(frozen=True, eq=False)
class Frames:
    """The knee at instants (K,) of the cycle [%], `frames.npz`."""

    #: Instants [% of the cycle].
    gait_percent: Annotated[FloatArray, ("K",)]
    #: Poses of the cycle driven by the original model [rad, m].
    poses: Annotated[FloatArray, ("K", 6)]
    #: Vertices of the simplified femur, femoral frame [m].
    femur_vertices: Annotated[FloatArray, ("V", 3)]
    femur_faces: Annotated[NDArray[np.int64], ("G", 3)]
    #: Vertices of the simplified plateau, tibial frame [m].
    tibia_vertices: Annotated[FloatArray, ("U", 3)]
    tibia_faces: Annotated[NDArray[np.int64], ("F", 3)]
    #: Pressure of the original model at `poses`.
    pressure_Pa: Annotated[NDArray[np.float32], ("K", "F")]
    #: Larger peak pressure of the compartments: original and surrogate on their own cycles.
    peak_Pa: Annotated[FloatArray, (2, "K")]
    #: Centres of pressure by model, medial and lateral, tibial frame; NaN without contact.
    centre_m: Annotated[FloatArray, (2, "K", 2, 3)]
    #: Poses of the cycle driven by the surrogate [rad, m].
    surrogate_poses: Annotated[FloatArray, ("K", 6)]
    #: Pressure of the original model at `surrogate_poses`.
    surrogate_pressure_Pa: Annotated[NDArray[np.float32], ("K", "F")]


@dataclass(frozen=True, eq=False)
class WearOfCycle:
    """Wear (2, 2) [m³] of one cycle by both models, each on its own motion, `wear.npz`."""

    #: Wear factor and what cross-shear adds [1/Pa], wear coefficient and what it adds [1].
    law: Annotated[FloatArray, (4,)]
    density_kg_per_m3: Annotated[FloatArray, ()]
    #: By pressures of the original, by loads or fields of the surrogate; medial and lateral.
    volume_m3: Annotated[FloatArray, (2, 2)]
    #: Depths worn off each tibial triangle, its cross-shear [1] and sliding distance in contact.
    depth_m: Annotated[FloatArray, (2, "F")]
    cross_shear: Annotated[FloatArray, (2, "F")]
    distance_m: Annotated[FloatArray, (2, "F")]
    #: Area that wears [m²] and centre of the worn volume [m] by model and compartment; the centre
    #: is NaN without wear.
    footprint: Annotated[FloatArray, (2, 2, 4)]
    #: AP over ML axis of the pressure fields of the surrogate's wear, medial and lateral [1].
    aspect: Annotated[FloatArray, (2,)]
    #: Integral of the pressure over force, a factor on the surrogate's forces [1].
    ratio: Annotated[FloatArray, (2,)]


def plateau_pressures(model: SurfaceContact, poses: FloatArray) -> FloatArray:
    """Return the pressure on each tibial triangle (K, F) [Pa] at poses (K, 6) [rad, m]."""
    return np.array([model.spring_state(Pose.from_array(pose)).pressure for pose in poses])


def frames_of(model: SurfaceContact, results: Mapping[str, SimulationResult]) -> Frames:
    """Return the frames of a cycle that was simulated with both models, at the same instants."""
    original = results["original"]
    percent = original.gait_percent
    regular = [np.argmin(np.abs(percent - instant)) for instant in FRAME_INSTANTS]
    highest = np.nan_to_num(original.compartment_loads[..., _PEAK]).argmax(axis=1)
    chosen = np.unique([*regular, *highest])
    loads = np.array([results[name].compartment_loads[:, chosen] for name in MODELS])
    femur, tibia = thinned(model.femur, MOST_TRIANGLES), thinned(model.tibia, MOST_OF_PLATEAU)
    nearest = nearest_faces(model.tibia, *tibia)
    poses = [results[name].poses[chosen] for name in MODELS]
    pressure = [
        plateau_pressures(model, each)[:, nearest].astype(np.float32, order="C") for each in poses
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
    model: SurfaceContact,
    results: Mapping[str, SimulationResult],
    law: WearLaw,
    fields: ContactSurrogate | None = None,
) -> WearOfCycle:
    """Return the wear of a cycle by both models, of the surrogate by loads or `fields`."""
    original = bed_wear(model, results["original"], law)
    patch = measured_patch(model, results["original"])
    if fields is None:
        surrogate = surrogate_wear(results["surrogate"], law, **patch._asdict())
    else:
        contact = FieldContact(fields, model.tibia, model.compartments)
        surrogate = bed_wear(contact, results["surrogate"], law)
    both = original, surrogate
    return WearOfCycle(
        law=np.array(law.constants),
        density_kg_per_m3=np.array(law.density),
        volume_m3=np.array([each.volume for each in both]),
        depth_m=np.array([each.depth for each in both]),
        cross_shear=np.array([each.sliding.cross_shear for each in both]),
        distance_m=np.array([each.sliding.distance for each in both]),
        footprint=np.array([each.footprint for each in both]),
        aspect=patch.aspect,
        ratio=np.array(patch.ratio),
    )


def shapes_of(kind: type[PressureMaps | Frames | WearOfCycle]) -> dict[str, Shape]:
    """Return the shapes of the arrays of a dataclass by the names of its fields."""
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name].__metadata__[0] for each in fields(kind)}


def write_arrays(path: Path, content: PressureMaps | Frames | WearOfCycle) -> None:
    """Write the arrays of a dataclass under the names of its fields, except those that are None."""
    write_npz(path, **{name: array for name, array in vars(content).items() if array is not None})


def thinned(mesh: TriangleMesh, most: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return vertices (V, 3) [m] and at most `most` triangles (F, 3) of a simplified mesh.

    By vertex clustering (Rossignac & Borrel 1993, Multi-resolution 3D approximations for rendering
    complex scenes): the vertices in a cell of a grid merge to one.
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
    """Return the triangle (F,) of a mesh nearest to those of `thinned` vertices (V, 3) [m]."""
    if len(faces) == len(mesh.faces):
        return np.arange(len(faces))
    middles = np.asarray(mesh.vertices)[np.asarray(mesh.faces)].mean(axis=1)
    return np.asarray(cKDTree(middles).query(vertices[faces].mean(axis=1))[1], dtype=np.int64)


def _clustered(mesh: TriangleMesh, cell: float) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return a mesh with the vertices of each cell of a grid [m] merged."""
    keys = np.floor(np.asarray(mesh.vertices) / cell).astype(np.int64)
    _, group, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    sums = [np.bincount(group, mesh.vertices[:, k]) / count for k in range(3)]
    faces = group[np.asarray(mesh.faces)]
    a, b, c = faces.T
    return np.column_stack(sums), faces[(a != b) & (b != c) & (c != a)]
