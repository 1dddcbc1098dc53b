"""Reading of ligament bundles from tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dynamics.csv_table import check_once, read_number, read_rows
from dynamics.ligaments.bundles import TRANSITION_STRAIN, Ligament
from foundation.checks import check_in
from foundation.errors import InputError

#: The shipped bundles of the knee of Lenhart et al. (2015).
LENHART_LIGAMENTS = Path(__file__).with_name("tables") / "lenhart2015_ligaments.csv"
#: What it is called in a configuration.
SHIPPED_LIGAMENTS = "lenhart2015"
#: Column of the stiffness of each kind, and the factor that takes it to SI.
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
_COLUMNS = (*_NEEDED, *_LENGTHS, *_STIFFNESSES, "transition_strain")


def load_ligaments(path: str | Path) -> tuple[Ligament, ...]:
    """Read bundles from a CSV table.

    Parameters
    ----------
    path : str or Path
        A table with a header and one row per bundle; lines that start with # are comments.
        Columns: `name`; `kind`; the attachments `femoral_x_mm` to `tibial_z_mm`; either
        `rest_length_mm` or `reference_strain` (at the zero pose, where the frames of femur and
        tibia coincide); the stiffness in the column of its kind, `stiffness_N_per_mm` (linear),
        `stiffness_N_per_mm2` (quadratic) or `stiffness_N` (toe); and, if wanted,
        `transition_strain`. A cell that has no meaning to a row stays empty.

    Returns
    -------
    tuple of Ligament
        In the order of the table, in SI units.

    Raises
    ------
    InputError
        If a column is missing, unknown or there twice, a cell is empty, not a number, out of its
        range or of no meaning to its row, or a name comes twice; the message names the file, and
        the line and column.
    FileNotFoundError
        If there is no such file.
    """
    source = Path(path)
    ligaments: dict[str, Ligament] = {}
    for line, row in _read_rows(source):
        where = f"{source}, line {line}"
        name = _text(where, row, "name")
        if name in ligaments:
            raise InputError(f"{where}, column name: {name} is there already; names are unique")
        ligaments[name] = _read_ligament(where, name, row)
    return tuple(ligaments.values())


def _read_ligament(where: str, name: str, row: Mapping[str, str]) -> Ligament:
    kind = check_in(f"{where}, column kind", _text(where, row, "kind"), STIFFNESS_COLUMNS)
    column, factor = STIFFNESS_COLUMNS[kind]
    stiffness = factor * _number(where, row, column)
    meaningless = {other for other in _STIFFNESSES if other != column}
    if kind != "toe":
        meaningless.add("transition_strain")
    for other in sorted(meaningless):
        if row.get(other):
            raise InputError(
                f"{where}, column {other}: expected nothing in a row of kind {kind}, "
                f"found {row[other]}"
            )
    femoral = 1e-3 * np.array([_number(where, row, column) for column in _FEMORAL])
    tibial = 1e-3 * np.array([_number(where, row, column) for column in _TIBIAL])
    toe = TRANSITION_STRAIN
    if row.get("transition_strain"):
        toe = _number(where, row, "transition_strain")
    given = [column for column in _LENGTHS if row.get(column)]
    if len(given) != 1:
        raise InputError(
            f"{where}, columns {' and '.join(_LENGTHS)}: expected one of them, found {len(given)}"
        )
    length = _number(where, row, given[0])
    try:
        if given[0] == "reference_strain":
            return Ligament.at_reference_strain(
                name, femoral, tibial, length, stiffness, kind, transition_strain=toe
            )
        return Ligament(name, femoral, tibial, 1e-3 * length, stiffness, kind, toe)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _read_rows(source: Path) -> list[tuple[int, dict[str, str]]]:
    """Return (number of the line, cells by column) of every row."""
    lines = read_rows(source)
    header = lines[0][1]
    for name in header:
        check_in(f"{source}, header", name, _COLUMNS)
    for name in _COLUMNS:
        if name in _NEEDED or name in header:
            check_once(source, header, name)
    for number, cells in lines[1:]:
        if len(cells) != len(header):
            raise InputError(
                f"{source}, line {number}: expected {len(header)} cells, found {len(cells)}"
            )
    return [(number, dict(zip(header, cells, strict=True))) for number, cells in lines[1:]]


def _text(where: str, row: Mapping[str, str], column: str) -> str:
    if not row[column]:
        raise InputError(f"{where}, column {column}: expected a text, found nothing")
    return row[column]


def _number(where: str, row: Mapping[str, str], column: str) -> float:
    return read_number(f"{where}, column {column}", row.get(column, ""))
