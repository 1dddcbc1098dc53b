"""Distances between the markers of a model and measured ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dynamics.motion.motion_tables import MotionTable
from dynamics.musculoskeletal.measured_markers import MeasuredMarkers
from foundation.base.checks import FloatArray

#: Largest distance of a marker, and root mean square of all distances at an instant, that OpenSim
#: recommends for inverse kinematics (OpenSim documentation, Getting Started with Inverse
#: Kinematics: less than 2 to 4 cm, and less than 2 cm) [m].
LARGEST, LARGEST_RMS = 0.04, 0.02


class MarkerFit(NamedTuple):
    """Distances of a marker over time."""

    name: str
    weight: float
    #: Root mean square and largest distance [m].
    rms: float
    largest: float
    #: Instant of the largest distance [s].
    at: float
    #: Number of instants without a measured position.
    missing: int
    #: Distance at each instant [m], NaN where the marker is missing.
    distances: tuple[float, ...]


def marker_fits(
    found: MotionTable, measured: MeasuredMarkers, weights: Mapping[str, float]
) -> tuple[MarkerFit, ...]:
    """Return the fits of markers with weights, from places in columns NAME_tx to NAME_tz [m]."""
    rows = np.abs(measured.time[:, None] - found.time).argmin(axis=0)
    fits = []
    for k, name in enumerate(measured.names):
        if name not in weights or f"{name}_tx" not in found.names:
            continue
        place = np.column_stack([found.column(f"{name}_t{axis}") for axis in "xyz"])
        distances = np.linalg.norm(place - measured.positions[rows, k], axis=1)
        seen = np.isfinite(distances)
        if not seen.any():
            continue
        worst = int(np.where(seen, distances, -1.0).argmax())
        rms = float(np.sqrt((distances[seen] ** 2).mean()))
        fits.append(
            MarkerFit(
                name, weights[name], rms, float(distances[worst]), float(found.time[worst]),
                int((~seen).sum()), tuple(distances.tolist()),
            )
        )  # fmt: skip
    return tuple(sorted(fits, key=lambda fit: -fit.largest))


def instant_errors(fits: tuple[MarkerFit, ...], time: FloatArray) -> MotionTable:
    """Return OpenSim's table of errors at instants (N,) [s]: sum of squares, RMS, largest."""
    distances = np.array([fit.distances for fit in fits])
    seen = np.isfinite(distances)
    distances = np.where(seen, distances, 0.0)
    total = (distances**2).sum(axis=0)
    rms = np.sqrt(total / np.maximum(seen.sum(axis=0), 1))
    names = ("total_squared_error", "marker_error_RMS", "marker_error_max")
    return MotionTable(names, time, np.column_stack([total, rms, distances.max(axis=0)]))


def total_rms(fits: tuple[MarkerFit, ...]) -> float:
    """Return the largest root mean square of the distances at an instant [m]."""
    time = np.arange(float(len(fits[0].distances)))
    return float(instant_errors(fits, time).column("marker_error_RMS").max())


def fit_notes(source: str, fits: tuple[MarkerFit, ...]) -> tuple[str, ...]:
    """Return a note on distances that are larger than OpenSim recommends."""
    if not fits:
        return ()
    rms, far = total_rms(fits), [fit for fit in fits if fit.largest > LARGEST]
    if not far and rms <= LARGEST_RMS:
        return ()
    each = ", ".join(f"{f.name} {1e3 * f.largest:.0f} mm at {f.at:.4g} s" for f in far)
    return (
        f"{source}: expected markers within {1e3 * LARGEST:.0f} mm of the model and "
        f"{1e3 * LARGEST_RMS:.0f} mm RMS, found up to {1e3 * fits[0].largest:.0f} mm (at "
        f"{fits[0].at:.4g} s) and {1e3 * rms:.0f} mm RMS{': ' * bool(far)}{each}; check names, "
        "unit and places of the markers and the size of the model",
    )
