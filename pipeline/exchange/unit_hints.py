"""Hints at the mistaken unit of a motion that a model rejects at every instant."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dynamics.motion.knee_motion import (
    LENGTH_UNITS,
    KneeColumns,
    pose_columns,
    read_knee_poses,
)
from dynamics.motion.motion_tables import ANGLE_UNITS
from dynamics.protocol import ContactModel
from dynamics.simulator.result import CountedFlag
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.pose import COORDINATES
from pipeline.store.samples import poses_of

#: Largest number of instants at which a unit is tried.
_TRIED = 50
#: Least share of the instants inside the domain for a hint.
_ENOUGH = 0.5
_DEGREE = np.pi / 180.0
#: Factors on angles and lengths, and the mistake that they correct.
_FACTORS = (
    (1.0, 1e-3, "mm, read as m"),
    (1.0, 1e3, "m, read as mm"),
    (_DEGREE, 1.0, "degrees, read as radians"),
    (1.0 / _DEGREE, 1.0, "radians, read as degrees"),
)


def check_some_trusted(
    model: ContactModel,
    table: pd.DataFrame,
    flags: Sequence[CountedFlag],
    motion: Path,
    columns: KneeColumns,
) -> None:
    """Check that the loads along a motion can be trusted at one instant at least.

    Loads and flags are those of `pipeline.exchange.loads_along.loads_along`. Raises `InputError`,
    which names the likely mistaken unit, if every instant is flagged.
    """
    if not table["flagged"].all():
        return
    poses = poses_of(table)
    chosen = np.unique(np.linspace(0, len(poses) - 1, _TRIED).astype(int))
    hint, best = "", _ENOUGH
    for text, others in _readings(poses, motion, columns):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Most units give no pose of a knee.
            loads = model.loads(others[chosen])
        inside = float(np.mean([not own for own in loads.flags]))
        if inside > best:
            hint, best = text, inside
    raise InputError(
        f"{motion}: expected a motion in the trained domain, found all {len(table)} instants "
        f"outside ({flags[0].flag}); {hint or _ranges(poses)}. No loads are written"
    )


def _readings(
    poses: FloatArray, motion: Path, columns: KneeColumns
) -> Iterator[tuple[str, FloatArray]]:
    """Yield advice and the resulting poses: for other options, then for wrong names of columns."""
    used = pose_columns(motion, columns)
    angles = ", ".join(column for name, column in used.items() if name in COORDINATES[:3])
    lengths = ", ".join(column for name, column in used.items() if name not in COORDINATES[:3])
    options: list[tuple[str, str, Any]] = [(lengths, "length_unit", unit) for unit in LENGTH_UNITS]
    options += [(angles, "angle_unit", unit) for unit in ANGLE_UNITS]
    for names, option, unit in options:
        try:
            _, others = read_knee_poses(motion, replace(columns, **{option: unit}))
        except InputError:
            continue  # The values are out of range in this unit.
        yield f"check the unit of {names}: try `--{option.replace('_', '-')} {unit}`", others
    for angle, length, mistake in _FACTORS:
        names = angles if length == 1.0 else lengths
        factors = np.repeat([angle, length], 3)
        yield f"the columns {names} seem to be in {mistake}", poses * factors


def _ranges(poses: FloatArray) -> str:
    """Return the ranges of the coordinates, for comparison."""
    scales, units = np.repeat([1.0 / _DEGREE, 1e3], 3), ["deg"] * 3 + ["mm"] * 3
    low, high = scales * poses.min(axis=0), scales * poses.max(axis=0)
    ranges = [
        f"{name} {low[k]:.4g} to {high[k]:.4g} {units[k]}" for k, name in enumerate(COORDINATES)
    ]
    return (
        "check units, signs and frames (--length-unit, --angle-unit, --columns): found "
        + ", ".join(ranges)
    )
