"""Motions of a right knee in tables of other programs, read as poses and written from poses."""
# The translation is the femoral origin in the tibial frame (anterior, superior, lateral), or the
# tibial origin in the femoral frame, as in OpenSim's custom joints (tx, ty, tz).

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dynamics.motion.motion_tables import (
    ANGLE_UNITS,
    STATE_VALUE,
    TIME_COLUMNS,
    MotionTable,
    read_motion_columns,
    read_motion_table,
    unit_in_name,
)
from foundation.base.checks import FloatArray, check_array, check_in
from foundation.base.errors import InputError
from foundation.base.pose import COORDINATE_UNITS, COORDINATES, Pose

#: Coordinates of the pose of the tibia in the femur (`Pose.from_opensim`); the angles are those of
#: `foundation.base.pose.COORDINATES`. Their columns in OpenSim-JAM's models.
OPENSIM_COORDINATES = (*COORDINATES[:3], "tx", "ty", "tz")
KNEE_COORDINATES = (
    "knee_flex_r", "knee_add_r", "knee_rot_r", "knee_tx_r", "knee_ty_r", "knee_tz_r",
)  # fmt: skip
#: Known columns of a knee's pose: those of OpenSim-JAM's models, and those of the tables of a run.
KNOWN_COLUMNS = (
    MappingProxyType(dict(zip(OPENSIM_COORDINATES, KNEE_COORDINATES, strict=True))),
    MappingProxyType(
        {name: f"{name}_{unit}" for name, unit in zip(COORDINATES, COORDINATE_UNITS, strict=True)}
    ),
)
#: Number of each unit of length in a metre.
PER_METRE = {"m": 1.0, "mm": 1e3, "inch": 1.0 / 0.0254}
LENGTH_UNITS = tuple(PER_METRE)


@dataclass(frozen=True)
class KneeColumns:
    """Columns of the motion of a knee in a table, and their units."""

    #: Column of each coordinate, of `COORDINATES` or of `OPENSIM_COORDINATES`; a minus before the
    #: name changes the sign. Empty: the first of `KNOWN_COLUMNS` that the table has, by these names
    #: or as state variables such as `/jointset/knee_r/knee_flex_r/value`.
    names: Mapping[str, str] = field(default_factory=dict)
    #: "deg" or "rad" of columns without a unit in their name; by default that of the header.
    angle_unit: str | None = None
    #: "m", "mm" or "inch" of columns without a unit in their name.
    length_unit: str = "m"

    def __post_init__(self) -> None:
        if self.names and set(self.names) not in [set(known) for known in KNOWN_COLUMNS]:
            raise InputError(
                f"columns: expected {', '.join(COORDINATES)}, or tx, ty, tz in place of the last "
                f"three, found {', '.join(self.names)}"
            )
        if self.angle_unit is not None:
            check_in("angle unit", self.angle_unit, ANGLE_UNITS)
        check_in("length unit", self.length_unit, LENGTH_UNITS)

    @property
    def in_degrees(self) -> bool | None:
        """Whether angles are in degrees; None if the header of the table decides."""
        return None if self.angle_unit is None else self.angle_unit == "deg"


def parse_columns(text: str) -> dict[str, str]:
    """Return the columns of a text such as "flexion=knee_angle_r,adduction=-knee_add_r,..."."""
    columns: dict[str, str] = {}
    for pair in text.split(","):
        name, _, column = (side.strip() for side in pair.partition("="))
        if not name or not column.removeprefix("-"):
            raise InputError(f"columns: expected coordinate=column, found {pair.strip()!r}")
        if name in columns:
            raise InputError(f"columns: expected {name} once, found {columns[name]} and {column}")
        columns[name] = column
    return columns


def read_knee_poses(
    path: str | Path, columns: KneeColumns | None = None
) -> tuple[FloatArray, FloatArray]:
    """Read the poses of a right knee from a table.

    Parameters
    ----------
    path : str or Path
        `.mot` or `.sto` (OpenSim), `.csv` or `.parquet`; see `read_motion_table`. If a Parquet
        table has a column `model`, the rows of the surrogate are read.
    columns : KneeColumns, optional
        Columns and units.

    Returns
    -------
    time : (N,) float64
        Instants [s], increasing.
    poses : (N, 6) float64
        Poses of the femur in the tibial frame [rad, m].

    Raises
    ------
    InputError
        If the table cannot be used; the message names the file and what is wrong.
    FileNotFoundError
        If the file does not exist.
    """
    chosen = columns or KneeColumns()
    source = Path(path)
    available = _columns_of(source)
    names = chosen.names or _known_columns(source, available)
    wanted = {column.removeprefix("-") for column in names.values()}
    if _is_parquet(source):
        table = _read_parquet(source, available, wanted, chosen.in_degrees)
    else:
        table = read_motion_table(source, in_degrees=chosen.in_degrees, columns=wanted)
    for column in sorted(wanted - set(table.names)):
        raise InputError(f"{source}: expected a column {column!r}, found {', '.join(available)}")
    order = OPENSIM_COORDINATES if "tx" in names else COORDINATES
    values = np.column_stack([_coordinate(table, names[name], name, chosen) for name in order])
    if "tx" in names:
        values = np.array([Pose.from_opensim(*row).array for row in values.tolist()])
    return table.time, values


