"""Pressure fields of the gait cycle for ParaView: a series of VTP files and their collection."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import ArrayLike

from foundation.base.checks import FloatArray, check_in
from foundation.base.pose import Pose
from pipeline.files import write_text
from pipeline.reports.inputs import read_run
from pipeline.store.job import RunError
from pipeline.store.run_documents import MODELS

#: Types of VTK by the types of NumPy.
_TYPES = {"float32": "Float32", "float64": "Float64", "int32": "Int32", "int8": "Int8"}


def write_fields(folder: Path, out: Path, model: str = MODELS[0]) -> list[Path]:
    """Write the knee through the cycle with the pressure on the plateau; return the paths.

    Each frame of the run gives ``tibia_000.vtp`` with the pressure, and ``femur_000.vtp`` in its
    pose, both in the tibial frame in mm. ``cycle.pvd``, the first path, lists them with the instant
    in percent of the cycle as the time. Pressures are those of the original model.
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
    listed = []
    for k, percent in enumerate(frames.gait_percent.tolist()):
        pose = Pose.from_array(poses[k])
        femur = frames.femur_vertices @ pose.rotation_matrix.T + pose.translation
        tibia = vtp_text(
            1e3 * frames.tibia_vertices,
            frames.tibia_faces,
            points={"pressure_MPa": 1e-6 * np.maximum(fields.values[model][k], 0.0)},
            cells={"spring_pressure_MPa": 1e-6 * triangles[k], "compartment": fields.side},
        )
        bodies = {"tibia": tibia, "femur": vtp_text(1e3 * femur, frames.femur_faces)}
        for part, (body, text) in enumerate(bodies.items()):
            name = f"{body}_{k:03d}.vtp"
            write_text(out / name, text)
            listed.append((percent, part, name))
    write_text(out / "cycle.pvd", _collection(listed))
    return [out / "cycle.pvd", *(out / name for _, _, name in listed)]


def vtp_text(
    vertices: FloatArray,
    faces: ArrayLike,
    *,
    points: Mapping[str, ArrayLike] | None = None,
    cells: Mapping[str, ArrayLike] | None = None,
) -> str:
    """Return a surface (V, 3) [any unit], (F, 3), and its values as compressed VTK PolyData."""
    corners = np.asarray(faces, dtype=np.int32)
    root, data = _document("PolyData")
    piece = ET.SubElement(
        data, "Piece", NumberOfPoints=str(len(vertices)), NumberOfPolys=str(len(corners))
    )
    for tag, arrays in (("PointData", points or {}), ("CellData", cells or {})):
        place = ET.SubElement(piece, tag)
        for name, values in arrays.items():
            _add_array(place, name, np.asarray(values))
    _add_array(ET.SubElement(piece, "Points"), "Points", np.asarray(vertices, dtype=np.float32))
    polys = ET.SubElement(piece, "Polys")
    _add_array(polys, "connectivity", corners.reshape(-1))
    _add_array(polys, "offsets", np.arange(3, 3 * len(corners) + 1, 3, dtype=np.int32))
    return _text(root)


def _collection(listed: list[tuple[float, int, str]]) -> str:
    """Return the collection of files, from time, part and name of each."""
    root, data = _document("Collection")
    for time, part, name in listed:
        ET.SubElement(data, "DataSet", timestep=f"{time:g}", part=str(part), file=name)
    return _text(root)


def _document(kind: str) -> tuple[ET.Element, ET.Element]:
    root = ET.Element(
        "VTKFile", type=kind, version="1.0", byte_order="LittleEndian", header_type="UInt64",
        compressor="vtkZLibDataCompressor",
    )  # fmt: skip
    return root, ET.SubElement(root, kind)


def _add_array(place: ET.Element, name: str, values: np.ndarray) -> None:
    """Add an array as one block: base64 of a header, and of the compressed values."""
    stored = values.astype(values.dtype.newbyteorder("<")).tobytes()
    packed = zlib.compress(stored)
    # Number of blocks, their size, size of an incomplete last block (0: none), compressed sizes.
    head = np.array([1, len(stored), 0, len(packed)], dtype="<u8").tobytes()
    array = ET.SubElement(
        place, "DataArray", type=_TYPES[values.dtype.name], Name=name, format="binary",
        NumberOfComponents=str(values.shape[1] if values.ndim == 2 else 1),
    )  # fmt: skip
    array.text = "".join(base64.b64encode(part).decode("ascii") for part in (head, packed))


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
