"""STEP files of CAD programs, triangulated by Open CASCADE (cascadio)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from foundation.base.errors import InputError
from foundation.surfaces.readers.polygons import UNITS, SurfaceFile
from foundation.surfaces.triangle_mesh import MeshError

#: Largest distance of the triangles from the surfaces of a file [mm], for a knee; and the extent of
#: a file [mm] beyond which the distance grows with the extent: a knee read in a wrong unit would
#: take all memory.
_DEVIATION, _EXTENT = 2e-3, 500.0
_PREFIXES = {"$": "m", ".CENTI.": "cm", ".MILLI.": "mm", ".MICRO.": "um"}
_SI_LENGTH = re.compile(rb"SI_UNIT\s*\(\s*(\$|\.\w+\.)\s*,\s*\.METRE\.\s*\)")
_INCH = re.compile(rb"CONVERSION_BASED_UNIT\s*\(\s*'INCH(?:ES)?'", re.IGNORECASE)
_POINT = re.compile(rb"CARTESIAN_POINT\s*\(\s*'[^']*'\s*,\s*\(([^)]*)\)")


def read_step(path: Path) -> SurfaceFile:
    """Read a STEP file; an InputError says why a file cannot be read."""
    try:
        import cascadio  # noqa: F401
    except ImportError as error:
        raise MeshError(
            f"{path}: STEP files need cascadio, which is not installed: pip install "
            "knee-contact[step]; or convert the file to STL in a CAD program, with edges of 1 mm"
        ) from error
    # Imported here, so that trained surrogates do not need a mesh library.
    import trimesh

    content = path.read_bytes()
    if not content.rstrip().endswith(b"END-ISO-10303-21;"):
        raise InputError("the closing END-ISO-10303-21 is missing")
    unit = _unit(content)
    extent = 1e3 * UNITS[unit or "mm"] * _largest_coordinate(content)
    deviation = _DEVIATION * max(1.0, extent / _EXTENT)
    try:
        loaded = trimesh.load(path, process=False, force="mesh", tol_linear=deviation)
        metres = np.array(loaded.vertices, dtype=np.float64).reshape(-1, 3)  # type: ignore[attr-defined]
        faces = np.array(loaded.faces, dtype=np.int64).reshape(-1, 3)  # type: ignore[attr-defined]
    except Exception as error:  # the readers of trimesh raise all kinds of errors
        raise InputError("Open CASCADE finds no shape") from error
    # Open CASCADE converts any unit to metres.
    return SurfaceFile(metres / UNITS[unit or "m"], faces, unit or "m")


def _unit(content: bytes) -> str | None:
    """Return the unit of length of a file; None for a unit that is not one of `UNITS`."""
    if _INCH.search(content):
        return "inch"
    if b"CONVERSION_BASED_UNIT" in content and b"'FOOT'" in content.upper():
        return None
    found = _SI_LENGTH.search(content)
    return None if found is None else _PREFIXES.get(found[1].decode())


def _largest_coordinate(content: bytes) -> float:
    """Return the largest magnitude of a coordinate, in the unit of the file."""
    numbers = b",".join(found[1] for found in _POINT.finditer(content)).split(b",")
    try:
        return max((abs(float(number)) for number in numbers), default=0.0)
    except ValueError:
        return 0.0
