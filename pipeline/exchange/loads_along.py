"""Loads of a knee along a motion: evaluated, flagged, and written for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd

import surrogates
from dynamics.motion.knee_motion import (
    KneeColumns,
    knee_motion_table,
)
from dynamics.motion.motion_tables import OPENSIM_ENDINGS, MotionTable, motion_text
from dynamics.protocol import ContactModel
from dynamics.simulator.integrator import counted_flags
from dynamics.simulator.result import CountedFlag
from foundation.base.checks import FloatArray, check_array, check_in
from foundation.base.errors import InputError
from foundation.base.loads import COMPARTMENTS, LOAD_COLUMNS
from foundation.base.pose import COORDINATES
from pipeline.files import write_text
from pipeline.stages.run_folder import TrainedRun
from pipeline.store.documents import make_again
from pipeline.store.job import RunError, check_configuration, check_single_knee
from pipeline.store.samples import (
    POSE_COLUMNS,
    poses_of,
    read_table,
    without,
    write_csv,
    write_table,
)

#: Bodies of OpenSim-JAM's right knee: femur and tibia.
JAM_BODIES = ("femur_distal_r", "tibia_proximal_r")
#: Version of the document that OpenSim 4 reads and writes.
_VERSION = "40000"


def external_loads_xml(
    loads: Path,
    bodies: tuple[str, str] = JAM_BODIES,
    *,
    storage: str = "knee contact loads",
    parts: Sequence[str] = COMPARTMENTS,
) -> str:
    """Return an `ExternalLoads` document for a file of loads (`loads_along.external_loads`).

    The document has one `ExternalForce` for each compartment of `parts` and body. Forces, points
    and moments are expressed in the tibial body, the second of `bodies`, whose frame must be the
    tibial frame of the run. The document names the `.sto` or `.mot` file of the loads without a
    folder: OpenSim searches next to the document. `storage` is the name in the first line of that
    file. Raises `InputError` if the names of the bodies are empty or equal.
    """
    femur, tibia = (name.strip() for name in bodies)
    if not femur or not tibia or femur == tibia:
        raise InputError(f"bodies: expected two names, femur and tibia, found {list(bodies)}")
    document = ElementTree.Element("OpenSimDocument", Version=_VERSION)
    external = ElementTree.SubElement(document, "ExternalLoads", name=f"{loads.stem}")
    objects = ElementTree.SubElement(external, "objects")
    for compartment in parts:
        for body, name in (("femur", femur), ("tibia", tibia)):
            head = f"{compartment}_{body}"
            force = ElementTree.SubElement(objects, "ExternalForce", name=head)
            for key, text in (
                ("applied_to_body", name),
                ("force_expressed_in_body", tibia),
                ("point_expressed_in_body", tibia),
                ("force_identifier", f"{head}_force_v"),
                ("point_identifier", f"{head}_force_p"),
                ("torque_identifier", f"{head}_torque_"),
                ("data_source_name", storage),
            ):
                ElementTree.SubElement(force, key).text = text
    ElementTree.SubElement(external, "groups")
    ElementTree.SubElement(external, "datafile").text = loads.name
    ElementTree.indent(document)
    return (
        '<?xml version="1.0" encoding="UTF-8" ?>\n'
        + ElementTree.tostring(document, encoding="unicode")
        + "\n"
    )


#: Endings of files of loads.
LOAD_ENDINGS = (*OPENSIM_ENDINGS, ".csv", ".parquet")
#: Name of the storage of `external_loads`.
_TITLE = "knee contact loads"
#: Bodies of `external_loads`, and the sign of the loads on each.
_BODIES = (("femur", 1.0), ("tibia", -1.0))


def contact_of(source: Path, *, original: bool = False) -> ContactModel:
    """Return the trained surrogate of a run directory or `.npz` file, or a run's original model."""
    check_single_knee(source)
    if source.is_dir():
        run = TrainedRun.open(source)
        return run.reference_model if original else run.surrogate
    if original:
        raise RunError(f"{source}: expected a run directory for --original, found a file")
    return surrogates.load(source)


def loads_along(
    model: ContactModel, time: FloatArray, poses: FloatArray
) -> tuple[pd.DataFrame, tuple[CountedFlag, ...]]:
    """Evaluate a contact model along a motion.

    Parameters
    ----------
    model : ContactModel
        Surrogate or original model.
    time : (N,) float64
        Instants [s].
    poses : (N, 6) float64
        Poses of the femur in the tibial frame [rad, m].

    Returns
    -------
    table : DataFrame
        A row per instant: `time_s`, the pose, `flagged` (1 where the loads cannot be trusted, as
        outside the trained domain), and the loads of each compartment and `total` on the femur,
        in the tibial frame, about the tibial origin; NaN for quantities that the model lacks.
    flags : tuple of CountedFlag
        Flags of the model, each with its first instant and the number of rows.
    """
    rows = check_array("poses", poses, (None, 6))
    loads = model.loads(rows)
    table = pd.concat([pd.DataFrame(rows, columns=POSE_COLUMNS), loads.to_frame()], axis=1)
    table.insert(0, "time_s", check_array("time", time, (len(rows),)))
    flags = [(t, flag) for t, row in zip(time.tolist(), loads.flags, strict=True) for flag in row]
    # The surrogate of a table may lack areas, pressures or centres of pressure.
    lacking = getattr(model, "header", {}).get("not_given", ())
    return without(table, lacking), counted_flags(flags)


