"""Page of a search of designs, with outlines of the implants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from foundation.base.checks import FloatArray
from foundation.base.errors import InputError
from foundation.base.pose import Pose
from foundation.implant.condylar_implant import CondylarImplant
from pipeline.config.schema import Config
from pipeline.design_space.document import TOLD
from pipeline.design_space.errors import LIMITS
from pipeline.design_space.trained_designs import TrainedDesigns
from pipeline.originals.knee_surfaces import build_implant
from pipeline.store.samples import OK
from pipeline.studies.optimisation.document import (
    ChosenDesign,
    OptimisationDocument,
    chosen_of,
    contradictions,
    counted_designs,
    parameter_words,
)
from pipeline.studies.optimisation.outputs import DESIGN_OUTPUTS, EXPECTED, expected_error
from pipeline.studies.optimisation.schema import OptimisationConfig
from pipeline.studies.optimisation.search import BASE, BETTER

#: Points of an outline.
_POINTS = 25


class Outline(NamedTuple):
    """Femur and insert in a section, as paths of SVG [mm], and their extent.

    `box` is least x and y, and largest x and y [mm], y down.
    """

    femur: str
    insert: str
    box: tuple[float, float, float, float]


class Profile(NamedTuple):
    """Outlines of a design in two sections, in extension.

    `sagittal` is the middle plane of the medial compartment, anterior to the right; `coronal` the
    planes of the lowest points, from the front, so that the lateral side of a right knee is to the
    left.
    """

    sagittal: Outline
    coronal: Outline

    @property
    def paths(self) -> dict[str, list[str]]:
        """Paths of femur and insert by the name of the section."""
        return {name: [each.femur, each.insert] for name, each in self._asdict().items()}


def profile(config: Config) -> Profile | None:
    """Return the outlines of the implant of a design, None for meshes."""
    if config.knee.source != "builtin":
        return None
    try:
        implant = build_implant(config.knee.implant)
        pose = implant.home_pose()
    except InputError:
        return None
    return Profile(_sagittal(implant, pose), _coronal(implant, pose))


def joint_boxes(profiles: Sequence[Profile | None]) -> dict[str, list[float]] | None:
    """Return the extent of all profiles by the name of the section [mm], None without profiles."""
    known = [each for each in profiles if each is not None]
    if not known:
        return None
    found = {}
    for name in Profile._fields:
        boxes = np.array([getattr(each, name).box for each in known])
        found[name] = [*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist()]
    return found


def _sagittal(implant: CondylarImplant, pose: Pose) -> Outline:
    condyle, dish = implant.medial, implant.medial_dish
    zeros = np.zeros(_POINTS)
    along = np.linspace(condyle.limits[0], condyle.limits[-1], _POINTS)
    femur, _ = implant.femur_surface("medial", along, zeros)
    along = np.linspace(dish.limits[0], dish.limits[1], _POINTS)
    insert, _ = implant.insert_surface("medial", along, zeros)
    return _outline([_placed(femur, pose)[:, :2]], [insert[:, :2]])


def _coronal(implant: CondylarImplant, pose: Pose) -> Outline:
    shapes = {
        "medial": (implant.medial, implant.medial_dish),
        "lateral": (implant.lateral, implant.lateral_dish),
    }
    femur, insert, zeros = [], [], np.zeros(_POINTS)
    for side, (condyle, dish) in shapes.items():
        across = np.linspace(-condyle.half_angle, condyle.half_angle, _POINTS)
        points, _ = implant.femur_surface(side, zeros, across)
        femur.append(_placed(points, pose)[:, [2, 1]] * (-1.0, 1.0))
        across = np.linspace(-dish.half_angle, dish.half_angle, _POINTS)
        points, _ = implant.insert_surface(side, zeros, across)
        insert.append(points[:, [2, 1]] * (-1.0, 1.0))
    return _outline(femur, insert)


def _placed(points: FloatArray, pose: Pose) -> FloatArray:
    """Return points (N, 3) [m] of the femoral frame in the tibial frame."""
    return np.asarray(points @ pose.rotation_matrix.T + pose.translation)


def _outline(femur: Sequence[FloatArray], insert: Sequence[FloatArray]) -> Outline:
    """Return the outline of surfaces (N, 2) [m], y up; the insert down to its underside, y = 0."""
    blocks = [np.concatenate([each, each[[-1, 0]] * (1.0, 0.0)]) for each in insert]
    points = 1e3 * np.concatenate([*femur, *blocks]) * (1.0, -1.0)
    (left, top), (right, foot) = points.min(axis=0), points.max(axis=0)
    box = float(left), float(top), float(right), float(foot)
    closed = "".join(f"{_path(block)}Z" for block in blocks)
    return Outline("".join(map(_path, femur)), closed, box)


def _path(points: FloatArray) -> str:
    """Return points (N, 2) [m], y up, as a path of SVG [mm]."""
    x, y = 1e3 * points[:, 0], -1e3 * points[:, 1]
    return "M" + "L".join(f"{a:.2f} {b:.2f}" for a, b in zip(x, y, strict=True))


#: Significant digits of the numbers in the page.
_DIGITS = 7

Content = dict[str, Any]


def optimisation_page(
    document: OptimisationDocument,
    settings: OptimisationConfig,
    run: TrainedDesigns,
    front: pd.DataFrame,
    slices: pd.DataFrame,
) -> Content:
    """Return the content of `optimisation.html`.

    `front` is the table of the front (`pipeline.studies.optimisation.search`), `slices` are
    outcomes along the parameters through the chosen designs.
    """
    parameters = _parameter_columns(document)
    columns = [*parameters, *_objective_columns(document)]
    base, better = (chosen_of(document, name) for name in (BASE, BETTER))
    chosen = better or base or document.chosen[0]
    rows = _rows(run, front, columns)
    own = [] if base is None else [_base_row(run, base, columns)]
    boxes = joint_boxes([row["outlines"] for row in (*rows, *own)])
    names = [row["name"] for row in rows]
    objectives = range(len(parameters), len(columns))
    return {
        "found": document,
        "columns": columns,
        "parameters": parameters,
        "rows": rows,
        "boxes": boxes,
        "base": base,
        "better": better,
        "opened": chosen.name,
        "base_reason": "" if base else document.base_reason or "it has no gait cycle",
        "counts": counted_designs(document.counts),
        "contradictions": contradictions(document),
        "measures": _measures(settings),
        "errors": {key: words for key, words in TOLD.items() if f"{EXPECTED}{key}" in front},
        "pairs": list(combinations(objectives, 2)),
        "outputs": DESIGN_OUTPUTS,
        "expected_error": expected_error,
        "data": {
            **{"columns": columns, "boxes": boxes},
            "designs": [_for_script(row) for row in rows],
            "base": _for_script(own[0]) if own else None,
            "first": names.index(chosen.name) if chosen.name in names else 0,
            "slices": _slices(document, slices, columns),
        },
    }


def _parameter_columns(document: OptimisationDocument) -> list[Content]:
    """Return name, words, unit and range of each parameter."""
    found = []
    for each in document.parameters:
        label, unit = parameter_words(each["name"])
        limits = [each["low"], each["high"]]
        found.append({"key": each["name"], "label": label, "unit": unit, "range": limits})
    return found


def _objective_columns(document: OptimisationDocument) -> list[Content]:
    """Return name, words, unit and goal of each objective."""
    return [
        {"key": each.column, "label": each.label, "unit": each.unit, "goal": each.goal}
        for each in document.objectives
    ]


def _measures(settings: OptimisationConfig) -> list[Content]:
    """Return name, words, unit and output of each measure of objectives and limits."""
    return [
        {"column": each.column, "label": each.label, "unit": each.unit, "output": each.output}
        for each in settings.measures
    ]


def _rows(run: TrainedDesigns, front: pd.DataFrame, columns: Sequence[Content]) -> list[Content]:
    """Return the designs of the front: numbers, names, values of the columns, errors, outlines."""
    keys = [column["key"] for column in columns]
    values = front[keys].to_numpy(dtype=np.float64)
    errors = front.filter(regex=f"^{EXPECTED}").rename(columns=lambda name: name[len(EXPECTED) :])
    found = []
    for k, number in enumerate(front["design"].tolist()):
        name = str(front["name"].iloc[k])
        expected = {str(key): float(error) for key, error in errors.iloc[k].items()}
        row = _row(run, values[k], columns)
        found.append(
            {
                **row,
                "number": number,
                "name": name,
                "label": f"{number} {name}".strip(),
                "flagged": int(front["flagged_instants"].iloc[k]),
                "doubts": str(front["doubts"].iloc[k]),
                "expected": expected,
                "doubted": [key for key, error in expected.items() if error > LIMITS[key]],
            }
        )
    return found


def _base_row(run: TrainedDesigns, base: ChosenDesign, columns: Sequence[Content]) -> Content:
    """Return label, values of the columns and outlines of the base design."""
    known = {**base.values, **base.surrogate}
    row = _row(run, np.array([known[column["key"]] for column in columns]), columns)
    return {**row, "label": "base design"}


def _row(run: TrainedDesigns, values: FloatArray, columns: Sequence[Content]) -> Content:
    """Return the values of the columns [their units] and the outlines of a design."""
    count = sum("range" in column for column in columns)
    outlines = profile(run.config_of(values[:count]))
    return {"v": [_rounded(value) for value in values], "outlines": outlines}


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _for_script(row: Content) -> Content:
    """Return what the scripts of the page read of a design."""
    keys = ("number", "name", "label", "v", "flagged", "doubts")
    content = {key: row[key] for key in keys if key in row}
    outlines: Profile | None = row["outlines"]
    return content if outlines is None else content | {"outlines": outlines.paths}


def _slices(
    document: OptimisationDocument, slices: pd.DataFrame, columns: Sequence[Content]
) -> Content:
    """Return the objectives along each parameter through the chosen designs, by name."""
    parameters = [column["key"] for column in columns if "range" in column]
    objectives = [column["key"] for column in columns if "goal" in column]
    found: Content = {}
    for each in document.chosen:
        own = slices[slices["design"] == each.design]
        found[each.name] = {
            "along": [
                _slice(own[own["along"] == key], k, each.values, key, objectives)
                for k, key in enumerate(parameters)
            ]
        }
    return found


def _slice(
    rows: pd.DataFrame, place: int, values: Mapping[str, float], key: str, objectives: list[str]
) -> Content:
    """Return the objectives along a parameter; None without a gait cycle."""
    walks = (rows["status"] == OK).to_numpy()
    return {
        "parameter": place,
        "here": values[key],
        "x": [_rounded(value) for value in rows[key]],
        "y": [
            [_rounded(value) if ok else None for value, ok in zip(rows[name], walks, strict=True)]
            for name in objectives
        ],
    }
