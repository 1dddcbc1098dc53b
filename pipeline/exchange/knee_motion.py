"""Motions of a knee in tables of other programs: read as poses, and written from poses.

Two descriptions of the translation are understood; the columns that are given tell which. The
femoral origin in the tibial frame (anterior, superior, lateral: `foundation.pose`), or the tibial
origin in the femoral frame, as OpenSim's custom joints have it (tx, ty, tz: `Pose.from_opensim`).
Both are of a right knee; the frames are those of the meshes that the knee was made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dynamics.walking.motion_tables import (
    TIME_COLUMNS,
    MotionTable,
    read_motion_columns,
    read_motion_table,
)
from foundation.checks import FloatArray, check_array, check_in
from foundation.errors import InputError
from foundation.pose import COORDINATES, Pose
from pipeline.store.samples import POSE_COLUMNS

#: Columns of the tibia in the femur as OpenSim-JAM's models name them; `Pose.from_opensim`.
KNEE_COORDINATES = (
    "knee_flex_r", "knee_add_r", "knee_rot_r", "knee_tx_r", "knee_ty_r", "knee_tz_r",
)  # fmt: skip
#: Coordinates of a pose of the tibia in the femur; the angles are those of `COORDINATES`.
OPENSIM_COORDINATES = (*COORDINATES[:3], "tx", "ty", "tz")
ANGLE_UNITS = ("deg", "rad")
LENGTH_UNITS = ("m", "mm")
#: Columns looked for where none are named: those of OpenSim-JAM's models, and our own.
KNOWN_COLUMNS = (
    MappingProxyType(dict(zip(OPENSIM_COORDINATES, KNEE_COORDINATES, strict=True))),
    MappingProxyType(dict(zip(COORDINATES, POSE_COLUMNS, strict=True))),
)
#: Beyond these a number must have another unit than was said [rad, m].
_LARGEST = (2.0 * np.pi, 1.0)
_OTHER_UNITS = ("--angle-unit deg", "--length-unit mm")


@dataclass(frozen=True)
class KneeColumns:
    """Columns that hold the motion of a knee.

    Parameters
    ----------
    names : mapping
        Column of each coordinate, of `COORDINATES` or of `OPENSIM_COORDINATES`; a minus before
        the name turns its sign. Empty: `KNOWN_COLUMNS`.
    angle_unit : {"deg", "rad"}, optional
        Unit of angles whose name does not end in it; by default what the table's header says.
    length_unit : {"m", "mm"}
        Unit of lengths whose name does not end in it.

    Raises
    ------
    InputError
        If the coordinates are neither of both sets, or a unit is unknown.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    angle_unit: str | None = None
    length_unit: str = "m"

    def __post_init__(self) -> None:
        sets = [set(known) for known in KNOWN_COLUMNS]
        if self.names and set(self.names) not in sets:
            raise InputError(
                f"columns: expected {', '.join(COORDINATES)}, or tx, ty, tz in place of the last "
                f"three, found {', '.join(self.names)}"
            )
        if self.angle_unit is not None:
            check_in("angle unit", self.angle_unit, ANGLE_UNITS)
        check_in("length unit", self.length_unit, LENGTH_UNITS)

    @property
    def in_degrees(self) -> bool | None:
        """Whether angles are in degrees; None where the table is to say it."""
        return None if self.angle_unit is None else self.angle_unit == "deg"


