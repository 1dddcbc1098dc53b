"""Thickness of an elastic layer by its configuration: a number, a table, or measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from pipeline.config.data_folder import data_file
from pipeline.config.schema import THICKNESS_RANGE, LayerConfig


def layer_thickness(
    layer: LayerConfig, vertices: int, measured: FloatArray | None = None, *, body: str = "tibial"
) -> float | FloatArray:
    """Return the thickness of a layer [m], a number or one per vertex of its body's mesh, (V,).

    A thickness table has one row for each of the `vertices`; `thickness_mm = "underside"` takes
    `measured` (V,) [m]; messages name the `body`, "tibial" or "femoral". Raises `InputError` if a
    thickness is missing or its table cannot be used.
    """
    if layer.thickness_file is not None:
        return _read_thickness(data_file(layer.thickness_file), vertices, body)
    if layer.thickness_mm != "underside":
        return 1e-3 * layer.thickness_mm
    if measured is None:
        raise InputError(
            'thickness_mm = "underside": needs the built-in insert, [knee.tibia_solid] or a closed '
            '[knee.tibia] with surface = "bearing"'
        )
    return measured


def _read_thickness(path: Path, vertices: int, body: str) -> FloatArray:
    """Return the thicknesses of a table, (V,) [m]."""
    try:
        # With index_col=None, a row with too many cells would turn the first column into the index.
        table = pd.read_csv(path, skipinitialspace=True, index_col=False)
    except (OSError, ValueError) as error:
        raise InputError(f"thickness_file {path}: cannot be read as CSV ({error})") from error
    if "thickness_mm" not in table.columns:
        raise InputError(
            f"thickness_file {path}: expected a column thickness_mm, found {list(table.columns)}"
        )
    if len(table) != vertices:
        raise InputError(
            f"thickness_file {path}: expected {vertices} rows, one per vertex of the {body} mesh "
            f"as loaded, found {len(table)}"
        )
    values = pd.to_numeric(table["thickness_mm"], errors="coerce").to_numpy(dtype=np.float64)
    low, high = THICKNESS_RANGE
    # NaN must count as wrong.
    wrong = np.flatnonzero(~((values >= low) & (values <= high)))
    if len(wrong):
        raise InputError(
            f"thickness_file {path}: expected thickness_mm from {low:g} to {high:g} mm, found "
            f"{table['thickness_mm'].iloc[wrong[0]]!r} in row {wrong[0] + 1} "
            f"({len(wrong)} such rows)"
        )
    return 1e-3 * values
