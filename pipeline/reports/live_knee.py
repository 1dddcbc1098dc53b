"""Data of the section in which the surrogate and the simulator of a run are computed by the page.

The page calls the library of `foundation/core` and `dynamics/core`, compiled to WebAssembly
(`make wasm`), so that no number is computed in two ways.
"""

from __future__ import annotations

import base64
import ctypes
import gzip
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dynamics.core.problem import Problem
from dynamics.core.rosenbrock import (
    DISLOCATED,
    STEP_TOO_SMALL,
    STOPPED,
    TOO_MANY_STEPS,
    Limits,
)
from dynamics.simulator.integrator import prepared
from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from foundation.base.pose import COORDINATES
from foundation.core.building import PAGE_LIBRARY
from foundation.core.image import BASE, STRUCTS_32, Image
from foundation.core.library import TOLERANCE, Struct
from pipeline.config.stage_schema import SimulationConfig
from pipeline.files import plain
from pipeline.reports.charts import chart, line, lines_of
from pipeline.reports.figures import Picture
from pipeline.reports.units import head_of
from pipeline.simulation import GaitSimulation
from surrogates.core.packing import PackedContact, packed_posterior
from surrogates.fields.knee_fields import SpringResponse
from surrogates.formulations.contact_surrogate import ContactSurrogate

#: Flexion [deg] and axial load [N] of the pose that the page begins with.
_BEGIN = 20.0, 1000.0
#: Part of the half widths of the box that the sliders of the pose reach.
_REACH = 1.3
#: Loads of a cycle by their name in the page, and the range of the factors on its inputs.
_LOADS = {"axial": "axial_force", "ap": "ap_force", "torque": "internal_torque"}
_FACTORS = {
    "axial": ("axial force", 0.3, 1.7), "ap": ("AP force", -1.0, 3.0),
    "torque": ("internal torque", -1.0, 3.0), "flexion": ("flexion", 0.5, 1.2),
}  # fmt: skip
#: Further sliders of the gait: name, words, unit, range and value.
_CHANGES: tuple[tuple[tuple[str, str, str], tuple[float, float, float]], ...] = (
    (("ap_spring", "AP restraint ×", ""), (0.2, 5.0, 1.0)),
    (("rotation_spring", "rotational restraint ×", ""), (0.2, 5.0, 1.0)),
    (("rotation", "femoral component, internal rotation", "°"), (-8.0, 8.0, 0.0)),
    (("adduction", "femoral component, adduction", "°"), (-3.0, 3.0, 0.0)),
    (("anterior", "femoral component, anterior", "mm"), (-4.0, 4.0, 0.0)),
)
#: Rows of the table: words, column of the loads, its size in SI units, whether sides are summed.
_ROWS = (
    ("axial force [N]", 1, 1.0, True), ("AP force [N]", 0, 1.0, True),
    ("ML force [N]", 2, 1.0, True), ("peak pressure [MPa]", 7, 1e-6, False),
    ("mean pressure [MPa]", 8, 1e-6, False), ("contact area [mm²]", 6, 1e6, True),
    ("centre of pressure, anterior [mm]", 9, 1e3, False),
    ("centre of pressure, lateral [mm]", 11, 1e3, False),
)  # fmt: skip
#: Charts of the cycle: label, table, column of the table, its size in SI units.
_CHARTS = (
    ("AP position [mm]", "poses", 3, 1e3),
    ("internal rotation [°]", "poses", 2, 180.0 / np.pi),
    ("axial force [N]", "loads", 1, 1.0),
    ("peak pressure [MPa]", "loads", 7, 1e-6),
)
#: Variables of the trained domain in words.
_VARIABLES = (
    *("flexion", "adduction", "internal rotation", "anterior position", "lateral position"),
    *("height or load", "loads that the samples did not train"),
)
_OUTCOMES = {
    STEP_TOO_SMALL: "the integrator stopped: its step collapsed",
    TOO_MANY_STEPS: "the end of the cycle is not reached",
    DISLOCATED: "the knee dislocated: nothing balances the applied loads",
    STOPPED: "the motion left the trained domain",
}


