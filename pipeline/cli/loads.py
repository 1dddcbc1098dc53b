"""`loads` and `motion`: motion files of other programs in, loads and motions for them out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

from dynamics.walking.knee_motion import (
    ANGLE_UNITS,
    LENGTH_UNITS,
    KneeColumns,
    parse_columns,
    read_knee_poses,
)
from foundation.errors import InputError
from foundation.wording import counted
from pipeline.cli.command import Answer, Command, add_folder
from pipeline.exchange.loads_along import (
    contact_of,
    loads_along,
    run_motion,
    write_loads,
    write_motion,
)
from pipeline.exchange.unit_hints import check_some_trusted


def _add_columns(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--columns", metavar="COORDINATE=COLUMN,...",
        help="columns of flexion, adduction, rotation and of the femur's origin in the tibia, "
        "anterior, superior, lateral, or of the tibia's origin in the femur, tx, ty, tz; a minus "
        "before a column turns its sign (default: the coordinates of OpenSim-JAM's models)",
    )  # fmt: skip
    command.add_argument("--angle-unit", choices=ANGLE_UNITS, help="unit of the angles")
    command.add_argument(
        "--length-unit", choices=LENGTH_UNITS, default="m", help="unit of the lengths (m)"
    )


def _columns(options: argparse.Namespace) -> KneeColumns:
    names = parse_columns(options.columns) if options.columns else {}
    return KneeColumns(names, options.angle_unit, options.length_unit)


def _add_loads(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", type=Path, help="run directory, or a surrogate's .npz file")
    command.add_argument("motion", type=Path, help="motion: .mot, .sto, .csv or .parquet")
    command.add_argument(
        "--out", type=Path, required=True, help="loads: .sto or .mot, .csv or .parquet"
    )
    command.add_argument("--original", action="store_true", help="by the run's original model")
    _add_columns(command)


def _loads(options: argparse.Namespace) -> Answer:
    if options.out.resolve() == options.motion.resolve():
        raise InputError(f"{options.out}: expected another file than the motion, found the same")
    columns = _columns(options)
    time, poses = read_knee_poses(options.motion, columns)
    model = contact_of(options.source, original=options.original)
    table, flags = loads_along(model, time, poses)
    check_some_trusted(model, table, flags, options.motion, columns)
    write_loads(table, options.out)
    content = {
        "file": str(options.out),
        "rows": len(table),
        "flagged": int(table["flagged"].sum()),
        "flags": flags,
        "largest_axial_force_N": float(table["total_force_y_N"].max()),
        "largest_pressure_Pa": _largest(table["total_peak_pressure_Pa"]),
    }
    return Answer(_loads_text(content), content)


def _largest(values: pd.Series) -> float | None:
    """Return the largest of what is known, None if nothing is."""
    return float(values.max()) if values.notna().any() else None


def _loads_text(content: dict[str, Any]) -> str:
    pressure = content["largest_pressure_Pa"]
    told = "" if pressure is None else f", pressure up to {1e-6 * pressure:.1f} MPa"
    lines = [
        f"{counted(content['rows'], 'instant')}: axial force up to "
        f"{content['largest_axial_force_N']:.0f} N"
        f"{told}",
        f"flagged instants: {content['flagged']} of {content['rows']}",
    ]
    lines += [
        f"  {flag['rows']} from {flag['time_s']:g} s: {flag['message']}"
        for flag in content["flags"]
    ]
    return "\n".join([*lines, f"loads: {content['file']}"])


def _add_motion(command: argparse.ArgumentParser) -> None:
    add_folder(command)
    command.add_argument("--out", type=Path, required=True, help="motion: .mot or .sto")
    command.add_argument(
        "--model", choices=("surrogate", "original"), default="surrogate",
        help="what gave the contact (surrogate)",
    )  # fmt: skip
    _add_columns(command)


def _motion(options: argparse.Namespace) -> Answer:
    table = run_motion(options.folder, options.model, _columns(options))
    write_motion(table, options.out)
    rows = len(table.time)
    content = {"file": str(options.out), "rows": rows, "columns": list(table.names)}
    return Answer(f"{counted(rows, 'instant')}\nmotion: {options.out}", content)


LOADS = Command(
    "loads",
    "loads of the knee along a motion from another program",
    _add_loads,
    _loads,
    (
        "python -m pipeline loads runs/implant walk.mot --out loads.sto",
        "python -m pipeline loads runs/implant/knee.npz poses.csv --out loads.csv "
        "--columns flexion=-knee_angle,adduction=add,rotation=rot,tx=tx,ty=ty,tz=tz "
        "--angle-unit deg --length-unit mm",
    ),
)
MOTION = Command(
    "motion",
    "a run's simulated gait cycle as a motion for OpenSim",
    _add_motion,
    _motion,
    ("python -m pipeline motion runs/implant --out cycle.mot",),
)
