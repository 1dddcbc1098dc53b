"""A trained surrogate in one file: arrays and a JSON header in an `.npz`, nothing that executes.

The header (`header`, UTF-8 JSON as bytes) tells format, version, formulation, sample spaces, units,
frames and whatever the caller adds (errors, provenance), and holds a SHA-256 over all arrays and
over itself. Reading refuses a file that is truncated, altered, oversized or of another kind.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foundation.loads import COMPARTMENTS
from surrogates.formulations import formulation
from surrogates.knee import KneeSurrogate
from surrogates.space import SampleSpace

FORMAT = "knee-contact surrogate"
VERSION = 1
#: Largest sum of the arrays' sizes that is read [bytes].
SIZE_LIMIT = 2**30
_HEADER = "header"
_CONVENTIONS = {
    "frame": "tibial, right knee: x anterior, y superior, z lateral; loads on the femur about the "
    "tibial origin",
    "units": "SI: m, rad, N, N m, Pa",
}


class SurrogateFileError(ValueError):
    """A surrogate file that cannot be used; the message names the file and what is wrong."""


def save(knee: KneeSurrogate, path: str | Path) -> None:
    """Write a surrogate; a reader sees the old file or the whole new one.

    Parameters
    ----------
    knee : KneeSurrogate
        What to write; its header must be JSON-serialisable.
    path : path
        The `.npz` file.
    """
    target = Path(path)
    arrays = {
        f"{name}/{key}": np.asarray(array)
        for name in COMPARTMENTS
        for key, array in knee.compartment(name).to_arrays().items()
    }
    own = {
        "format": FORMAT,
        "version": VERSION,
        "conventions": _CONVENTIONS,
        "formulation": {n: knee.compartment(n).formulation for n in COMPARTMENTS},
        "space": {n: knee.compartment(n).space.to_header() for n in COMPARTMENTS},
    }
    header = {k: v for k, v in knee.header.items() if k != "sha256"} | own
    header["sha256"] = _digest(header, arrays)
    text = json.dumps(header, sort_keys=True, allow_nan=False).encode()
    partial = target.with_suffix(".partial")
    with partial.open("wb") as stream:
        np.savez(stream, **{_HEADER: np.frombuffer(text, dtype=np.uint8)}, **arrays)
    os.replace(partial, target)


def load(path: str | Path) -> KneeSurrogate:
    """Read a surrogate; needs neither SMT nor scikit-learn and executes nothing of the file.

    Parameters
    ----------
    path : path
        The `.npz` file that `save` wrote.

    Raises
    ------
    SurrogateFileError
        If the file is missing, truncated, altered, oversized, of a newer version or of another
        kind.
    """
    file = Path(path)
    arrays = _read_arrays(file)
    header = _read_header(file, arrays.pop(_HEADER, None))
    if header.get("sha256") != _digest(header, arrays):
        raise SurrogateFileError(f"{file}: its checksum does not fit, the file was altered")
    try:
        parts = [_compartment(name, header, arrays) for name in COMPARTMENTS]
    except (KeyError, TypeError, ValueError) as error:
        raise SurrogateFileError(f"{file}: not a usable surrogate: {error}") from error
    return KneeSurrogate(*parts, header=header)


def _compartment(name: str, header: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    space = SampleSpace.from_header(header["space"][name])
    part = {k.split("/", 1)[1]: a for k, a in arrays.items() if k.startswith(name + "/")}
    return formulation(header["formulation"][name]).from_arrays(space, part)


def _read_arrays(file: Path) -> dict[str, NDArray[Any]]:
    if not file.is_file():
        raise SurrogateFileError(f"{file}: no such file")
    try:
        with zipfile.ZipFile(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > SIZE_LIMIT:
            raise SurrogateFileError(
                f"{file}: expected at most {SIZE_LIMIT} bytes of arrays, found {size}"
            )
        with np.load(file, allow_pickle=False) as data:
            return {name: data[name] for name in data.files}
    except SurrogateFileError:
        raise
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise SurrogateFileError(
            f"{file}: expected an .npz of plain arrays, found a truncated or foreign file ({error})"
        ) from error


def _read_header(file: Path, raw: NDArray[Any] | None) -> dict[str, Any]:
    try:
        if raw is None or raw.dtype != np.uint8:
            raise ValueError("no header")
        header = json.loads(raw.tobytes().decode())
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ValueError("another format")
    except ValueError as error:
        raise SurrogateFileError(
            f"{file}: expected a header of format {FORMAT!r}, found {error}"
        ) from error
    if header.get("version") != VERSION:
        raise SurrogateFileError(
            f"{file}: expected version {VERSION}, found {header.get('version')!r}; "
            "train the surrogate again or update this package"
        )
    return header


def _digest(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    content = hashlib.sha256()
    told = {k: v for k, v in header.items() if k != "sha256"}
    content.update(json.dumps(told, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        content.update(f"{name} {array.dtype.str} {array.shape}".encode())
        content.update(array.tobytes())
    return content.hexdigest()
