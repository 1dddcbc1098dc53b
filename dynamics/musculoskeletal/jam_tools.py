"""Files of settings of OpenSim-JAM's tools: notes on unknown settings and on settings not done."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from difflib import get_close_matches
from pathlib import Path

from dynamics.musculoskeletal.osim_xml import ObjectTable, OsimObject, read_object

#: Texts of a setting that requests nothing.
_OFF = ("", "false", "0", "unassigned")


def read_tool(path: str | Path, table: ObjectTable) -> OsimObject:
    """Return the settings of a tool; refuse those of another one."""
    return read_object(path, "settings", table.tag)


def settings_notes(tool: OsimObject, *tables: ObjectTable) -> tuple[str, ...]:
    """Return notes on settings of a tool and inner objects: unknown, or not carried out."""
    own, *inner = tables
    objects = [(tool, own), *((found, t) for t in inner for found in tool.below(t.tag))]
    notes = [
        f"{tool.where}: unknown setting {_alike(tag, table)}"
        for found, table in objects
        for tag in table.unknown(found)
    ]
    idle = [e.tag for e in tool.element if e.tag in own.not_done and _requests(e)]
    if idle:
        notes.append(f"{tool.where}: ignored settings: {', '.join(idle)}")
    return tuple(notes)


def _alike(tag: str, table: ObjectTable) -> str:
    alike = get_close_matches(tag, sorted(table.known), n=1)
    return f"{tag}; did you mean {alike[0]}?" if alike else tag


def _requests(element: ET.Element) -> bool:
    """Return whether a setting requests something."""
    if element.find("objects") is not None:
        return element.find("objects/*") is not None
    return (element.text or "").strip().lower() not in _OFF
