"""Tables of ligament bundles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dynamics.csv_table import TextTable, read_csv_table
from dynamics.ligaments.bundles import TRANSITION_STRAIN, Ligament, ligament_strains
from foundation.base.checks import FloatArray, check_in, check_number
from foundation.base.errors import InputError
from foundation.base.wording import counted

# Words of names in lower case, English, German and Latin. Bundles of a cruciate ligament and
# ligaments of a meniscus are named after a side on which only one of their ends is.
_BETWEEN = re.compile(r"acl|pcl|lca|lcp|vkb|hkb|cruci|kreuz|menis")
_SIDES = {
    "medial": re.compile(
        r"mcl|(?<![a-z])(tcl|lcm|pol(?![a-z]))|innenband|inneres|(?<!ro)medial|"
        r"coll.*tibial|tibial.*coll"
    ),
    "lateral": re.compile(
        r"lcl|(?<![a-z])(fcl|pfl|itb|al[ls](?![a-z]))|aussenband|[aä]usseres|"
        r"(?<!ro)(?<!ol)lateral|coll.*fibular|fibular.*coll"
    ),
}
#: Largest distance of an attachment across the origin [m], which may be off the middle of the knee.
_ACROSS = 10e-3
#: Distances [m] along x, y and z by which attachments may pass the box of a bearing surface at its
#: low and its high end. Two natural knees (Lenhart et al. 2015; S192803) need at most 11 mm in z on
#: the femur; on the tibia 6 mm in x, 58 mm downwards and 13 mm in z.
_REACH = {
    "femoral": ((30e-3, 5e-3, 35e-3), (30e-3, 60e-3, 35e-3)),
    "tibial": ((35e-3, 80e-3, 35e-3), (35e-3, 10e-3, 35e-3)),
}
#: Largest strain over the passive motion, and largest slack (measured: -0.18 to 0.24).
_STRAIN = 0.3


def stated_side(name: str) -> str | None:
    """Return the side, "medial" or "lateral", that the name of a bundle states; None if none."""
    words = name.casefold()
    sides = [side for side, pattern in _SIDES.items() if pattern.search(words)]
    return sides[0] if len(sides) == 1 and not _BETWEEN.search(words) else None


def check_sides(ligaments: Sequence[Ligament]) -> None:
    """Raise an InputError if bundles of a right knee lie on another side than their names state."""
    sides = {each.name: stated_side(each.name) for each in ligaments}
    away = {
        each.name: max(each.femoral[2], each.tibial[2])
        if sides[each.name] == "medial"
        else -min(each.femoral[2], each.tibial[2])
        for each in ligaments
        if sides[each.name]
    }
    wrong = [name for name, across in away.items() if across > _ACROSS]
    if not wrong:
        return
    remedy = "check the signs and the order of the coordinates"
    if len(wrong) == len(away):
        remedy = (
            "z points to the body's right, as in the files of the meshes, and a left knee is "
            "mirrored with its meshes: change the side of the knee, or the signs of femoral_z_mm "
            "and tibial_z_mm"
        )
    name, side = wrong[0], sides[wrong[0]]
    others = f" ({counted(len(wrong), 'bundle')} in all)" if len(wrong) > 1 else ""
    raise InputError(
        f"ligament {name}: expected on the {side} side of the knee, as the name states, found an "
        f"attachment {1e3 * away[name]:.0f} mm on the other side{others}; {remedy}"
    )


def far_attachments(ligaments: Sequence[Ligament], surfaces: Mapping[str, FloatArray]) -> str:
    """Return a text on attachments far from vertices (V, 3) [m] of a bone; "" if all are near."""
    far = []
    for end, vertices in surfaces.items():
        below, above = np.array(_REACH[end])
        low, high = vertices.min(axis=0) - below, vertices.max(axis=0) + above
        for each in ligaments:
            point = getattr(each, end)
            if (beyond := float(np.maximum(low - point, point - high).max())) > 0.0:
                far.append((beyond, f"the {end} attachment of {each.name}", 1e3 * point))
    if not far:
        return ""
    beyond, what, point = max(far, key=lambda found: found[0])
    others = f" ({counted(len(far), 'attachment')} in all)" if len(far) > 1 else ""
    return (
        f"expected attachments near the bones, found {what} at {point.round(1).tolist()} mm in the "
        f"frame of the bone, {1e3 * beyond:.0f} mm beyond what bones reach about the bearing "
        f"surface{others}; check unit, axes and origin of the table, which are those of the files "
        "of the meshes, in mm"
    )


def unfit_strains(ligaments: Sequence[Ligament], poses: FloatArray) -> str:
    """Return what is told about bundles torn or slack over poses (n, 6) [rad, m]; "" if none."""
    if not ligaments:
        return ""
    largest = ligament_strains(ligaments, poses).max(axis=0)
    k = int(np.abs(largest).argmax())
    if abs(largest[k]) <= _STRAIN:
        return ""
    return (
        f"expected a largest strain of {-_STRAIN:g} to {_STRAIN:g} on the path, since ligaments "
        f"tear at about 0.2, found {largest[k]:.2f} in {ligaments[k].name}; check attachments, "
        "rest lengths, and that the table belongs to this knee"
    )


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
#: Columns of the femoral and of the tibial attachment.
ATTACHMENTS = (
    ("femoral_x_mm", "femoral_y_mm", "femoral_z_mm"),
    ("tibial_x_mm", "tibial_y_mm", "tibial_z_mm"),
)
_NEEDED = ("name", "kind", *ATTACHMENTS[0], *ATTACHMENTS[1])
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
#: Sign of the direction to the body's right on each side.
_RIGHT = {"right": 1.0, "left": -1.0}
#: Function from points (..., 3) [m] of a table to the frame of a bone.
Place = Callable[[FloatArray], FloatArray]
_STIFFNESSES = tuple(column for column, _ in STIFFNESS_COLUMNS.values())
_OPTIONAL = (*_LENGTHS, *_STIFFNESSES, "transition_strain")
#: Column of tables of draws with the number of the draw, and that of the restraint of the menisci.
DRAW, MENISCI_COLUMN = "draw", "menisci_N_per_mm"


class LigamentDraw(NamedTuple):
    """Bundles of a knee, drawn from a distribution."""

    ligaments: tuple[Ligament, ...]
    #: AP restraint of the menisci of the draw [N/m], None if the table has none.
    menisci: float | None


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
    return ligaments_of(read_csv_table(Path(path)), side=side, femur=femur, tibia=tibia)


def ligaments_of(table: TextTable, **places: Any) -> tuple[Ligament, ...]:
    """Return the bundles of a table; `places` and errors as of `load_ligaments`."""
    table.check_columns(_NEEDED, _OPTIONAL)
    return _bundles(table, table.rows(), **({"side": "right"} | places))


def load_ligament_draws(path: str | Path, **places: Any) -> tuple[LigamentDraw, ...]:
    """Read a table of draws in the order of their numbers; `places` as of `load_ligaments`."""
    table = read_csv_table(Path(path))
    table.check_columns((*_NEEDED, DRAW), (*_OPTIONAL, MENISCI_COLUMN))
    draws: dict[float, list[tuple[int, dict[str, str]]]] = {}
    for line, row in table.rows():
        draws.setdefault(table.number(line, DRAW, row[DRAW]), []).append((line, row))
    found = []
    for _, rows in sorted(draws.items()):
        line, first = rows[0]
        menisci = None
        if MENISCI_COLUMN in first:
            menisci = 1e3 * table.number(line, MENISCI_COLUMN, first[MENISCI_COLUMN])
            check_number(table.where(line, MENISCI_COLUMN), menisci, at_least=0.0)
        ligaments = _bundles(table, rows, **({"side": "right"} | places))
        found.append(LigamentDraw(ligaments, menisci))
    return tuple(found)


def _bundles(
    table: TextTable,
    rows: Iterable[tuple[int, Mapping[str, str]]],
    side: str,
    femur: Place | None = None,
    tibia: Place | None = None,
) -> tuple[Ligament, ...]:
    """Return the bundles of rows of a table; arguments and errors as of `load_ligaments`."""
    right = _RIGHT[check_in("side", side, _RIGHT)]
    ligaments: dict[str, Ligament] = {}
    for line, row in rows:
        name = row["name"]
        if not name or name in ligaments:
            found = f"{name} a second time" if name else "an empty cell"
            raise InputError(f"{table.where(line, 'name')}: expected a unique name, found {found}")
        ends = []
        for columns, place in zip(ATTACHMENTS, (femur, tibia), strict=True):
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
    rows = []
    for each in ligaments:
        column, factor = STIFFNESS_COLUMNS[each.kind]
        row: dict[str, str | float] = {"name": each.name, "kind": each.kind}
        ends = (each.femoral, femur), (each.tibial, tibia)
        for columns, (point, place) in zip(ATTACHMENTS, ends, strict=True):
            in_file = 1e3 * points_in_file(point, side, place)
            row |= dict(zip(columns, in_file.tolist(), strict=True))
        row |= {"rest_length_mm": 1e3 * each.rest_length, column: each.stiffness / factor}
        if each.kind == "toe":
            row["transition_strain"] = each.transition_strain
        rows.append(row)
    return rows


def points_in_file(points: FloatArray, side: str, place: Place | None) -> FloatArray:
    """Return the points (..., 3) [m] of a file of a side whose rigid placement leads to points."""
    placed = points * [1.0, 1.0, _RIGHT[check_in("side", side, _RIGHT)]]
    if place is None:
        return placed
    origin = place(np.zeros(3))
    return (placed - origin) @ (place(np.eye(3)) - origin).T


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