def knee_motion_table(
    time: FloatArray, poses: FloatArray, columns: KneeColumns | None = None
) -> MotionTable:
    """Return poses (N, 6) [rad, m] at instants (N,) [s] as a table for OpenSim, in degrees."""
    chosen = columns or KneeColumns()
    names = chosen.names or KNOWN_COLUMNS[0]
    order = OPENSIM_COORDINATES if "tx" in names else COORDINATES
    values = check_array("poses", poses, (None, 6))
    if "tx" in names:
        values = np.array([Pose.from_array(row).to_opensim() for row in values])
    degrees = chosen.in_degrees is not False
    scale = [180.0 / np.pi if degrees else 1.0] * 3 + [PER_METRE[chosen.length_unit]] * 3
    targets = [names[name] for name in order]
    signs = [-1.0 if target.startswith("-") else 1.0 for target in targets]
    plain_names = tuple(target.removeprefix("-") for target in targets)
    return MotionTable(plain_names, time, values * scale * signs, degrees, "motion of the knee")


def _is_parquet(source: Path) -> bool:
    return source.suffix.lower() == ".parquet"


def _columns_of(source: Path) -> tuple[str, ...]:
    """Return the names of the columns of a table."""
    if not _is_parquet(source):
        return read_motion_columns(source)
    try:
        with source.open("rb") as file:
            return tuple(pq.read_schema(file).names)
    except pa.ArrowException as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{source}: expected a Parquet table, found {reason}") from error


def _known_columns(source: Path, available: tuple[str, ...]) -> Mapping[str, str]:
    """Return the columns of `KNOWN_COLUMNS` that a table has."""
    paths = {
        name.removesuffix(STATE_VALUE).rsplit("/", 1)[-1]: name
        for name in available
        if name.endswith(STATE_VALUE)
    }
    for known in KNOWN_COLUMNS:
        for columns in (known, {key: paths.get(name, "") for key, name in known.items()}):
            if set(columns.values()) <= set(available):
                return columns
    expected = " or ".join(", ".join(known.values()) for known in KNOWN_COLUMNS)
    raise InputError(
        f"{source}: expected the columns {expected}, found {', '.join(available)}; name the "
        "columns of the pose (--columns flexion=NAME,...)"
    )


def _coordinate(
    table: MotionTable, column: str, coordinate: str, columns: KneeColumns
) -> FloatArray:
    """Return a coordinate (N,) [rad, m] after a check of its range."""
    name = column.removeprefix("-")
    if coordinate in COORDINATES[:3]:
        values, largest = table.angle(name), 2.0 * np.pi
        unit, option = "radians", "--angle-unit deg"
    else:
        values = table.column(name)
        values = values / PER_METRE[unit_in_name(name, LENGTH_UNITS) or columns.length_unit]
        largest, unit, option = 1.0, "metres", "--length-unit mm"
    if np.abs(values).max() > largest:
        raise InputError(
            f"{table.source}, column {name}: expected {unit}, found {np.abs(values).max():g}; if "
            f"the column has another unit, state the unit ({option})"
        )
    return -values if column.startswith("-") else values


def _read_parquet(
    source: Path, available: tuple[str, ...], wanted: set[str], in_degrees: bool | None
) -> MotionTable:
    """Return the wanted columns of a Parquet table, of the surrogate if it has several models."""
    clock = next((name for name in TIME_COLUMNS if name in available), None)
    if clock is None:
        raise InputError(f"{source}: expected a column time_s, found {', '.join(available)}")
    names = tuple(name for name in available if name in wanted)
    try:
        table = pd.read_parquet(source, columns=[*names, clock, *({"model"} & {*available})])
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"{source}: expected a complete Parquet table, found a damaged file"
        ) from error
    if "model" in table:
        table = table[table["model"] == "surrogate"]
    rows = table[[*names, clock]].to_numpy(dtype=np.float64)
    return MotionTable(names, rows[:, -1], rows[:, :-1], in_degrees, str(source))
