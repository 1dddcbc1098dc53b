"""Tables of ligament bundles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dynamics.csv_table import TextTable, read_csv_table
from dynamics.ligaments.bundles import TRANSITION_STRAIN, Ligament
from foundation.base.checks import check_in
from foundation.base.errors import InputError

#: The shipped bundles of the knee of Lenhart et al. (2015).
LENHART_LIGAMENTS = Path(__file__).with_name("tables") / "lenhart2015_ligaments.csv"
#: Name of the shipped bundles in a configuration.
SHIPPED_LIGAMENTS = "lenhart2015"
#: Stiffness column of each kind, and its factor to SI units.
STIFFNESS_COLUMNS = {
    "linear": ("stiffness_N_per_mm", 1e3),
    "quadratic": ("stiffness_N_per_mm2", 1e6),
    "toe": ("stiffness_N", 1.0),
}
_FEMORAL = ("femoral_x_mm", "femoral_y_mm", "femoral_z_mm")
_TIBIAL = ("tibial_x_mm", "tibial_y_mm", "tibial_z_mm")
_NEEDED = ("name", "kind", *_FEMORAL, *_TIBIAL)
_LENGTHS = ("rest_length_mm", "reference_strain")
_STIFFNESSES = tuple(column for column, _ in STIFFNESS_COLUMNS.values())
_OPTIONAL = (*_LENGTHS, *_STIFFNESSES, "transition_strain")


def load_ligaments(path: str | Path) -> tuple[Ligament, ...]:
    """Read ligament bundles from a CSV table.

    Parameters
    ----------
    path : str or Path
        A table with a header and one row per bundle; lines that start with # are comments.
        Columns: `name`; `kind`; the attachments `femoral_x_mm` to `tibial_z_mm`; either
        `rest_length_mm` or `reference_strain` (at the zero pose, where the frames of femur and
        tibia coincide); the stiffness in the column of the kind, `stiffness_N_per_mm` (linear),
        `stiffness_N_per_mm2` (quadratic) or `stiffness_N` (toe); and optionally
        `transition_strain` (toe). Cells that do not apply to a row stay empty.

    Returns
    -------
    tuple of Ligament
        Bundles in the order of the table, in SI units.

    Raises
    ------
    InputError
        If a column is missing, unknown or repeated, a cell is empty, not a number, out of range or
        does not apply to its row, or a name is repeated; the message names file, line and column.
    FileNotFoundError
        If the file does not exist.
    """
    table = read_csv_table(Path(path))
    table.check_columns(_NEEDED, _OPTIONAL)
    ligaments: dict[str, Ligament] = {}
    for line, row in table.rows():
        name = row["name"]
        if not name or name in ligaments:
            found = f"{name} a second time" if name else "an empty cell"
            raise InputError(f"{table.where(line, 'name')}: expected a unique name, found {found}")
        ligaments[name] = _read_ligament(table, line, row)
    return tuple(ligaments.values())


def _read_ligament(table: TextTable, line: int, row: Mapping[str, str]) -> Ligament:
    def number(column: str) -> float:
        return table.number(line, column, row.get(column, ""))

    kind = check_in(table.where(line, "kind"), row["kind"], STIFFNESS_COLUMNS)
    column, factor = STIFFNESS_COLUMNS[kind]
    stiffness = factor * number(column)
    unused = {other for other in _STIFFNESSES if other != column}
    if kind != "toe":
        unused.add("transition_strain")
    for other in sorted(unused):
        if row.get(other):
            raise InputError(
                f"{table.where(line, other)}: expected an empty cell in a row of kind {kind}, "
                f"found {row[other]}"
            )
    femoral = 1e-3 * np.array([number(column) for column in _FEMORAL])
    tibial = 1e-3 * np.array([number(column) for column in _TIBIAL])
    toe = number("transition_strain") if row.get("transition_strain") else TRANSITION_STRAIN
    lengths = [column for column in _LENGTHS if row.get(column)]
    if len(lengths) != 1:
        raise InputError(
            f"{table.source}, line {line}, columns {' and '.join(_LENGTHS)}: expected a number in "
            f"one of the two columns, found {len(lengths)}"
        )
    length = number(lengths[0])
    try:
        if lengths == ["reference_strain"]:
            return Ligament.at_reference_strain(
                row["name"], femoral, tibial, length, stiffness, kind, transition_strain=toe
            )
        return Ligament(row["name"], femoral, tibial, 1e-3 * length, stiffness, kind, toe)
    except InputError as error:
        raise InputError(f"{table.source}, line {line}: {error}") from error
