"""Inverse kinematics from markers, by OpenSim's InverseKinematicsTool."""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dynamics.motion.c3d import is_c3d
from dynamics.motion.motion_tables import MotionTable, read_motion_table
from dynamics.musculoskeletal.marker_causes import check_placed, misfit
from dynamics.musculoskeletal.marker_fits import MarkerFit, fit_notes, instant_errors, marker_fits
from dynamics.musculoskeletal.marker_settings import MarkerSettings
from dynamics.musculoskeletal.measured_markers import MeasuredMarkers, marker_notes, read_markers
from dynamics.musculoskeletal.osim_writing import add_object, new_document, write_xml
from dynamics.musculoskeletal.walk_times import check_seconds
from dynamics.musculoskeletal.wheel import opensim, without_output
from foundation.base.checks import FloatArray
from foundation.base.errors import InputError

#: Factors on the accuracy with which OpenSim is tried in turn.
_COARSER = (1.0, 10.0, 100.0)


class MarkerMotion(NamedTuple):
    """Result of inverse kinematics."""

    #: Coordinates over time, angles in degrees.
    motion: MotionTable
    #: Columns `total_squared_error` [m²], `marker_error_RMS` and `marker_error_max` [m], of the
    #: markers in `fits` (`instant_errors`).
    errors: MotionTable
    #: Distances of the markers with weights that model and file have.
    fits: tuple[MarkerFit, ...] = ()
    #: Sentences on markers that are not followed, have gaps or stand still (`marker_notes`), and on
    #: large distances (`fit_notes`).
    notes: tuple[str, ...] = ()
    #: Markers with a weight that the model does not have; lists of weights often serve several
    #: models.
    unknown: tuple[str, ...] = ()


def follow_markers(model: str, markers: str | Path, settings: MarkerSettings) -> MarkerMotion:
    """Return the coordinates with the least weighted squared distances to measured markers.

    Parameters
    ----------
    model : str
        XML text of a model with markers; its constraints hold.
    markers : str or Path
        Measured markers (.trc, .c3d).
    settings : MarkerSettings
        Weights of markers, time and accuracy.

    Returns
    -------
    MarkerMotion
        Coordinates and errors of the markers over time.

    Raises
    ------
    InputError
        If `opensim` is not installed, the markers are missing, their unit, axes or times are not
        those of a walk, one is more than 0.2 m off the model, or OpenSim cannot follow them; its
        message is repeated.
    """
    osim, path = opensim(), Path(markers).resolve()
    measured = read_markers(path)
    known = _check_markers(measured, model, settings)
    weights = {name: weight for name, weight in settings.weights if weight > 0.0}
    measured = measured.between(settings.start, settings.stop)
    _check_each_instant(measured, known.intersection(weights))
    check_seconds(measured.source, measured.time)
    notes = marker_notes(measured, tuple(weights), known)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "model.osim").write_text(model, encoding="utf-8")
        check_placed(measured.only(known.intersection(weights)), *_default_places(folder))
        tool = _Tool(osim, folder, settings, weights)
        motion, fits, accuracy = tool.follow(measured, None if is_c3d(path) else path)
        if accuracy != settings.accuracy:
            notes += (
                f"{measured.source.name}: OpenSim finds the motion with the accuracy {accuracy:g}, "
                f"and not with {settings.accuracy:g}",
            )
        error = misfit(measured, fits, lambda other: tool.follow(other)[1])
        if error is not None:
            raise error
    unknown = tuple(name for name in weights if name not in known)
    errors = instant_errors(fits, motion.time)
    notes += fit_notes(measured.source.name, fits)
    return MarkerMotion(motion, errors, fits, notes, unknown)


def _check_markers(
    measured: MeasuredMarkers, model: str, settings: MarkerSettings
) -> frozenset[str]:
    """Return the markers of the model; refuse files without weighted ones or the instants."""
    known = frozenset(e.get("name", "") for e in ET.fromstring(model).iter("Marker"))
    weighted = {name for name, weight in settings.weights if weight > 0.0}
    seen = {
        name
        for name, gone in zip(measured.names, np.asarray(measured.missing.all(axis=0)), strict=True)
        if not gone
    }
    if not seen & known & weighted:
        raise InputError(
            f"{measured.source}: expected markers with weights that are in the model and in the "
            f"file, found none; the file has {', '.join(sorted(seen))}, weights name "
            f"{', '.join(sorted(weighted))}, and the model has "
            f"{', '.join(sorted(known)) or 'no marker'}"
        )
    first, last = float(measured.time[0]), float(measured.time[-1])
    start = first if settings.start is None else settings.start
    stop = last if settings.stop is None else settings.stop
    if not first <= start < stop <= last:
        raise InputError(
            f"{measured.source}: expected instants within {first:g} and {last:g} s, found "
            f"{start:g} to {stop:g} s; check time_range, start_s and stop_s"
        )
    return known


