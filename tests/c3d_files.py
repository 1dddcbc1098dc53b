"""C3D files of known markers and forces, written by ezc3d."""

from typing import NamedTuple

import numpy as np
import pytest

#: Axes of a laboratory whose z is up, in those of OpenSim: rows x, y, z.
Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
#: Metres per unit of a file.
UNITS = {"mm": 1e-3, "m": 1.0}


class Plate(NamedTuple):
    """Type, corners (4, 3), origin (3,) [m], signals (N, C) [N, N m, m] and matrix of a plate."""

    kind: int
    corners: np.ndarray
    origin: np.ndarray
    signals: np.ndarray
    matrix: np.ndarray


def corners(middle, turn, size=(0.4, 0.6)):
    """Return the corners (4, 3) of a level plate in a laboratory with z up, turned about z."""
    c, s = np.cos(turn), np.sin(turn)
    x, y = 0.5 * size[0] * np.array([c, s, 0.0]), 0.5 * size[1] * np.array([s, -c, 0.0])
    return np.array(middle) + np.array([x + y, -x + y, -x - y, x - y])


def axes_of(places):
    """Return the axes of a plate, columns (3, 3); z is down."""
    x, y = places[0] - places[1], places[0] - places[3]
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    return np.stack([x, y, np.cross(x, y)], axis=1)


def plate(kind, places, origin, force, point, free, matrix=None):
    """Return the plate of forces (N, 3) and points (N, 3), and free moments (N,) about its z.

    Forces on the person and points on the surface, axes of the file [N, m, N m].
    """
    axes, origin = axes_of(places), np.array(origin)
    f, p = force @ axes, (point - places.mean(axis=0)) @ axes
    matrix = np.eye(8 if kind == 3 else 6) if matrix is None else matrix
    torque = np.outer(free, [0.0, 0.0, 1.0])
    if kind == 1:
        return Plate(kind, places, origin, np.hstack([f, p[:, :2], free[:, None]]), matrix)
    depth = origin * (1.0 if kind != 3 else [0.0, 0.0, 1.0])
    wrench = np.hstack([f, np.cross(p + depth, f) + torque])
    if kind != 3:
        return Plate(kind, places, origin, wrench, matrix)
    (a, b), x, y, z = origin[:2], *np.eye(3)
    sensors = [(0, b, x), (0, -b, x), (a, 0, y), (-a, 0, y)]
    sensors += [(a, b, z), (-a, b, z), (-a, -b, z), (a, -b, z)]
    unit = np.array([[*way, *np.cross([u, v, 0.0], way)] for u, v, way in sensors])
    return Plate(kind, places, origin, wrench @ np.linalg.pinv(unit), matrix)


def write_c3d(
    path,
    markers=None,
    plates=(),
    *,
    labels=None,
    unit="mm",
    rate=100.0,
    first=0,
    screen=("+X", "+Z"),
    more=(),
    analog_units=None,
):
    """Write markers (F, M, 3) [m] and plates with the same number of samples for each frame.

    `more` are further parameters (group, name, value).
    """
    ezc3d = pytest.importorskip("ezc3d", reason="C3D files need ezc3d (the c3d extra)")
    file, length = ezc3d.c3d(), UNITS[unit]
    samples = len(plates[0].signals) if plates else 0
    markers = np.zeros((samples, 0, 3)) if markers is None else np.asarray(markers) / length
    frames, count, _ = markers.shape
    labels = [f"M{k}" for k in range(count)] if labels is None else list(labels)
    point, analog = (file["parameters"][group] for group in ("POINT", "ANALOG"))
    point["RATE"]["value"], point["UNITS"]["value"] = [rate], [unit]
    point["LABELS"]["value"] = labels[:255]
    for k in range(255, count, 255):
        file.add_parameter("POINT", f"LABELS{1 + k // 255}", labels[k : k + 255])
    for name, value in zip(("X_SCREEN", "Y_SCREEN"), screen, strict=False):
        file.add_parameter("POINT", name, value)
    seen = ~np.isnan(markers).any(axis=2)
    points = np.ones((4, count, frames))
    points[:3] = np.where(seen[:, :, None], markers, 0.0).transpose(2, 1, 0)
    file["data"]["points"] = points
    file["data"]["meta_points"]["residuals"] = np.where(seen, 0.0, -1.0).T[None]
    file["header"]["points"]["first_frame"] = first
    if plates:
        _add(file, plates, length, analog_units)
        analog["RATE"]["value"] = [rate * samples / frames]
    for group, name, value in more:
        file.add_parameter(group, name, value)
    file.write(str(path))
    return path


def _add(file, plates, length, units):
    """Add plates, in the unit of the file, and the units of the channels."""
    stored = []
    for each in plates:
        factors = np.ones(each.signals.shape[1])
        factors[3:] = 1.0 / length if each.kind != 3 else 1.0
        stored.append(each.signals * factors @ np.linalg.pinv(each.matrix).T)
    ends = np.cumsum([0, *(each.shape[1] for each in stored)])
    rows = max(each.shape[1] for each in stored)
    channels = np.zeros((rows, len(plates)))
    for k, each in enumerate(stored):
        channels[: each.shape[1], k] = ends[k] + 1 + np.arange(each.shape[1])
    analog = file["parameters"]["ANALOG"]
    analog["LABELS"]["value"] = [f"S{k}" for k in range(ends[-1])]
    analog["UNITS"]["value"] = ["V"] * ends[-1] if units is None else list(units)
    file["data"]["analogs"] = np.hstack(stored).T[None]
    matrices = [e.matrix if e.kind == 4 else np.zeros((6, 6)) for e in plates]
    values = {
        "USED": [len(plates)],
        "TYPE": [each.kind for each in plates],
        "ZERO": [0, 0],
        "CORNERS": np.stack([each.corners.T for each in plates], axis=2) / length,
        "ORIGIN": np.stack([each.origin for each in plates], axis=1) / length,
        "CHANNEL": channels.astype(int),
        "CAL_MATRIX": np.stack(matrices, axis=2),
    }
    for name, value in values.items():
        file["parameters"]["FORCE_PLATFORM"][name]["value"] = np.array(value)
