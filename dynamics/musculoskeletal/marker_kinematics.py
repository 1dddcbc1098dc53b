"""Inverse kinematics from markers, by OpenSim's InverseKinematicsTool."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dynamics.musculoskeletal.constraint_functions import Sweep
from dynamics.musculoskeletal.osim_xml import boolean_of, child_text, number_in
from dynamics.musculoskeletal.tool_file import ToolFile
from dynamics.musculoskeletal.wheel import opensim, without_output
from dynamics.walking.motion_tables import MotionTable, read_motion_table
from foundation.checks import check_number
from foundation.errors import InputError

#: Errors above which OpenSim advises to check the markers: largest and RMS [m].
_LARGEST_ERROR, _LARGEST_RMS = 0.04, 0.02


@dataclass(frozen=True)
class MarkerSettings:
    """Settings of inverse kinematics.

    Parameters
    ----------
    weights : tuple of (str, float)
        Markers and their weights [1]; markers without a weight have no effect.
    start, stop : float, optional
        First and last instant [s]; by default those of the markers.
    accuracy : float
        Relative accuracy of the coordinates [1].

    Raises
    ------
    InputError
        If no marker has a weight above 0, or a number is out of its range.
    """

    weights: tuple[tuple[str, float], ...]
    start: float | None = None
    stop: float | None = None
    accuracy: float = 1e-5

    def __post_init__(self) -> None:
        check_number("accuracy", self.accuracy, above=0.0)
        for name, weight in self.weights:
            check_number(f"weight of marker {name}", weight, at_least=0.0)
        if not any(weight > 0.0 for _, weight in self.weights):
            raise InputError("markers: expected a marker with a weight above 0, found none")


class MarkerFiles(NamedTuple):
    """Files that the settings name.

    Parameters
    ----------
    markers : Path or None
        Measured markers (.trc).
    functions : Path or None
        Constraint functions, where they are not simulated anew.
    """

    markers: Path | None
    functions: Path | None


class MarkerMotion(NamedTuple):
    """Result of inverse kinematics.

    Parameters
    ----------
    motion : MotionTable
        Coordinates over time, angles in degrees.
    errors : MotionTable
        Columns `total_squared_error` [m²], `marker_error_RMS` and `marker_error_max` [m].
    notes : tuple of str
        Sentences on markers that are not followed, and on large errors.
    """

    motion: MotionTable
    errors: MotionTable
    notes: tuple[str, ...] = ()


def read_marker_settings(path: str | Path) -> tuple[MarkerSettings, Sweep, MarkerFiles]:
    """Read the settings of OpenSim-JAM's COMAKInverseKinematicsTool.

    Parameters
    ----------
    path : str or Path
        XML file; the files it names are relative to its folder.

    Returns
    -------
    MarkerSettings
        Weights of markers, time and accuracy.
    Sweep
        The sweep of the coupled coordinate, an angle.
    MarkerFiles
        Markers and, where no sweep is asked for, constraint functions.

    Raises
    ------
    InputError
        If the file is missing, has no such tool, or a value is no number or out of its range.
    """
    tool = ToolFile(path, "COMAKInverseKinematicsTool")
    number = tool.number
    file = tool.path.name
    tasks = [
        task
        for task in tool.element.iter("IKMarkerTask")
        if boolean_of(task, "apply", f"{file}, {task.get('name')}", True)
    ]
    where = f"{file}, weight of"
    weights = tuple(
        (e.get("name", ""), number_in(f"{where} {e.get('name')}", child_text(e, "weight") or "1"))
        for e in tasks
    )
    times = [number_in(f"{file}, time_range", t) for t in tool.text("time_range").split()]
    start, stop = (times[0], times[1]) if len(times) > 1 else (None, None)
    sweep = Sweep(
        coupled=tool.text("secondary_coupled_coordinate").rsplit("/", 1)[-1],
        secondary=tool.names("secondary_coordinates"),
        start=float(np.radians(number("secondary_coupled_coordinate_start_value", 0.0))),
        stop=float(np.radians(number("secondary_coupled_coordinate_stop_value", 110.0))),
        seconds=number("secondary_constraint_sim_sweep_time", 3.0),
        settle_threshold=number("secondary_constraint_sim_settle_threshold", 1e-4),
        points=int(number("constraint_function_num_interpolation_points", 20)),
    )
    swept = tool.flag("perform_secondary_constraint_sim", True)
    functions = None if swept else tool.file("secondary_constraint_function_file")
    settings = MarkerSettings(weights, start, stop, number("ik_accuracy", 1e-5))
    return settings, sweep, MarkerFiles(tool.file("marker_file"), functions)


def follow_markers(model: str, markers: str | Path, settings: MarkerSettings) -> MarkerMotion:
    """Return the coordinates with the least weighted squared distances to measured markers.

    Parameters
    ----------
    model : str
        XML text of a model with markers; its constraints hold.
    markers : str or Path
        Measured markers (.trc).
    settings : MarkerSettings
        Weights of markers, time and accuracy.

    Returns
    -------
    MarkerMotion
        Coordinates and errors of the markers over time.

    Raises
    ------
    InputError
        If `opensim` is not installed, the markers are missing, or OpenSim cannot follow them; its
        message is repeated.
    """
    osim, measured = opensim(), Path(markers).resolve()
    if not measured.is_file():
        raise InputError(f"{markers}: no such file; check the path of the markers")
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "model.osim").write_text(model, encoding="utf-8")
        try:
            # OpenSim crashes where it has no marker to follow.
            data = osim.MarkerData(str(measured))
            _check_markers(data, model, settings, measured)
            settings, notes = _followed(data, model, settings, measured)
            _write_tool(folder, measured, settings)
            with without_output():
                done = osim.InverseKinematicsTool(str(folder / "tool.xml")).run()
        except RuntimeError as error:
            raise InputError(f"{markers}: OpenSim cannot follow the markers: {error}") from error
        if not done:
            raise InputError(
                f"{markers}: OpenSim cannot follow the markers; check that the names of markers in "
                "the model, in the weights and in the file are the same, and the first and last "
                "instant"
            )
        motion = read_motion_table(folder / "ik.mot")
        errors = read_motion_table(folder / "walk_ik_marker_errors.sto")
        return MarkerMotion(motion, errors, (*notes, *_error_notes(errors, measured)))


def _followed(
    data: Any, model: str, settings: MarkerSettings, path: Path
) -> tuple[MarkerSettings, tuple[str, ...]]:
    """Return settings without markers that nobody measured, and sentences on these markers.

    Some systems store a marker that they do not see as 0, 0, 0, which OpenSim follows as a point.

    Raises an `InputError` if a followed marker is 0, 0, 0 at some instants alone.
    """
    names = data.getMarkerNames()
    columns = {names.get(k): k for k in range(names.getSize())}
    known = {element.get("name") for element in ET.fromstring(model).iter("Marker")}
    weighted = [name for name, weight in settings.weights if weight > 0.0]
    absent = [name for name in weighted if name not in columns]
    unplaced = [name for name in weighted if name in columns and name not in known]
    zeros = {}
    for name in weighted:
        if name in columns and name in known:
            points = _points(data, columns[name])
            zeros[name] = float(np.mean((points == 0.0).all(axis=1)))
    partly = [name for name, share in zeros.items() if 0.0 < share < 1.0]
    if partly:
        raise InputError(
            f"{path}: expected positions of the marker {partly[0]}, found 0, 0, 0 in "
            f"{100 * zeros[partly[0]]:.0f} % of the instants; leave the cells of missing positions "
            "blank, or give the marker the weight 0"
        )
    lost = [name for name, share in zeros.items() if share == 1.0]
    left = {*lost, *absent, *unplaced}
    notes = [
        f"{path.name}: {', '.join(found)}: {text}; the motion follows the other markers"
        for found, text in (
            (absent, "weights of markers that the file does not have"),
            (unplaced, "weights of markers that the model does not have"),
            (lost, "stored as 0, 0, 0 throughout, which counts as not measured"),
        )
        if found
    ]
    kept = tuple((n, w) for n, w in settings.weights if n not in left)
    return replace(settings, weights=kept), tuple(notes)


def _points(data: Any, column: int) -> np.ndarray:
    """Return the positions (N, 3) of a marker, in the unit of the file."""
    frames = (data.getFrame(k).getMarker(column) for k in range(data.getNumFrames()))
    return np.array([[point.get(axis) for axis in range(3)] for point in frames])


def _error_notes(errors: MotionTable, path: Path) -> tuple[str, ...]:
    """Return a sentence if markers are farther from the model than OpenSim advises."""
    largest, rms = errors.column("marker_error_max"), errors.column("marker_error_RMS")
    if largest.max() <= _LARGEST_ERROR and rms.max() <= _LARGEST_RMS:
        return ()
    worst = int(largest.argmax())
    return (
        f"{path.name}: expected markers within {1e3 * _LARGEST_ERROR:.0f} mm of the model and "
        f"{1e3 * _LARGEST_RMS:.0f} mm RMS, found up to {1e3 * largest.max():.0f} mm (at "
        f"{errors.time[worst]:.4g} s) and {1e3 * rms.max():.0f} mm RMS; check names, unit and "
        "places of the markers and the size of the model",
    )


def _check_markers(data: Any, model: str, settings: MarkerSettings, path: Path) -> None:
    """Raise an `InputError` unless markers with weights are in model and file, at the instants."""
    names = data.getMarkerNames()
    measured = {names.get(k) for k in range(names.getSize())}
    known = {element.get("name") for element in ET.fromstring(model).iter("Marker")}
    weighted = {name for name, weight in settings.weights if weight > 0.0}
    if not measured & known & weighted:
        raise InputError(
            f"{path}: expected markers with weights that are in the model and in the file, found "
            f"none; the file has {', '.join(sorted(measured))}, weights are those of "
            f"{', '.join(sorted(weighted))}, and the model has "
            f"{', '.join(sorted(map(str, known))) or 'no marker'}"
        )
    first, last = data.getStartFrameTime(), data.getLastFrameTime()
    start = first if settings.start is None else settings.start
    stop = last if settings.stop is None else settings.stop
    if not first <= start < stop <= last:
        raise InputError(
            f"{path}: expected instants within {first:g} and {last:g} s, found {start:g} to "
            f"{stop:g} s; check time_range, start_s and stop_s"
        )


def _write_tool(folder: Path, markers: Path, settings: MarkerSettings) -> None:
    """Write `tool.xml` with the settings of OpenSim's tool."""
    root = ET.Element("OpenSimDocument", Version="40000")
    tool = ET.SubElement(root, "InverseKinematicsTool", name="walk")
    start = "-Inf" if settings.start is None else repr(settings.start)
    stop = "Inf" if settings.stop is None else repr(settings.stop)
    for name, value in {
        "model_file": str(folder / "model.osim"),
        "results_directory": str(folder),
        "marker_file": str(markers),
        "output_motion_file": str(folder / "ik.mot"),
        "time_range": f"{start} {stop}",
        "report_errors": "true",
        "constraint_weight": "Inf",
        "accuracy": repr(settings.accuracy),
    }.items():
        ET.SubElement(tool, name).text = value
    objects = ET.SubElement(ET.SubElement(tool, "IKTaskSet"), "objects")
    for name, weight in settings.weights:
        task = ET.SubElement(objects, "IKMarkerTask", name=name)
        ET.SubElement(task, "apply").text = "true"
        ET.SubElement(task, "weight").text = repr(weight)
    ET.ElementTree(root).write(folder / "tool.xml", encoding="utf-8", xml_declaration=True)
