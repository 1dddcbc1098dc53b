"""A trained surrogate in one file: arrays and a JSON header in an `.npz`, without executable code.

The header (`header`, UTF-8 JSON as bytes) contains format, version, formulation, sample spaces,
units, frames, the caller's additions (errors, provenance), and a SHA-256 of all arrays and of the
header itself. Reading refuses a file that is truncated, altered, oversized or of another kind.
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from foundation.base.errors import InputError
from foundation.base.files import replacing
from foundation.base.loads import check_names
from surrogates.families.regressor import part_of, under
from surrogates.fields.knee_fields import PairFields
from surrogates.formulations.compartment import CompartmentSurrogate
from surrogates.formulations.contact_surrogate import ContactSurrogate
from surrogates.sampling.parameters import Parameters
from surrogates.sampling.space import SampleSpace

FORMAT = "knee-contact surrogate"
VERSION = 5
#: Largest file that `load` accepts [bytes].
SIZE_LIMIT = 2**30
_HEADER = "header"
#: Name of the pressure fields in a file.
_FIELDS = "fields"
#: Permitted kinds of arrays: numbers and, for the families' names, text.
_KINDS = frozenset("fiuU")
#: Largest length along an axis of an empty array.
_LONGEST_EMPTY = 1000
_NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_CONVENTIONS = {
    "frame": "tibial, right knee: x anterior, y superior, z lateral; loads on the femur about the "
    "tibial origin",
    "units": "SI: m, rad, N, N m, Pa",
}


class SurrogateFileError(InputError):
    """A surrogate file cannot be used; the message names the file and the reason."""


def save(knee: ContactSurrogate, path: str | Path) -> None:
    """Write a surrogate atomically: a reader sees the old file or the complete new file.

    Parameters
    ----------
    knee : ContactSurrogate
        The surrogate; its header must be JSON-serialisable.
    path : path
        The `.npz` file.

    Raises
    ------
    TypeError, ValueError
        If the header is not JSON-serialisable or contains a number that is not finite.
    InputError
        If the folder of the file is missing.
    """
    target, parts = Path(path), knee.by_name
    arrays: dict[str, Any] = {} if knee.fields is None else under(_FIELDS, knee.fields.to_arrays())
    for name, compartment in parts.items():
        arrays |= {
            k: np.asarray(array) for k, array in under(name, compartment.to_arrays()).items()
        }
    header: dict[str, Any] = {k: v for k, v in knee.header.items() if k != "parameters"} | {
        "format": FORMAT,
        "version": VERSION,
        "compartments": list(knee.compartments),
        "conventions": _CONVENTIONS,
        "formulation": {name: compartment.formulation for name, compartment in parts.items()},
        "space": {name: compartment.space.to_header() for name, compartment in parts.items()},
    }
    if knee.parameters:
        header["parameters"] = knee.parameters.to_header()
    if not target.parent.is_dir():
        raise InputError(f"path: expected a file in a folder that exists, found {target}")
    # Through JSON and back, so that the digest is of the header as a reader sees it.
    as_read = json.loads(json.dumps(header, allow_nan=False))
    as_read["sha256"] = digest(as_read, arrays)
    whole: dict[str, Any] = dict(arrays)
    whole[_HEADER] = np.frombuffer(json.dumps(as_read, sort_keys=True).encode(), dtype=np.uint8)
    with replacing(target) as partial, partial.open("wb") as stream:
        np.savez(stream, **whole)


def load(path: str | Path) -> ContactSurrogate:
    """Read a surrogate; executes no code from the file.

    Parameters
    ----------
    path : path
        A `.npz` file written by `save`.

    Raises
    ------
    SurrogateFileError
        If the file is missing, truncated, altered, oversized, of another version or of another
        kind.
    """
    file = Path(path)
    arrays = _read_arrays(file)
    header = _read_header(file, arrays.pop(_HEADER, None))
    if header.get("sha256") != digest(header, arrays):
        raise SurrogateFileError(
            f"{file}: checksum does not match the content, so the file was altered; copy it again "
            "or train the surrogate again"
        )
    try:
        # Numbers that overflow the expected type raise instead of changing.
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            return _knee(header, arrays)
    # A file that was altered and signed anew may lack any part, or contain it in any form.
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise SurrogateFileError(f"{file}: not a usable surrogate: {error}") from error


def _knee(header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> ContactSurrogate:
    names, field_arrays = check_names(header["compartments"]), part_of(arrays, _FIELDS)
    fields = PairFields.from_arrays(field_arrays, names) if field_arrays else None
    parts = {
        name: CompartmentSurrogate.from_arrays(
            header["formulation"][name],
            SampleSpace.from_header(header["space"][name]),
            part_of(arrays, name),
        )
        for name in names
    }
    parameters = Parameters.from_header(header.get("parameters", []))
    return ContactSurrogate(parts, header, fields=fields, parameters=parameters)


def _read_arrays(file: Path) -> dict[str, NDArray[Any]]:
    if file.is_dir():
        raise SurrogateFileError(
            f"{file}: expected a file such as {file / 'knee.npz'}, found a folder"
        )
    if not file.is_file():
        raise SurrogateFileError(f"{file}: no such file; check the path of the surrogate")
    size = file.stat().st_size
    if size > SIZE_LIMIT:
        raise SurrogateFileError(f"{file}: expected at most {SIZE_LIMIT} bytes, found {size}")
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check_members(members, size)
            return {m.filename.removesuffix(".npy"): _read_array(archive, m) for m in members}
    except Exception as error:  # zipfile and NumPy raise many kinds of errors for foreign files
        raise SurrogateFileError(
            f"{file}: expected an .npz of plain arrays, found a truncated or foreign file "
            f"({error}); copy it again or train the surrogate again"
        ) from error


def _check_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse members that `save` never writes before reading them, so that memory is bounded."""
    names = {member.filename for member in members}
    if len(names) < len(members) or not all(name.endswith(".npy") for name in names):
        raise InputError("expected members with distinct names that end in .npy")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise InputError("expected uncompressed members")
    if sum(member.file_size for member in members) > size:
        raise InputError("members declare more bytes than the size of the file")


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Read one array; `numpy.load` would allocate the declared shape before checking it."""
    with archive.open(member) as stream:
        version = npy.read_magic(stream)
        if version not in _NPY_HEADERS:
            raise InputError(f"{member.filename}: unknown .npy version {version}")
        shape, by_column, dtype = _NPY_HEADERS[version](stream)
        if dtype.kind not in _KINDS:
            raise InputError(f"{member.filename}: expected numbers or a text, found {dtype}")
        data = stream.read()
    if math.prod(shape) * dtype.itemsize != len(data):
        raise InputError(f"{member.filename}: shape {shape} does not fit {len(data)} bytes")
    if not data and max(shape) > _LONGEST_EMPTY:  # arrays derived from it need not be empty
        raise InputError(f"{member.filename}: expected an empty array, found the shape {shape}")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if by_column else "C")


def _read_header(file: Path, raw: NDArray[Any] | None) -> dict[str, Any]:
    expected = f"{file}: expected a header of format {FORMAT!r}, found"
    if raw is None or raw.dtype != np.uint8:
        raise SurrogateFileError(f"{expected} no header")
    try:
        header = json.loads(raw.tobytes().decode())
    except (RecursionError, ValueError) as error:
        raise SurrogateFileError(f"{expected} {error}") from error
    file_format = header.get("format") if isinstance(header, dict) else None
    if file_format != FORMAT:
        raise SurrogateFileError(f"{expected} another format")
    stated = header.get("version")
    if type(stated) is not int or stated != VERSION:
        raise SurrogateFileError(
            f"{file}: expected version {VERSION}, found {stated!r}; "
            "train the surrogate again or update this package"
        )
    return header


def digest(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of a header without its own digest, and of arrays (N, ...) [any unit]."""
    content = hashlib.sha256()
    unsigned = {k: v for k, v in header.items() if k != "sha256"}
    content.update(json.dumps(unsigned, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        content.update(f"{name} {array.dtype.str} {array.shape}".encode())
        content.update(array.tobytes())
    return content.hexdigest()
