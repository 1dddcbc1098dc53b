"""Page of the report: content and pictures in the template."""

from __future__ import annotations

from typing import Any

import tomli_w

from pipeline.reports import accuracy_pictures as accuracy
from pipeline.reports import pictures
from pipeline.reports.inputs import RunFiles
from pipeline.reports.knee_frames import frame_pictures
from pipeline.reports.pages import page_template
from pipeline.reports.pressure_view import colour_stops, view_data, view_json
from pipeline.reports.sensitivity import COORDINATES, INPUTS


def render(files: RunFiles, content: dict[str, Any]) -> str:
    """Return the page.

    Parameters
    ----------
    files : RunFiles
        Files of the run, for the pictures.
    content : dict
        Content of `report.json`: every number of the page.
    """
    validation = content["validation"]
    scale, frames = frame_pictures(files.frames, content["gait"]["frames"])
    view = view_data(files.frames, files.cycles)
    shown = {
        "path": pictures.path_pictures(files, content["stages"]["space"]),
        "parity": accuracy.parity_pictures(files),
        "residuals": accuracy.residual_pictures(files),
        "learning": accuracy.learning_pictures(validation["learning_curve"]),
        "quantiles": accuracy.quantile_pictures(validation["compartments"]),
        "domain": accuracy.domain_pictures(files),
        "inputs": pictures.input_pictures(files),
        "kinematics": pictures.kinematics_pictures(files),
        "loads": pictures.load_pictures(files),
        "pressure": pictures.pressure_pictures(files),
        "frames": frames,
        "frame_scale": scale,
        "wear": pictures.wear_pictures(files),
        "combinations": pictures.combination_pictures(files),
    }
    return page_template("report.html").render(
        **content,
        pictures=shown,
        view=view,
        view_json=view_json(view),
        view_colours=colour_stops(),
        inputs=INPUTS,
        coordinates=COORDINATES,
        config_text=tomli_w.dumps(files.config),
    )
