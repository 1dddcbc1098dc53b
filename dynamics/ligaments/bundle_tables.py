"""Tables of ligament bundles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from dynamics.csv_table import TextTable, read_csv_table
from dynamics.ligaments.bundles import TRANSITION_STRAIN, Ligament
from dynamics.ligaments.plausibility import check_sides
from foundation.base.checks import FloatArray, check_in, check_number
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
#: Plausible rest lengths [mm], and strains and stiffnesses in the units of their columns.
_REST_MM = (5.0, 500.0)
_RANGES = {
    "reference_strain": (-0.5, 0.5),
    "transition_strain": (1e-3, 0.5),
    "stiffness_N_per_mm": (0.0, 1e4),
    "stiffness_N_per_mm2": (0.0, 1e4),
    "stiffness_N": (0.0, 1e6),
}
#: Function from points (..., 3) [m] of a table to the frame of a bone.
Place = Callable[[FloatArray], FloatArray]
_STIFFNESSES = tuple(column for column, _ in STIFFNESS_COLUMNS.values())
_OPTIONAL = (*_LENGTHS, *_STIFFNESSES, "transition_strain")


def load_ligaments(
    path: str | Path,
    *,
    side: str = "right",
    femur: Place | None = None,
    tibia: Place | None = None,
) -> tuple[Ligament, ...]:
    """Read ligament bundles of a knee from a CSV table.

    Attachments stand in the frames of the files of the meshes, and take the way of the meshes to
    the frames of the bones: axes, origin, and the mirror image of a left knee.

    Parameters
    ----------
    path : str or Path
        A table with a header and one row per bundle; lines that start with # are comments.
        Columns: `name`; `kind`; the attachments `femoral_x_mm` to `tibial_z_mm`; either
        `rest_length_mm` or `reference_strain` (at the zero pose, where the frames of femur and
        tibia coincide); the stiffness in the column of the kind, `stiffness_N_per_mm` (linear),
        `stiffness_N_per_mm2` (quadratic) or `stiffness_N` (toe); and optionally
        `transition_strain` (toe). Cells that do not apply to a row stay empty.
    side : {"right", "left"}
        Side of the knee of the table; bundles of a left knee are mirrored (z changes sign), as
        its meshes by `load_mesh`.
    femur, tibia : callable, optional
        Functions from points (..., 3) of the table [m] to the frames of the bones before the
        mirror image (`foundation.surfaces.mesh.placement`); by default the frames of the table
        are those of the bones: x anterior, y superior, z to the body's right.

    Returns
    -------
    tuple of Ligament
        Bundles of a right knee in the order of the table, in SI units.

    Raises
    ------
    InputError
        If a column is missing, unknown or repeated, a cell is empty, not a number, out of range or
        does not apply to its row, a name is repeated, or a collateral ligament, by its name, is on
        the other side of the knee; the message names file, line and column.
    FileNotFoundError
        If the file does not exist.
    """
    right = {"right": 1.0, "left": -1.0}[check_in("side", side, ("right", "left"))]
    table = read_csv_table(Path(path))
    table.check_columns(_NEEDED, _OPTIONAL)
    ligaments: dict[str, Ligament] = {}
    for line, row in table.rows():
        name = row["name"]
        if not name or name in ligaments:
            found = f"{name} a second time" if name else "an empty cell"
            raise InputError(f"{table.where(line, 'name')}: expected a unique name, found {found}")
        ends = []
        for columns, place in ((_FEMORAL, femur), (_TIBIAL, tibia)):
            point = 1e-3 * np.array([table.number(line, each, row[each]) for each in columns])
            ends.append((point if place is None else place(point)) * [1.0, 1.0, right])
        ligaments[name] = _read_ligament(table, line, row, *ends)
    try:
        check_sides(tuple(ligaments.values()))
    except InputError as error:
        raise InputError(f"{table.source}: {error}") from error
    return tuple(ligaments.values())


def ligament_rows(
    ligaments: Sequence[Ligament],
    *,
    side: str = "right",
    femur: Place | None = None,
    tibia: Place | None = None,
) -> list[dict[str, str | float]]:
    """Return rows by column from which `load_ligaments` with the same places reads the bundles."""
    right = {"right": 1.0, "left": -1.0}[check_in("side", side, ("right", "left"))]
    rows = []
    for each in ligaments:
        column, factor = STIFFNESS_COLUMNS[each.kind]
        row: dict[str, str | float] = {"name": each.name, "kind": each.kind}
        ends = (_FEMORAL, each.femoral, femur), (_TIBIAL, each.tibial, tibia)
        for columns, point, place in ends:
            in_file = _placed_back(point * [1.0, 1.0, right], place)
            row |= dict(zip(columns, (1e3 * in_file).tolist(), strict=True))
        row |= {"rest_length_mm": 1e3 * each.rest_length, column: each.stiffness / factor}
        if each.kind == "toe":
            row["transition_strain"] = each.transition_strain
        rows.append(row)
    return rows


def _placed_back(point: FloatArray, place: Place | None) -> FloatArray:
    """Return the point (3,) [m] of a table that a rigid placement takes to a point."""
    if place is None:
        return point
    origin = place(np.zeros(3))
    return (place(np.eye(3)) - origin) @ (point - origin)


def _read_ligament(
    table: TextTable, line: int, row: Mapping[str, str], femoral: FloatArray, tibial: FloatArray
) -> Ligament:
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
            ligament = Ligament.at_reference_strain(
                row["name"], femoral, tibial, length, stiffness, kind, transition_strain=toe
            )
        else:
            ligament = Ligament(row["name"], femoral, tibial, 1e-3 * length, stiffness, kind, toe)
    except InputError as error:
        raise InputError(f"{table.source}, line {line}: {error}") from error
    for name, (low, high) in _RANGES.items():
        if row.get(name):
            check_number(table.where(line, name), number(name), at_least=low, at_most=high)
    rest = f"{table.where(line, lengths[0])}: rest length"
    low, high = _REST_MM
    check_number(rest, 1e3 * ligament.rest_length, at_least=low, at_most=high, unit="mm")
    return ligament
