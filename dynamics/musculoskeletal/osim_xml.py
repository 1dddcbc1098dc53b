"""OpenSim's XML files: objects and their properties, functions, tools' settings, and writing.

Every error names the file, the object and the property, what was expected and what was found.
"""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError

#: Booleans of OpenSim, in lower case.
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
#: Number that stands for "not stated" in the files of OpenSim-JAM.
_UNSTATED = -1.0


def parse_xml(path: Path, what: str) -> ET.Element:
    """Return the root of an XML file; an `InputError` says what is missing or damaged."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; check the path of the {what}")
    try:
        return ET.parse(path).getroot()
    except ET.ParseError as error:
        raise InputError(f"{path}: expected XML, found {error}") from error


def read_object(path: str | Path, what: str, tag: str | None = None) -> OsimObject:
    """Return the root of a file, or its child with a tag; `what` names the content in messages."""
    source = Path(path)
    root = parse_xml(source, what)
    found = root if tag is None else root.find(tag)
    if found is None:
        present = ", ".join(child.tag for child in root) or root.tag
        raise InputError(f"{path}: expected {what} of a {tag}, found {present}")
    return OsimObject(found, source, source.name)


@dataclass(frozen=True, eq=False)
class OsimObject:
    """An object of an OpenSim file; readers return the default of what it does not state."""

    element: ET.Element
    #: The file; the files that the object names are relative to its folder.
    file: Path
    #: Place of the object in messages: the name of the file, and that of the object.
    where: str

    @property
    def tag(self) -> str:
        """Class of the object in OpenSim."""
        return self.element.tag

    @property
    def name(self) -> str:
        """Name of the object; empty if the object has none."""
        return self.element.get("name", "")

    def of(self, element: ET.Element) -> OsimObject:
        """Return another object of the same file."""
        name = element.get("name") or element.tag
        return OsimObject(element, self.file, f"{self.file.name}, {name}")

    def fault(self, tag: str, expected: str, found: object) -> InputError:
        """Return the error of a property with another value than expected."""
        return InputError(f"{self.where}, {tag}: expected {expected}, found {found}")

    def objects(self, of: str = ".", tag: str | None = None) -> Iterator[OsimObject]:
        """Yield members of a set, or the object's own, with a tag and the model's defaults."""
        for element in self.element.iterfind(f"{of}/objects/*"):
            if tag is None or element.tag == tag:
                yield self.of(self._with_defaults(element))

    def below(self, tag: str) -> Iterator[OsimObject]:
        """Yield the objects with a tag at any depth."""
        return map(self.of, self.element.iter(tag))

    def child(self, path: str) -> OsimObject | None:
        """Return the first child at a path in the XML, or None."""
        found = self.element.find(path)
        return None if found is None else self.of(found)

    def value(self, tag: str) -> ET.Element | None:
        """Return `<Constant name="weight">` or `<weight><Constant>` of a property, or None."""
        found = self.element.find(f"{tag}/*")
        return self.element.find(f"*[@name='{tag}']") if found is None else found

    def _with_defaults(self, element: ET.Element) -> ET.Element:
        default = self.element.find(f"defaults/{element.tag}")
        if default is None:
            return element
        merged = copy.copy(element)
        merged.extend(each for each in default if element.find(each.tag) is None)
        return merged

    def text(self, tag: str, default: str = "") -> str:
        """Return the text of a property without blanks at its ends."""
        found = self.element.find(tag)
        return default if found is None or not found.text else found.text.strip()

    def has(self, tag: str) -> bool:
        """Return whether the object states a property."""
        return bool(self.text(tag))

    def last_name(self, tag: str, default: str = "") -> str:
        """Return the last part of the path that a property states."""
        return self.text(tag, default).rsplit("/", 1)[-1]

    def names(self, tag: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the last parts of the paths that a property states."""
        return tuple(path.rsplit("/", 1)[-1] for path in self.text(tag).split()) or default

    def boolean(self, tag: str, default: bool) -> bool:
        """Return a boolean as OpenSim reads it: true or false in any case, 1 or 0."""
        text = self.text(tag) or str(default)
        found = _BOOLEANS.get(text.lower())
        if found is None:
            raise self.fault(tag, "true or false", repr(text))
        return found

    def number(self, tag: str, default: float) -> float:
        """Return a finite number [any unit]."""
        text = self.text(tag) or str(default)
        try:
            return check_number(tag, float(text))
        except ValueError as error:
            raise self.fault(tag, "a number", repr(text)) from error

    def integer(self, tag: str, default: int) -> int:
        """Return a number without its decimals [1]."""
        return int(self.number(tag, default))

    def optional(self, tag: str, default: float = _UNSTATED) -> float | None:
        """Return a number [any unit]; None for -1, which stands for no number."""
        value = self.number(tag, default)
        return None if value == _UNSTATED else value

    def radians(self, tag: str, default: float) -> float:
        """Return an angle [rad] that the file states in degrees."""
        return float(np.radians(self.number(tag, default)))

    def numbers(self, tag: str, default: tuple[float, ...] = ()) -> FloatArray:
        """Return finite numbers (K,) [any unit], as many as the default has if it is not empty."""
        text = self.text(tag)
        if not text:
            return np.array(default)
        try:
            found = np.array([float(part) for part in text.split()])
        except ValueError:
            found = np.empty(0)
        count = len(default) or max(1, len(found))
        if found.shape != (count,) or not np.isfinite(found).all():
            raise self.fault(tag, f"{count} numbers" if default else "numbers", repr(text))
        return found

    def path(self, tag: str, default: Path | None = None) -> Path | None:
        """Return the file that a property names."""
        text = self.text(tag)
        if not text or text.lower() == "unassigned":
            return default
        return (self.file.parent / text.replace("\\", "/")).resolve()

    def read(self, properties: Iterable[Property]) -> dict[str, Any]:
        """Return the values of properties by the names of their fields."""
        return {p.field: p.read(self, p.tag, p.default) for p in properties}