def _check_each_instant(measured: MeasuredMarkers, followed: Collection[str]) -> None:
    """Refuse instants without a followed marker, at which OpenSim leaves the model where it is."""
    used = [name in followed for name in measured.names]
    bare = measured.time[measured.missing[:, used].all(axis=1)]
    if len(bare):
        raise InputError(
            f"{measured.source}: expected markers with weights at each instant, found none at "
            f"{len(bare)} of {len(measured.time)} instants, from {bare[0]:g} to {bare[-1]:g} s; "
            "fill these gaps, or choose another time_range, or start_s and stop_s"
        )


def _default_places(folder: Path) -> tuple[dict[str, FloatArray], FloatArray]:
    """Return the markers of a model in its default pose [m], and the unit vector upwards [1]."""
    with without_output():
        model = opensim().Model(str(folder / "model.osim"))
        state = model.initSystem()
    markers, gravity = model.getMarkerSet(), np.asarray(model.getGravity().to_numpy())
    places = {
        each.getName(): np.asarray(each.getLocationInGround(state).to_numpy())
        for each in (markers.get(k) for k in range(markers.getSize()))
    }
    length = float(np.linalg.norm(gravity))
    return places, -gravity / length if length else np.array([0.0, 1.0, 0.0])


class _Tool:
    """OpenSim's inverse kinematics of the model in a folder."""

    def __init__(
        self, osim: Any, folder: Path, settings: MarkerSettings, weights: dict[str, float]
    ) -> None:
        self._osim, self._folder = osim, folder
        self._settings, self._weights = settings, weights

    def follow(
        self, markers: MeasuredMarkers, path: Path | None = None
    ) -> tuple[MotionTable, tuple[MarkerFit, ...], float]:
        """Return coordinates, distances and accuracy; `path` is a file without gaps."""
        settings = self._settings
        if path is None or markers.missing.any():
            # OpenSim takes 0, 0, 0 for a position, and may fail for markers that it nowhere finds.
            seen, path = markers.seen(), self._folder / "markers.trc"
            path.write_text(seen.text(), encoding="utf-8")
            kept = tuple((n, w) for n, w in settings.weights if n in seen.names)
            settings = replace(settings, weights=kept)
        try:
            done, accuracy = _followed(self._osim, self._folder, path, settings)
        except RuntimeError as error:
            raise InputError(
                f"{markers.source}: OpenSim cannot follow the markers: {error}"
            ) from error
        if not done:
            raise InputError(
                f"{markers.source}: OpenSim cannot follow the markers; check that the names of "
                "markers in the model, in the weights and in the file are the same, and the first "
                "and last instant"
            )
        motion = read_motion_table(self._folder / "ik.mot")
        found = read_motion_table(self._folder / "walk_ik_model_marker_locations.sto")
        return motion, marker_fits(found, markers, self._weights), accuracy


def _followed(
    osim: Any, folder: Path, markers: Path, settings: MarkerSettings
) -> tuple[bool, float]:
    """Run the tool, with a coarser accuracy while the search for a pose fails."""
    # A pose in which all constraints hold may be found with a coarser accuracy alone.
    *first, last = (factor * settings.accuracy for factor in _COARSER)
    for accuracy in first:
        with suppress(RuntimeError):
            return _run(osim, folder, markers, replace(settings, accuracy=accuracy)), accuracy
    return _run(osim, folder, markers, replace(settings, accuracy=last)), last


def _run(osim: Any, folder: Path, markers: Path, settings: MarkerSettings) -> bool:
    _write_tool(folder, markers, settings)
    with without_output():
        return bool(osim.InverseKinematicsTool(str(folder / "tool.xml")).run())


def _write_tool(folder: Path, markers: Path, settings: MarkerSettings) -> None:
    """Write `tool.xml` with the settings of OpenSim's tool."""
    root = new_document()
    start = "-Inf" if settings.start is None else repr(settings.start)
    stop = "Inf" if settings.stop is None else repr(settings.stop)
    properties = {
        "model_file": str(folder / "model.osim"),
        "results_directory": str(folder),
        "marker_file": str(markers),
        "output_motion_file": str(folder / "ik.mot"),
        "time_range": f"{start} {stop}",
        # OpenSim names the worst marker, and crashes at times where all errors are 0.
        "report_errors": "false",
        "report_marker_locations": "true",
        "constraint_weight": "Inf",
        "accuracy": repr(settings.accuracy),
    }
    tool = add_object(root, "InverseKinematicsTool", properties, "walk")
    objects = ET.SubElement(ET.SubElement(tool, "IKTaskSet"), "objects")
    for name, weight in settings.weights:
        add_object(objects, "IKMarkerTask", {"apply": "true", "weight": repr(weight)}, name)
    write_xml(root, folder / "tool.xml")
