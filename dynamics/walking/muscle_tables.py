"""Reading of the muscles of a leg from tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

from dynamics.csv_table import check_once, read_number, read_rows
from dynamics.walking.knee_mechanism import KneeMechanism
from dynamics.walking.muscles import BODIES, PASSAGES, REFERENCE_HEIGHT, LegMuscles, Muscle
from foundation.checks import FloatArray, check_in
from foundation.errors import InputError

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
    """Return the muscles of a right leg.

    Parameters
    ----------
    height : float
        Of the body [m], > 0; see `LegMuscles.scaled`.
    muscles : str or Path
        Table of the muscles: `muscle`, `cross_section_cm2`, `fibre_length_cm`.
    paths : str or Path
        Table of their points in the frames of the shipped one, which states them: `muscle`, `body`,
        `x_m`, `y_m`, `z_m`, `passage`; the points of a muscle from origin to insertion.

    Raises
    ------
    InputError
        If a cell, a column or a value is not as expected or a muscle has no path; the message names
        the file, and the line and column.
    FileNotFoundError
        If there is no such file.
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
    columns = ("muscle", "cross_section_cm2", "fibre_length_cm")
    made = []
    for where, row in _read_table(source, columns):
        name = row["muscle"]
        if name not in paths:
            raise InputError(f"{where}, column muscle: expected one with a path, found {name!r}")
        bodies, points, passages = zip(*paths[name], strict=True)
        area = 1e-4 * _number(where, row, "cross_section_cm2")
        fibre = 1e-2 * _number(where, row, "fibre_length_cm")
        try:
            made.append(Muscle(name, area, fibre, bodies, np.array(points), passages))
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
    return tuple(made)


def _read_paths(
    source: Path, joints: Mapping[tuple[str, str], FloatArray]
) -> dict[str, list[tuple[str, FloatArray, str]]]:
    """Return (body, position from the joint that is the origin of its frame, passage) by muscle."""
    origins = {
        "pelvis": joints["hip", "pelvis"],
        "tibia": joints["knee", "tibia"],
        "foot": joints["ankle", "foot"],
    }
    paths: dict[str, list[tuple[str, FloatArray, str]]] = {}
    for where, row in _read_table(source, _PATH_COLUMNS):
        body = check_in(f"{where}, column body", row["body"], BODIES)
        passage = check_in(f"{where}, column passage", row["passage"], PASSAGES)
        point = _position(where, row) - origins.get(body, np.zeros(3))
        if body == "patella":
            point[2] += joints["patella", "tibia"][2]
        paths.setdefault(row["muscle"], []).append((body, point, passage))
    return paths


def _read_joints(source: Path) -> dict[tuple[str, str], FloatArray]:
    joints = {
        (row["point"], row["body"]): _position(where, row)
        for where, row in _read_table(source, _JOINT_COLUMNS)
    }
    for point, body in _JOINTS:
        if (point, body) not in joints:
            raise InputError(f"{source}: expected the point {point} of the {body}, found none")
    return joints


def _read_mechanism(source: Path) -> KneeMechanism:
    columns = ("coordinate", "knee_flexion_deg", "value")
    knots: dict[str, list[tuple[float, float]]] = {name: [] for name in _COORDINATES}
    for where, row in _read_table(source, columns):
        name = check_in(f"{where}, column coordinate", row["coordinate"], _COORDINATES)
        flexion = math.radians(_number(where, row, "knee_flexion_deg"))
        value = _number(where, row, "value")
        knots[name].append((flexion, math.radians(value) if name.endswith("_deg") else value))
    curves = [CubicSpline(*np.array(sorted(knots[name])).T) for name in _COORDINATES]
    return KneeMechanism(*curves)


def _read_table(source: Path, columns: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    """Return (file and line, cells by column) of every row."""
    lines = read_rows(source)
    header = lines[0][1]
    for name in header:
        check_in(f"{source}, header", name, columns)
    for name in columns:
        check_once(source, header, name)
    rows = []
    for number, cells in lines[1:]:
        where = f"{source}, line {number}"
        if len(cells) != len(header):
            raise InputError(f"{where}: expected {len(header)} cells, found {len(cells)}")
        rows.append((where, dict(zip(header, cells, strict=True))))
    return rows


def _position(where: str, row: Mapping[str, str]) -> FloatArray:
    return np.array([_number(where, row, column) for column in _POSITION])


def _number(where: str, row: Mapping[str, str], column: str) -> float:
    return read_number(f"{where}, column {column}", row[column])
