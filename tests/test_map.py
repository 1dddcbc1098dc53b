"""The map of the code names every room, and every file that it names exists."""

import re

from studies import ROOT

PACKAGES = ("foundation", "surrogates", "dynamics", "pipeline")
MAP = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+/\w+/)`", MAP, re.MULTILINE)
PATHS = re.findall(r"`((?:foundation|surrogates|dynamics|pipeline)/[\w/]*(?:\.\w+)?)`", MAP)


def test_every_room_is_on_the_map_once():
    rooms = {
        f"{package}/{init.parent.name}/"
        for package in PACKAGES
        for init in (ROOT / package).glob("*/__init__.py")
    }
    assert sorted(ROWS) == sorted(rooms)


def test_every_path_on_the_map_exists():
    assert [path for path in PATHS if not (ROOT / path).exists()] == []
