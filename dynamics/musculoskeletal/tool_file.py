"""Settings of OpenSim's and OpenSim-JAM's tools: XML files with one element per setting."""

from __future__ import annotations

from pathlib import Path

from dynamics.musculoskeletal.osim_xml import boolean_of, child_text, number_in, parse_xml
from foundation.base.errors import InputError


class ToolFile:
    """Settings of a tool.

    Parameters
    ----------
    path : str or Path
        XML file; the files it names are relative to its folder.
    kind : str
        Element of the tool, such as "COMAKTool".

    Raises
    ------
    InputError
        If the file is missing, no XML, or of another tool.
    """

    def __init__(self, path: str | Path, kind: str) -> None:
        self.path = Path(path)
        root = parse_xml(self.path, "settings")
        found = root.find(kind)
        if found is None:
            present = ", ".join(child.tag for child in root) or root.tag
            raise InputError(f"{path}: expected settings of a {kind}, found {present}")
        #: Element of the tool.
        self.element = found

    def text(self, name: str, default: str = "") -> str:
        """Return the text of a setting, or the default."""
        return child_text(self.element, name, default)

    def flag(self, name: str, default: bool) -> bool:
        """Return whether a setting is true, or the default; raise `InputError` for another text."""
        return boolean_of(self.element, name, self.path.name, default)

    def has(self, name: str) -> bool:
        """Return whether the file states a setting."""
        return bool(self.text(name))

    def number(self, name: str, default: float) -> float:
        """Return a number, or the default; raise `InputError` for another text."""
        return number_in(f"{self.path.name}, {name}", self.text(name) or str(default))

    def optional(self, name: str, default: float = -1.0) -> float | None:
        """Return a number, or the default; None for -1, which stands for none."""
        value = self.number(name, default)
        return None if value == -1.0 else value

    def names(self, name: str) -> tuple[str, ...]:
        """Return the last parts of the paths of a setting."""
        return tuple(path.rsplit("/", 1)[-1] for path in self.text(name).split())

    def file(self, name: str) -> Path | None:
        """Return the file of a setting, or None where no file is named."""
        text = self.text(name)
        if not text or text.lower() == "unassigned":
            return None
        return (self.path.parent / text.replace("\\", "/")).resolve()
