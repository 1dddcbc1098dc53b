"""Reading what a run, or a study, wrote: every key and array is checked before it is used.

What a file holds may be anything: people copy, edit and cut off files. The readers refuse what is
not as expected in a sentence that names the file. What is raised after that is a fault of the
program, and is not caught here.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from foundation.errors import InputError
from pipeline.advice import command_line
from pipeline.files import check_version

# Files of stage h, by their stems.
_SIMULATED = ("simulation", "pressure_maps", "frames", "wear", "combinations")

#: Lengths of an array's axes: numbers, or letters that stand for the same length in all arrays.
Shape = tuple[int | str, ...]


class ReportError(InputError):
    """A run directory that no report can be made of; the message names the file and the remedy."""


def make_again(path: Path) -> str:
    """Return the command that makes a file of a run directory again."""
    simulated = path.stem in _SIMULATED
    folder = path.parent if path.suffix else path
    if folder.name == "samples":
        folder = folder.parent
    if simulated:
        return command_line("simulate", folder)
    return command_line("run", "CONFIG", "--out", folder, "--resume")


def damaged(path: Path, what: str) -> ReportError:
    """Return the error of a file that is not as it was written."""
    return ReportError(
        f"{path}: damaged ({what}); delete it and make it again with `{make_again(path)}`"
    )


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, which must be there."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        message = f"{path}: missing; the run did not end: go on with `{make_again(path)}`"
        raise ReportError(message) from error
    except OSError as error:
        raise ReportError(f"{path}: cannot be read ({error.strerror})") from error


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file holds; its numbers are finite.

    Raises
    ------
    ReportError
        If the file is missing, not JSON, or of a later version.
    """
    content = read_bytes(path)
    try:
        found = from_json(content, allow_inf_nan=False)
        json.dumps(found, allow_nan=False)  # refuses 1e999, which is read as infinity
    except ValueError as error:
        raise damaged(path, f"no JSON: {error}") from error
    if not isinstance(found, dict):
        raise damaged(path, f"expected an object, found {type(found).__name__}")
    try:
        check_version(found)
    except InputError as error:
        raise ReportError(f"{path}: {error}") from error
    return found


def read_document(path: Path, schema: type[BaseModel]) -> dict[str, Any]:
    """Return the object that a JSON file holds, as it stands there, once it fits a schema.

    Raises
    ------
    ReportError
        As `read_json`, or if the content does not fit; the message names the key.
    """
    content = read_json(path)
    try:
        schema.model_validate(content)
    except ValidationError as error:
        raise damaged(path, _told(error)) from error
    return content


def _told(error: ValidationError) -> str:
    """Return the first thing that is wrong: what is missing, or what was expected and found."""
    item = error.errors(include_url=False)[0]
    *place, last = item["loc"] or ("",)
    within = f" in {'.'.join(map(str, place))}" if place else ""
    if item["type"] == "missing":
        return f"lacks {last!r}{within}"
    text = item["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    text = text.replace("a valid integer", "an integer").replace("a valid ", "a ")
    found = item["input"]
    shown = "" if isinstance(found, dict | list | BaseModel) else f", found {found!r:.60}"
    return f"{last}{within}: {text}{shown}" if item["loc"] else text


def read_arrays(
    path: Path,
    shapes: Mapping[str, Shape],
    *,
    optional: Collection[str] = (),
    undefined: Collection[str] = (),
) -> dict[str, NDArray[Any]]:
    """Read arrays of numbers from an `.npz` file.

    Parameters
    ----------
    path : Path
        The file.
    shapes : mapping
        Name of each array -> its shape.
    optional : collection of str
        Arrays that the file may be without.
    undefined : collection of str
        Arrays that may hold NaN.

    Raises
    ------
    ReportError
        If the file is missing or damaged, or an array is missing, of another shape, or not of
        finite numbers.
    """
    read_bytes(path)
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in shapes if name in stored.files}
    except Exception as error:  # a damaged file makes zipfile, zlib and NumPy raise what they like
        raise damaged(path, f"no arrays: {error}") from error
    lengths: dict[str, int] = {}
    for name, shape in shapes.items():
        if name in arrays:
            _check_array(path, name, arrays[name], shape, lengths, nan=name in undefined)
        elif name not in optional:
            raise damaged(path, f"lacks {name!r}")
    return arrays


def _check_array(
    path: Path,
    name: str,
    array: NDArray[Any],
    shape: Shape,
    lengths: dict[str, int],
    *,
    nan: bool,
) -> None:
    """Compare an array with its shape; `lengths` are those of the letters met so far."""
    if array.dtype.kind not in "iuf" or array.ndim != len(shape):
        raise damaged(
            path,
            f"{name}: expected numbers of shape {_written(shape)}, found {array.dtype} of shape "
            f"{array.shape}",
        )
    for length, wanted in zip(array.shape, shape, strict=True):
        expected = lengths.setdefault(wanted, length) if isinstance(wanted, str) else wanted
        if length != expected:
            raise damaged(
                path, f"{name}: expected shape {_written(shape, lengths)}, found {array.shape}"
            )
    if np.isinf(array).any() or (not nan and np.isnan(array).any()):
        raise damaged(path, f"{name}: expected finite numbers, found others")


def _written(shape: Shape, lengths: Mapping[str, int] | None = None) -> str:
    known = lengths or {}
    return f"({', '.join(str(known.get(str(one), one)) for one in shape)})"


def check_faces(path: Path, name: str, faces: NDArray[Any], vertices: NDArray[Any]) -> None:
    """Raise a ReportError unless triangles (F, 3) are of a surface's vertices (V, 3)."""
    whole = faces.dtype.kind in "iu"
    if not whole or not faces.size or faces.min() < 0 or faces.max() >= len(vertices):
        raise damaged(path, f"{name}: expected numbers of the {len(vertices)} vertices")
