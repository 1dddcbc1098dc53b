"""Elements of OpenSim's XML files: text, numbers, booleans, refusals that name the place."""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from foundation.base.checks import FloatArray, check_number
from foundation.base.errors import InputError

#: What OpenSim reads as a boolean, in lower case.
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def parse_xml(path: Path, what: str) -> ET.Element:
    """Return the root of an XML file; an `InputError` says what is missing or damaged."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; check the path of the {what}")
    try:
        return ET.parse(path).getroot()
    except ET.ParseError as error:
        raise InputError(f"{path}: expected XML, found {error}") from error


def child_text(element: ET.Element, name: str, default: str = "") -> str:
    """Return the text of a child without blanks at its ends, or the default."""
    found = element.find(name)
    return default if found is None or not found.text else found.text.strip()


def object_of(element: ET.Element, name: str) -> ET.Element | None:
    """Return the object that is the value of a property, or None.

    OpenSim writes `<TYPE name="NAME">`, and reads `<NAME><TYPE>` too.
    """
    found = element.find(f"{name}/*")
    return element.find(f"*[@name='{name}']") if found is None else found


def with_defaults(element: ET.Element, owner: ET.Element) -> ET.Element:
    """Return an object with the properties that the `<defaults>` of the owner state for its type.

    OpenSim takes them for what the object itself does not state.
    """
    default = owner.find(f"defaults/{element.tag}")
    if default is None:
        return element
    merged = copy.copy(element)
    merged.extend(each for each in default if element.find(each.tag) is None)
    return merged


def number_in(where: str, text: str) -> float:
    """Return the finite number of a text; raise `InputError` for another text."""
    try:
        return check_number(where, float(text))
    except ValueError as error:
        raise InputError(f"{where}: expected a number, found {text!r}") from error


def boolean_in(where: str, text: str) -> bool:
    """Return the boolean of a text, as OpenSim reads it: true or false in any case, 1 or 0.

    Raises an `InputError` that names the place for another text.
    """
    found = _BOOLEANS.get(text.strip().lower())
    if found is None:
        raise InputError(f"{where}: expected true or false, found {text!r}")
    return found


def boolean_of(element: ET.Element, name: str, where: str, default: bool) -> bool:
    """Return the boolean of a child element, or the default; `where` names the element."""
    return boolean_in(f"{where}, {name}", child_text(element, name) or str(default))


def numbers_of(
    element: ET.Element, name: str, where: str, count: int, default: tuple[float, ...]
) -> FloatArray:
    """Return `count` numbers (count,) of a child element [any unit].

    Raises an `InputError` that names the place for other text.
    """
    text = child_text(element, name)
    if not text:
        return np.array(default)
    try:
        numbers = np.array([float(part) for part in text.split()])
    except ValueError:
        numbers = np.empty(0)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise InputError(f"{where}, {name}: expected {count} numbers, found {text!r}")
    return numbers


def scale_of(element: ET.Element, where: str) -> tuple[float, float, float]:
    """Return the factors of a mesh along its axes [1]."""
    x, y, z = numbers_of(element, "scale_factors", where, 3, (1.0,) * 3).tolist()
    return x, y, z


def number_of(element: ET.Element, name: str, where: str, default: float) -> float:
    """Return a number of a child element [any unit]."""
    return check_number(f"{where}, {name}", numbers_of(element, name, where, 1, (default,))[0])
