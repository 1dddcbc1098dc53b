"""Files of one small surface in variants of VTK, 3MF and glTF, written by hand."""

import base64
import io
import json
import struct
import zipfile

import numpy as np
import trimesh
from file_variants import FACES, POINTS, POLYGONS, TRIANGLES, P, T


def legacy_vtk(sections, dataset="POLYDATA", version="4.2", binary=False, more=b"", kind="float"):
    """Return a legacy VTK file; `sections` has cells by keyword."""
    out = io.BytesIO()
    out.write(f"# vtk DataFile Version {version}\ntitle of a surface\n".encode())
    out.write(f"{'BINARY' if binary else 'ASCII'}\nDATASET {dataset}\n".encode())

    def put(numbers, kind):
        numbers = np.asarray(numbers).reshape(-1)
        if binary:
            out.write(numbers.astype(kind).tobytes() + b"\n")
        else:
            out.write((" ".join(map(str, numbers.tolist())) + "\n").encode())

    out.write(f"POINTS {P} {kind}\n".encode())
    put(POINTS, ">f4" if kind == "float" else ">f8")
    if version >= "5" and binary:
        out.write(
            b"METADATA\nINFORMATION 1\nNAME L2_NORM_RANGE LOCATION vtkDataArray\nDATA 2 0 1\n\n"
        )
    for key, cells in sections.items():
        if key == "CELL_TYPES":
            out.write(f"CELL_TYPES {len(cells)}\n".encode())
            put(cells, ">i4")
            continue
        flat = [corner for cell in cells for corner in cell]
        if version < "5":
            out.write(f"{key} {len(cells)} {len(flat) + len(cells)}\n".encode())
            put([number for cell in cells for number in (len(cell), *cell)], ">i4")
        else:
            out.write(f"{key} {len(cells) + 1} {len(flat)}\nOFFSETS vtktypeint64\n".encode())
            put(np.cumsum([0, *map(len, cells)]), ">i8")
            out.write(b"CONNECTIVITY vtktypeint64\n")
            put(flat, ">i8")
    return out.getvalue() + more


