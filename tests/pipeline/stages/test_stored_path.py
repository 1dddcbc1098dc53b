"""The reference path of a run and the warnings of its search."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from studies import SMOKE

from pipeline.config.reading import load_config
from pipeline.stages.run_folder import Run, stored_path
from surrogates.sampling.space import ReferencePath

REST = "the spring is slack where the femur rests at 5 deg"


class Original:
    """An original model whose search of the path has something to say."""

    digest = "0" * 64
    model = None

    def __init__(self, text: str) -> None:
        self.text = text

    def reference_path(self, config: Any) -> ReferencePath:
        del config
        if self.text:
            warnings.warn(self.text, stacklevel=2)
        return ReferencePath.through([0.0, 1.0], np.zeros((2, 5)))


def searched(folder: Path, text: str, *changes: str, resume: bool = False) -> list[str]:
    """Return the warnings that a run gives of its path."""
    run: Run
    with Run(load_config(SMOKE, changes), folder) as run:
        original: Any = Original(text)
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            run.prepare(resume=resume, original=original)
            stored_path(run, original)
    return list(dict.fromkeys(str(warning.message) for warning in given))


def test_a_resumed_run_gives_the_warnings_of_its_path_again(tmp_path: Path) -> None:
    assert searched(tmp_path, REST) == [REST]
    assert json.loads((tmp_path / "path.json").read_text())["warnings"] == [REST]
    before = (tmp_path / "path.json").read_bytes()
    assert searched(tmp_path, REST, resume=True) == [REST]
    assert (tmp_path / "path.json").read_bytes() == before


def test_a_path_without_warnings_has_none_in_its_file(tmp_path: Path) -> None:
    assert searched(tmp_path, "") == []
    keys = {"format", "version", "original", "flexion_rad", "coordinates_rad_m"}
    assert json.loads((tmp_path / "path.json").read_text()).keys() == keys


@pytest.mark.parametrize("text", ["", "the spring is slack at 8 deg"])
def test_a_changed_simulation_has_warnings_of_its_own(tmp_path: Path, text: str) -> None:
    searched(tmp_path, REST)
    found = searched(tmp_path, text, "simulation.neutral_anterior_mm=-11.5", resume=True)
    assert found == ([text] if text else [])
    assert searched(tmp_path, text, "simulation.neutral_anterior_mm=-11.5", resume=True) == found
