"""What the columns of a table of implant forces are, by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from foundation.base.errors import InputError
from pipeline.studies.implant_forces.columns import Column

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
_OTHER = re.compile(r"grf|ground|plate|emg|pressure|area|cop|centre|center|marker|hip|ankle|patell")
_MOMENT = re.compile(r"moment|torque")
_WEIGHT = re.compile(r"bw|body ?weight")
_TIME = frozenset({"time", "t", "zeit"})
_MEDIAL = frozenset({"medial", "med", "fmed", "fmedial", "mcf"})
_LATERAL = frozenset({"lateral", "lat", "flat", "flateral", "lcf"})
_TOTAL = frozenset(
    {"total", "resultant", "fres", "ftot", "ftotal", "axial", "fax", "compression", "compressive"}
)
#: Names of a force that the row above may specify.
_FORCE = frozenset({"force", "forces", "f", "load", "loads"})
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
    found: dict[str, list[int]] = {}
    for at, column in enumerate(columns):
        role = _role(column.names)
        if role is not None and role not in stated:
            found.setdefault(role, []).append(at)
    for role, name in stated.items():
        places = [at for at, column in enumerate(columns) if column.is_named(name)]
        if len(places) != 1:
            listed = ", ".join(repr(column.name) for column in columns)
            raise InputError(
                f"{source}: expected one column {name!r} (implant_forces.columns.{role}), found "
                f"{len(places)} among {listed}"
            )
        found[role] = places
    if len(found.get("knee_angle", ())) > 1:
        del found["knee_angle"]  # Those of both legs, for instance.
    for role, places in found.items():
        if len(places) > 1 and role not in ("time", "percent"):
            names = ", ".join(repr(columns[at].name) for at in places)
            raise InputError(
                f"{source}: expected one column of the role {role}, found {names}; state one as "
                f"implant_forces.columns.{role}, or a sheet as implant_forces.sheet"
            )
    return found


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
    outside = re.sub(r"[\[(][^\])]*[\])]", " ", name)
    words = re.findall(r"[a-z]+|%|\d+", outside.casefold().replace("'", ""))
    found = set(words)
    if found & _TIME:
        return "time"
    if axis := _axis(words):
        return axis
    if found & {"percent", "cycle"} or ("%" in name and not _WEIGHT.search(name.casefold())):
        return "percent"
    if found & _ANGLE or ("knee" in found and found & {"angle", "flexion", "flex"}):
        return "knee_angle"
    if _MOMENT.search(outside.casefold()):
        return None
    medial, lateral = bool(found & _MEDIAL), bool(found & _LATERAL)
    if medial != lateral:
        return "medial" if medial else "lateral"
    if medial:
        return None  # A shear force, mediolateral.
    if len(words) <= 2 and (cell := next((each for each in CELLS if each in found), None)):
        return cell
    if found & _TOTAL:
        return "total"
    return "force" if found & _FORCE else None


def _axis(words: Sequence[str]) -> str | None:
    """Return the role of a component of force or moment; None for another name."""
    text = "".join(word for word in words if word not in ("knee", "implant", "tibia", "tibial"))
    for kind, pattern in _COMPONENTS.items():
        if match := pattern.fullmatch(text):
            return f"{kind}_{match[1] or match[2]}"
    return None