VALUES = f"POINT_DATA {P}\nSCALARS depth float 1\nLOOKUP_TABLE default\n{'0.5 ' * P}\n".encode()
SURFACE = {"POLYGONS": POLYGONS}
GRID = {"CELLS": [*POLYGONS, [0, 1], [4]], "CELL_TYPES": [9, 5, 3, 1]}
#: A strip of the quad, in the other order of triangles, and the triangle that stands on the quad.
STRIPS = {"TRIANGLE_STRIPS": [[1, 2, 0, 3]], "POLYGONS": [[1, 4, 2]], "LINES": [[0, 1, 2]]}
VTK_FILES = {
    **{
        f"{name} {version} {'binary' if binary else 'text'}.vtk": legacy_vtk(
            sections, dataset, version, binary
        )
        for name, sections, dataset in (
            ("polygons", SURFACE, "POLYDATA"),
            ("grid", GRID, "UNSTRUCTURED_GRID"),
        )
        for version in ("2.0", "4.2", "5.1")
        for binary in (False, True)
    },
    "strips.vtk": legacy_vtk(STRIPS),
    "strips binary.vtk": legacy_vtk(STRIPS, version="5.1", binary=True),
    "vertices.vtk": legacy_vtk({"VERTICES": [[0, 1], [2]], **SURFACE}),
    "values.vtk": legacy_vtk(SURFACE, more=VALUES),
    "double.vtk": legacy_vtk(SURFACE, binary=True, kind="double"),
    "windows.vtk": legacy_vtk(SURFACE, more=VALUES).replace(b"\n", b"\r\n"),
    "field.vtk": legacy_vtk(SURFACE).replace(
        b"POINTS", b"FIELD FieldData 1\nTimeValue 1 1 double\n0.25\nPOINTS", 1
    ),
    "field binary.vtk": legacy_vtk(SURFACE, binary=True).replace(
        b"POINTS", b"FIELD FieldData 1\nTimeValue 1 1 double\n" + bytes(8) + b"\nPOINTS", 1
    ),
    "pixel.vtk": legacy_vtk(
        {"CELLS": [[0, 1, 3, 2], [1, 4, 2]], "CELL_TYPES": [8, 5]}, "UNSTRUCTURED_GRID"
    ),
}
BAD_VTK = {
    "cut.vtk": (legacy_vtk(SURFACE)[:-4], "7 numbers, expected 9 for the values of POLYGONS"),
    "cut binary.vtk": (
        legacy_vtk(SURFACE, binary=True)[:-8],
        r"\d+ bytes, expected at least \d+ for the 9 values of POLYGONS",
    ),
    "cut 5.1.vtk": (legacy_vtk(SURFACE, version="5.1")[:-4], "5 numbers, expected 7 .*CONNECTIV"),
    "cut 5.1 binary.vtk": (
        legacy_vtk(SURFACE, version="5.1", binary=True)[:-9],
        "for the 7 values of CONNECTIVITY",
    ),
    "cut points.vtk": (legacy_vtk({})[:-8], "14 numbers, expected 15 for the values of POINTS"),
    "no types.vtk": (
        legacy_vtk({"CELLS": POLYGONS}, "UNSTRUCTURED_GRID"),
        "0 CELL_TYPES, expected 2",
    ),
    "image.vtk": (
        b"# vtk DataFile Version 3.0\na\nASCII\nDATASET STRUCTURED_POINTS\nDIMENSIONS 2 2 2\n",
        "expected the dataset POLYDATA or UNSTRUCTURED_GRID, found STRUCTURED_POINTS",
    ),
    "corner.vtk": (legacy_vtk({"POLYGONS": [[0, 1, 5]]}), "vertex 6 of 5"),
    "size.vtk": (
        legacy_vtk(SURFACE).replace(b"POLYGONS 2 9", b"POLYGONS 3 9"),
        "the 9 numbers of POLYGONS are not those of 3 cells",
    ),
    "lines.vtk": (legacy_vtk({"LINES": [[0, 1, 2]]}), "no triangles .1 line is left out"),
    "hexagons.vtk": (
        legacy_vtk({"CELLS": [[0, 1, 2, 3, 4]], "CELL_TYPES": [42]}, "UNSTRUCTURED_GRID"),
        "cells of VTK's type 42 are not supported",
    ),
    "triangle.vtk": (
        legacy_vtk({"CELLS": [[0, 1, 2, 3]], "CELL_TYPES": [5]}, "UNSTRUCTURED_GRID"),
        "type 5 has 4 points, expected 3",
    ),
    "tetrahedron.vtk": (
        legacy_vtk({"CELLS": [[0, 1, 2, 3]], "CELL_TYPES": [10]}, "UNSTRUCTURED_GRID"),
        "cells of VTK's type 10 are not supported: .* extract the surface",
    ),
    "xml.vtk": (b'<?xml version="1.0"?>\n<VTKFile type="PolyData">', "another format .*vtp"),
}

CORE = "http://schemas.microsoft.com/3dmanufacturing/core/2015/02"