def live_section(
    knee: ContactSurrogate,
    gait_of: Callable[[ContactSurrogate], GaitSimulation],
    designs: Mapping[str, Mapping[str, float]] | None = None,
    expected: Mapping[str, Any] | None = None,
) -> dict[str, Any] | None:
    """Return the content of "Move the knee", None unless the surrogate is of a knee.

    Over designs, the page offers `designs` by name, and `expected` tells its errors there.
    """
    if knee.compartments != COMPARTMENTS:
        return None
    ranges = zip(knee.parameters.low, knee.parameters.high, strict=True)
    single = knee.at([0.5 * (low + high) for low, high in ranges]) if knee.parameters else knee
    gait, image = gait_of(single), Image()
    config = gait.config
    equations, limits, _, times, percent = prepared(
        single, gait.simulator, gait.cycle, cycles=config.cycles, samples=config.samples,
        rtol=config.relative_tolerance, start=gait.start,
    )  # fmt: skip
    driven = [short for short, name in _LOADS.items() if name in gait.cycle.signals]
    rows = {name: COORDINATES.index(name) for name in COORDINATES}
    data = {
        **_memory(knee, equations.problem, limits, times, image),
        **_design(knee, config, image, expected),
        "pressures": _pressures(knee, image),
        "image": _packed(image.content),
        "base": BASE,
        "wasm": base64.b64encode(PAGE_LIBRARY.read_bytes()).decode("ascii"),
        "knots": len(equations.problem.breaks) - 1,
        "count": len(times),
        "free": [rows[name] for name in equations.free],
        "compartments": knee.compartments,
        "outcomes": _OUTCOMES,
        "begin": single.reference_pose(_BEGIN[0]).array,
        "variables": _VARIABLES,
        "tolerance": TOLERANCE,
        "driven": ["flexion", *driven],
        "sliders": [*_design_sliders(knee), *_pose_sliders(single), *_gait_sliders(driven)],
        "designs": designs or {},
        "rows": [dict(zip(("words", "column", "size", "sums"), row, strict=True)) for row in _ROWS],
        "charts": [{"of": of, "column": k, "size": size} for _, of, k, size in _CHARTS],
    }  # fmt: skip
    charts = [_chart(label, of, percent) for label, of, _, _ in _CHARTS]
    return {"compartments": knee.compartments, "charts": charts, "data": plain(data)}


def _memory(
    knee: ContactSurrogate,
    problem: Problem,
    limits: Limits,
    times: FloatArray,
    image: Image,
) -> dict[str, Any]:
    """Return addresses in the memory of the page, of a surrogate and a simulation."""
    contact = PackedContact([compartment.packed for compartment in knee.parts])
    addresses = [image.struct(compartment) for compartment in contact.parts]
    trained = {
        "parts": image.array(np.array(addresses)), "stops": 0,
        "design": image.array(np.zeros(len(knee.parameters))),
        "scratch": image.room(contact.scratch),
    }  # fmt: skip
    bounds = Struct("step_limits", {**limits._asdict(), "sizes": len(limits.size)})
    problem_address = image.struct(problem.packed)
    simulation, compartments = (
        image.read("simulation", problem_address),
        [image.read("compartment", address) for address in addresses],
    )
    names = ("reference", "offset", "stiffness")
    return {
        **trained,
        "trained": image.struct(Struct("trained", trained)),
        "problem": problem_address,
        "limits": image.struct(bounds),
        "times": image.array(times),
        "pieces": simulation.pieces,
        "neutral": simulation.neutral.pieces,
        "fields": {name: getattr(type(simulation), name).offset for name in names},
        "regressors": [list(compartment.parts) for compartment in compartments],
        "powers": compartments[0].box.of_design,
        "regressor_size": ctypes.sizeof(STRUCTS_32["regressor"]),
    }


