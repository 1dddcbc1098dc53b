"""What a table of poses and loads from elsewhere must hold, and the mistakes that are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS, QUANTITY_COLUMNS, WRENCH_COLUMNS
from foundation.base.pose import COORDINATES
from pipeline.store.samples import POSE_COLUMNS, line_of_action

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
#: Heights that scatter by less [m] about a function of the other coordinates may not vary at all
#: (2000 N are some 100 µm of polyethylene, 1000 µm of cartilage); they do if the load explains the
#: scatter, all but this part.
_SCATTER, _UNEXPLAINED = 1e-4, 0.9


class TableError(InputError):
    """A table of poses and loads that cannot be used; the message names it, row and remedy."""


def check_columns(part: pd.DataFrame, head: str, in_file: Mapping[str, str]) -> None:
    """Check that a compartment's table has the pose, six loads, and a whole centre or none.

    `head` precedes the names of the loads in the file, `in_file` maps columns to those of the file.
    """
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


def check_heights(rows: pd.DataFrame) -> None:
    """Check that heights are varied by themselves, and do not follow from the other coordinates.

    At one height for each set of the others, a fit of the height has no use for the load, and the
    load cannot be told from the height.
    """
    others = [name for name in POSE_COLUMNS if name != "superior_m"]
    for name in COMPARTMENTS:
        own = rows[rows["compartment"] == name]
        values = own[others].to_numpy(dtype=np.float64)
        z = (values - values.mean(axis=0)) / np.maximum(np.ptp(values, axis=0), 1e-12)
        pairs = [z[:, i] * z[:, j] for i in range(z.shape[1]) for j in range(i + 1)]
        # The path over flexion, along which poses are often prescribed, is no parabola.
        terms = np.column_stack([np.ones(len(z)), z, *pairs, z[:, 0] ** 3, z[:, 0] ** 4])
        load = own["force_y_N"].to_numpy() / own["force_y_N"].max()
        height = own["superior_m"].to_numpy(dtype=np.float64)
        without = _scatter(terms, height)
        loaded = np.column_stack([terms, load, np.sqrt(load)])
        if without < _SCATTER and _scatter(loaded, height) > _UNEXPLAINED * without:
            raise TableError(
                f"{{name}}, {name}: expected heights that vary independently, found "
                f"heights that follow from the other coordinates to within {1e6 * without:.2g} µm "
                "and do not vary with the load; add poses with the femur higher and lower",
                "superior_m",
            )


def _scatter(terms: FloatArray, values: FloatArray) -> float:
    """Return the standard deviation of values about their least-squares fit."""
    residual = values - terms @ np.linalg.lstsq(terms, values, rcond=None)[0]
    return float(np.sqrt(residual @ residual / (len(values) - terms.shape[1])))
