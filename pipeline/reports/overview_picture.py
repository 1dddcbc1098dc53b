"""The pressure on the plateau when it is highest in the cycle: the picture at the top of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from pipeline.reports import figures as fig
from pipeline.reports.figures import Picture, Triangles, picture
from pipeline.reports.inputs import PEAK_COLUMNS, RunFiles, nearest_rows
from pipeline.reports.pressure_field import vertex_pressures
from pipeline.reports.units import number
from pipeline.store.run_documents import MODELS

# Width of the picture and of its parts [inch], and heights of title and labels.
_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 5.6, 0.62, 0.8, 0.34, 0.5


class PeakPressure(NamedTuple):
    """Pressure (V,) [MPa] on the plateau at an instant of the cycle."""

    #: Instant [% of the cycle].
    percent: float
    #: Vertices (V, 3) [mm], tibial frame, and triangles (F, 3) of the plateau.
    tibia: Triangles
    #: Pressure at the vertices, negative out of contact, (V,) [MPa].
    pressure: FloatArray
    #: Peak pressure of the cycle's model at the instant, medial and lateral, (2,) [MPa].
    peaks_MPa: FloatArray


def peak_pressure(files: RunFiles) -> PeakPressure | None:
    """Return the stored pressure with the highest peak of the original's cycle, None if none is.

    Frames are closer in time than the few pressure maps and come first.
    """
    fields, maps = files.fields, files.maps
    if fields is not None:
        frames, values = fields.frames, fields.values[MODELS[0]]
        at, surface = frames.gait_percent, (frames.tibia_vertices, frames.tibia_faces)
    elif maps is not None:
        at, surface = maps.gait_percent, (maps.vertices, maps.faces)
        values = vertex_pressures(*surface, maps.pressure_Pa[0])
    else:
        return None
    rows = nearest_rows(files.cycles[MODELS[0]], at)
    peaks = 1e-6 * np.nan_to_num(rows[PEAK_COLUMNS].to_numpy(dtype=np.float64))
    k = int(peaks.max(axis=1).argmax())
    return PeakPressure(float(at[k]), (1e3 * surface[0], surface[1]), 1e-6 * values[k], peaks[k])


def peak_picture(files: RunFiles) -> tuple[float, Picture] | None:
    """Return the instant of the highest peak pressure [% of the cycle] and the map at it."""
    found = peak_pressure(files)
    return None if found is None else peak_map(found, *bounds_of([found]))


def bounds_of(pressures: Sequence[PeakPressure]) -> tuple[float, FloatArray]:
    """Return the highest pressure [MPa] and the corners (2, 3) of the box of plateaus [mm]."""
    corners = np.concatenate([found.tibia[0][np.unique(found.tibia[1])] for found in pressures])
    limit = max(float(found.pressure.max()) for found in pressures)
    return limit or 1.0, np.array([corners.min(axis=0), corners.max(axis=0)])


def peak_map(found: PeakPressure, limit: float, corners: FloatArray) -> tuple[float, Picture]:
    """Return the instant of a pressure [% of the cycle] and its map.

    `limit` is the end of the colour scale [MPa], `corners` (2, 3) bound what is drawn [mm].
    """
    words = ", ".join(
        f"{name} peak {number(float(peak))} MPa"
        for name, peak in zip(COMPARTMENTS, found.peaks_MPa, strict=True)
    )
    text = f"Pressure on the tibial plateau at {number(found.percent)} % of the gait cycle: {words}"
    return found.percent, _map(text, found, limit, corners)


@picture("png")
def _map(found: PeakPressure, limit: float, corners: FloatArray) -> Figure:
    """Draw the plateau from above, lateral to the right and anterior up, both sides named."""
    margin = 0.03 * np.ptp(corners, axis=0)
    low, high = corners[0] - margin, corners[1] + margin
    deep, _, wide = high - low
    across = _WIDTH - _LEFT - _RIGHT
    tall = across * deep / wide
    height = tall + _TOP + _BOTTOM
    figure = Figure(figsize=(_WIDTH, height))
    place = (_LEFT / _WIDTH, _BOTTOM / height, across / _WIDTH, tall / height)
    axes = figure.add_axes(place)
    bands = fig.bands_of(limit)
    fig.pressure_map(axes, found.tibia, found.pressure, bands)
    axes.set(xlim=(low[2], high[2]), ylim=(low[0], high[0]))
    axes.set_xlabel("lateral [mm]", labelpad=1.0)
    axes.set_ylabel("anterior [mm]", labelpad=1.0)
    for x, name, peak in zip((0.25, 0.75), COMPARTMENTS, found.peaks_MPa, strict=True):
        words: Any = {"transform": axes.transAxes, "ha": "center", "va": "bottom"}
        axes.text(x, 1.02, f"{name}: {number(float(peak))} MPa", size=11, weight="bold", **words)
    bar = figure.add_axes((1.0 - 0.62 / _WIDTH, place[1], 0.14 / _WIDTH, place[3]))
    figure.colorbar(ScalarMappable(fig.band_scale(bands), fig.SHADES), cax=bar)
    bar.set_title("MPa", size=9.0, loc="left")
    return figure
