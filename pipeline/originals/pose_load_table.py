"""Tables of poses and contact loads from elsewhere, and the mistakes that are found in them.

A row is a pose of one compartment (column `compartment`), or of both (`medial_force_y_N`, ...).
Columns end with their unit. The loads are those on the femur, moments about the tibial origin, in
the tibial frame (x anterior, y superior, z lateral).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS, QUANTITY_COLUMNS, WRENCH_COLUMNS
from foundation.base.pose import COORDINATES
from pipeline.store.samples import (
    CANDIDATE_COLUMNS,
    FAILED,
    OK,
    POSE_COLUMNS,
    RESULT_COLUMNS,
    UNITS,
    digest,
    line_of_action,
    read_table,
    unit_of,
)

#: Rows of a compartment in contact that a surrogate of six variables is fitted to at least.
LEAST_ROWS = 50
#: Least axial force that is contact, as a part of the largest one.
CONTACT_PART = 1e-4
#: Columns that stand together: a centre of pressure has three coordinates.
_TOGETHER = QUANTITY_COLUMNS[3:]
#: Between these a knee's largest magnitudes lie: beyond, the unit is another than the name says.
_LIMITS = {
    **{"flexion_rad": (0.0, 3.2), "adduction_rad": (0.0, 0.8), "rotation_rad": (0.0, 1.6)},
    **dict.fromkeys(("anterior_m", "superior_m", "lateral_m", *_TOGETHER), (0.0, 0.5)),
    **{"force_y_N": (1.0, 5e4), "area_m2": (1e-8, 0.05)},
    **dict.fromkeys(("peak_pressure_Pa", "mean_pressure_Pa"), (1e3, 1e10)),
}
#: The same of the arm of the moments: moment over force [m].
_ARMS = (1e-4, 0.5)


class TableError(InputError):
    """A table of poses and loads that cannot be used; the message names it, row and remedy."""


def check_columns(part: pd.DataFrame, head: str, in_file: Mapping[str, str]) -> None:
    """Check that a compartment's table has the pose, six loads, and a whole centre or none."""
    missing = [name for name in POSE_COLUMNS if name not in part.columns]
    missing += [f"{head}{name}" for name in WRENCH_COLUMNS if name not in part.columns]
    if missing:
        raise TableError(
            f"lacks {', '.join(missing)}; expected the pose ({', '.join(COORDINATES)}) and "
            "three forces and three moments on the femur about the tibial origin (column names may "
            "end with other units: flexion_deg, anterior_mm, moment_x_Nmm)"
        )
    centre = [name for name in _TOGETHER if name in part.columns]
    if 0 < len(centre) < len(_TOGETHER):
        whole, found = (
            ", ".join(in_file.get(name, name) for name in names) for names in (_TOGETHER, centre)
        )
        raise TableError(
            f"expected all coordinates of the centre of pressure ({whole}) or none, found {found}"
        )


def _place(table: pd.DataFrame, row: int) -> str:
    return f"row {table['index'].iloc[row] + 1}, {table['compartment'].iloc[row]}"


def check_numbers(table: pd.DataFrame, names: Sequence[str]) -> None:
    """Check that columns are finite."""
    bad = ~np.isfinite(table[list(names)].to_numpy(dtype=np.float64))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise TableError(
            f"{_place(table, row)}: "
            f"expected a finite {{name}}, found {table[names[column]].iloc[row]} "
            f"({int(bad.any(axis=1).sum())} such rows); remove these rows, or mark them with "
            '"failed" in a column status',
            names[column],
        )


def check_units(table: pd.DataFrame) -> None:
    """Check that the largest values are those of a knee in the units that the names say."""
    if not (table["force_y_N"] != 0.0).any():
        raise TableError("all axial forces are 0")
    largest = table[[name for name in _LIMITS if name in table.columns]].abs().max().fillna(0.0)
    for name, found in largest.items():
        low, high = _LIMITS[str(name)]
        if not low <= found <= high:
            raise TableError(
                f"{{name}}: expected a largest value from {low:g} to {high:g} in SI units, "
                f"found {found:.4g}; the values have another unit than the column name says",
                str(name),
            )
    loaded = table[table["force_y_N"].abs() > CONTACT_PART * largest["force_y_N"]]
    forces, moments = (
        np.linalg.norm(loaded[list(c)], axis=1) for c in (WRENCH_COLUMNS[:3], WRENCH_COLUMNS[3:])
    )
    arm = float(np.median(moments / forces))
    if not _ARMS[0] <= arm <= _ARMS[1]:
        raise TableError(
            f"moments over forces: expected arms of {_ARMS[0]:g} to {_ARMS[1]:g} m, found "
            f"{arm:.3g} m in the median; the moments have another unit than the column names say"
        )


