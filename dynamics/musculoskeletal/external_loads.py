"""OpenSim's files of external loads: what OpenSim would read without an error, or in silence."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynamics.motion.motion_tables import MotionTable, read_motion_table, write_motion_table
from dynamics.motion.plates import Plate
from dynamics.musculoskeletal.osim_xml import (
    OsimObject,
    add_object,
    new_document,
    read_object,
    write_xml,
)
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

_GROUND = ("", "ground", "/ground")
_KINDS = ("force", "point", "torque")


@dataclass(frozen=True, eq=False)
class AppliedForce:
    """A force that external loads apply to a body at instants (N,) [s]."""

    body: str
    time: FloatArray
    #: Force, point and torque (N, 3) each [N, m, N m]; columns that the table lacks are 0.
    plate: Plate
    #: Whether force and point are those in the axes of the ground.
    in_ground: bool

    def at(self, time: FloatArray) -> Plate:
        """Return force, point, torque (M, 3) at instants (M,) [s]; no force outside the table."""
        plate, slack = self.plate, 1e-6
        inside = (time >= self.time[0] - slack) & (time <= self.time[-1] + slack)
        force, point, torque = (
            np.column_stack([np.interp(time, self.time, column) for column in each.T])
            for each in (plate.force, plate.point, plate.torque)
        )
        return Plate(plate.name, force * inside[:, None], point, torque * inside[:, None])


@dataclass(frozen=True, eq=False)
class ExternalLoads:
    """External loads of a file."""

    path: str | Path
    #: Forces, points and torques over time that the file names, as in its data file.
    table: MotionTable
    forces: tuple[AppliedForce, ...]
    #: Sentences on a data file that has another name than the file states.
    notes: tuple[str, ...] = ()

    @property
    def data_file(self) -> Path:
        """The file of the table."""
        return Path(self.table.source).resolve()

    def check_cover(self, start: float, stop: float, *, section: str = "comak") -> None:
        """Refuse loads that end within a time [s], where OpenSim would extrapolate them."""
        time, slack = self.table.time, 1e-6
        if start < time[0] - slack or stop > time[-1] + slack:
            remedy = f"set {section}.start_s and {section}.stop_s within the forces"
            if start > time[-1] or stop < time[0]:
                remedy = (
                    f"the forces begin {abs(time[0] - start):.4g} s "
                    f"{'after' if time[0] > start else 'before'} the motion and share no time with "
                    f"it: shift the times of one of them if both are of one trial, or {remedy}"
                )
            raise InputError(
                f"{self.path}: expected forces from {start:g} to {stop:g} s, the times of the "
                f"motion, found {time[0]:g} to {time[-1]:g} s; {remedy}"
            )


def read_external_loads(path: str | Path, bodies: Collection[str] | None = None) -> ExternalLoads:
    """Return the loads of OpenSim's ExternalLoads (XML) on bodies, by default any."""
    root = read_object(path, "external loads")
    forces = [force for force in root.below("ExternalForce") if force.boolean("appliesForce", True)]
    if not forces:
        raise InputError(
            f"{path}: expected ExternalLoads with an ExternalForce that applies, found none; "
            "check external_loads, or the external loads of the settings"
        )
    for force in forces:
        body = force.text("applied_to_body")
        # A path may be that of a frame, which OpenSim knows.
        if bodies is not None and "/" not in body and body not in (*bodies, "ground"):
            wanted, known = "a body of the model", ", ".join(bodies)
            raise force.fault("applied_to_body", wanted, f"{body!r}; the model has {known}")
    used = {column for force in forces for kind in _KINDS for column in _columns(force, kind)}
    data, notes = _data_file(root)
    table = read_motion_table(data, columns=used)
    return ExternalLoads(path, table, tuple(_applied(force, table) for force in forces), notes)


def _data_file(root: OsimObject) -> tuple[Path, tuple[str, ...]]:
    """Return the table of forces that external loads name, and a note on another name."""
    loads = next(root.below("ExternalLoads"), None)
    data = "" if loads is None else loads.text("datafile")
    table = root.file.parent / data.replace("\\", "/")
    if data and not table.is_file():
        # Files of OpenSim-JAM double the ending in places: forces.sto.sto.
        twice = table.with_name(table.name + table.suffix)
        once = table.with_suffix("") if Path(table.stem).suffix == table.suffix else twice
        for other in (once, twice):
            if other.is_file():
                return other, (
                    f"{root.where}, datafile: expected the name of a file, found {data}, which "
                    f"does not exist; {other.name} is taken",
                )
    if not data or not table.is_file():
        raise root.fault(
            "datafile",
            "a table of forces (.mot, .sto)",
            f"{'no file ' * bool(data)}{data or 'none'}; paths are relative to the folder of the "
            "external loads",
        )
    return table, ()


def _columns(force: OsimObject, kind: str) -> list[str]:
    """Return the names of the columns of a force, point or torque."""
    return [force.text(f"{kind}_identifier") + axis for axis in "xyz"]


def _applied(force: OsimObject, table: MotionTable) -> AppliedForce:
    nothing = np.zeros(len(table.time))

    def values(kind: str) -> FloatArray:
        stated = force.has(f"{kind}_identifier")
        names = _columns(force, kind)
        return np.column_stack(
            [table.column(n) if stated and n in table.names else nothing for n in names]
        )

    frames = [force.text(f"{kind}_expressed_in_body") for kind in _KINDS[:2]]
    plate = Plate(force.name, *map(values, _KINDS))
    body = force.last_name("applied_to_body")
    return AppliedForce(body, table.time, plate, all(frame in _GROUND for frame in frames))


def write_applied_forces(folder: Path, forces: Sequence[AppliedForce]) -> Path:
    """Write forces of the same instants as OpenSim's ExternalLoads, and return the file."""
    root, names = new_document(), []
    loads = ET.SubElement(root, "ExternalLoads")
    objects = ET.SubElement(loads, "objects")
    for force in forces:
        frame = "ground" if force.in_ground else force.body
        columns = {kind: f"{force.plate.name}_{kind}_" for kind in _KINDS}
        properties = {
            "applied_to_body": force.body,
            **{f"{kind}_expressed_in_body": frame for kind in _KINDS[:2]},
            **{f"{kind}_identifier": column for kind, column in columns.items()},
        }
        add_object(objects, "ExternalForce", properties, force.plate.name)
        names += [column + axis for column in columns.values() for axis in "xyz"]
    ET.SubElement(loads, "datafile").text = "external_loads.sto"
    values = np.hstack([getattr(force.plate, kind) for force in forces for kind in _KINDS])
    table = MotionTable(tuple(names), forces[0].time, values, False)
    write_motion_table(folder / "external_loads.sto", table, title="external loads")
    path = folder / "external_loads.xml"
    write_xml(root, path)
    return path
