"""Writing of OpenSim's XML files."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

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
