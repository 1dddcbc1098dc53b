"""Elements of OpenSim's XML files: text, numbers, refusals that name the place."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from foundation.checks import FloatArray, check_number
from foundation.errors import InputError


def parse(path: Path) -> ET.Element:
    """Return the root of a model file; raise an `InputError` if the file is missing or no XML."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; check the path of the model")
    try:
        return ET.parse(path).getroot()
    except ET.ParseError as error:
        raise InputError(f"{path}: expected XML, found {error}; save the model again") from error


def text_of(element: ET.Element, name: str, default: str = "") -> str:
    """Return the text of a child element without blanks at its ends."""
    found = element.find(name)
    return default if found is None or not found.text else found.text.strip()


def numbers_of(
    element: ET.Element, name: str, where: str, count: int, default: tuple[float, ...]
) -> FloatArray:
    """Return `count` numbers (count,) of a child element [unit of the element].

    Raises an `InputError` that names the place for other text.
    """
    text = text_of(element, name)
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
    """Return a number of a child element [unit of the element]."""
    return check_number(f"{where}, {name}", numbers_of(element, name, where, 1, (default,))[0])