def check_signs(table: pd.DataFrame, largest: float) -> None:
    """Check that the loads are those on the femur, which contact presses."""
    axial = table["force_y_N"]
    pulling = axial < -CONTACT_PART * max(largest, 0.0)
    if pulling.sum() > 0.5 * (axial != 0.0).sum():
        raise TableError(
            "{name}: expected forces on the femur, with a positive axial component in "
            f"compression, found {int(pulling.sum())} of {len(axial)} negative; these may be loads "
            "on the tibia: change the sign of all forces and moments",
            "force_y_N",
        )
    if pulling.any():
        row = int(np.flatnonzero(pulling)[0])
        raise TableError(
            f"{_place(table, row)}: "
            f"expected an axial force >= 0, found {axial.iloc[row]:.4g} N ({int(pulling.sum())} "
            "such rows); contact cannot pull: remove these rows"
        )


def check_rows(rows: pd.DataFrame, side: str) -> None:
    """Check that rows in contact are enough, differ, and lie on the side of their compartment."""
    keys = ["compartment", *POSE_COLUMNS]
    again = rows.duplicated(keys).to_numpy()
    if again.any():
        row = int(np.flatnonzero(again)[0])
        same = (rows[keys] == rows[keys].iloc[row]).all(axis=1)
        first, second = (rows.loc[same, "index"] + 1)[:2]
        raise TableError(
            f"rows {first} and {second} are the same pose of the {rows['compartment'].iloc[row]} "
            f"compartment ({int(again.sum())} such rows); keep one of the rows, or the mean of the "
            "rows"
        )
    sideways = {}
    for name in COMPARTMENTS:
        own = rows[rows["compartment"] == name]
        if len(own) < LEAST_ROWS:
            raise TableError(
                f"expected at least {LEAST_ROWS} poses of the {name} compartment in "
                f"contact, found {len(own)}; a surrogate of six variables needs hundreds"
            )
        lines = line_of_action(own[list(WRENCH_COLUMNS)].to_numpy())
        sideways[name] = float(np.median(lines[:, 2]))
    if sideways["medial"] > sideways["lateral"]:
        other = "right" if side == "left" else "left"
        raise TableError(
            f"expected the medial loads to act medially of the lateral loads (z lateral), "
            f"found lines of action at z = {1e3 * sideways['medial']:.3g} and "
            f"{1e3 * sideways['lateral']:.3g} mm; exchange the compartments, or set original.side "
            f'= "{other}"'
        )


#: Columns of the tables of a run that mean nothing here, or are read otherwise.
_OWN = frozenset(("compartment", "index", "load_N", "first", *RESULT_COLUMNS[:3]))
_SAVE_AGAIN = "save the table with commas between cells and with decimal points"
#: Coordinates and loads that change their sign where a left knee is mirrored.
_MIRRORED = (
    *("adduction_rad", "rotation_rad", "lateral_m"),
    *("force_z_N", "moment_x_Nm", "moment_y_Nm", "cop_z_m"),
)


@dataclass(frozen=True, eq=False)
class PoseLoads:
    """A table of poses and loads, checked; `index` of `rows` is the row of the table, from 0."""

    #: `CANDIDATE_COLUMNS`, `RESULT_COLUMNS` by compartment and pose in contact; NaN: not given.
    rows: pd.DataFrame
    name: str
    #: Poses of the table.
    count: int
    #: Rows of a compartment left out, without contact.
    out_of_contact: int
    #: Rows of a compartment left out, marked as failed.
    no_answer: int
    #: Columns of `QUANTITY_COLUMNS` that the table has not.
    not_given: tuple[str, ...]
    #: Columns that were not used.
    ignored: tuple[str, ...]
    #: SHA-256 of `rows`.
    digest: str


def read_pose_loads(path: Path, side: str = "right") -> PoseLoads:
    """Read a table of poses and loads.

    Parameters
    ----------
    path : Path
        CSV (`#` begins a comment) or Parquet.
    side : {"right", "left"}
        A table of a left knee whose third axis is the body's right is mirrored.

    Raises
    ------
    TableError
        If it cannot be read, lacks a column, or holds what no knee's table can.
    """
    # Columns as in the file, by the names that the checks use.
    in_file: dict[str, str] = {}
    try:
        raw = _read(path)
        values, ignored = _in_si(raw)
        in_file = {name: str(column.name) for name, column in values.items()}
        return _checked(path.name, raw, values, ignored, side)
    except TableError as error:
        raise TableError(f"{path}: {error.under(in_file.get(error.name, error.name))}") from error


def _checked(
    name: str, raw: pd.DataFrame, values: dict[str, pd.Series], ignored: tuple[str, ...], side: str
) -> PoseLoads:
    """Return the usable rows of a table whose known columns are in SI units."""
    table = pd.concat(_by_compartment(raw, values), ignore_index=True)
    answered = table["status"] != FAILED
    table, failed = table[answered], int((~answered).sum())
    check_numbers(table, (*POSE_COLUMNS, *WRENCH_COLUMNS))
    check_units(table)
    largest = float(table["force_y_N"].max())
    check_signs(table, largest)
    touching = table["force_y_N"] > CONTACT_PART * largest
    rows = table[touching]
    known = [column for column in QUANTITY_COLUMNS if column in rows.columns]
    check_numbers(rows, known)
    if side == "left":
        rows = rows.assign(**{c: -rows[c] for c in _MIRRORED if c in rows.columns})
    check_rows(rows, side)
    missing = tuple(column for column in QUANTITY_COLUMNS if column not in known)
    rows = rows.assign(load_N=rows["force_y_N"], status=OK, reason="", evaluations=1)
    rows = rows.assign(**dict.fromkeys(missing, np.nan))
    rows = rows[[*CANDIDATE_COLUMNS, *RESULT_COLUMNS]].reset_index(drop=True)
    outside = int((~touching).sum())
    return PoseLoads(rows, name, len(raw), outside, failed, missing, ignored, digest(rows))


