"""What an FMU says of itself: variables, `modelDescription.xml`, build description and page.

The order of `VARIABLES` is that of the value references, which `templates/fmi/model.c` counts too.
Names are the columns of the project's tables; SI units and radians throughout.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree as ET

from foundation.checks import FloatArray
from foundation.loads import COMPARTMENTS, LOAD_COLUMNS, WRENCH_COLUMNS
from foundation.pose import COORDINATE_UNITS, COORDINATES

#: Versions of the standard that are written.
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
_FRAME = "tibial frame of a right knee: x anterior, y superior, z lateral"
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
    """A variable of the FMU; a flag has no unit."""

    name: str
    unit: str
    causality: str
    text: str


class Content(NamedTuple):
    """What differs between the FMUs of one version of the standard.

    Parameters
    ----------
    identifier : str
        Name of the model, of its library and of its sources.
    token : str
        By which library and description know that they belong together.
    start : (6,) float64
        Pose that the inputs begin with [rad, m].
    sources : tuple of str
        Names of the files to compile.
    tool : str
        What wrote it.
    header : str
        Of the C function that gives the loads, with its conventions.
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
_INPUTS = tuple(k for k, variable in enumerate(VARIABLES) if variable.causality == "input")
_OUTPUTS = tuple(k for k, variable in enumerate(VARIABLES) if variable.causality == "output")


def model_description(version: str, content: Content) -> bytes:
    """Return `modelDescription.xml` of a version of the standard, UTF-8."""
    two = version == "2.0"
    state = "canGetAndSetFMUstate" if two else "canGetAndSetFMUState"
    serial = "canSerializeFMUstate" if two else "canSerializeFMUState"
    derivatives = "providesDirectionalDerivative" if two else "providesDirectionalDerivatives"
    can = {"modelIdentifier": content.identifier, state: "true", serial: "true"}
    can |= {derivatives: "true"} | ({"canNotUseMemoryManagementFunctions": "true"} if two else {})
    exchange = {} if two else {"needsCompletedIntegratorStep": "true"}
    root = _element(
        "fmiModelDescription",
        {
            **{"fmiVersion": version, "modelName": content.identifier},
            **{"guid" if two else "instantiationToken": content.token},
            **{"description": _TITLE, "license": "Apache-2.0 (the code)"},
            **{"generationTool": content.tool, "variableNamingConvention": "flat"},
            **({"numberOfEventIndicators": "0"} if two else {}),
        },
        [
            _element("ModelExchange", can | exchange, _source_files(two, content)),
            _element(
                "CoSimulation",
                can | {"canHandleVariableCommunicationStepSize": "true"},
                _source_files(two, content),
            ),
            _element("UnitDefinitions", {}, map(_unit, _UNITS)),
            _element(
                "LogCategories",
                {},
                [_element("Category", {"name": f"logStatus{s}"}) for s in ("Error", "Discard")],
            ),
            _element("DefaultExperiment", {"startTime": "0", "stopTime": "1", "stepSize": "0.005"}),
            _element("ModelVariables", {}, _scalars_2(content) if two else _scalars_3(content)),
            _element("ModelStructure", {}, _structure_2() if two else _structure_3()),
        ],
    )
    return _xml(root)


def build_description(content: Content) -> bytes:
    """Return `sources/buildDescription.xml` of FMI 3.0, UTF-8."""
    files = [_element("SourceFile", {"name": name}) for name in content.sources]
    libraries = _element("Library", {"name": "m", "external": "true"})
    sources = _element("SourceFileSet", {"language": "C99"}, files)
    build = {"modelIdentifier": content.identifier}
    inside = [_element("BuildConfiguration", build, [sources, libraries])]
    return _xml(_element("fmiBuildDescription", {"fmiVersion": "3.0"}, inside))


def page(content: Content) -> bytes:
    """Return `documentation/index.html`, UTF-8."""
    cells = [("name", "unit", "causality", "meaning"), *VARIABLES]
    rows = [
        _element("tr", {}, [_text("th" if row is cells[0] else "td", cell) for cell in row])
        for row in cells
    ]
    body = [
        _text("h1", content.identifier),
        _text("p", f"{_TITLE}. No states; SI units and radians; {_FRAME}."),
        _text(
            "p",
            "Outside the trained domain the pose is held at its border and `outside` is true. "
            "Derivatives of forces, moments and generalised forces are exact, those of areas, "
            "pressures and centres of pressure differences.",
        ),
        _text("pre", content.header),
        _element("table", {}, rows),
    ]
    meta = _element("meta", {"charset": "utf-8"})
    head = _element("head", {}, [meta, _text("title", content.identifier)])
    root = _element("html", {"lang": "en"}, [head, _element("body", {}, body)])
    ET.indent(root)
    return b"<!DOCTYPE html>\n" + ET.tostring(root, encoding="utf-8", method="html") + b"\n"


def _source_files(two: bool, content: Content) -> list[ET.Element]:
    if not two:
        return []
    return [_element("SourceFiles", {}, [_element("File", {"name": n}) for n in content.sources])]


def _unit(name: str) -> ET.Element:
    exponents = {base: str(power) for base, power in _UNITS[name].items()}
    return _element("Unit", {"name": name}, [_element("BaseUnit", exponents)])


def _common(reference: int, variable: Variable) -> dict[str, str]:
    return {
        **{"name": variable.name, "valueReference": str(reference)},
        **{"description": variable.text, "causality": variable.causality},
        "variability": "continuous" if variable.unit else "discrete",
    }


def _typed(reference: int, variable: Variable, start: FloatArray) -> dict[str, str]:
    unit = {"unit": variable.unit} if variable.unit else {}
    begun = reference in _INPUTS
    return unit | ({"start": repr(float(start[_INPUTS.index(reference)]))} if begun else {})


def _scalars_2(content: Content) -> list[ET.Element]:
    found = []
    for k, variable in enumerate(VARIABLES):
        kind = _element("Real" if variable.unit else "Boolean", _typed(k, variable, content.start))
        found.append(_element("ScalarVariable", _common(k, variable), [kind]))
    return found


def _scalars_3(content: Content) -> list[ET.Element]:
    return [
        _element(
            "Float64" if variable.unit else "Boolean",
            _common(k, variable) | _typed(k, variable, content.start),
        )
        for k, variable in enumerate(VARIABLES)
    ]


def _structure_2() -> list[ET.Element]:
    """Return outputs and initial unknowns by their index in the list of variables, from 1."""
    on = " ".join(str(k + 1) for k in _INPUTS)
    return [
        _element(
            name,
            {},
            [_element("Unknown", {"index": str(k + 1), "dependencies": on}) for k in _OUTPUTS],
        )
        for name in ("Outputs", "InitialUnknowns")
    ]


def _structure_3() -> list[ET.Element]:
    """Return outputs and initial unknowns by their value reference."""
    on = " ".join(map(str, _INPUTS))
    return [
        _element(name, {"valueReference": str(k), "dependencies": on})
        for name in ("Output", "InitialUnknown")
        for k in _OUTPUTS
    ]


def _element(tag: str, attributes: dict[str, str], inside: Iterable[ET.Element] = ()) -> ET.Element:
    element = ET.Element(tag, attributes)
    element.extend(inside)
    return element


def _text(tag: str, text: str) -> ET.Element:
    element = ET.Element(tag)
    element.text = text
    return element


def _xml(root: ET.Element) -> bytes:
    ET.indent(root)
    return ET.tostring(root, encoding="UTF-8", xml_declaration=True) + b"\n"
