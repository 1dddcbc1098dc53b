"""Compliances of condensed layers: computed once, stored by digest, shared through memory maps."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.files import replacing
from foundation.base.threads import one_thread
from foundation.finite_element.condensation import ElasticBody, compliance
from foundation.finite_element.condensed_layer import MeshedLayer


class ComplianceStore:
    """Compliances in a folder, `<digest>.npy` for each body, or in memory, in a precision."""

    def __init__(self, folder: str | Path | None, precision: str) -> None:
        self.folder = None if folder is None else Path(folder)
        self.precision = precision
        self._kept: dict[str, FloatArray] = {}

    def __getstate__(self) -> dict[str, object]:
        # Other processes map the files; arrays without a file must travel.
        return self.__dict__ | ({"_kept": {}} if self.folder is not None else {})

    def path(self, digest: str) -> Path | None:
        """Return the file of the body with a digest; None without a folder."""
        return None if self.folder is None else self.folder / f"{digest}-{self.precision}.npy"

    def is_kept(self, digest: str, count: int) -> bool:
        """Return whether the body with a digest and `count` retained nodes is condensed already."""
        path = self.path(digest)
        return digest in self._kept or (
            path is not None and _read(path, count, self.precision) is not None
        )

    def get(
        self,
        digest: str,
        count: int,
        body: Callable[[], ElasticBody],
        change: Callable[[FloatArray], FloatArray] | None = None,
    ) -> FloatArray:
        """Return the compliance (C, C) [m/N] of a body; condense if no whole array is kept."""
        if digest not in self._kept:
            path = self.path(digest)
            if path is None:
                self._kept[digest] = self._condensed(body(), change)
            else:
                found = _read(path, count, self.precision)
                if found is None:
                    _write(path, self._condensed(body(), change))
                    found = _read(path, count, self.precision)
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
        found = compliance(body)
        kept = found if change is None else change(found)
        return np.ascontiguousarray(kept, dtype=self.precision)


class Kept(NamedTuple):
    """A layer, the digest of what is kept, and the function that computes this, (C, C) [m/N]."""

    layer: MeshedLayer
    digest: str
    get: Callable[[], FloatArray]


def condense(
    layers: list[Kept], store: ComplianceStore, progress: Callable[[str], None] | None
) -> None:
    """Condense the layers that a store does not keep yet, side by side; report to `progress`."""
    new = [each for each in layers if not store.is_kept(each.digest, len(each.layer.candidates))]
    if progress is not None and new:
        unknowns = sum(3 * len(each.layer.mesh.nodes) for each in new)
        nodes = sum(len(each.layer.candidates) for each in new)
        progress(f"condensing {unknowns:,} unknowns to the normal forces at {nodes:,} nodes")
    # One thread of BLAS each, so that the bits do not depend on the number of cores.
    with one_thread, ThreadPoolExecutor() as pool:
        list(pool.map(lambda each: each.get(), layers))


def _read(path: Path, count: int, precision: str) -> FloatArray | None:
    """Return the array (count, count) of a file, mapped; None where there is no such array."""
    try:
        # A plain array over the mapped file: a memmap is slow to index.
        found = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError):
        return None
    # The kernels read the array without checks of their indices.
    whole = found.shape == (count, count) and found.dtype == precision
    return found if whole and found.flags.c_contiguous else None


def _write(path: Path, array: FloatArray) -> None:
    """Write a file under another name first: an interrupted run leaves no half of a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial, partial.open("wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(
            f"{path}: the condensed compliance cannot be written ({error.strerror}); make the "
            f"folder writable, and free {1e-9 * array.nbytes:.1g} GB on the disk"
        ) from error