def _read(path: Path) -> pd.DataFrame:
    """Return the table as read, its names without surrounding blanks."""
    try:
        table = read_table(path) if path.suffix == ".parquet" else _read_csv(path)
    except OSError as error:
        raise TableError(f"cannot be read ({error.strerror}); correct the path") from error
    except pd.errors.ParserWarning as error:
        raise TableError(
            f"a row has more cells than the header has names; {_SAVE_AGAIN}"
        ) from error
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise TableError(f"expected a table (CSV or .parquet), found: {reason}") from error
    if table.empty:
        raise TableError("is empty, expected rows of poses and loads")
    table = table.rename(columns=lambda name: str(name).strip())
    if len(table.columns) == 1 and (found := re.search("[;\t]", table.columns[0])):
        raise TableError(
            f"expected comma-separated columns, found {found[0]!r} between columns; {_SAVE_AGAIN}"
        )
    return table


def _read_csv(path: Path) -> pd.DataFrame:
    with warnings.catch_warnings():
        # Cells without a name would else be left out, and the others read as they come.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(path, comment="#", skipinitialspace=True, index_col=False)


def _in_si(raw: pd.DataFrame) -> tuple[dict[str, pd.Series], tuple[str, ...]]:
    """Return the known columns by their names in SI units, and the names of the others."""
    known = {name.rpartition("_")[0]: name for name in (*POSE_COLUMNS, *LOAD_COLUMNS)}
    for part in COMPARTMENTS:
        known |= {f"{part}_{name.rpartition('_')[0]}": f"{part}_{name}" for name in LOAD_COLUMNS}
    values: dict[str, pd.Series] = {}
    ignored = []
    for column in raw.columns:
        unit = unit_of(column)
        name = known.get(column if unit is None else unit.quantity)
        if name is None:
            # Otherwise, a quantity with an unknown unit would be ignored.
            name = next((n for q, n in known.items() if column.startswith(f"{q}_")), None)
            if name is None or column in _OWN:
                ignored.append(column)
                continue
            unit = None
        si = name.rpartition("_")[2]
        if unit is None or unit.si != si:
            raise TableError(
                f"column {column!r}: expected a name that ends with a unit, "
                f"{', '.join(UNITS[si])} (such as {name})"
            )
        if name in values:
            raise TableError(f"expected {name} once, found two columns, the second is {column!r}")
        values[name] = unit.factor * _numbers(raw[column])
    return values, tuple(name for name in ignored if name not in _OWN)


def _numbers(column: pd.Series) -> pd.Series:
    found = pd.to_numeric(column, errors="coerce").astype(np.float64)
    wrong = found.isna() & column.notna()
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise TableError(
            f"row {row + 1}, {column.name}: expected a number with a decimal point, found "
            f"{column.iloc[row]!r}"
        )
    return found


def _by_compartment(raw: pd.DataFrame, values: dict[str, pd.Series]) -> list[pd.DataFrame]:
    """Return a table of each compartment, from rows of one compartment or of both."""
    heads = tuple(f"{name}_" for name in COMPARTMENTS)
    wide = any(name.startswith(heads) and name not in POSE_COLUMNS for name in values)
    if "compartment" not in raw.columns and not wide:
        raise TableError(
            "expected the loads of each compartment (a column compartment with medial and "
            "lateral, or columns such as medial_force_y_N and lateral_force_y_N), found loads of "
            "the whole knee or none; a surrogate is fitted to each compartment: separate the loads"
        )
    status = raw["status"] if "status" in raw.columns else pd.Series(OK, index=raw.index)
    base = pd.DataFrame(values).assign(index=np.arange(len(raw)), status=status)
    if wide:
        parts = [_of_part(base, name) for name in COMPARTMENTS]
    else:
        names = raw["compartment"].astype(str).str.strip().str.lower()
        other = np.flatnonzero(~names.isin(COMPARTMENTS))
        if len(other):
            raise TableError(
                f"row {other[0] + 1}: compartment: expected medial or lateral, found "
                f"{raw['compartment'].iloc[other[0]]!r}"
            )
        parts = [base[names == name].assign(compartment=name) for name in COMPARTMENTS]
    for head, part in zip(heads, parts, strict=True):
        check_columns(part, head if wide else "", {n: str(c.name) for n, c in values.items()})
    return parts


def _of_part(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the poses and the loads of one compartment of a table of both."""
    loads = {f"{name}_{c}": c for c in LOAD_COLUMNS if f"{name}_{c}" in table.columns}
    kept = [*(c for c in POSE_COLUMNS if c in table.columns), "index", "status", *loads]
    return table[kept].rename(columns=loads).assign(compartment=name)
