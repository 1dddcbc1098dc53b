"""What the columns of a table of implant forces are, by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS
from pipeline.studies.implant_forces.columns import Column
from pipeline.studies.implant_forces.units import (
    FORCE_UNITS,
    MOMENT_UNITS,
    PERCENT,
    WEIGHT,
    unit_in,
)

#: Axes of a table, and the roles of its forces and moments.
AXES = "xyz"
FORCES = tuple(f"force_{axis}" for axis in AXES)
MOMENTS = tuple(f"moment_{axis}" for axis in AXES)
#: Load cells of the first instrumented implant of the Grand Challenge: posterior and anterior,
#: medial and lateral.
CELLS = ("pm", "am", "al", "pl")
#: Roles that a column can have.
ROLES = (
    *("time", "percent", "total", "medial", "lateral"),
    *(*FORCES, *MOMENTS, *CELLS, "knee_angle"),
)
_UNITS = (*FORCE_UNITS, *MOMENT_UNITS, WEIGHT, PERCENT)
_OTHER = re.compile(r"grf|ground|plate|emg|pressure|area|cop|centre|center|marker|hip|ankle|patell")
_MOMENT = re.compile(r"moment|torque")
_WEIGHT = re.compile(r"bw|body ?weight")
_TIME = frozenset({"time", "t", "zeit"})
_MEDIAL = frozenset({"medial", "med", "fmed", "fmedial", "mcf"})
_LATERAL = frozenset({"lateral", "lat", "flat", "flateral", "lcf"})
_TOTAL = frozenset(
    {
        *("total", "resultant", "fres", "ftot", "ftotal", "axial", "fax", "compression"),
        *("compressive", "vertical", "superior", "inferior", "proximal", "distal"),
    }
)
#: Directions of shear forces.
_DIRECTION = frozenset({"anterior", "posterior", "anteroposterior", "ap", "ml", "shear"})
#: Names of a force that the row above may specify.
_FORCE = frozenset({"force", "forces", "f", "load", "loads", "kcf", "jcf"})
#: Names of components, joined, with a unit at the end.
_COMPONENTS = {
    "force": re.compile(r"(?:(?:f|forces?)([xyz])|([xyz])forces?)(?:n|kn|lbf|lbs?|%?bw)?"),
    "moment": re.compile(
        r"(?:(?:m|t|moments?|torques?)([xyz])|([xyz])(?:moment|torque))(?:nm|nmm|lbfin|inlbf?)?"
    ),
}
_ANGLE = frozenset({"gon", "goniometer"})


def roles_of(
    columns: Sequence[Column], stated: Mapping[str, str], source: str
) -> dict[str, list[int]]:
    """Return the places of the columns of each role; a role has several only for times.

    Parameters
    ----------
    columns : sequence of Column
        Columns of a sheet.
    stated : mapping
        Names of columns by role, which take precedence over recognised columns.
    source : str
        Name of the table in messages.

    Raises
    ------
    InputError
        If a stated column does not exist, or two columns have the same role.
    """
    found = {role: at for role, at in _recognised(columns).items() if role not in stated}
    for role, name in stated.items():
        places = [at for at, column in enumerate(columns) if column.is_named(name)]
        if len(places) != 1:
            listed = ", ".join(repr(column.name) for column in columns)
            raise InputError(
                f"{source}: expected one column {name!r} (implant_forces.columns.{role}), found "
                f"{len(places)} among {listed}"
            )
        found[role] = places
    for role, places in found.items():
        if len(places) > 1 and role not in ("time", "percent"):
            names = ", ".join(repr(columns[at].name) for at in places)
            raise InputError(
                f"{source}: expected one column of the role {role}, found {names}; state one as "
                f"implant_forces.columns.{role}, or a sheet as implant_forces.sheet"
            )
    return found


def _recognised(columns: Sequence[Column]) -> dict[str, list[int]]:
    """Return the places of the columns of each role that names tell."""
    found: dict[str, list[int]] = {}
    sides = [_side(_words(column.name)) for column in columns]
    split = set(COMPARTMENTS) <= set(sides)
    components: dict[str, dict[str, int]] = {axis: {} for axis in AXES}
    for at, (column, side) in enumerate(zip(columns, sides, strict=True)):
        role = _role(column.names)
        if role in FORCES and split and side is not None:
            components[role[-1]][side] = at
        elif role is not None and not (role in MOMENTS and split and side is not None):
            found.setdefault(role, []).append(at)
    if whole := {axis: at for axis, at in components.items() if len(at) == len(COMPARTMENTS)}:
        # Components of each compartment: the largest one is axial.
        largest = max(whole.values(), key=lambda at: _size([columns[k] for k in at.values()]))
        found = {side: [at] for side, at in largest.items()} | found
    if len(found.get("knee_angle", ())) > 1:
        del found["knee_angle"]  # Those of both legs, for instance.
    if any(_DIRECTION & set(_words(column.name)) for column in columns):
        alone = [side for side in COMPARTMENTS if side in found]
        if len(alone) == 1:
            del found[alone[0]]  # A shear force beside an anterior one.
    return found


def _size(columns: Sequence[Column]) -> float:
    """Return the sum of the squares of the numbers of columns [any unit]."""
    return float(sum(np.nansum(column.values**2) for column in columns))


def _role(names: Sequence[str]) -> str | None:
    """Return the role of a column with cells above its numbers, the lowest first.

    Rows above a name count only where the name alone has no role, or is that of any force.
    """
    weak = None
    for count in range(1, len(names) + 1):
        role = _named(" ".join(reversed(names[:count])))
        if role == "force":
            weak = "total"
        elif role is not None:
            return role
    return weak


def _named(name: str) -> str | None:
    """Return the role of a name; "force" for the name of any force."""
    if _OTHER.search(name.casefold()):
        return None
    words = _words(name)
    found = set(words)
    if found & _TIME:
        return "time"
    if axis := _axis(words):
        return axis
    if found & {"percent", "cycle"} or ("%" in name and not _WEIGHT.search(name.casefold())):
        return "percent"
    if found & _ANGLE or ("knee" in found and found & {"angle", "flexion", "flex"}):
        return "knee_angle"
    if _MOMENT.search(" ".join(words)) or found & _DIRECTION:
        return None
    if side := _side(words):
        return side
    if found & _MEDIAL:
        return None  # A shear force, mediolateral.
    if len(words) <= 2 and (cell := next((each for each in CELLS if each in found), None)):
        return cell
    if found & _TOTAL:
        return "total"
    return "force" if found & _FORCE else None


def _words(name: str) -> list[str]:
    """Return the words of a name in lower case, without units in brackets."""
    outside = re.sub(r"[\[(]([^\])]*)[\])]", _unless_unit, name)
    return re.findall(r"[a-z]+|%|\d+", outside.casefold().replace("'", ""))


def _unless_unit(bracket: re.Match[str]) -> str:
    """Return the content of a bracket, nothing for a unit."""
    return " " if unit_in([bracket[1]], _UNITS) else f" {bracket[1]} "


def _side(words: Sequence[str]) -> str | None:
    """Return the compartment that words name; None if they name none or both."""
    medial, lateral = bool(_MEDIAL & set(words)), bool(_LATERAL & set(words))
    if medial == lateral:
        return None
    return "medial" if medial else "lateral"


def _axis(words: Sequence[str]) -> str | None:
    """Return the role of a component of force or moment; None for another name."""
    text = "".join(word for word in words if word not in ("knee", "implant", "tibia", "tibial"))
    for candidate in (text, *words):
        for kind, pattern in _COMPONENTS.items():
            if match := pattern.fullmatch(candidate):
                return f"{kind}_{match[1] or match[2]}"
    return None
