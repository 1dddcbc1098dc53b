"""OpenSim's files of external loads: what OpenSim would read without an error, or in silence."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynamics.musculoskeletal.osim_xml import boolean_of, child_text, parse_xml
from dynamics.walking.motion_tables import MotionTable, read_motion_table
from dynamics.walking.plates import Plate
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

_GROUND = ("", "ground", "/ground")


@dataclass(frozen=True, eq=False)
class AppliedForce:
    """A force that external loads apply to a body.

    Parameters
    ----------
    body : str
        Name of the body.
    time : (N,) float64
        Instants of the table [s].
    plate : Plate
        Name, force, point and torque (N, 3) each [N, m, N m]; columns that the table lacks are 0.
    in_ground : bool
        Whether force and point are those in the axes of the ground.
    """

    body: str
    time: FloatArray
    plate: Plate
    in_ground: bool

    def at(self, time: FloatArray) -> Plate:
        """Return force, point and torque (M, 3) at instants (M,) [s]; no force outside the table.

        Linear between the rows.
        """
        plate, slack = self.plate, 1e-6
        inside = (time >= self.time[0] - slack) & (time <= self.time[-1] + slack)
        force, point, torque = (
            np.column_stack([np.interp(time, self.time, column) for column in each.T])
            for each in (plate.force, plate.point, plate.torque)
        )
        return Plate(plate.name, force * inside[:, None], point, torque * inside[:, None])


def check_external_loads(path: str | Path, bodies: Collection[str] | None = None) -> MotionTable:
    """Check a file of external loads, and return its table of forces.

    Parameters
    ----------
    path : str or Path
        OpenSim's ExternalLoads (XML); its data file is relative to its folder.
    bodies : collection of str, optional
        Names of the bodies of the model, one of which each force must act on.

    Returns
    -------
    MotionTable
        Forces, points and torques over time that the file names, as in the data file.

    Raises
    ------
    InputError
        If the file is missing or no XML, has no force that applies or one on no body of the model,
        or the data file is missing or damaged.
    """
    source = Path(path)
    root = parse_xml(source, "external loads")
    forces = _applying(root, path)
    if not forces:
        raise InputError(
            f"{path}: expected ExternalLoads with an ExternalForce that applies, found none; "
            "check external_loads, or the external loads of the settings"
        )
    for force in forces:
        body = child_text(force, "applied_to_body")
        # A path may be that of a frame, which OpenSim knows.
        if bodies is not None and "/" not in body and body not in (*bodies, "ground"):
            raise InputError(
                f"{path}, {force.get('name')}, applied_to_body: expected a body of the model, "
                f"found {body!r}; the model has {', '.join(bodies)}"
            )
    loads = next(root.iter("ExternalLoads"), None)
    data = "" if loads is None else child_text(loads, "datafile")
    table = source.parent / data.replace("\\", "/")
    if not data or not table.is_file():
        raise InputError(
            f"{path}, datafile: expected a table of forces (.mot, .sto), found "
            f"{'no file ' * bool(data)}{data or 'none'}; paths are relative to the folder of the "
            "external loads"
        )
    used = {
        child_text(force, f"{kind}_identifier") + axis
        for force in forces
        for kind in ("force", "point", "torque")
        for axis in "xyz"
    }
    return read_motion_table(table, columns=used)


def applied_forces(path: str | Path, table: MotionTable) -> tuple[AppliedForce, ...]:
    """Return the forces of external loads.

    Parameters
    ----------
    path : str or Path
        OpenSim's ExternalLoads (XML).
    table : MotionTable
        What `check_external_loads` returns for the file.

    Raises
    ------
    InputError
        If the file is missing or no XML.
    """
    return tuple(_applied(f, table) for f in _applying(parse_xml(Path(path), "loads"), path))


def _applying(root: ET.Element, path: str | Path) -> list[ET.Element]:
    """Return the forces that apply."""
    return [
        force
        for force in root.iter("ExternalForce")
        if boolean_of(force, "appliesForce", f"{path}, {force.get('name')}", True)
    ]


def _applied(force: ET.Element, table: MotionTable) -> AppliedForce:
    def columns(kind: str) -> FloatArray:
        head = child_text(force, f"{kind}_identifier")
        names = [head + axis for axis in "xyz"]
        nothing = np.zeros(len(table.time))
        return np.column_stack(
            [table.column(n) if head and n in table.names else nothing for n in names]
        )

    frames = [child_text(force, f"{kind}_expressed_in_body") for kind in ("force", "point")]
    plate = Plate(force.get("name", ""), *(columns(kind) for kind in ("force", "point", "torque")))
    body = child_text(force, "applied_to_body").rsplit("/", 1)[-1]
    return AppliedForce(body, table.time, plate, all(frame in _GROUND for frame in frames))


def check_loads_cover(
    path: str | Path, table: MotionTable, start: float, stop: float, *, section: str = "comak"
) -> None:
    """Raise an `InputError` unless external loads cover a time from start to stop [s].

    OpenSim extrapolates the forces outside the time of their table. `path` is that of the external
    loads, `table` what `check_external_loads` returns for them, and `section` that of the
    configuration with the keys start_s and stop_s.
    """
    time, slack = table.time, 1e-6
    if start < time[0] - slack or stop > time[-1] + slack:
        raise InputError(
            f"{path}: expected forces from {start:g} to {stop:g} s as the motion, found "
            f"{time[0]:g} to {time[-1]:g} s; set {section}.start_s and {section}.stop_s within "
            "the forces"
        )
