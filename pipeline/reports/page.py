"""The page of the report: content and pictures put into the template."""

from __future__ import annotations

from typing import Any

import tomli_w

from pipeline.reports import cycle, pictures
from pipeline.reports.domain import domain_pictures
from pipeline.reports.inputs import RunFiles
from pipeline.reports.pages import page_template
from pipeline.reports.pressure_view import colour_stops, view_data, view_json
from pipeline.reports.sensitivity import COORDINATES, INPUTS
from pipeline.reports.tables import cycles
from pipeline.reports.units import given, number, shown_name, unit_token


def render(files: RunFiles, content: dict[str, Any]) -> str:
    """Return the page.

    Parameters
    ----------
    files : RunFiles
        What the pictures are made of.
    content : dict
        What `report_content` returned: every number of the page.
    """
    template = page_template(
        "report.html", num=number, given=given, token=unit_token, q2=_q2, named=shown_name
    )
    not_given = content["overview"]["original"].get("not_given", ())
    path = pictures.path_pictures(files)
    held_out = {
        "parity": pictures.parity_pictures(files, not_given),
        "residuals": pictures.residual_pictures(files, not_given),
    }
    trust = {
        "learning": pictures.learning_pictures(content["validation"]["learning_curve"]),
        "quantiles": pictures.quantile_pictures(content["validation"]["compartments"]),
        "domain": domain_pictures(files),
    }
    shown: dict[str, Any] = {
        "inputs": pictures.input_pictures(files),
        "kinematics": pictures.kinematics_pictures(files),
        "loads": pictures.load_pictures(files, not_given),
        "pressure": pictures.pressure_pictures(files),
    }
    scale, frames = cycle.frame_pictures(files.frames, content["gait"]["frames"])
    view = view_data(files.frames, cycles(files))
    worn = cycle.wear_pictures(files.wear, files.maps)
    varied = cycle.combination_pictures(files.combination_cycles)
    shown |= {"frames": frames, "wear": worn, "combinations": varied}
    return template.render(
        **content,
        pictures={"path": path, **held_out, **trust, **shown, "frame_scale": scale},
        view=view,
        view_json=view_json(view),
        view_colours=colour_stops(),
        **_sensitivity(content["sensitivity"]),
        springs={key: _springs(content["overview"][key]) for key in ("layer", "femur_layer")},
        config_text=tomli_w.dumps(files.config),
    )


def _sensitivity(found: dict[str, Any] | None) -> dict[str, Any]:
    """Return what the tables of the sensitivity are laid out by."""
    rows = [row for part in ((found or {}).get("sobol") or {}).values() for row in part]
    return {
        "inputs": INPUTS,
        "coordinates": [(name, unit) for name, unit, _ in COORDINATES],
        "widest": max(
            (row[f"{name}_total_half_width_percent"] for row in rows for name in INPUTS),
            default=None,
        ),
    }


def _springs(layer: dict[str, Any] | None) -> str | None:
    """Return a layer in words, or None if there is none."""
    if layer is None:
        return None
    thickness = layer["thickness_mm"]
    table = layer.get("thickness_file")
    words = [
        f"{layer['law']} law",
        f"Young's modulus {given(layer['youngs_modulus_MPa'])} MPa",
        f"Poisson's ratio {given(layer['poissons_ratio'])}",
        "thickness by a table"
        if table
        else "thickness measured to the underside"
        if isinstance(thickness, str)
        else f"thickness {given(thickness)} mm",
    ]
    if "f" in layer:
        words.append(
            f"f = {given(layer['f'])}, m = {given(layer['m'])}, "
            f"reference indentation {given(layer['reference_indentation_mm'])} mm"
        )
    return ", ".join(words)


def _q2(value: float | None) -> str:
    return number(None) if value is None else f"{value:.5f}".replace("-", "\N{MINUS SIGN}")
