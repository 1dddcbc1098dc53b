"""Tables of the muscles of a leg."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

from dynamics.csv_table import TextTable, read_csv_table
from dynamics.walking.knee_mechanism import KneeMechanism
from dynamics.walking.muscles import BODIES, PASSAGES, REFERENCE_HEIGHT, LegMuscles, Muscle
from foundation.base.checks import FloatArray, check_in
from foundation.base.errors import InputError

_TABLES = Path(__file__).with_name("tables")
#: The shipped tables: cross-sections, paths, joint centres and the motion of tibia and patella.
MUSCLES = _TABLES / "muscles.csv"
MUSCLE_PATHS = _TABLES / "muscle_paths.csv"
LEG_JOINTS = _TABLES / "leg_joints.csv"
KNEE_MECHANISM = _TABLES / "knee_mechanism.csv"

_POSITION = ("x_m", "y_m", "z_m")
_PATH_COLUMNS = ("muscle", "body", *_POSITION, "passage")
_JOINT_COLUMNS = ("point", "body", *_POSITION)
_JOINTS = (
    ("hip", "pelvis"),
    ("knee", "femur"),
    ("knee", "tibia"),
    ("ankle", "tibia"),
    ("ankle", "foot"),
    ("tuberosity", "tibia"),
    ("patella", "tibia"),
)
_COORDINATES = (
    "femur_to_tibia_x_m",
    "femur_to_tibia_y_m",
    "tibia_to_patella_x_m",
    "tibia_to_patella_y_m",
    "tibia_to_patella_angle_deg",
)


def load_leg_muscles(
    height: float = REFERENCE_HEIGHT,
    *,
    muscles: str | Path = MUSCLES,
    paths: str | Path = MUSCLE_PATHS,
) -> LegMuscles:
    """Return the muscles of a right leg of a body height [m] (`LegMuscles.scaled`).

    Parameters
    ----------
    height : float
        Body height [m], > 0.
    muscles : str or Path
        Table of the muscles: `muscle`, `cross_section_cm2`, `fibre_length_cm`.
    paths : str or Path
        Table of the path points in the frames of the shipped table: `muscle`, `body`, `x_m`, `y_m`,
        `z_m`, `passage`; points from origin to insertion.

    Raises
    ------
    InputError
        If a cell, column or value is invalid or a muscle has no path; the message names file, line
        and column.
    FileNotFoundError
        If a file does not exist.
    """
    joints = _read_joints(LEG_JOINTS)
    points = _read_paths(Path(paths), joints)
    made = _read_muscles(Path(muscles), points)
    leg = LegMuscles(
        muscles=made,
        knee=joints["knee", "femur"][:2],
        ankle=(joints["ankle", "tibia"] - joints["knee", "tibia"])[:2],
        tuberosity=joints["tuberosity", "tibia"] - joints["knee", "tibia"],
        pole_z=float(joints["patella", "tibia"][2]),
        mechanism=_read_mechanism(KNEE_MECHANISM),
        mechanism_knee=joints["knee", "tibia"][:2],
    )
    return leg.scaled(height)


def _read_muscles(
    source: Path, paths: Mapping[str, list[tuple[str, FloatArray, str]]]
) -> tuple[Muscle, ...]:
    muscles = []
    table = _table(source, ("muscle", "cross_section_cm2", "fibre_length_cm"))
    for line, row in table.rows():
        name = row["muscle"]
        if name not in paths:
            place = table.where(line, "muscle")
            raise InputError(f"{place}: expected a muscle of the table of paths, found {name!r}")
        bodies, points, passages = zip(*paths[name], strict=True)
        area = 1e-4 * table.number(line, "cross_section_cm2", row["cross_section_cm2"])
        fibre = 1e-2 * table.number(line, "fibre_length_cm", row["fibre_length_cm"])
        try:
            muscles.append(Muscle(name, area, fibre, bodies, np.array(points), passages))
        except InputError as error:
            raise InputError(f"{source}, line {line}: {error}") from error
    return tuple(muscles)


def _read_paths(
    source: Path, joints: Mapping[tuple[str, str], FloatArray]
) -> dict[str, list[tuple[str, FloatArray, str]]]:
    """Return (body, position from the joint at the origin of its frame, passage) by muscle."""
    origins = {
        "pelvis": joints["hip", "pelvis"],
        "tibia": joints["knee", "tibia"],
        "foot": joints["ankle", "foot"],
    }
    paths: dict[str, list[tuple[str, FloatArray, str]]] = {}
    table = _table(source, _PATH_COLUMNS)
    for line, row in table.rows():
        body = check_in(table.where(line, "body"), row["body"], BODIES)
        passage = check_in(table.where(line, "passage"), row["passage"], PASSAGES)
        point = _position(table, line, row) - origins.get(body, np.zeros(3))
        if body == "patella":
            point[2] += joints["patella", "tibia"][2]
        paths.setdefault(row["muscle"], []).append((body, point, passage))
    return paths


def _read_joints(source: Path) -> dict[tuple[str, str], FloatArray]:
    table = _table(source, _JOINT_COLUMNS)
    joints = {
        (row["point"], row["body"]): _position(table, line, row) for line, row in table.rows()
    }
    for point, body in _JOINTS:
        if (point, body) not in joints:
            raise InputError(f"{source}: expected the point {point} of the {body}, found none")
    return joints


def _read_mechanism(source: Path) -> KneeMechanism:
    knots: dict[str, list[tuple[float, float]]] = {name: [] for name in _COORDINATES}
    table = _table(source, ("coordinate", "knee_flexion_deg", "value"))
    for line, row in table.rows():
        name = check_in(table.where(line, "coordinate"), row["coordinate"], _COORDINATES)
        flexion = math.radians(table.number(line, "knee_flexion_deg", row["knee_flexion_deg"]))
        value = table.number(line, "value", row["value"])
        knots[name].append((flexion, math.radians(value) if name.endswith("_deg") else value))
    curves = [CubicSpline(*np.array(sorted(knots[name])).T) for name in _COORDINATES]
    return KneeMechanism(*curves)


def _table(source: Path, columns: tuple[str, ...]) -> TextTable:
    table = read_csv_table(source)
    table.check_columns(columns)
    return table


def _position(table: TextTable, line: int, row: Mapping[str, str]) -> FloatArray:
    return np.array([table.number(line, column, row[column]) for column in _POSITION])
