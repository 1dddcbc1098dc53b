"""OpenSim's files of external loads: what OpenSim would read without an error, or in silence."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from dynamics.musculoskeletal.osim_xml import boolean_of, child_text, parse_xml
from dynamics.walking.motion_tables import MotionTable, read_motion_table
from foundation.errors import InputError


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
    forces = [
        force
        for force in root.iter("ExternalForce")
        if boolean_of(force, "appliesForce", f"{path}, {force.get('name')}", True)
    ]
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