class Property(NamedTuple):
    """A property of an OpenSim object."""

    tag: str
    #: Name of the value in `OsimObject.read`.
    field: str
    #: Reader: a method of `OsimObject`.
    read: Callable[[OsimObject, str, Any], Any]
    #: Value if the object does not state the property.
    default: Any


#: Readers of properties, by what the properties state.
TEXT, LAST_NAME, NAMES = OsimObject.text, OsimObject.last_name, OsimObject.names
NUMBER, NUMBERS, INTEGER = OsimObject.number, OsimObject.numbers, OsimObject.integer
OPTIONAL, DEGREES = OsimObject.optional, OsimObject.radians
FLAG, FILE = OsimObject.boolean, OsimObject.path


_POLYNOMIALS = ("Constant", "LinearFunction", "PolynomialFunction")
#: Functions through points; a GCVSpline without variance of the errors is a natural spline.
SPLINE = "SimmSpline"
_POINTS = (SPLINE, "PiecewiseLinearFunction", "GCVSpline")
_NO_NUMBERS = np.zeros(0)


class OsimFunction(NamedTuple):
    """A function of one variable, by coefficients (K,) or points (P,) [any unit]."""

    #: Class in OpenSim; for a MultiplierFunction, the class of the function it multiplies.
    kind: str
    #: Factor of a MultiplierFunction, otherwise 1 [1].
    factor: float
    #: Of a polynomial (K,), that of the highest power first; empty for other kinds.
    coefficients: FloatArray = _NO_NUMBERS
    #: Points (P,) of a SimmSpline, PiecewiseLinearFunction or GCVSpline; empty for other kinds.
    x: FloatArray = _NO_NUMBERS
    y: FloatArray = _NO_NUMBERS

    @property
    def line(self) -> tuple[float, float] | None:
        """Slope and offset of a constant or linear function; None for another function."""
        if self.kind not in _POLYNOMIALS[:2]:
            return None
        slope, offset = (0.0, *self.coefficients.tolist())[-2:]
        return self.factor * slope, self.factor * offset

    def at(self, value: float) -> float:
        """Return the function at a value, linear between points; zero for an unknown function."""
        if len(self.coefficients):
            return self.factor * float(np.polyval(self.coefficients, value))
        if len(self.x):
            return self.factor * float(np.interp(value, self.x, self.y))
        return 0.0


def read_function(function: OsimObject) -> OsimFunction:
    """Return a function, without coefficients and points if its class is unknown."""
    factor = 1.0
    if function.tag == "MultiplierFunction":
        factor = function.number("scale", 1.0)
        inner = function.element.find("function/*")
        if inner is not None:
            function = OsimObject(inner, function.file, function.where)
    kind = function.tag
    if kind == "Constant":
        return OsimFunction(kind, factor, np.array([function.number("value", 0.0)]))
    if kind == "LinearFunction":
        return OsimFunction(kind, factor, function.numbers("coefficients", (1.0, 0.0)))
    if kind == "PolynomialFunction":
        return OsimFunction(kind, factor, function.numbers("coefficients"))
    if kind in _POINTS:
        return OsimFunction(kind, factor, x=function.numbers("x"), y=function.numbers("y"))
    return OsimFunction(kind, factor)


#: Version of the document that OpenSim 4 reads and writes.
_VERSION = "40000"


def new_document() -> ET.Element:
    """Return the root of an OpenSim file."""
    return ET.Element("OpenSimDocument", Version=_VERSION)


def add_object(
    parent: ET.Element, tag: str, properties: Mapping[str, str], name: str | None = None
) -> ET.Element:
    """Append an object with properties as text to an element, and return the object."""
    found = ET.SubElement(parent, tag) if name is None else ET.SubElement(parent, tag, name=name)
    for key, text in properties.items():
        ET.SubElement(found, key).text = text
    return found


def child_of(parent: ET.Element, tag: str, name: str | None = None) -> ET.Element:
    """Return the child of an element with a tag, which is appended with a name if missing."""
    found = parent.find(tag)
    return add_object(parent, tag, {}, name) if found is None else found


def write_xml(root: ET.Element, path: str | Path) -> None:
    """Write an XML file."""
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
