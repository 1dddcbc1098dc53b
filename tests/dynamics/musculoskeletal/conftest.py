"""Files of OpenSim that tests change in one place."""

import pytest

from dynamics.musculoskeletal.osim_model import OsimModel
from tests.dynamics.musculoskeletal.osim_texts import MODEL


@pytest.fixture
def edited(tmp_path):
    """Return a function that writes a text, with a part replaced, and returns the path."""

    def write(text, old="", new="", name="tool.xml"):
        assert old in text
        path = tmp_path / name
        path.write_text(text.replace(old, new) if old else text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def model(edited):
    """Return a function that reads the model of `MODEL`, or of another text, with a change."""
    return lambda old="", new="", text=MODEL: OsimModel(edited(text, old, new, "model.osim"))