def threemf(unit=' unit="meter"', build=None, model=None, points=POINTS, extra="", faces=TRIANGLES):
    """Return a 3MF file; its build places one object, unless `build` says otherwise."""
    vertices = "".join(f'<vertex x="{x!r}" y="{y!r}" z="{z!r}"/>' for x, y, z in points.tolist())
    triangles = "".join(f'<triangle v1="{a}" v2="{b}" v3="{c}"/>' for a, b, c in faces)
    build = '<item objectid="1"/>' if build is None else build
    text = model or (
        f'<?xml version="1.0" encoding="UTF-8"?><model{unit} xmlns="{CORE}"><resources>'
        f'<object id="1" type="model"><mesh><vertices>{vertices}</vertices><triangles>{triangles}'
        f"</triangles></mesh></object>{extra}</resources><build>{build}</build></model>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("3D/3dmodel.model", text)
    return out.getvalue()


SHIFTED = POINTS - [0.25, 0.5, 0.0]
COMPONENTS = (
    '<object id="2"><components><component objectid="1" transform="1 0 0 0 1 0 0 0 1 0.25 0 0"/>'
    '</components></object><object id="3" type="support"/>'
)
THREEMF_FILES = {
    "metres.3mf": threemf(),
    "no build.3mf": threemf(build=""),
    "components.3mf": threemf(
        points=SHIFTED,
        extra=COMPONENTS,
        build='<item objectid="2" transform="1 0 0 0 1 0 0 0 1 0 0.5 0"/>',
    ),
}
BAD_THREEMF = {
    "cut.3mf": (threemf()[:-40], "the ZIP archive is damaged"),
    "missing.3mf": (threemf(build='<item objectid="7"/>'), "the object 7 of .* is missing"),
    "unit.3mf": (threemf(unit=' unit="parsec"'), "expected one of the units micron, .*'parsec'"),
    "xml.3mf": (threemf(model="<model><resources>"), "3dmodel.model: no element found"),
    "corner.3mf": (threemf(points=POINTS[:4]), "vertex 5 of 4"),
}


def gltf(translation=None, mode=4, uri=None, change=None, extra=()):
    """Return the JSON of a glTF file, with a texture that is missing, and its data."""
    points = POINTS.astype("<f4") - np.float32(0 if translation is None else translation)
    data = points.astype("<f4").tobytes() + FACES.astype("<u4").tobytes()
    header = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, **({} if translation is None else {"translation": translation})}],
        "meshes": [
            {
                "primitives": [
                    {"attributes": {"POSITION": 0}, "indices": 1, "mode": mode, "material": 0},
                    *extra,
                ]
            }
        ],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0}],
        "images": [{"uri": "missing.png"}],
        "accessors": [
            {
                **{"bufferView": 0, "componentType": 5126, "count": P, "type": "VEC3"},
                **{"min": points.min(axis=0).tolist(), "max": points.max(axis=0).tolist()},
            },
            {"bufferView": 1, "componentType": 5125, "count": 3 * T, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 12 * P},
            {"buffer": 0, "byteOffset": 12 * P, "byteLength": 12 * T},
        ],
        "buffers": [{"byteLength": len(data), **({} if uri is None else {"uri": uri})}],
    }
    if change:
        change(header)
    return header, data


def glb(**options):
    header, data = gltf(**options)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<II", len(text), 0x4E4F534A) + text
    body += struct.pack("<II", len(data), 0x004E4942) + data
    return struct.pack("<III", 0x46546C67, 2, 12 + len(body)) + body


def embedded():
    data = gltf()[1]
    return json.dumps(gltf(uri=f"data:;base64,{base64.b64encode(data).decode()}")[0]).encode()


LINES = {"attributes": {"POSITION": 0}, "mode": 1}


def _compressed(header):
    header["extensionsUsed"] = ["KHR_draco_mesh_compression"]


def _quantized(header):
    header["accessors"][0]["componentType"] = 5122


def _sparse(header):
    header["accessors"][0]["sparse"] = {"count": 1}


GLTF_FILES = {
    "plain.glb": glb(),
    "moved.glb": glb(translation=[0.25, 0.0, -0.5]),
    "lines.glb": glb(extra=[LINES]),
    "embedded.gltf": embedded(),
    "trimesh.glb": trimesh.Trimesh(POINTS, FACES, process=False).export(file_type="glb"),
}
BAD_GLTF = {
    "cut.glb": (glb()[:-20], r"\d+ bytes, expected \d+ as in the header"),
    "draco.glb": (glb(change=_compressed), "compressed by KHR_draco"),
    "sparse.glb": (glb(change=_sparse), "sparse accessors are not supported"),
    "quantized.glb": (glb(change=_quantized), "quantized positions are not supported"),
    "fan.glb": (glb(mode=6), "triangle fans are not supported"),
    "buffer.gltf": (json.dumps(gltf(uri="gone.bin")[0]).encode(), "gone.bin .*is missing"),
    "json.gltf": (b'{"asset": ', "the JSON is damaged"),
}


GOOD = {**VTK_FILES, **THREEMF_FILES, **GLTF_FILES}
BAD_STEP = {"cut.step": (b"ISO-10303-21;\nHEADER;\nENDSEC;\n", "END-ISO-10303-21 is missing")}
BAD = {**BAD_STEP, **BAD_VTK, **BAD_THREEMF, **BAD_GLTF}
