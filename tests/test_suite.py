"""The tests themselves: one way to the data, and no compiled function is exchanged."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
#: Readers of the variable: the fixture that finds the folder, and the tests of the variable.
READERS = {"conftest.py", "pipeline/test_config.py", Path(__file__).name}


def sources():
    return {str(p.relative_to(TESTS)): p.read_text("utf-8") for p in TESTS.rglob("*.py")}


def test_data_are_found_by_one_fixture():
    """Tests that looked for the folder on their own skipped where the others found the data."""
    found = {
        name
        for name, text in sources().items()
        if re.search(r"(environ|getenv|setenv|delenv).*KNEE_DATA", text)
    }
    assert found <= READERS
    assert "conftest.py" in found


def test_the_data_folder_stands_in_the_environment(data_folder, monkeypatch, tmp_path):
    """Configurations and programs read the same folder from wherever they run."""
    from pipeline.config import data_path

    monkeypatch.chdir(tmp_path)
    assert data_path("$KNEE_DATA/a.stl", Path()) == data_folder / "a.stl"


def test_no_test_exchanges_a_compiled_function():
    """Numba would meet the other function only where it has not compiled the callers yet."""
    found = {name for name, text in sources().items() if re.search(r"setattr\(.*\bkernels\b", text)}
    assert found <= {Path(__file__).name}
