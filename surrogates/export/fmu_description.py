"""Description files of an FMU: variables, `modelDescription.xml`, build description and page.

The order of `VARIABLES` is that of the value references, which `templates/fmi/model.c` repeats.
Names are the columns of the project's tables; SI units and radians throughout.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from foundation.checks import FloatArray
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.pose import COORDINATE_UNITS, COORDINATES
from surrogates.export.c_export import rendered

#: Versions of the standard that can be exported.
VERSIONS = ("2.0", "3.0")
_UNITS = {
    "s": {"s": 1},
    "rad": {"rad": 1},
    "m": {"m": 1},
    "m2": {"m": 2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
    "Pa": {"kg": 1, "m": -1, "s": -2},
}
_COORDINATE_TEXTS = (
    "flexion of the knee",
    "adduction",
    "internal rotation of the tibia",
    "anterior position of the femoral origin in the tibial frame",
    "superior position of the femoral origin in the tibial frame",
    "lateral position of the femoral origin in the tibial frame",
)
_QUANTITY_TEXTS = {
    "area": "contact area",
    "peak_pressure": "largest pressure",
    "mean_pressure": "pressure averaged over the contact area",
    "cop": "centre of pressure, zero out of contact",
    "force": "force on the femur",
    "moment": "moment on the femur about the tibial origin",
}
_TITLE = "Contact of the knee: loads over the pose of the femur, by a surrogate"


class Variable(NamedTuple):
    """A variable of the FMU: name, unit (empty for a flag), causality and description."""

    name: str
    unit: str
    causality: str
    text: str


class Content(NamedTuple):
    """Contents of an FMU that differ from one knee to the next.

    Parameters
    ----------
    identifier : str
        Name of the model, its library and its sources.
    token : str
        Identifies library and description as parts of one FMU.
    start : (6,) float64
        Start values of the inputs, a pose [rad, m].
    sources : tuple of str
        Names of the files to compile.
    tool : str
        Name and version of the exporting package.
    header : str
        Text of the C header, with the conventions of the loads.
    """

    identifier: str
    token: str
    start: FloatArray
    sources: tuple[str, ...]
    tool: str
    header: str


def _unit_of(column: str) -> str:
    unit = column.rsplit("_", 1)[1]
    return "N.m" if unit == "Nm" else unit


def _load_variable(owner: str, column: str) -> Variable:
    stem = column.rsplit("_", 1)[0]
    kind, _, axis = stem.rpartition("_") if stem[-2:-1] == "_" else (stem, "", "")
    text = f"{owner}: {_QUANTITY_TEXTS[kind]}"
    return Variable(
        f"{owner}_{column}", _unit_of(column), "output", f"{text}, {axis}" if axis else text
    )


def _variables() -> tuple[Variable, ...]:
    coordinates = list(zip(COORDINATES, COORDINATE_UNITS, _COORDINATE_TEXTS, strict=True))
    inputs = [Variable(f"{name}_{unit}", unit, "input", text) for name, unit, text in coordinates]
    loads = [_load_variable("total", column) for column in WRENCH_COLUMNS]
    loads += [_load_variable(owner, column) for owner in COMPARTMENTS for column in LOAD_COLUMNS]
    for name, unit, _ in coordinates:
        column = f"generalised_{name}_{'Nm' if unit == 'rad' else 'N'}"
        text = f"generalised force of the contact that does work on the {name} coordinate"
        loads.append(Variable(column, _unit_of(column), "output", text))
    flags = {
        "outside": "whether the pose is outside the trained domain, at whose border it is held"
    }
    flags |= {
        f"{owner}_contact": f"whether the {owner} condyle is in contact" for owner in COMPARTMENTS
    }
    return (
        Variable("time", "s", "independent", "time, of which nothing depends"),
        *inputs,
        *loads,
        *(Variable(name, "", "output", text) for name, text in flags.items()),
    )


#: All variables in the order of their value references.
VARIABLES = _variables()
_INPUTS = [k for k, variable in enumerate(VARIABLES) if variable.causality == "input"]


def model_description(version: str, content: Content) -> bytes:
    """Return `modelDescription.xml` of a version of the standard, UTF-8."""
    names = [VARIABLES[k].name for k in _INPUTS]
    return _rendered(
        "modelDescription.xml", content, version=version, units=_UNITS, inputs=_INPUTS,
        start=dict(zip(names, map(repr, content.start.tolist()), strict=True)),
        outputs=[k for k, variable in enumerate(VARIABLES) if variable.causality == "output"],
    )  # fmt: skip


def build_description(content: Content) -> bytes:
    """Return `sources/buildDescription.xml` of FMI 3.0, UTF-8."""
    return _rendered("buildDescription.xml", content)


def page(content: Content) -> bytes:
    """Return `documentation/index.html`, UTF-8."""
    return _rendered("index.html", content, header=escape(content.header))


def _rendered(name: str, content: Content, **values: Any) -> bytes:
    known = content._asdict() | {"title": _TITLE, "variables": VARIABLES} | values
    return rendered(f"fmi/{name}", **known).encode()
