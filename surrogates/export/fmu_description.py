"""Description files of an FMU: variables, `modelDescription.xml`, build description and page."""
# `templates/fmi/variables.csv` lists the variables in the order of their value references, which
# `templates/fmi/model.c` repeats.

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from foundation.base.checks import FloatArray
from foundation.base.loads import COMPARTMENTS
from surrogates.export.c_source import rendered

#: Versions of the standard that can be exported.
VERSIONS = ("2.0", "3.0")
_TABLE = Path(__file__).with_name("templates") / "fmi" / "variables.csv"
_TITLE = "Contact of the knee: loads over the pose of the femur, by a surrogate"


class Variable(NamedTuple):
    """A variable of the FMU: name, unit (empty for a flag), causality and description."""

    name: str
    unit: str
    causality: str
    text: str


class Content(NamedTuple):
    """Contents of an FMU that differ from one knee to the next."""

    #: Name of the model, its library and its sources.
    identifier: str
    #: Identifies library and description as parts of one FMU.
    token: str
    #: Pose (6,) [rad, m].
    start: FloatArray
    sources: tuple[str, ...]
    #: Name and version of the exporting package.
    tool: str
    #: Text of the C header.
    header: str
    compartments: tuple[str, ...] = COMPARTMENTS
    #: Verdict of the surrogate; "" without.
    verdict: str = ""


#: All variables of a knee in the order of their value references.
with _TABLE.open(encoding="ascii", newline="") as _stream:
    VARIABLES = tuple(Variable(**row) for row in csv.DictReader(_stream))
_INPUTS = [k for k, variable in enumerate(VARIABLES) if variable.causality == "input"]
#: Compartment whose variables those of other compartments repeat.
_MODEL = COMPARTMENTS[0]
_PARTS = tuple(f"{name}_" for name in COMPARTMENTS)


def variables_of(compartments: tuple[str, ...]) -> tuple[Variable, ...]:
    """Return the variables of a surrogate with these compartments in the order of references."""
    if compartments == COMPARTMENTS:
        return VARIABLES
    found: list[Variable] = []
    for own in (False, True):  # the flags follow all outputs
        rows = [v for v in VARIABLES if (not v.unit) == own]
        of_parts = [v for v in rows if v.causality == "output" and v.name.startswith(_PARTS)]
        common, first = [v for v in rows if v not in of_parts], rows.index(of_parts[0])
        model = [v for v in of_parts if v.name.startswith(_PARTS[0])]
        repeated = [_renamed(v, name) for name in compartments for v in model]
        found += [*common[:first], *repeated, *common[first:]]
    return tuple(found)


def _renamed(variable: Variable, name: str) -> Variable:
    text = variable.text.replace(f"{_MODEL} condyle", f"{_MODEL} compartment")
    return variable._replace(
        name=variable.name.replace(_MODEL, name, 1), text=text.replace(_MODEL, name)
    )


def model_description(version: str, content: Content) -> bytes:
    """Return `modelDescription.xml` of a version of the standard, UTF-8."""
    names = [VARIABLES[k].name for k in _INPUTS]
    return _rendered(
        "modelDescription.xml", content, version=version, inputs=_INPUTS,
        start=dict(zip(names, map(repr, content.start.tolist()), strict=True)),
        outputs=[
            k for k, variable in enumerate(variables_of(content.compartments))
            if variable.causality == "output"
        ],
    )  # fmt: skip


def build_description(content: Content) -> bytes:
    """Return `sources/buildDescription.xml` of FMI 3.0, UTF-8."""
    return _rendered("buildDescription.xml", content)


def page(content: Content) -> bytes:
    """Return `documentation/index.html`, UTF-8."""
    return _rendered("index.html", content, header=escape(content.header))


def _rendered(name: str, content: Content, **values: Any) -> bytes:
    title = f"{_TITLE}. {content.verdict}" if content.verdict else _TITLE
    known = content._asdict() | {"variables": variables_of(content.compartments)}
    known |= {"title": escape(title, {'"': "&quot;"}), **values}
    return rendered(f"fmi/{name}", **known).encode()