def _design(
    knee: ContactSurrogate,
    config: SimulationConfig,
    image: Image,
    expected: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the reference path, how it changes with the design, and errors expected of one."""
    path, anterior = knee.spaces[0].path, config.neutral_anterior_mm
    content: dict[str, Any] = {
        "path": {"flexion": path.flexion, "pieces": [] if knee.parameters else path.pieces},
        "neutral_path": config.restraint_about == "path",
        "neutral_anterior": None if anterior is None else 1e-3 * anterior,
        "ranges": [knee.parameters.low, knee.parameters.high],
    }
    if expected is not None:
        posteriors = [
            [image.struct(packed_posterior(r, None)) for r in compartment.regressors if r.outputs]
            for compartment in knee.parts
        ]
        outputs = [r.outputs for r in knee.parts[0].regressors if r.outputs]
        content["expected"] = {**expected, "posteriors": posteriors, "outputs": outputs}
    return content


def _pressures(knee: ContactSurrogate, image: Image) -> list[dict[str, Any]]:
    """Return addresses of the pressure fields of a surrogate, none without fields."""
    records = []
    for field in () if knee.fields is None else knee.fields.by_name.values():
        law, layer = [], 0
        if isinstance(field.response, SpringResponse):
            law = [image.array(field.response.constants), image.array(field.response.law)]
        else:
            layer = image.struct(field.response.packed)
        records.append({
            "places": len(field.bed),
            "triangles": len(field.triangles),
            "corners": len(field.corners),
            "of_triangle": image.array(field.triangles),
            "of_corner": image.array(field.corners),
            "shares": image.array(field.shares),
            "skin": image.struct(field.skin.packed),
            "bed": image.array(field.bed),
            "layer": layer,
            "springs": law,
        })  # fmt: skip
    return records


def _slider(
    group: str, name: str, words: str, unit: str, low: float, high: float, value: float = 0.0
) -> dict[str, Any]:
    """Return a slider from `low` to `high`, which begins with `value` [unit]."""
    return {
        "group": group, "name": name, "words": words, "unit": unit, "range": [low, high],
        "value": value,
    }  # fmt: skip


def _design_sliders(knee: ContactSurrogate) -> list[dict[str, Any]]:
    parameters = zip(knee.parameters.names, knee.parameters.low, knee.parameters.high, strict=True)
    return [
        _slider("design", name, head_of(name), "", low, high, 0.5 * (low + high))
        for name, low, high in parameters
    ]


def _pose_sliders(knee: ContactSurrogate) -> list[dict[str, Any]]:
    """Return the sliders of the pose; coordinates but the flexion count from the path."""
    spaces = knee.spaces
    reach = _REACH * np.max([space.offsets for space in spaces], axis=0)
    turn, twist, forward, across = (reach * [180.0 / np.pi, 180.0 / np.pi, 1e3, 1e3]).tolist()
    low, high = np.degrees(spaces[0].flexion).tolist()
    most = round(sum(float(space.load[1]) for space in spaces), -1)
    return [
        _slider("pose", "flexion", "flexion", "°", low, high, _BEGIN[0]),
        _slider("pose", "adduction", "adduction", "°", -turn, turn),
        _slider("pose", "rotation", "internal rotation", "°", -twist, twist),
        _slider("pose", "anterior", "anterior", "mm", -forward, forward),
        _slider("pose", "superior", "superior", "mm", -1.0, 1.0),
        _slider("pose", "lateral", "lateral", "mm", -across, across),
        _slider("pose", "load", "axial load", "N", 0.0, most, min(_BEGIN[1], most)),
    ]


def _gait_sliders(driven: list[str]) -> list[dict[str, Any]]:
    factors = [
        _slider("gait", name, f"{words} of the run ×", "", low, high, 1.0)
        for name, (words, low, high) in _FACTORS.items()
        if name in ("flexion", *driven)
    ]
    return factors + [_slider("gait", *words, *numbers) for words, numbers in _CHANGES]


def _chart(label: str, of: str, percent: FloatArray) -> Picture:
    """Return a chart of the cycle; the page fills its lines, of the run and with other inputs."""
    names = COMPARTMENTS if of == "loads" else ("with these inputs",)
    empty = np.full(len(percent), np.nan)
    runs = [f"{name} in the run" for name in names] if of == "loads" else ["in the run"]
    nominal = [line(name, empty, colour="#aaaaaa", width=3.0) for name in runs]
    lines = nominal + lines_of(dict.fromkeys(names, empty))
    text = f"{label} over the gait cycle with these inputs"
    return chart(f"live-{of}", text, "gait cycle [%]", label, lines, at=percent, range=[0.0, 100.0])


def _packed(content: bytes) -> str:
    """Return bytes for a page, compressed, the same ones each time."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")
