"""Pictures of the report: frames of the knee, wear, and all combinations of inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from foundation.checks import FloatArray
from foundation.pose import Pose
from pipeline.reports import cycle_figures as figures
from pipeline.reports.inputs import MODELS, PressureMaps
from pipeline.reports.pictures import Picture
from pipeline.stages.frames import Frames, WearOfCycle

#: Quantities drawn for all combinations: column, label, unit, factor from SI, and factor and
#: unit of the differences.
_DRAWN = (
    ("anterior_m", "anterior position", "mm", 1e3, 1e3, "µm"),
    ("rotation_rad", "internal rotation", "°", 180.0 / np.pi, 1.0, "°"),
    ("medial_force_y_N", "medial axial force", "N", 1.0, 1.0, "N"),
    ("medial_peak_pressure_Pa", "medial peak pressure", "MPa", 1e-6, 1.0, "MPa"),
    ("lateral_peak_pressure_Pa", "lateral peak pressure", "MPa", 1e-6, 1.0, "MPa"),
)
#: Instants that are drawn [% of the cycle]: both peaks of the axial force, the dwells between and
#: after them, and the swing.
DRAWN_INSTANTS = (0.0, 12.0, 26.0, 46.0, 56.0, 66.0, 76.0, 90.0)


def frame_pictures(
    frames: Frames | None, rows: list[dict[str, Any]]
) -> tuple[Picture | None, list[tuple[dict[str, Any], Picture]]]:
    """Return the colour scale of the frames and pictures of the knee at a few instants.

    Parameters
    ----------
    frames : Frames, optional
        The knee through the cycle.
    rows : list of dict
        What is told of each frame, which its picture is returned with.
    """
    if frames is None:
        return None, []
    tibia = 1e3 * frames.tibia_vertices, frames.tibia_faces
    apart = np.abs(frames.gait_percent[:, None] - DRAWN_INSTANTS)
    chosen = np.unique(apart.argmin(axis=0)).tolist()
    femora = {k: (1e3 * _placed(frames, k), frames.femur_faces) for k in chosen}
    extent = figures.extent_of([vertices for vertices, _ in femora.values()], tibia[0])
    limit = 1e-6 * float(frames.pressure_Pa.max()) or 1.0
    shown = []
    for k, femur in femora.items():
        uri = figures.frame_panel(
            femur,
            tibia,
            1e-6 * frames.pressure_Pa[k],
            limit,
            1e3 * frames.centre_m[MODELS.index("surrogate"), k],
            extent,
        )
        percent = frames.gait_percent[k]
        text = f"Knee and pressure on the plateau at {percent:.0f} % of the gait cycle"
        shown.append((rows[k], Picture(uri, text)))
    scale = figures.colour_bar(limit, "pressure [MPa]")
    return Picture(scale, f"Colour scale of the pressure, 0 to {limit:.3g} MPa"), shown


def _placed(frames: Frames, instant: int) -> FloatArray:
    """Return the vertices of the femur in the tibial frame at an instant [m]."""
    pose = Pose.from_array(frames.poses[instant])
    placed: FloatArray = frames.femur_vertices @ pose.rotation_matrix.T + pose.translation
    return placed


def wear_pictures(wear: WearOfCycle | None, plateau: PressureMaps | None) -> list[Picture]:
    """Return the depths of wear per million cycles by both models, beside each other."""
    if wear is None or plateau is None:
        return []
    # A million cycles, in micrometres.
    depth = 1e6 * 1e6 * wear.depth_m
    uri = figures.wear_panel(
        (1e3 * plateau.vertices, plateau.faces),
        list(depth),
        ["original, by its springs", "surrogate, from its loads"],
        "depth [µm per million cycles]",
    )
    return [Picture(uri, "Depth of wear per million cycles, original and surrogate")]


def combination_pictures(table: pd.DataFrame | None) -> list[Picture]:
    """Return a picture per quantity with all combinations, both models overlaid."""
    if table is None:
        return []
    parts = {
        model: {
            str(name): rows
            for name, rows in table[table["model"] == model].groupby("combination", sort=False)
        }
        for model in MODELS
    }
    both = [name for name in parts["original"] if name in parts["surrogate"]]
    if not both:
        return []
    percent = parts["original"][both[0]]["gait_percent"].to_numpy()
    shown = []
    for column, label, unit, factor, finer, fine in _DRAWN:
        original, surrogate = (
            {name: factor * parts[model][name][column].to_numpy() for name in both}
            for model in MODELS
        )
        uri = figures.combinations_panel(
            percent, original, surrogate, f"{label} [{unit}]", (finer, f"difference [{fine}]")
        )
        shown.append(Picture(uri, f"All combinations, both models: {label}"))
    return shown