def parse_columns(text: str) -> dict[str, str]:
    """Return the columns of "flexion=knee_angle_r,adduction=-knee_add_r,...".

    Raises
    ------
    InputError
        If a part is no coordinate=column, or a coordinate comes twice.
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        name, _, column = (side.strip() for side in part.partition("="))
        if not name or not column.removeprefix("-"):
            raise InputError(f"columns: expected coordinate=column, found {part.strip()!r}")
        if name in found:
            raise InputError(f"columns: expected {name} once, found {found[name]} and {column}")
        found[name] = column
    return found


def read_knee_poses(
    path: str | Path, columns: KneeColumns | None = None
) -> tuple[FloatArray, FloatArray]:
    """Read the poses of a right knee from a table.

    Parameters
    ----------
    path : path
        `.mot` or `.sto` (OpenSim), `.csv`, or `.parquet`, of whose rows with a column `model` those
        of the surrogate are taken; see `read_motion_table`.
    columns : KneeColumns, optional
        Which columns, and their units.

    Returns
    -------
    time : (N,) float64
        [s], increasing.
    poses : (N, 6) float64
        Pose coordinates [rad, m].

    Raises
    ------
    InputError
        If the table cannot be used; the message names the file and what is wrong.
    FileNotFoundError
        If there is no such file.
    """
    chosen = columns or KneeColumns()
    source = Path(path)
    parquet = _is_parquet(source)
    found = _columns_of(source)
    names = chosen.names or _known(source, found)
    wanted = {column.removeprefix("-") for column in names.values()}
    if parquet:
        table = _read_parquet(source, found, wanted, chosen.in_degrees)
    else:
        table = read_motion_table(source, in_degrees=chosen.in_degrees, columns=wanted)
    for column in sorted(wanted - set(table.names)):
        raise InputError(f"{source}: expected a column {column!r}, found {', '.join(found)}")
    opensim = "tx" in names
    order = OPENSIM_COORDINATES if opensim else COORDINATES
    values = np.column_stack([_signed(table, names[name], name, chosen) for name in order])
    if opensim:
        values = np.array([Pose.from_opensim(*row).array for row in values.tolist()])
    return table.time, values


def pose_columns(path: str | Path, columns: KneeColumns | None = None) -> dict[str, str]:
    """Return by coordinate the columns that `read_knee_poses` takes, without their signs."""
    source = Path(path)
    names = (columns or KneeColumns()).names or _known(source, _columns_of(source))
    return {name: column.removeprefix("-") for name, column in names.items()}


def knee_motion_table(
    time: FloatArray, poses: FloatArray, columns: KneeColumns | None = None
) -> MotionTable:
    """Return poses as a table for OpenSim: angles in degrees, metres.

    Parameters
    ----------
    time : (N,) float64
        [s], increasing.
    poses : (N, 6) float64
        Pose coordinates [rad, m].
    columns : KneeColumns, optional
        What the columns are called, and their units; by default as OpenSim-JAM's models call
        them.
    """
    chosen = columns or KneeColumns()
    target_of = chosen.names or KNOWN_COLUMNS[0]
    values = check_array("poses", poses, (None, 6))
    if "tx" in target_of:
        values = np.array([Pose.from_array(row).to_opensim() for row in values])
    degrees = chosen.in_degrees is not False
    scale = [180.0 / np.pi if degrees else 1.0] * 3 + [_per_metre(chosen.length_unit)] * 3
    order = OPENSIM_COORDINATES if "tx" in target_of else COORDINATES
    targets = [target_of[name] for name in order]
    signs = [-1.0 if target.startswith("-") else 1.0 for target in targets]
    names = tuple(target.removeprefix("-") for target in targets)
    return MotionTable(names, time, values * scale * signs, degrees, "motion of the knee")


def _is_parquet(source: Path) -> bool:
    return source.suffix.lower() == ".parquet"


def _columns_of(source: Path) -> tuple[str, ...]:
    return tuple(_schema(source)) if _is_parquet(source) else read_motion_columns(source)


def _known(source: Path, found: tuple[str, ...]) -> Mapping[str, str]:
    """Return the known columns that a table has."""
    for known in KNOWN_COLUMNS:
        if set(known.values()) <= set(found):
            return known
    wanted = " or ".join(", ".join(known.values()) for known in KNOWN_COLUMNS)
    raise InputError(
        f"{source}: expected the columns {wanted}, found {', '.join(found)}; say which columns "
        "hold the pose (--columns flexion=NAME,...)"
    )


def _signed(table: MotionTable, column: str, coordinate: str, columns: KneeColumns) -> FloatArray:
    """Return a coordinate (N,) [rad, m]."""
    name = column.removeprefix("-")
    length = coordinate not in COORDINATES[:3]
    if length:
        suffix = name.rpartition("_")[2]
        unit = suffix if suffix in LENGTH_UNITS else columns.length_unit
        values = table.column(name) / _per_metre(unit)
    else:
        values = table.angle(name)
    largest = float(np.abs(values).max())
    if largest > _LARGEST[length]:
        raise InputError(
            f"{table.source}, column {name}: expected {'metres' if length else 'radians'}, found "
            f"{largest:g}; if it is another unit, say so ({_OTHER_UNITS[length]})"
        )
    return -values if column.startswith("-") else values


def _per_metre(unit: str) -> float:
    return 1e3 if unit == "mm" else 1.0


def _schema(source: Path) -> list[str]:
    try:
        with source.open("rb") as file:
            names: list[str] = pq.read_schema(file).names
    except pa.ArrowException as error:
        raise InputError(
            f"{source}: expected a Parquet table, found {' '.join(str(error).split())}"
        ) from error
    return names


def _read_parquet(
    source: Path, found: tuple[str, ...], wanted: set[str], in_degrees: bool | None
) -> MotionTable:
    clock = next((name for name in TIME_COLUMNS if name in found), None)
    if clock is None:
        raise InputError(f"{source}: expected a column time_s, found {', '.join(found)}")
    names = tuple(name for name in found if name in wanted)
    try:
        table = pd.read_parquet(source, columns=[*names, clock, *({"model"} & {*found})])
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{source}: expected a whole table, found it damaged") from error
    if "model" in table:
        table = table[table["model"] == "surrogate"]
    rows = table[[*names, clock]].to_numpy(dtype=np.float64)
    return MotionTable(names, rows[:, -1], rows[:, :-1], in_degrees, str(source))
