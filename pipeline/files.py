"""Atomic writing of files: a reader sees the old file or the whole new file.

Commands that write to a folder of their own compare configurations before they replace results
(`pipeline.store.job`). All other commands replace a file of other contents only on request
(`replacing_together`).
"""

from __future__ import annotations

import errno
import filecmp
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from foundation.base import files as base
from foundation.base.errors import InputError

#: Version of the JSON documents; a document without a version has version 1.
DOCUMENT_VERSION = 1
#: Temporary files, by the files that they replace at the end of a block of `replacing_together`.
_TOGETHER: ContextVar[dict[Path, Path] | None] = ContextVar("_TOGETHER", default=None)


class WriteError(OSError):
    """A file or folder that cannot be written; the message names it and the reason.

    `kept` says which results of the command are stored already, "" if nothing more is known.
    """

    kept = ""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Make a WriteError, of the same error number, of any error of writing a file."""
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        number = error.errno or 0
        reason = os.strerror(number).lower() if number else " ".join(str(error).split())
        raise WriteError(number, f"cannot be written ({reason})", str(path)) from error


def check_present(folder: Path) -> None:
    """Raise a WriteError if a folder has vanished: `replacing` would make it anew."""
    if not folder.is_dir():
        reason = "the folder was removed or disconnected while the command ran"
        raise WriteError(errno.ENOENT, reason, str(folder))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path, which replaces `path` at the end of the block, or of all blocks."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with base.replacing(path, _TOGETHER.get()) as partial:
            yield partial


@contextmanager
def replacing_together(*, others: bool) -> Iterator[None]:
    """Replace all files that are written in the block at its end, or none of them.

    Raises `InputError` if a file of other contents is there, unless `others` may be replaced.
    """
    written: dict[Path, Path] = {}
    token = _TOGETHER.set(written)
    try:
        yield
        for path, partial in written.items():
            with writing(path):
                same = path.is_file() and filecmp.cmp(path, partial, shallow=False)
            if not others and path.exists() and not same:
                raise InputError(
                    f"{path}: exists with other contents, which would be lost; choose another "
                    "--out, or replace the file with --force"
                )
        for path, partial in written.items():
            with writing(path):
                os.replace(partial, path)
    finally:
        _TOGETHER.reset(token)
        for partial in written.values():
            with suppress(OSError):
                partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file (UTF-8)."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_npz(path: Path, **arrays: Any) -> None:
    """Write arrays (any shape) [any unit] by name as `.npz`; a reader sees all of them or none."""
    with replacing(path) as partial, partial.open("wb") as stream:
        np.savez_compressed(stream, **arrays)


def plain(value: Any) -> Any:
    """Return a value for strict JSON: numbers that are not finite become None, documents stay."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def content_of(part: BaseModel) -> dict[str, Any]:
    """Return the content of a typed part of a document; keys that were not set are left out."""
    return part.model_dump(exclude_unset=True)


def json_text(content: Any) -> str:
    """Return values and typed parts of documents as JSON; NaN and infinity are errors."""
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False, default=content_of)


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file as `json_text`."""
    write_text(path, json_text(content) + "\n")


def write_document(path: Path, content: Mapping[str, Any] | BaseModel) -> None:
    """Write a JSON document that begins with its format (after its name) and version."""
    head = {"format": f"knee-contact {path.stem}", "version": DOCUMENT_VERSION}
    fields = content_of(content) if isinstance(content, BaseModel) else content
    write_json(path, {**head, **fields, **head})


def check_version(content: Mapping[str, Any]) -> None:
    """Raise an InputError if a JSON document is of another version than this program writes."""
    version = content.get("version", DOCUMENT_VERSION)
    if version != DOCUMENT_VERSION:
        raise InputError(
            f"expected version {DOCUMENT_VERSION}, found {version!r}; read the file with "
            "the version of knee-contact that wrote it"
        )
