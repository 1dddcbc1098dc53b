"""Measurements of the models on disk: a document and arrays for each, and which still hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pydantic import Field

from pipeline.files import write_document, write_npz
from pipeline.store.documents import Shape, read_arrays, read_document
from pipeline.store.run_documents import Number, Part
from pipeline.studies.contact_models.measurement import Measured

#: Shapes of the arrays: N given poses, M instants of the cycle, F triangles.
SHAPES: dict[str, Shape] = {
    "gait_percent": ("M",),
    "cycle_poses": ("M", 6),
    "cycle_loads": (2, "M", 12),
    "pose_loads": ("N", 2, 12),
    "pose_jacobians": ("N", 6, 6),
    "wear_volume": (2,),
    "aspect": (2,),
    "ratio": (2,),
    "pressures": (2, "F"),
}
#: A centre of pressure is undefined out of contact, and all at a pose without an answer.
_UNDEFINED = ("cycle_loads", "pose_loads", "pose_jacobians", "pressures")
#: Folder of the measurements.
FOLDER = "models"


class _Stored(Part):
    """`models/<name>.json`: numbers, reasons and flags of a model."""

    numbers: dict[str, Number] = Field(default_factory=dict)
    failures: dict[str, str] = Field(default_factory=dict)
    flags: list[str] = Field(default_factory=list)


def write_measured(folder: Path, name: str, measured: Measured) -> None:
    """Write the measurements of a model; the document comes last and marks them as complete."""
    target = folder / FOLDER / f"{name}.npz"
    write_npz(target, **{key: np.asarray(array) for key, array in measured.arrays.items()})
    stored = _Stored(numbers=measured.numbers, failures=measured.failures, flags=measured.flags)
    write_document(target.with_suffix(".json"), stored)


def read_measured(folder: Path, name: str) -> Measured | None:
    """Return the measurements of a model, None if there are none, or only a failed attempt.

    Raises `ReportError` if a file is damaged.
    """
    file = folder / FOLDER / f"{name}.json"
    if not file.exists():
        return None
    stored = read_document(file, _Stored)
    if "set-up" in stored.failures:
        return None
    arrays = read_arrays(
        file.with_suffix(".npz"), SHAPES, optional=tuple(SHAPES), undefined=_UNDEFINED
    )
    return Measured(stored.numbers, arrays, stored.failures, stored.flags)
