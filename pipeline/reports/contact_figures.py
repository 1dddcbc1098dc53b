"""Section of the report on the contact model: its words and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import Pose
from pipeline.config.contact_schema import DEFAULT_MODEL
from pipeline.reports import figures as fig
from pipeline.reports.charts import Chart, chart, line, shaded
from pipeline.reports.figures import Picture
from pipeline.reports.inputs import RunFiles
from pipeline.reports.pressure_field import ContactFields, middle_of, outline_of
from pipeline.reports.units import given
from pipeline.stages.gait_cycle import Frames
from pipeline.store.quantities import to_display
from pipeline.store.run_documents import MODELS

#: A setting on the page: what it is, and its value in words.
SettingRow = tuple[str, str]


@dataclass(frozen=True)
class ContactWords:
    """Words of a contact model on a page."""

    #: Terms of the glossary that pages of other contact models do not need.
    terms: tuple[str, ...] = ()
    #: Takes the section [contact.NAME] of the model and returns the rows of its settings.
    rows: Callable[[Mapping[str, Any]], list[SettingRow]] | None = None
    #: Key of the configuration of the node spacing [mm], for a model with nodes.
    spacing_key: str = ""


def _element_rows(settings: Mapping[str, Any]) -> list[SettingRow]:
    text = (
        f"nodes {given(settings['node_spacing_mm'])} mm apart in the contact region, heights "
        f"growing by {given(settings['growth'])}"
    )
    return [("Finite elements", text)]


#: Words of the contact models, by the value of `contact.model`.
CONTACT_WORDS = {
    "elastic_foundation": ContactWords(terms=("springs",)),
    "finite_element": ContactWords(
        terms=("finite elements", "node spacing"),
        rows=_element_rows,
        spacing_key="contact.finite_element.node_spacing_mm",
    ),
}


def model_of(contact: Mapping[str, Any]) -> str:
    """Return the name of the contact model of a section [contact]."""
    return str(contact.get("model", DEFAULT_MODEL))


def words_of(contact: Mapping[str, Any]) -> ContactWords:
    """Return the words of the contact model of a section [contact]."""
    return CONTACT_WORDS[model_of(contact)]


def setting_rows(
    contact: Mapping[str, Any], settings: Mapping[str, Any] | None
) -> list[SettingRow]:
    """Return the rows of the settings of a contact model, none without a section of its own."""
    rows = words_of(contact).rows
    return [] if rows is None or settings is None else rows(settings)


#: Vertices of a condyle that place its lowest point.
_NEAREST = 24
# Levels of the area above a pressure.
_LEVELS = 61
_MAP = (5.2, 3.6)


def contact_of(files: RunFiles) -> dict[str, Any] | None:
    """Return the contact over the cycle of the first model of a run; None without frames."""
    if (fields := files.fields) is None:
        return None
    frames = fields.frames
    centres, low = frames.centre_m[0], low_points(frames, frames.poses)
    largest = fields.largest[MODELS[0]]
    swept = fields.area_above(largest, [0.0])[:, 0]
    rows = {}
    for k, name in enumerate(COMPARTMENTS):
        at = frames.tibia_faces[fields.side == k]
        rows[name] = to_display(
            {
                "contact_ap_travel_m": _travel(centres[:, k, 0]),
                "contact_ml_travel_m": _travel(centres[:, k, 2]),
                "low_point_ap_travel_m": _travel(low[:, k, 0]),
                "largest_pressure_Pa": max(0.0, float(largest[at].max())),
                "area_touched_m2": float(swept[k]),
            }
        )
    share = medial_share(files.cycles[MODELS[0]])
    return {
        "compartments": rows,
        "medial_share_mean_percent": float(np.nanmean(share)),
        "medial_share_least_percent": float(np.nanmin(share)),
        "medial_share_largest_percent": float(np.nanmax(share)),
    }


def contact_pictures(files: RunFiles) -> Iterator[Picture]:
    """Yield the figures of the contact over the cycle; without frames, the load share alone."""
    if (fields := files.fields) is not None:
        yield _path_of_contact(fields)
        yield _rollback(fields)
    lines = [
        line(name, medial_share(table), colour=colour, dashed=dashes != "-", width=width)
        for name, table in files.cycles.items()
        for colour, dashes, width in (fig.line_style(name, 0),)
    ]
    instants = next(iter(files.cycles.values()))["gait_percent"]
    yield chart(
        "medial-share", "Medial share of the axial force over the cycle", "gait cycle [%]",
        "medial share of the axial force [%]", lines, size=fig.WIDE, title="Load share",
        at=instants, range=[0.0, 100.0], y_range=[0.0, 100.0],
    )  # fmt: skip
    if fields is not None:
        yield from _area_charts(fields)


def medial_share(cycle: pd.DataFrame) -> FloatArray:
    """Return the medial part (N,) of the axial force of both compartments [%], NaN without load."""
    medial, lateral = (cycle[f"{name}_force_y_N"].to_numpy() for name in COMPARTMENTS)
    total = medial + lateral
    return np.where(total > 0.0, 100.0 * medial / np.where(total > 0.0, total, 1.0), np.nan)


def low_points(frames: Frames, poses: FloatArray) -> FloatArray:
    """Return the lowest point of each condyle at poses (K, 6) [rad, m], (K, 2, 3) [m].

    The point is the minimum of a quadratic height through the vertices nearest to the lowest one.
    """
    middle = middle_of(frames.centre_m)
    used = frames.femur_vertices[np.unique(frames.femur_faces)]
    found = np.full((len(poses), 2, 3), np.nan)
    for k, pose in enumerate(map(Pose.from_array, poses)):
        placed = used @ pose.rotation_matrix.T + pose.translation
        for side in range(2):
            condyle = placed[(placed[:, 2] > middle) == bool(side)]
            if len(condyle) >= _NEAREST:
                found[k, side] = _lowest(condyle)
    return found


def _lowest(points: FloatArray) -> FloatArray:
    """Return the lowest point (3,) of the surface through points (N, 3) [any unit]."""
    first = points[points[:, 1].argmin()]
    near = points[cKDTree(points).query(first, k=_NEAREST)[1]]
    reach = np.linalg.norm(near - first, axis=1).max()
    x, z = ((near - first)[:, [0, 2]] / reach).T
    terms = np.stack([np.ones_like(x), x, z, x * x, x * z, z * z], axis=1)
    c = np.linalg.lstsq(terms, near[:, 1] - first[1], rcond=None)[0]
    bend = np.array([[2.0 * c[3], c[4]], [c[4], 2.0 * c[5]]])
    if np.linalg.eigvalsh(bend)[0] <= 0.0:
        return np.asarray(first)  # no minimum: the edge of the surface
    place = np.linalg.solve(bend, -c[1:3])
    if np.linalg.norm(place) > 1.0:
        return np.asarray(first)
    height = c[0] + 0.5 * c[1:3] @ place
    away = np.array([reach * place[0], height, reach * place[1]])
    return np.asarray(first + away)


def _travel(values: FloatArray) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.ptp(known)) if len(known) else None


def _path_of_contact(fields: ContactFields) -> Picture:
    frames = fields.frames
    centres = 1e3 * frames.centre_m[0]
    border = outline_of(1e3 * frames.tibia_vertices, frames.tibia_faces)
    lines = [
        shaded(
            line(name, centres[:, k, 0], x=centres[:, k, 2], colour=fig.COMPARTMENT_STYLE[name][0],
                 width=2.6, along=frames.gait_percent)
        )
        for k, name in enumerate(COMPARTMENTS)
    ]  # fmt: skip
    return chart(
        "path-of-contact", "Path of the centre of pressure on both plateaus", "lateral [mm]",
        "anterior [mm]", lines, size=_MAP, equal=True, along="% of the cycle",
        title="Path of the centre of pressure",
        outlines=[{"x": _short(each[:, 2]), "y": _short(each[:, 0])} for each in border],
    )  # fmt: skip


def _rollback(fields: ContactFields) -> Picture:
    frames = fields.frames
    low, flexion = 1e3 * low_points(frames, frames.poses), np.degrees(frames.poses[:, 0])
    places = {"low point": (low, False), "contact": (1e3 * frames.centre_m[0], True)}
    lines = [
        line(f"{name} {word}", points[:, k, 0], x=flexion, dashed=dashed,
             colour=fig.COMPARTMENT_STYLE[name][0], along=frames.gait_percent)
        for word, (points, dashed) in places.items()
        for k, name in enumerate(COMPARTMENTS)
    ]  # fmt: skip
    return chart(
        "rollback", "AP position of the low points of the condyles and of the contact over flexion",
        "flexion [°]", "anterior [mm]", lines, size=fig.WIDE,
        title="Low points and rollback",
    )  # fmt: skip


def _area_charts(fields: ContactFields) -> Iterator[Picture]:
    """Yield the area in each band of pressure, and the area above each pressure."""
    model = MODELS[0]
    bands = fig.bands_of(1e-6 * fields.peak)
    peak = fields.at_peak(model)
    when = f"{fields.frames.gait_percent[peak]:.0f} %"
    shown = {
        f"at {when}": fields.values[model][peak],
        "largest over the cycle": fields.largest[model],
    }
    in_bands, above = [], []
    levels = np.linspace(0.0, bands[-1], _LEVELS)
    for words, values in shown.items():
        whole = words != f"at {when}"
        for k, name in enumerate(COMPARTMENTS):
            style: Chart = {"colour": fig.COMPARTMENT_STYLE[name][0], "dashed": whole}
            counted = 1e6 * fields.area_above(values, 1e6 * bands)[k]
            held = np.append(-np.diff(counted), np.nan)
            in_bands.append(line(f"{name}, {words}", held, step=True, **style))
            exceeding = 1e6 * fields.area_above(values, 1e6 * levels)[k]
            above.append(line(f"{name}, {words}", exceeding, **style))
    step = f"{bands[1] - bands[0]:g}"
    yield chart(
        "area-in-bands", "Area over pressure, by bands", "pressure [MPa]",
        f"area in {step} MPa [mm²]", in_bands, size=fig.WIDE, at=bands,
        range=[0.0, float(bands[-1])], from_zero=True, title="Area by pressure",
    )  # fmt: skip
    yield chart(
        "area-above-pressure", "Area above a pressure", "pressure [MPa]", "area above [mm²]", above,
        size=fig.WIDE, at=levels, range=[0.0, float(bands[-1])], from_zero=True,
        title="Area above a pressure",
    )  # fmt: skip


def _short(values: FloatArray) -> list[float]:
    return [round(float(value), 2) for value in values]