def external_loads(table: pd.DataFrame) -> MotionTable:
    """Return the loads of `loads_along` in the columns of OpenSim's `ExternalLoads`.

    The columns are `flagged`, and for each compartment the opposite loads on femur and tibia in
    the tibial frame: force `<compartment>_<body>_force_vx` [N], point
    `<compartment>_<body>_force_px` [m] (the centre of pressure, or the tibial origin out of
    contact), and the moment about the point, `<compartment>_<body>_torque_x` [N m].
    """
    columns = {"flagged": table["flagged"].to_numpy()}
    for compartment in parts_of(table):
        force, moment, centre = (
            table[[f"{compartment}_{name}_{axis}_{unit}" for axis in "xyz"]].to_numpy()
            for name, unit in (("force", "N"), ("moment", "Nm"), ("cop", "m"))
        )
        point = np.nan_to_num(centre)
        torque = moment - np.cross(point, force)
        for body, sign in _BODIES:
            head = f"{compartment}_{body}"
            for name, values in (
                (f"{head}_force_v", sign * force),
                (f"{head}_force_p", point),
                (f"{head}_torque_", sign * torque),
            ):
                columns |= {f"{name}{axis}": values[:, k] for k, axis in enumerate("xyz")}
    values = np.column_stack(list(columns.values()))
    return MotionTable(tuple(columns), table["time_s"].to_numpy(), values, False, "knee loads")


def parts_of(table: pd.DataFrame) -> tuple[str, ...]:
    """Return the names of the compartments of a table of `loads_along`."""
    end = f"_{LOAD_COLUMNS[0]}"
    heads = [column.removesuffix(end) for column in table.columns if column.endswith(end)]
    return tuple(head for head in heads if head != "total")


def write_loads(
    table: pd.DataFrame, path: Path, bodies: tuple[str, str] = JAM_BODIES
) -> list[Path]:
    """Write the loads of `loads_along` and return the written files.

    As `.sto` or `.mot` the `external_loads` of the table, and an `.xml` file of the same name, the
    set-up of these loads for a model with the bodies of femur and tibia (`external_loads_xml`).

    Raises
    ------
    InputError
        If the path has another ending than these, `.csv` or `.parquet`, or the bodies are wrong.
    """
    ending = check_in(f"{path}: ending", path.suffix.lower(), LOAD_ENDINGS)
    if ending not in OPENSIM_ENDINGS:
        (write_csv if ending == ".csv" else write_table)(table, path)
        return [path]
    setup = path.with_suffix(".xml")
    text = external_loads_xml(path, bodies, storage=_TITLE, parts=parts_of(table))
    write_text(path, motion_text(external_loads(table), title=_TITLE))
    write_text(setup, text)
    return [path, setup]


def run_motion(
    folder: Path, model: str = "surrogate", columns: KneeColumns | None = None
) -> MotionTable:
    """Return the simulated gait cycle of a run as a motion for OpenSim.

    Parameters
    ----------
    folder : Path
        Run directory, or the folder of a walk.
    model : {"surrogate", "original"}
        Contact model of the simulation.
    columns : KneeColumns, optional
        Names and units of the columns, as in `knee_motion_table`.

    Raises
    ------
    RunError
        If the folder lacks the simulation or is of a run over designs, or its `config.toml` was
        changed since.
    """
    check_single_knee(folder)
    stored = folder / "simulation.parquet"
    if not stored.is_file():
        raise RunError(
            f"{folder}: {stored.name} is missing; simulate a gait cycle with "
            f'`{make_again(stored)}`, and with simulation.kind = "gait"'
        )
    check_configuration(folder)
    table = read_table(stored, ("model", "time_s", *POSE_COLUMNS))
    rows = table[table["model"] == model]
    if rows.empty:
        models = ", ".join(sorted(set(table["model"])))
        raise RunError(f"{stored}: expected rows of the model {model!r}, found {models}")
    return knee_motion_table(rows["time_s"].to_numpy(), poses_of(rows), columns)


def write_motion(table: MotionTable, path: Path) -> None:
    """Write a motion as `.mot` or `.sto`; an InputError names another ending."""
    check_in(f"{path}: ending", path.suffix.lower(), OPENSIM_ENDINGS)
    write_text(path, motion_text(table, title=table.source))


def check_some_trusted(table: pd.DataFrame, flags: Sequence[CountedFlag], motion: Path) -> None:
    """Check that the loads along a motion can be trusted at one instant at least."""
    if not table["flagged"].all():
        return
    poses = poses_of(table)
    scales, units = np.repeat([180.0 / np.pi, 1e3], 3), ["deg"] * 3 + ["mm"] * 3
    low, high = scales * poses.min(axis=0), scales * poses.max(axis=0)
    ranges = [
        f"{name} {low[k]:.4g} to {high[k]:.4g} {units[k]}" for k, name in enumerate(COORDINATES)
    ]
    raise InputError(
        f"{motion}: expected a motion in the trained domain, found all {len(table)} instants "
        f"outside ({flags[0].flag}): {', '.join(ranges)}; check units, signs and frames "
        "(--length-unit, --angle-unit, --columns). No loads are written"
    )
