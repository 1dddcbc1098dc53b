"""Readers of the files of a run or a study: every key and array is checked before it is used.

People copy, edit and truncate files. The readers reject unexpected content with an error that names
the file. An error that is raised later is a fault of the program, and is not caught here.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from foundation.base.errors import InputError
from pipeline.advice import CONFIG, command_line
from pipeline.config.reading import shipped_configs
from pipeline.config.schema import Config
from pipeline.files import check_version

Document = TypeVar("Document", bound=BaseModel)
#: Lengths of an array's axes: numbers, or letters that stand for the same length in all arrays.
Shape = tuple[int | str, ...]


class ReportError(InputError):
    """Error of a run directory that cannot be reported; the message names the file and remedy."""


def make_again(path: Path) -> str:
    """Return the command that writes a file of a folder of results again."""
    folder = path.parent
    if "samples" in (folder.name, folder.parent.name):
        folder = folder.parent if folder.name == "samples" else folder.parent.parent
    keys = _keys_of(folder)
    if not keys:  # The folder holds nothing to continue.
        stored = folder.name if folder.name in shipped_configs() else CONFIG
        return command_line("run", stored, "--out", folder)
    if keys.keys() <= Config.model_fields.keys() and path.stem == "report":
        return command_line("report", folder)
    # What a run was made with is not made again from the other files of the run.
    resume = () if path.stem == "made_with" else ("--resume",)
    return command_line("run", folder / "config.toml", "--out", folder, *resume)


def _keys_of(folder: Path) -> dict[str, Any]:
    """Return the configuration of a folder; {} if it is missing or damaged."""
    try:
        return tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError):
        return {}


def damaged(path: Path, reason: str) -> ReportError:
    """Return the error of a file with unexpected content."""
    return ReportError(f"{path}: damaged ({reason}); delete it and run `{make_again(path)}`")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file; raises `ReportError` if it is missing or cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        message = f"{path}: missing; the run has not finished, continue with `{make_again(path)}`"
        raise ReportError(message) from error
    except OSError as error:
        raise ReportError(f"{path}: cannot be read ({error.strerror})") from error


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; its numbers are finite."""
    text = read_bytes(path)
    try:
        content = from_json(text, allow_inf_nan=False)
        json.dumps(content, allow_nan=False)  # rejects 1e999, which is read as infinity
    except ValueError as error:
        raise damaged(path, f"not JSON: {error}") from error
    if not isinstance(content, dict):
        raise damaged(path, f"expected an object, found {type(content).__name__}")
    try:
        check_version(content)
    except InputError as error:
        raise ReportError(f"{path}: {error}") from error
    return content


def read_document(path: Path, schema: type[Document]) -> Document:
    """Return the content of a JSON file as an instance of its schema."""
    content = read_json(path)
    try:
        return schema.model_validate(content)
    except ValidationError as error:
        raise damaged(path, _first_error(error)) from error


def _first_error(error: ValidationError) -> str:
    """Return the first error in words: the missing key, or the expected and the found value."""
    item = error.errors(include_url=False)[0]
    *place, last = item["loc"] or ("",)
    within = f" in {'.'.join(map(str, place))}" if place else ""
    if item["type"] == "missing":
        return f"lacks {last!r}{within}"
    text = item["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    text = text.replace("a valid integer", "an integer").replace("a valid ", "a ")
    value = item["input"]
    found = "" if isinstance(value, dict | list | BaseModel) else f", found {value!r:.60}"
    return f"{last}{within}: {text}{found}" if item["loc"] else text


def read_arrays(
    path: Path,
    shapes: Mapping[str, Shape],
    *,
    optional: Collection[str] = (),
    undefined: Collection[str] = (),
) -> dict[str, NDArray[Any]]:
    """Read arrays of numbers (any shape) [any unit] from an `.npz` file.

    The file may lack `optional` arrays, and `undefined` arrays may contain NaN.
    """
    read_bytes(path)
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in shapes if name in stored.files}
    except Exception as error:  # a damaged file makes zipfile, zlib and NumPy raise any error
        raise damaged(path, f"not an archive of arrays: {error}") from error
    lengths: dict[str, int] = {}
    for name, shape in shapes.items():
        if name in arrays:
            _check_array(path, name, arrays[name], shape, lengths, nan=name in undefined)
        elif name not in optional:
            raise damaged(path, f"lacks {name!r}")
    return arrays


def _check_array(
    path: Path, name: str, array: NDArray[Any], shape: Shape, lengths: dict[str, int], *, nan: bool
) -> None:
    """Compare an array with its shape; `lengths` are the lengths of the letters so far."""
    if array.dtype.kind not in "iuf" or array.ndim != len(shape):
        found = f"{array.dtype} of shape {array.shape}"
        raise damaged(path, f"{name}: expected numbers of shape {_written(shape)}, found {found}")
    for length, axis in zip(array.shape, shape, strict=True):
        if length != (lengths.setdefault(axis, length) if isinstance(axis, str) else axis):
            expected = _written(tuple(lengths.get(str(axis), axis) for axis in shape))
            raise damaged(path, f"{name}: expected shape {expected}, found {array.shape}")
    if np.isinf(array).any() or (not nan and np.isnan(array).any()):
        raise damaged(path, f"{name}: expected finite numbers, found nan or inf")


def _written(shape: Shape) -> str:
    return f"({', '.join(map(str, shape))})"


def check_faces(path: Path, name: str, faces: NDArray[Any], vertices: NDArray[Any]) -> None:
    """Raise a ReportError unless triangles (F, 3) index vertices (V, 3) [any unit]."""
    indices = faces.dtype.kind in "iu" and faces.size > 0
    if not indices or faces.min() < 0 or faces.max() >= len(vertices):
        raise damaged(path, f"{name}: expected indices of the {len(vertices)} vertices")
