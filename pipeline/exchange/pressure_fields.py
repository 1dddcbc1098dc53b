"""Pressure fields of the gait cycle for ParaView: series of legacy VTK files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foundation.base.checks import FloatArray, check_in
from foundation.base.pose import Pose
from pipeline.files import replacing, write_json
from pipeline.reports.inputs import read_run
from pipeline.store.job import RunError
from pipeline.store.run_documents import MODELS


def write_fields(folder: Path, out: Path, model: str = MODELS[0]) -> list[Path]:
    """Write the knee through the cycle with the pressure on the plateau; return the paths.

    Each frame of the run gives ``tibia_000.vtk`` with the pressure, and ``femur_000.vtk`` in its
    pose, both in the tibial frame in mm. ``tibia.vtk.series`` and ``femur.vtk.series``, the first
    paths, list them with the instant in percent of the cycle as the time. Pressures are those of
    the original model, at the poses of the cycle that `model` drives.
    """
    check_in("model", model, MODELS)
    fields = read_run(folder).fields
    if fields is None:
        raise RunError(
            f"{folder}: expected frames of the cycle of the {model}, found none: a run of a table "
            "has no surfaces"
        )
    frames = fields.frames
    poses, triangles = fields.poses[model], fields.given[model]
    listed: dict[str, list[dict[str, object]]] = {"tibia": [], "femur": []}
    for k, percent in enumerate(frames.gait_percent.tolist()):
        pose = Pose.from_array(poses[k])
        femur = frames.femur_vertices @ pose.rotation_matrix.T + pose.translation
        tibia = vtk_bytes(
            1e3 * frames.tibia_vertices,
            frames.tibia_faces,
            points={"pressure_MPa": 1e-6 * np.maximum(fields.values[model][k], 0.0)},
            cells={"spring_pressure_MPa": 1e-6 * triangles[k], "compartment": fields.side},
        )
        bodies = {"tibia": tibia, "femur": vtk_bytes(1e3 * femur, frames.femur_faces)}
        for body, content in bodies.items():
            name = f"{body}_{k:03d}.vtk"
            with replacing(out / name) as partial:
                partial.write_bytes(content)
            listed[body].append({"name": name, "time": percent})
    for body, files in listed.items():
        write_json(out / f"{body}.vtk.series", {"file-series-version": "1.0", "files": files})
    series = [out / f"{body}.vtk.series" for body in listed]
    return [*series, *(out / str(each["name"]) for files in listed.values() for each in files)]


def vtk_bytes(
    vertices: FloatArray,
    faces: ArrayLike,
    *,
    points: Mapping[str, ArrayLike] | None = None,
    cells: Mapping[str, ArrayLike] | None = None,
) -> bytes:
    """Return a surface (V, 3) [any unit], (F, 3), and its values as a legacy VTK file."""
    corners = np.asarray(faces)
    polygons = np.column_stack([np.full(len(corners), 3), corners])
    parts: list[str | NDArray[Any]] = [
        "# vtk DataFile Version 3.0\nknee\nBINARY\nDATASET POLYDATA\n",
        f"POINTS {len(vertices)} float\n", vertices.astype(">f4"),
        f"\nPOLYGONS {len(polygons)} {polygons.size}\n", polygons.astype(">i4"),
    ]  # fmt: skip
    for place, arrays in (("POINT", points or {}), ("CELL", cells or {})):
        head = f"\n{place}_DATA {len(vertices) if place == 'POINT' else len(corners)}"
        for name, values in arrays.items():
            parts += [f"{head}\nSCALARS {name} float 1\nLOOKUP_TABLE default\n"]
            parts += [np.asarray(values).astype(">f4")]
            head = ""
    return b"".join(p.encode() if isinstance(p, str) else p.tobytes() for p in parts)
