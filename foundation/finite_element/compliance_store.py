"""Compliances of condensed layers: computed once, stored by digest, shared through memory maps."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np

from foundation.checks import FloatArray
from foundation.errors import InputError
from foundation.finite_element.condensation import ElasticBody, compliance


class ComplianceStore:
    """Where the compliance of a body is kept.

    Parameters
    ----------
    folder : Path, optional
        Folder with a file `<digest>.npy` for each body; None keeps the arrays in memory.
    solver : {"substructures", "superlu"}
        Solver of the condensation.
    precision : {"float64", "float32"}
        Numbers in which the compliance is kept.
    """

    def __init__(self, folder: Path | None, solver: str, precision: str) -> None:
        self.folder, self.solver, self.precision = folder, solver, precision
        self._kept: dict[str, FloatArray] = {}

    def __getstate__(self) -> dict[str, object]:
        # Other processes map the files; arrays without a file must travel.
        return self.__dict__ | ({"_kept": {}} if self.folder is not None else {})

    def path(self, digest: str) -> Path | None:
        """Return the file of the body with a digest; None without a folder."""
        return None if self.folder is None else self.folder / f"{digest}-{self.precision}.npy"

    def is_kept(self, digest: str) -> bool:
        """Return whether the body with a digest is condensed already."""
        path = self.path(digest)
        return digest in self._kept or (path is not None and _read(path) is not None)

    def get(
        self,
        digest: str,
        body: Callable[[], ElasticBody],
        change: Callable[[FloatArray], FloatArray] | None = None,
    ) -> FloatArray:
        """Return the compliance (C, C) [m/N] of a body; condense it if it is not kept.

        With `change`, what this function returns from the compliance is kept instead. A file that
        is not whole is written again. Raises `InputError` if that does not help.
        """
        if digest not in self._kept:
            path = self.path(digest)
            if path is None:
                self._kept[digest] = self._condensed(body(), change)
            else:
                found = _read(path)
                if found is None:
                    _write(path, self._condensed(body(), change))
                    found = _read(path)
                if found is None:
                    raise InputError(
                        f"{path}: expected the compliance that was just written, found a file that "
                        "cannot be read; check disk and folder"
                    )
                self._kept[digest] = found
        return self._kept[digest]

    def _condensed(
        self, body: ElasticBody, change: Callable[[FloatArray], FloatArray] | None
    ) -> FloatArray:
        found = compliance(body, self.solver)
        return (found if change is None else change(found)).astype(self.precision)


def _read(path: Path) -> FloatArray | None:
    """Return the array of a file, mapped; None where there is no whole array."""
    try:
        # A plain array over the mapped file: a memmap is slow to index.
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (FileNotFoundError, ValueError, EOFError):
        return None


def _write(path: Path, array: FloatArray) -> None:
    """Write a file under another name first: an interrupted run leaves no half of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        try:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            with suppress(OSError):
                os.unlink(file.name)
            raise
    # A temporary file is its owner's alone.
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)
