"""A finished run goes on with a changed configuration; warnings of its reference path."""

import json
import warnings

import numpy as np
import pytest
from some_slow import first_rows
from studies import SMOKE, TINY, run_command, surrogate_arrays

from pipeline.cli.main import main
from pipeline.config.reading import load_config
from pipeline.originals import knee
from pipeline.originals.knee import evaluate_rows
from pipeline.stages.run_folder import Run, stored_path
from pipeline.store.samples import digest, read_table
from surrogates.sampling.space import ReferencePath

MORE = "design.budget=84"


def resume(folder, *overrides):
    return main([*run_command(folder, *TINY, *overrides), "--resume"])


def table_of(folder, name):
    return read_table(folder / "samples" / f"{name}.parquet")


def assert_same_results(one, other, tables):
    """Check that two runs have the same tables and the same surrogate, bit for bit."""
    for name in tables:
        left, right = table_of(one, name), table_of(other, name)
        assert digest(left) == digest(right), name
    left, right = surrogate_arrays(one), surrogate_arrays(other)
    assert {k: v.tobytes() for k, v in left.items()} == {k: v.tobytes() for k, v in right.items()}


@pytest.fixture
def asked(monkeypatch):
    """Samples that the original model evaluates from now on."""
    tables = []

    def counted(model, table, follow):
        tables.append(table)
        return evaluate_rows(model, table, follow)

    monkeypatch.setattr(knee, "evaluate_rows", counted)
    return tables


@pytest.mark.slow
@pytest.mark.usefixtures("unsimulated")
def test_way_back_and_forth_evaluates_nothing(tiny_run, run_copy, asked):
    assert resume(run_copy, MORE) == 0
    # The rounds of a larger budget are larger; few of their samples are others.
    assert {str(name) for table in asked for name in table["compartment"]} == {"medial", "lateral"}
    assert sum(map(len, asked)) < 24
    asked.clear()
    assert resume(run_copy) == 0
    assert_same_results(run_copy, tiny_run, ("first", "kept-2", "screened", "heldout"))
    assert resume(run_copy, MORE) == 0
    assert sum(map(len, asked)) == 0


@pytest.mark.usefixtures("unsimulated")
@pytest.mark.parametrize(
    ("change", "added", "evaluated"),
    first_rows(
        [
            ("design.domain_samples=20", {"domain": 8}, 8),
            # A hypercube of more points has other points.
            ("validation.points=23", {"heldout": 6}, 46),
        ],
    ),
)
def test_changes_of_later_stages_keep_the_samples(run_copy, asked, change, added, evaluated):
    names = ("first", "kept-1", "kept-2", "domain", "heldout")
    before = {name: len(table_of(run_copy, name)) for name in names}
    assert resume(run_copy, change) == 0
    assert sum(map(len, asked)) == evaluated
    for name, count in before.items():
        assert len(table_of(run_copy, name)) == count + added.get(name, 0)


@pytest.mark.slow
@pytest.mark.usefixtures("unsimulated")
def test_samples_of_another_model_are_evaluated_again(run_copy, asked):
    before = json.loads((run_copy / "path.json").read_text())
    assert resume(run_copy, "contact.youngs_modulus_MPa=500.0") == 0
    assert sum(map(len, asked)) >= len(table_of(run_copy, "first"))
    after = json.loads((run_copy / "path.json").read_text())
    assert after["coordinates_rad_m"] != before["coordinates_rad_m"]


REST = "the spring is slack where the femur rests at 5 deg"


class Original:
    """An original model whose search of the path has something to say."""

    digest = "0" * 64
    model = None

    def __init__(self, text):
        self.text = text

    def reference_path(self, config):
        del config
        if self.text:
            warnings.warn(self.text, stacklevel=2)
        return ReferencePath.through([0.0, 1.0], np.zeros((2, 5)))


def searched(folder, text, *changes, resume=False):
    """Return the warnings that a run gives of its path."""
    run: Run
    with Run(load_config(SMOKE, changes), folder) as run:
        original = Original(text)
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            run.prepare(resume=resume)
            stored_path(run, original)
    return list(dict.fromkeys(str(warning.message) for warning in given))


def test_a_resumed_run_gives_the_warnings_of_its_path_again(tmp_path):
    assert searched(tmp_path, REST) == [REST]
    assert json.loads((tmp_path / "path.json").read_text())["warnings"] == [REST]
    before = (tmp_path / "path.json").read_bytes()
    assert searched(tmp_path, REST, resume=True) == [REST]
    assert (tmp_path / "path.json").read_bytes() == before


@pytest.mark.parametrize("text", ["", "the spring is slack at 8 deg"])
def test_a_changed_simulation_has_warnings_of_its_own(tmp_path, text):
    searched(tmp_path, REST)
    found = searched(tmp_path, text, "simulation.neutral_anterior_mm=-11.5", resume=True)
    assert found == ([text] if text else [])
    assert searched(tmp_path, text, "simulation.neutral_anterior_mm=-11.5", resume=True) == found
